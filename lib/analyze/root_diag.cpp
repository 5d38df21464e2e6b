#include "analyze/root_diag.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace culprit::analyze {

namespace {

struct Edge {
  std::string reporter, peer;
  std::optional<Nanoseconds> time;
  const Signal* signal;
};

}  // namespace

std::vector<Finding> root_diag(const Facts& facts, const std::vector<Signal>& signals, const RootDiagParams& params) {
  std::vector<Edge> edges;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Signal& s : signals) {
    if (s.before_job || s.meaning.severity != Severity::distributed || s.meaning.role != Role::cascade || !s.host || !s.peer_host || *s.host == *s.peer_host) continue;
    if (seen.insert({*s.host, *s.peer_host}).second) edges.push_back({*s.host, *s.peer_host, s.start, &s});
  }
  if (edges.empty()) return {};
  std::optional<Nanoseconds> first;
  for (const Edge& e : edges)
    if (e.time && (!first || *e.time < *first)) first = e.time;
  std::vector<const Edge*> burst;
  for (const Edge& e : edges)
    if (!e.time || (first && *e.time - *first <= params.burst)) burst.push_back(&e);

  std::map<std::string, std::size_t> touches;
  std::set<std::string> reporters;
  for (const Edge* e : burst) {
    ++touches[e->reporter];
    ++touches[e->peer];
    reporters.insert(e->reporter);
  }
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [host, n] : touches) ranked.emplace_back(n, host);
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });

  Finding f;
  f.analysis = "root_diag";
  f.severity = Severity::distributed;
  f.role = Role::root;
  f.scope = Scope::host_local;
  f.symptom = "Infiniband Error";
  f.event_class = "broken_connections";
  f.start = first;
  f.count = edges.size();
  for (const Edge* e : burst)
    for (const Evidence& one : e->signal->evidence)
      if (f.evidence.size() < 8) { f.evidence.push_back(one); break; }
  f.numbers = {{"edges", std::to_string(edges.size())}, {"edges_in_first_burst", std::to_string(burst.size())}, {"reporters", std::to_string(reporters.size())}};

  const auto& best = ranked.front();
  const std::size_t second = ranked.size() > 1 ? ranked[1].first : 0;
  const double cover = static_cast<double>(best.first) / static_cast<double>(burst.size());
  if (burst.size() >= 2 && cover >= params.cover && static_cast<double>(second) <= params.ahead * static_cast<double>(best.first)) {
    f.id = "root_diag/host/" + best.second;
    f.subject = {"host", best.second};
    f.host = best.second;
    f.hosts = {best.second};
    f.confidence = 0.6 + 0.3 * cover - (burst.size() < 3 ? 0.15 : 0.0);
    f.title = "host whose connections broke first";
    f.why = fmt::format("{} of the {} connections that broke first touch {}; the next host touches {}.", best.first, burst.size(), best.second, second);
    f.action = "isolate_node";
    f.advice = fmt::format("Take {} out of the job; look at its NICs, its kernel log and its GPUs.", best.second);
    return {f};
  }

  // NetDiag: a switch that every broken connection crosses.
  if (facts.manifest)
    for (const auto* level : {&facts.manifest->tor, &facts.manifest->pod}) {
      std::map<std::string, std::string> of;
      for (const auto& [name, hosts] : *level)
        for (const auto& host : hosts) of[short_host(host)] = name;
      std::map<std::string, std::size_t> crossed;
      std::size_t known = 0;
      for (const Edge* e : burst) {
        const auto a = of.find(e->reporter);
        const auto b = of.find(e->peer);
        if (a == of.end() || b == of.end()) continue;
        ++known;
        ++crossed[a->second];
        if (b->second != a->second) ++crossed[b->second];
      }
      if (known < 3 || level->size() < 2) continue;
      std::vector<std::pair<std::size_t, std::string>> order;
      for (const auto& [name, n] : crossed) order.emplace_back(n, name);
      std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
      const std::size_t next = order.size() > 1 ? order[1].first : 0;
      if (static_cast<double>(order[0].first) < 0.95 * static_cast<double>(known) || static_cast<double>(next) > 0.8 * static_cast<double>(order[0].first)) continue;
      f.id = "root_diag/switch/" + order[0].second;
      f.subject = {"switch", order[0].second};
      f.scope = Scope::shared;
      f.symptom = "Switch Fault";
      f.confidence = 0.75;
      f.title = "switch that every broken connection crosses";
      f.why = fmt::format("{} of {} connections that broke first cross {}; no single host touches them all ({} touches {}).", order[0].first, known, order[0].second, best.second, best.first);
      f.action = "check_switch";
      f.advice = fmt::format("Look at {}: port errors, flaps, its uplinks. Leave the hosts in service.", order[0].second);
      return {f};
    }

  f.id = "root_diag/none";
  f.subject = {"job", "job"};
  f.scope = Scope::job_wide;
  f.outcome = burst.size() < 2 ? Outcome::not_enough_evidence : Outcome::ruled_out;
  f.confidence = 0.5;
  f.title = "no host stands out among the broken connections";
  f.why = burst.size() < 2 ? fmt::format("One connection only, {} to {}: either end may be at fault.", burst.front()->reporter, burst.front()->peer)
                           : fmt::format("Of {} connections that broke first, {} touch {} and {} touch {}: nobody is clearly ahead.", burst.size(), best.first, best.second, second, ranked.size() > 1 ? ranked[1].second : "no other");
  for (const auto& [n, host] : ranked) f.hosts.push_back(host);
  std::sort(f.hosts.begin(), f.hosts.end());
  return {f};
}

}  // namespace culprit::analyze
