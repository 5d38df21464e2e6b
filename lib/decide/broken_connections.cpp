// Who told of failed communication, and whose connections broke.
#include "decide/broken_connections.hpp"

#include <algorithm>

#include "decide/candidate.hpp"
#include "decide/walk.hpp"
#include "model/address.hpp"

namespace culprit::decide {

namespace {

// The last two digits of a name, as a number.
std::optional<int> number_at_end(std::string_view text) {
  std::optional<int> out;
  for (std::size_t at = text.size() - std::min<std::size_t>(text.size(), 2); at < text.size(); ++at)
    out = text[at] < '0' || text[at] > '9' ? std::nullopt
                                           : std::optional(10 * out.value_or(0) + text[at] - '0');
  return out;
}

// Addresses that nothing resolves: "10.66.0.17" may be node-017's, and hardly node-018's.
bool may_be_address_of(const Host& address, const Host& host) {
  const auto last = number_at_end(address), number = number_at_end(host);
  return is_address(address) && last && last == number;
}

}  // namespace

BrokenConnections::BrokenConnections(const Case& incident) : incident_(incident) {
  for (const Finding& f : incident.findings)
    if (f.fired() || f.analysis == Analysis::root_diag) hear(f);
  for (const ExitFact& x : incident.exits) {
    const std::int64_t signal = signal_of(x.code);
    if (x.host && (signal == 9 || signal == 11)) ended_by_signal_.push_back(&x);
  }
}

void BrokenConnections::hear(const Finding& f) {
  if (f.analysis == Analysis::root_diag) broke_first_ = f.host;
  if (f.analysis == Analysis::root_diag)
    for (const Host& host : f.hosts)
      if (is_address(host)) peers_.insert(host);
  if (f.traits.has(Trait::node_missed) && f.host) missed_.insert(*f.host);
  const auto* line = std::get_if<LineFacts>(&f.facts);
  if (f.origin == Origin::any && f.analysis == Analysis::classify && f.role == Role::root &&
      kind_of(f) && !f.hearsay) {
    job_names_root = true;
    if (!f.traits.has_any({Trait::node_missed, Trait::setup_only}) &&
        (line == nullptr || line->speaker == Speaker::job))
      roots_of_job_.insert(f.host);
  }
  if (f.analysis != Analysis::classify || f.role != Role::cascade) return;
  const bool distributed = f.severity >= Severity::distributed;
  any = any || (distributed && !f.traits.has(Trait::rendezvous));
  if (distributed && f.origin == Origin::any) reporters_.insert(f.hosts.begin(), f.hosts.end());
  if (f.symptom == Symptom::job_hang) return;
  ends_known_ = ends_known_ || !f.hosts.empty();
  ends_.insert(f.hosts.begin(), f.hosts.end());
  if (line == nullptr || line->peer.value_or("").empty()) return;
  ends_.insert(Host(*line->peer));
  peers_.insert(Host(*line->peer));
}

bool BrokenConnections::touched(const Finding& f) const {
  return (f.host && ends_.count(*f.host) != 0) || !ends_known_;
}

bool BrokenConnections::name_another(const Finding& f) const {
  return broke_first_ && f.host && broke_first_ != f.host;
}

bool BrokenConnections::noticed_late(const Finding& f) const {
  if (!f.traits.has(Trait::node_missed) || !f.host || missed_.size() != 1 || !any) return false;
  if (!incident_.of_job(*f.host)) return false;
  const auto addresses = std::ranges::count_if(peers_, [](const Host& p) { return is_address(p); });
  const bool of_others = std::ranges::any_of(peers_, [&](const Host& peer) {
    return peer != *f.host && (addresses > 1 || !may_be_address_of(peer, *f.host));
  });
  // Who misses a node kills what runs on the others: only what ended before is a failure.
  const bool ended_elsewhere = std::ranges::any_of(ended_by_signal_, [&](const ExitFact* x) {
    const bool cleaned_up =
        signal_of(x->code) == 9 && (!x->time || !f.start || *x->time > *f.start);
    return x->host != f.host && !cleaned_up;
  });
  return !of_others && !ended_elsewhere && reporters_.count(*f.host) == 0 &&
         roots_of_job_.size() == roots_of_job_.count(f.host);
}

}  // namespace culprit::decide
