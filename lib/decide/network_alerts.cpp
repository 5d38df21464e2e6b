// Alerts of links and network cards before the first broken connection.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// Several machines lost their links for good in the same seconds: a switch has many ports. States
// of ports without a date agree with any.
bool all_at_once(const Cause& c) {
  constexpr Nanoseconds kMoment = 5 * kSecond;
  std::map<Host, Nanoseconds> down;
  std::set<Host> dead;
  Nanoseconds uncertainty = 0;  // clocks that cannot tell the moments apart make them one
  for (const Finding* f : c.findings) {
    const bool open = !f->alerts.empty() && !f->alerts.back().closed;
    if (!f->host || !(f->start ? open : f->severity == Severity::critical)) continue;
    dead.insert(*f->host);
    if (!f->start) continue;
    uncertainty = std::max(uncertainty, f->uncertainty);
    const Nanoseconds since = f->alerts.back().begin.value_or(*f->start);
    const auto [at, fresh] = down.try_emplace(*f->host, since);
    at->second = std::min(at->second, since);
  }
  if (c.hosts.size() < 2 || dead.size() != c.hosts.size() || down.empty()) return false;
  const auto [low, high] = std::minmax_element(
      down.begin(), down.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return high->second - low->second <= kMoment + 2 * uncertainty;
}

}  // namespace

namespace {

// The job's library says that a port failed, and the kernel of that host, which saw it, that it
// came back: one alert, of which the program does not print the end.
const Finding* came_back(const Walk& w, const Cause& c) {
  const Finding* out = nullptr;
  for (const Finding* one : c.findings) {
    if (one->origin != Origin::any || one->alerts.size() > 1 || one->hosts.size() != 1 ||
        one->count > 1)
      return nullptr;
    const auto& seen = w.first.transients;
    const auto own = std::ranges::find_if(seen, [&](const Finding* f) {
      return f->origin == Origin::kernel && f->host == one->hosts.front();
    });
    if (own == seen.end()) return nullptr;
    out = *own;
  }
  return out;
}

// Single alerts of a warning's weight in machines' own logs: the moment speaks for them, and the
// port may be one that the job does not use.
bool only_by_its_moment(const Cause& c) {
  return std::ranges::all_of(c.findings, [](const Finding* f) {
    return f->severity < Severity::critical && f->alerts.size() <= 1 && f->ranks.empty();
  });
}

// A switch that failed, by its own word or its manager's, as the links did.
std::string failed_switch(const Walk& w, const Cause& c) {
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && f.role == Role::root &&
        f.subject.kind == SubjectKind::network_switch && f.start && c.start &&
        std::abs(*f.start - *c.start) <= w.params.same_moment + f.uncertainty)
      return f.subject.id;
  return "";
}

}  // namespace

Answer network_alerts(Walk& w) {
  const Cause* c = w.best(CauseKind::network);
  if (c == nullptr) return ruled_out(say(Phrase::no_network_alert));
  const Finding& f = *c->findings.front();
  if (!after_effects(w))
    return ruled_out(say(Phrase::network_alert_without_effect, f.event_class, list(c->hosts)));
  if (const Finding* link = came_back(w, *c))
    return ruled_out(say(Phrase::link_came_back, *link->host));
  const Finding* diag = nullptr;
  for (const Finding& one : w.incident.findings)
    if (one.fired(Analysis::root_diag)) diag = &one;
  // Its own alert and connections of its own that broke are two sources; the others' connections
  // are a third opinion.
  const bool touched = std::ranges::any_of(w.incident.findings, [&](const Finding& one) {
    return one.fired(Analysis::classify) && one.role == Role::cascade &&
           one.symptom == Symptom::infiniband_error &&
           std::ranges::any_of(one.hosts,
                               [&](const Host& host) { return contains(c->hosts, host); });
  });
  if (diag != nullptr && !touched && diag->subject.kind == SubjectKind::host &&
      !contains(c->hosts, diag->subject.id))
    return ruled_out(say(Phrase::connections_point_elsewhere, diag->subject.id, list(c->hosts)));
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  // Links that went down in the same moment count here although a clock is too uncertain to accuse
  // a host by.
  std::set<Host> hosts(c->hosts.begin(), c->hosts.end());
  for (const Finding& other : w.incident.findings)
    if (other.fired() && other.event_class == f.event_class && other.start && c->start &&
        std::abs(*other.start - *c->start) <= 30 * kSecond)
      hosts.insert(other.hosts.begin(), other.hosts.end());
  if (shared_by(w, c->hosts.size()) || !switch_below_which_all(w, hosts).empty() ||
      all_at_once(*c)) {
    act(v, Action::repair, Precision::group);
    const std::string below = switch_below_which_all(w, hosts);
    std::string named = below.empty() ? switch_of(w, hosts) : below;
    if (named.empty()) named = failed_switch(w, *c);
    target(
        v,
        {SubjectKind::network_switch, named.empty() ? "network of " + joined(c->hosts, 3) : named},
        named.empty() ? confidence::kSharedUnnamed : confidence::kSwitchNamed, ids(c->findings));
    v.summary = say(Phrase::links_failed_together, hosts.size(), at(c->start), named);
    // The findings' own advice is to look at single cables.
    next(v, NextKind::plan,
         say(Phrase::look_at_switch_at, named.empty() ? say(Phrase::shared_switch) : Text(named),
             c->start ? iso_utc(*c->start / kSecond * kSecond) : say(Phrase::that_moment),
             list(hosts, 3)));
    return taken(say(Phrase::many_link_alerts));
  }
  if (hosts.empty()) return ruled_out(say(Phrase::network_alert_without_place, f.event_class));
  const bool alone = diag == nullptr && !touched && only_by_its_moment(*c);
  v.action = alone ? Action::checks : Action::isolate;
  if (alone) v.precision = Precision::candidates;
  const double confidence = diag != nullptr || f.severity == Severity::critical
                                ? confidence::kLinkAndPeers
                                : confidence::kLinkAlone;
  for (const Host& host : c->hosts)
    target(v, {SubjectKind::host, host}, confidence, ids(c->findings));
  for (const Finding* one : c->findings)
    if (one->subject.kind == SubjectKind::nic) target(v, one->subject, confidence, {one->id});
  const bool open = std::ranges::any_of(c->findings, [](const Finding* one) {
    return !one->alerts.empty() && !one->alerts.back().closed;
  });
  v.summary = say(Phrase::link_failed, list(c->hosts),
                  open ? say(Phrase::link_went_down) : say(Phrase::link_failed_repeatedly),
                  at(c->start), inside(f.title));
  if (!alone) drain(w, c->hosts, f.event_class);
  advise(v, *c);
  return taken(say(Phrase::link_alerts_before, f.event_class, f.count, list(c->hosts)));
}

}  // namespace culprit::decide
