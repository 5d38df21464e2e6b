#include "fleet/failures.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "fleet/taxonomy.hpp"
#include "model/sort.hpp"
#include "model/terms.hpp"

namespace culprit::fleet {

namespace {

// An event this long before or after an incident of its machine speaks of the same failure.
constexpr Nanoseconds kSameFailure = 10 * 60 * kSecond;

void widen(Watched& w, const std::optional<Nanoseconds>& t) {
  if (!t) return;
  w.from = w.from ? std::min(*w.from, *t) : *t;
  w.to = w.to ? std::max(*w.to, *t) : *t;
}

void episodes(const FleetRecord& record, const FailureParams& params, std::vector<Failure>& out) {
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> last;
  for (const FleetEvent& e : record.events) {  // sorted by start
    if (e.kind != "failure" || !inside(e.start, params)) continue;
    const auto key = std::tuple(e.system, e.host, e.event_class);
    const auto it = last.find(key);
    if (it != last.end() && e.start) {
      Failure& before = out[it->second];
      const auto until = std::max(before.end.value_or(*e.start), before.start.value_or(*e.start));
      if (before.start && *e.start - until <= params.episode_gap) {
        ++before.events;
        if (!e.end)
          before.end.reset();
        else if (before.end)
          before.end = std::max(*before.end, *e.end);
        continue;
      }
    }
    last[key] = out.size();
    out.push_back({e.host, e.device, std::string(component_group(e.event_class, "")), e.event_class,
                   e.system, e.start, e.end});
  }
}

}  // namespace

bool undecided(const FleetIncident& i) {
  return i.action == name(Action::investigate) && i.targets.empty() &&
         (i.symptom.empty() || i.symptom == name(Symptom::none));
}

bool failed(const FleetIncident& i) { return i.action != name(Action::none) && !undecided(i); }

std::string component_of(const FleetIncident& i) {
  return std::string(component_group(i.component, i.symptom));
}

bool inside(const std::optional<Nanoseconds>& start, const FailureParams& params) {
  if (!start) return !params.from && !params.to;
  return (!params.from || *start >= *params.from) && (!params.to || *start < *params.to);
}

Watched watched(const FleetRecord& record, const FailureParams& params) {
  Watched w;
  std::set<std::string> hosts;
  std::map<std::int64_t, std::int64_t> per_host;  // GPUs of a machine -> jobs that say so
  bool quiet = false;
  for (const FleetIncident& i : record.incidents) {
    if (!inside(i.start, params)) continue;
    widen(w, i.start);
    if (i.end && inside(i.end, params)) widen(w, i.end);
    hosts.insert(i.hosts.begin(), i.hosts.end());
    const auto n = static_cast<std::int64_t>(i.hosts.size());
    if (n > 0 && i.gpus >= n && i.gpus % n == 0)
      ++per_host[i.gpus / n];  // otherwise machines are missing
  }
  for (const FleetEvent& e : record.events) {
    if (!inside(e.start, params)) continue;
    widen(w, e.start);
    if (e.end && inside(e.end, params)) widen(w, e.end);
    if (!e.host.empty()) hosts.insert(e.host);
    quiet = true;
  }
  std::optional<std::int64_t> known, gpus = params.gpus_per_host;
  for (const FleetScope& s : record.scopes) {
    widen(w, s.from);
    widen(w, s.to);
    if (s.hosts) known = std::max(known.value_or(0), *s.hosts);
    if (s.gpus_per_host && !gpus) gpus = s.gpus_per_host;
  }
  if (params.from) w.from = params.from;
  if (params.to) w.to = params.to;
  if (w.from && w.to && *w.to > *w.from)
    w.days = static_cast<double>(*w.to - *w.from) / 1e9 / 86400;
  const auto seen = static_cast<std::int64_t>(hosts.size());
  w.hosts = params.hosts ? *params.hosts : std::max(known.value_or(0), seen);
  if (!params.hosts && !known)
    w.notes.push_back(fmt::format(
        "{} machines are taken for the fleet, those that {}; --hosts N says how many there are",
        seen,
        quiet ? "were seen (a machine without an event leaves no trace)" : "the bundles name"));
  if (!params.from || !params.to)
    w.notes.push_back(
        "the time watched is taken to run from the first record to the last; --from and --to say "
        "it");
  const auto usual = std::ranges::max_element(
      per_host, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (!gpus && usual != per_host.end()) gpus = usual->first;
  w.gpus = w.hosts * gpus.value_or(0);
  return w;
}

std::vector<Failure> failures(const FleetRecord& record, const FailureParams& params) {
  std::vector<Failure> out;
  episodes(record, params, out);
  // Events of other systems by machine, to recognise what a verdict says once more.
  std::map<std::string, std::vector<std::size_t>> of_host;
  for (std::size_t i = 0; i < out.size(); ++i) of_host[out[i].host].push_back(i);
  std::set<std::size_t> same;
  std::vector<Failure> own;
  for (const FleetIncident& i : record.incidents) {
    if (!failed(i) || !inside(i.start, params)) continue;
    std::set<std::string> done;
    for (const FleetTarget& t : i.targets) {
      if (!t.blamed || t.host.empty() || !done.insert(t.host).second) continue;
      // The finest part of this machine that the verdict names.
      std::string device;
      for (const FleetTarget& finer : i.targets)
        if (finer.host == t.host && finer.kind != "host") device = finer.id;
      own.push_back({t.host, device, component_of(i),
                     i.event_class.empty() ? i.symptom : i.event_class, "", i.start, i.end});
      if (!i.start) continue;
      for (const std::size_t e : of_host[t.host]) {
        const Failure& event = out[e];
        if (!event.start) continue;
        const Nanoseconds end = std::max(event.end.value_or(*event.start), *event.start);
        if (*event.start <= i.end.value_or(*i.start) + kSameFailure &&
            end >= *i.start - kSameFailure)
          same.insert(e);
      }
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (same.count(i) == 0) own.push_back(std::move(out[i]));
  sort_rows(own, [](const Failure& a, const Failure& b) {
    return std::tie(a.start, a.host, a.what, a.device) <
           std::tie(b.start, b.host, b.what, b.device);
  });
  return own;
}

}  // namespace culprit::fleet
