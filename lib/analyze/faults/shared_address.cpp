#include "analyze/faults/shared_address.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/job_life.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Of an interface that machines talk over: not of loops, link-local ones and containers' bridges.
bool outward(const std::string& address) {
  for (const std::string_view inner : {"127.", "169.254.", "0.", "192.168.1", "192.168.2"})
    if (address.starts_with(inner)) return false;
  static const re2::RE2 kBridges(R"(172\.(?:1[6-9]|2\d|3[01])\..*)");
  return address.find(':') == std::string::npos && !re2::RE2::FullMatch(address, kBridges);
}

// Connections to it broke: the address stands in what ranks print of their ends.
bool broke_at(const Facts& facts, const std::string& address) {
  return std::ranges::any_of(facts.events, [&](const EventRow& e) {
    if (e.role != Role::cascade) return false;
    const std::size_t at = e.message.find(address);
    return (at != std::string::npos &&
            (at + address.size() == e.message.size() ||
             !isdigit(static_cast<unsigned char>(e.message[at + address.size()])))) ||
           e.peer == address;
  });
}

}  // namespace

std::vector<Finding> shared_addresses(const Facts& facts) {
  std::map<std::string, std::map<Host, const IdentityRow*>> holders;
  std::map<Host, std::set<std::string>> lists;
  for (const IdentityRow& i : facts.identities) {
    const MemberRow* m = facts.member(i.place.member);
    if (i.source != "ip addr" || !i.address || !facts.counts(m) || !outward(*i.address)) continue;
    const std::optional<Host> host = i.host ? i.host : m->host;
    if (!host || nameless_host(*host)) continue;
    holders[*i.address].try_emplace(short_host(*host), &i);
    lists[short_host(*host)].insert(*i.address);
  }
  // Where nothing lists the machines of the job, those that ran its ranks.
  std::vector<Host> job = hosts_of_job(facts);
  for (const RankRow& r : facts.ranks)
    if (r.host) job.push_back(short_host(*r.host));
  for (const IdentityRow& i : facts.identities)
    if (i.host && i.source.starts_with("nccl")) job.push_back(short_host(*i.host));
  for (const EventRow& e : facts.events)
    if (e.host && e.role == Role::cascade) job.push_back(short_host(*e.host));
  sort_unique(job);
  std::vector<Finding> out;
  for (const auto& [address, hosts] : holders) {
    if (hosts.size() != 2) continue;  // one that many have is handed on among them
    AddressFacts shared{.address = address};
    const auto& [one, one_says] = *hosts.begin();
    const auto& [two, two_says] = *std::next(hosts.begin());
    // One machine by two names lists the same twice.
    std::vector<std::string> both;
    std::ranges::set_intersection(lists[one], lists[two], std::back_inserter(both));
    if (both.size() > 1 || lists[one].size() < 2 || lists[two].size() < 2 ||
        !broke_at(facts, address))
      continue;
    const bool one_in = std::ranges::binary_search(job, one),
               two_in = std::ranges::binary_search(job, two);
    if (one_in != two_in) {
      shared.owner = one_in ? one : two;
      shared.other = one_in ? two : one;
    }
    Finding f{.id = "shared_address/" + address,
              .analysis = Analysis::drift,
              .subject = shared.other.empty()
                             ? Subject{SubjectKind::config, "address " + address}
                             : Subject{SubjectKind::host, std::string(shared.other)},
              .event_class = "shared_address",
              .symptom = Symptom::infiniband_error,
              .severity = Severity::critical,
              .role = Role::root,
              .confidence = confidence::kAddressOfTwo,
              .why = say(Phrase::address_of_two, address, one, two),
              .title = say(Phrase::shared_address)};
    f.hosts = {one, two};
    if (!shared.other.empty()) f.host = shared.other;
    f.advice = say(Phrase::give_another_address, address);
    f.facts = shared;
    for (const IdentityRow* says : {one_says, two_says})
      f.evidence.push_back(facts.evidence(says->place, ""));
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
