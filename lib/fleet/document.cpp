#include "fleet/document.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fleet/incident.hpp"
#include "fleet/taxonomy.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "model/terms.hpp"

namespace culprit::fleet {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kEarly_s = 600;  // Aegis section 6: the first ten minutes
constexpr Nanoseconds kWeek = 7LL * 86400 * kSecond;
constexpr std::size_t kMostWeeks = 520;

// Six digits: figures of a sample, not constants of nature.
Json figure(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0.0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

Json interval_of(const Interval& i) { return Json::array({figure(i.low), figure(i.high)}); }
Json time_or_null(const std::optional<Nanoseconds>& t) {
  return t ? Json(iso_utc(*t)) : Json(nullptr);
}
Json maybe(const std::optional<double>& v) { return v ? figure(*v) : Json(nullptr); }

// A count over an exposure, with the exact interval of the count.
Json rate_of(std::int64_t count, double exposure) {
  if (!(exposure > 0)) return nullptr;
  const Interval i = poisson_interval(count);
  return {{"value", figure(static_cast<double>(count) / exposure)},
          {"interval", Json::array({figure(i.low / exposure), figure(i.high / exposure)})}};
}

// Its inverse; open above where nothing was counted.
Json mean_time(std::int64_t count, double exposure) {
  if (!(exposure > 0)) return nullptr;
  const Interval i = poisson_interval(count);
  return {{"days", count > 0 ? figure(exposure / static_cast<double>(count)) : Json(nullptr)},
          {"interval", Json::array({figure(exposure / i.high),
                                    i.low > 0 ? figure(exposure / i.low) : Json(nullptr)})}};
}

Json share_of(std::int64_t k, std::int64_t n) {
  return n > 0 ? Json{{"value", figure(static_cast<double>(k) / static_cast<double>(n))},
                      {"interval", interval_of(wilson(k, n))}}
               : Json(nullptr);
}

struct Row {
  std::string name;
  std::int64_t count = 0;
};

std::vector<Row> sorted(const std::map<std::string, std::int64_t>& counts) {
  std::vector<Row> out;
  for (const auto& [name, count] : counts) out.push_back({name, count});
  sort_rows(out, [](const Row& a, const Row& b) { return a.count > b.count; });
  return out;
}

class Statistics {
 public:
  Statistics(const FleetRecord& record, const DocumentParams& params)
      : record_(record),
        params_(params),
        watched_(watched(record, params.failures)),
        failures_(failures(record, params.failures)) {
    for (const FleetIncident& i : record.incidents)
      if (inside(i.start, params.failures)) {
        incidents_.push_back(&i);
        failed_ += failed(i) ? 1 : 0;
      }
    for (const FleetEvent& e : record.events)
      if (e.kind == "failure" && inside(e.start, params.failures)) events_.push_back(&e);
    for (const Failure& f : failures_)
      if (!f.host.empty()) ++of_host_[f.host];
    machine_days_ = static_cast<double>(watched_.hosts) * watched_.days;
  }

  Json document() const {
    Json out{{"schema", "culprit.fleet/1"}};
    out["watched"] = {{"from", time_or_null(watched_.from)},
                      {"to", time_or_null(watched_.to)},
                      {"days", figure(watched_.days)},
                      {"machines", watched_.hosts},
                      {"gpus", watched_.gpus}};
    out["incidents"] = incidents_.size();
    out["failed"] = failed_;
    out["undecided"] =
        std::ranges::count_if(incidents_, [](const FleetIncident* i) { return undecided(*i); });
    out["events"] = events_.size();
    out["episodes"] =
        std::ranges::count_if(failures_, [](const Failure& f) { return !f.system.empty(); });
    out["machine_failures"] = failures_.size();
    out["rates"] = rates();
    out["symptoms"] = symptoms();
    out["components"] = components();
    out["mechanisms"] = mechanisms();
    out["actions"] = actions();
    out["event_classes"] = event_classes();
    out["early"] = early();
    out["diagnosed"] = diagnosed();
    out["resolution"] = resolution();
    out["time"] = time();
    out["repair_times"] = repair_times();
    out["down"] = down();
    out["offenders"] = offending();
    out["parts"] = parts();
    out["groups"] = shared();
    out["bursts"] = in_batches();
    out["returning"] = coming_back();
    out["weeks"] = weeks();
    if (params_.cards != nullptr) out["outcomes"] = outcomes(*params_.cards);
    out["notes"] = watched_.notes;
    return out;
  }

 private:
  Json rates() const {
    const auto machine = static_cast<std::int64_t>(failures_.size());
    std::int64_t gpu = 0;
    for (const Failure& f : failures_) gpu += is_gpu(f.component) ? 1 : 0;
    const double gpu_days = static_cast<double>(watched_.gpus) * watched_.days;
    return {{"interruptions_per_1000_machines_a_day", rate_of(failed_, machine_days_ / 1000)},
            {"failures_per_1000_machines_a_day", rate_of(machine, machine_days_ / 1000)},
            {"fleet_mtbf", mean_time(failed_ > 0 ? failed_ : machine, watched_.days)},
            {"machine_mtbf", mean_time(machine, machine_days_)},
            {"gpu_mtbf", mean_time(gpu, gpu_days)},
            {"published_interruptions", kPublishedRate}};
  }

  Json symptoms() const {
    std::map<std::string, std::int64_t> counts;
    for (const FleetIncident* i : incidents_)
      if (failed(*i))
        ++counts[i->symptom.empty() || i->symptom == name(Symptom::none) ? "not known"
                                                                         : i->symptom];
    Json out = Json::array();
    for (const Row& row : sorted(counts)) {
      Json published = nullptr;
      for (const Share& s : published_symptoms())
        if (s.name == row.name) published = s.percent / 100;
      out.push_back({{"name", row.name},
                     {"category", category_of(row.name)},
                     {"count", row.count},
                     {"share", share_of(row.count, failed_)},
                     {"published", published}});
    }
    return out;
  }

  // Verdicts that act on something, and episodes of other systems.
  Json components() const {
    std::map<std::string, std::int64_t> counts;
    for (const FleetIncident* i : incidents_)
      if (failed(*i)) ++counts[component_of(*i)];
    for (const Failure& f : failures_)
      if (!f.system.empty()) ++counts[f.component];
    std::int64_t all = 0;
    for (const auto& [name, count] : counts) all += count;
    Json out = Json::array();
    for (const Row& row : sorted(counts)) {
      Json published = nullptr;
      for (const Share& s : published_components())
        if (s.name == row.name) published = s.percent / 100;
      out.push_back({{"name", row.name},
                     {"count", row.count},
                     {"share", share_of(row.count, all)},
                     {"rate", rate_of(row.count, machine_days_ / 1000)},
                     {"published", published}});
    }
    return out;
  }

  Json mechanisms() const {
    std::map<std::string, std::int64_t> counts;
    for (const FleetIncident* i : incidents_)
      if (failed(*i)) ++counts[std::string(mechanism_of(i->action, i->symptom))];
    Json out = Json::array();
    for (const Row& row : sorted(counts)) {
      Json published = nullptr;
      for (const Mechanism& m : published_mechanisms())
        if (m.name == row.name) published = Json::array({m.dense / 100, m.moe / 100});
      out.push_back({{"name", row.name},
                     {"count", row.count},
                     {"share", share_of(row.count, failed_)},
                     {"published", published}});
    }
    return out;
  }

  Json actions() const {
    std::map<std::string, std::int64_t> counts;
    for (const FleetIncident* i : incidents_) ++counts[i->action];
    Json out = Json::array();
    for (const Row& row : sorted(counts)) out.push_back({{"name", row.name}, {"count", row.count}});
    return out;
  }

  // As the other systems name them, event by event: these counts are theirs.
  Json event_classes() const {
    std::map<std::tuple<std::string, std::string, std::string>, std::map<std::string, std::int64_t>>
        counts;
    for (const FleetEvent* e : events_)
      ++counts[{e->system, e->level, e->event_class}][e->description];
    Json out = Json::array();
    for (const auto& [key, descriptions] : counts) {
      std::int64_t all = 0;
      Json rows = Json::array();
      for (const Row& row : sorted(descriptions)) {
        rows.push_back({{"name", row.name}, {"count", row.count}});
        all += row.count;
      }
      out.push_back({{"system", std::get<0>(key)},
                     {"level", std::get<1>(key)},
                     {"class", std::get<2>(key)},
                     {"count", all},
                     {"rate", rate_of(all, machine_days_ / 1000)},
                     {"descriptions", rows}});
    }
    sort_rows(out.get_ref<Json::array_t&>(), [](const Json& a, const Json& b) {
      return a["count"].get<std::int64_t>() > b["count"].get<std::int64_t>();
    });
    return out;
  }

  Json early() const {
    std::int64_t known = 0, soon = 0;
    for (const FleetIncident* i : incidents_) {
      if (!failed(*i) || !i->ran_s) continue;
      ++known;
      soon += *i->ran_s < kEarly_s ? 1 : 0;
    }
    return {{"known", known},
            {"count", soon},
            {"share", share_of(soon, known)},
            {"published", kPublishedEarly}};
  }

  // Verdicts that need no test of machines and no replay (Aegis section 7.1).
  Json diagnosed() const {
    std::int64_t known = 0, at_run_time = 0;
    for (const FleetIncident* i : incidents_) {
      if (!failed(*i)) continue;
      ++known;
      at_run_time +=
          std::ranges::none_of(std::initializer_list<Action>{Action::checks, Action::replay,
                                                             Action::offline, Action::investigate},
                               [&](Action action) { return i->action == name(action); });
    }
    return {{"known", known}, {"count", at_run_time}, {"share", share_of(at_run_time, known)}};
  }

  // From the first failure to the end of the job: what detection took.
  Json resolution() const {
    std::map<std::string, std::vector<Duration>> of_symptom;
    for (const FleetIncident* i : incidents_)
      if (failed(*i) && i->start && i->end && *i->end >= *i->start)
        of_symptom[i->symptom.empty() || i->symptom == name(Symptom::none) ? "not known"
                                                                           : i->symptom]
            .push_back({static_cast<double>(*i->end - *i->start) / 1e9, false});
    Json out = Json::array();
    for (auto& [symptom, durations] : of_symptom) {
      out.push_back(durations_of(symptom, durations));
      if (const Resolution* published = published_resolution(symptom)) {
        out.back()["published_mean_s"] = published->mean_s;
        out.back()["published_longest_s"] = published->longest_s;
      }
    }
    return out;
  }

  static Json durations_of(const std::string& name, const std::vector<Duration>& durations) {
    const DurationSummary s = summarise(durations);
    return {{"name", name},
            {"count", s.count},
            {"open", s.open},
            {"mean_s", figure(s.mean)},
            {"median_s", maybe(s.median)},
            {"p90_s", maybe(s.p90)},
            {"longest_s", figure(s.longest)}};
  }

  Json time() const {
    std::map<std::string, double> parts;
    double gpu_hours = 0;
    for (const FleetIncident* i : incidents_)
      for (const FleetTime& t : i->time) {
        parts[t.part] += t.seconds;
        if (t.part != "training") gpu_hours += t.seconds * static_cast<double>(i->gpus) / 3600;
      }
    Json rows = Json::array();
    for (const auto& [part, seconds] : parts)
      rows.push_back({{"part", part}, {"hours", figure(seconds / 3600)}});
    return {{"parts", rows}, {"unproductive_gpu_hours", figure(gpu_hours)}};
  }

  Json repair_times() const {
    std::map<std::string, std::vector<Duration>> of_class;
    const bool ends =
        std::ranges::any_of(failures_, [](const Failure& f) { return !f.system.empty() && f.end; });
    for (const Failure& f : failures_) {
      if (f.system.empty() || !f.start || !ends) continue;
      const Nanoseconds until = f.end.value_or(watched_.to.value_or(*f.start));
      const Duration d{static_cast<double>(std::max<Nanoseconds>(0, until - *f.start)) / 1e9,
                       !f.end};
      of_class[f.what].push_back(d);
      of_class[""].push_back(d);
    }
    Json out = Json::array();
    for (const auto& [name, durations] : of_class) out.push_back(durations_of(name, durations));
    sort_rows(out.get_ref<Json::array_t&>(), [](const Json& a, const Json& b) {
      return a["count"].get<std::int64_t>() > b["count"].get<std::int64_t>();
    });
    return out;
  }

  Json down() const {
    const DownSummary d = machines_down(failures_, watched_);
    return {{"mean", figure(d.mean)},
            {"median", d.median},
            {"p99", d.p99},
            {"most", d.most},
            {"new_a_day", figure(d.mean_new)},
            {"p99_new_a_day", d.p99_new},
            {"most_new_a_day", d.most_new}};
  }

  Json offending() const {
    const OffenderReport r = offenders(of_host_, watched_.hosts, watched_.days, params_.offenders);
    Json rows = Json::array(), counts = Json::array();
    for (const Offender& o : r.machines) {
      if (rows.size() >= std::max(params_.machines, static_cast<std::size_t>(r.beyond))) break;
      std::map<std::string, std::int64_t> what;
      std::optional<Nanoseconds> last;
      for (const Failure& f : failures_)
        if (f.host == o.host) {
          ++what[f.component];
          last = std::max(last, f.start);
        }
      Json of = Json::array();
      for (const Row& row : sorted(what))
        of.push_back({{"component", row.name}, {"count", row.count}});
      rows.push_back(
          {{"machine", o.host},
           {"count", o.count},
           {"rate_a_day", figure(o.rate)},
           {"interval", interval_of(o.interval)},
           {"times_fleet", r.mean > 0
                               ? figure(o.rate * (watched_.days > 0 ? watched_.days : 1) / r.mean)
                               : Json(nullptr)},
           {"probability_twice", figure(o.twice)},
           {"by_chance", figure(o.by_chance)},
           {"beyond_chance", o.beyond_chance},
           {"components", of},
           {"last", time_or_null(last)}});
    }
    for (const CountRow& c : r.counts)
      counts.push_back(
          {{"failures", c.count}, {"machines", c.machines}, {"expected", figure(c.expected)}});
    return {{"mean", figure(r.mean)},
            {"dispersion", figure(r.dispersion)},
            {"beyond_chance", r.beyond},
            {"expected_beyond", figure(r.expected_beyond)},
            {"several", r.machines.size()},
            {"machines", rows},
            {"counts", counts}};
  }

  // GPUs, NICs and switches that several incidents name.
  Json parts() const {
    std::map<std::pair<std::string, std::string>, std::set<std::string>> named;
    for (const FleetIncident* i : incidents_)
      for (const FleetTarget& t : i->targets)
        if (t.blamed && (t.kind == "gpu" || t.kind == "nic" || t.kind == "switch" ||
                         t.kind == "link" || t.kind == "storage"))
          named[{t.kind, t.id}].insert(i->id);
    for (const Failure& f : failures_)
      if (!f.system.empty() && !f.device.empty())
        named[{"part", f.host + "/" + f.device}].insert(std::to_string(f.start.value_or(0)));
    Json out = Json::array();
    for (const auto& [key, ids] : named)
      if (ids.size() > 1)
        out.push_back({{"kind", key.first}, {"id", key.second}, {"count", ids.size()}});
    sort_rows(out.get_ref<Json::array_t&>(),
              [](const Json& a, const Json& b) { return a["count"] > b["count"]; });
    if (out.size() > params_.machines)
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(params_.machines), out.end());
    return out;
  }

  Json shared() const {
    // The last word about a machine counts; incidents in order of time.
    std::vector<const FleetIncident*> order = incidents_;
    sort_rows(order, [](const auto* a, const auto* b) { return a->start < b->start; });
    std::map<std::string, std::map<std::string, std::string>> values;
    for (const FleetIncident* i : order)
      for (const FleetAttribute& a : i->attributes)
        if (a.device.empty()) values[a.name][a.host] = a.value;
    Json out = Json::array();
    for (const GroupRow& g : groups(values, of_host_)) {
      if (out.size() >= params_.machines) break;
      if (g.failing == 0) continue;
      out.push_back({{"name", g.name},
                     {"value", g.value},
                     {"machines", g.hosts},
                     {"failing", g.failing},
                     {"failures", g.failures},
                     {"expected", figure(g.expected)},
                     {"chance", figure(g.chance)}});
    }
    return out;
  }

  Json in_batches() const {
    Json out = Json::array();
    for (const Burst& b : bursts(failures_, watched_, params_.bursts))
      out.push_back({{"component", b.component},
                     {"from", iso_utc(b.from)},
                     {"to", iso_utc(b.to)},
                     {"count", b.count},
                     {"machines", b.hosts},
                     {"expected", figure(b.expected)},
                     {"chance", figure(b.chance)}});
    return out;
  }

  Json coming_back() const {
    Json out = Json::array();
    for (const Returning& r : returning(failures_, record_.events, params_.returns)) {
      if (out.size() >= params_.machines) break;
      out.push_back({{"machine", r.host},
                     {"component", r.component},
                     {"failures", r.failures},
                     {"first", iso_utc(r.first)},
                     {"last", iso_utc(r.last)},
                     {"advice", r.repair ? "repair" : "reboot"}});
    }
    return out;
  }

  Json weeks() const {
    Json out = Json::array();
    if (!watched_.from || !(watched_.days > 0)) return out;
    std::map<std::size_t, std::map<std::string, std::int64_t>> rows;
    const auto see = [&](const std::optional<Nanoseconds>& t, const std::string& what) {
      if (!t || *t < *watched_.from) return;
      const auto week = static_cast<std::size_t>((*t - *watched_.from) / kWeek);
      if (week < kMostWeeks) ++rows[week][what];
    };
    for (const FleetIncident* i : incidents_)
      if (failed(*i)) see(i->start, component_of(*i));
    for (const Failure& f : failures_)
      if (!f.system.empty()) see(f.start, f.component);
    const auto last =
        std::min<std::size_t>(kMostWeeks, static_cast<std::size_t>(watched_.days / 7) + 1);
    for (std::size_t week = 0; week < last; ++week) {
      Json counts = Json::object();
      for (const auto& [what, count] : rows[week]) counts[what] = count;
      out.push_back({{"from", iso_utc(*watched_.from + static_cast<Nanoseconds>(week) * kWeek)},
                     {"counts", counts}});
    }
    return out;
  }

  // How often verdicts of one word, and of one kind of cause, were right.
  Json outcomes(const Cards& cards) const {
    std::map<std::pair<std::string, std::string>, std::array<std::int64_t, 3>> rows;
    std::int64_t known = 0, reopened = 0;
    for (const auto& [id, o] : cards.outcomes()) {
      const CardRow* card = cards.find(id);
      if (card == nullptr || !inside(parse_utc(std::string(card->start)), params_.failures))
        continue;
      ++known;
      reopened += o.reopened;
      for (const auto& [table, name] : {std::pair("sureness", &o.sureness), {"kind", &o.kind}})
        ++rows[{table, *name}][static_cast<std::size_t>(o.found)];
    }
    Json out = Json::array();
    for (const auto& [key, n] : rows)
      out.push_back({{"table", key.first},
                     {"name", key.second},
                     {"count", n[0] + n[1] + n[2]},
                     {"confirmed", n[0]},
                     {"cleared", n[1]},
                     {"other", n[2]},
                     {"share", share_of(n[0], n[0] + n[1] + n[2])}});
    return {{"cards", cards.rows().size()},
            {"known", known},
            {"reopened", reopened},
            {"verdicts", out}};
  }

  const FleetRecord& record_;
  const DocumentParams& params_;
  Watched watched_;
  std::vector<Failure> failures_;
  std::vector<const FleetIncident*> incidents_;
  std::vector<const FleetEvent*> events_;
  std::map<std::string, std::int64_t> of_host_;
  std::int64_t failed_ = 0;
  double machine_days_ = 0;
};

}  // namespace

std::string document(const FleetRecord& record, const DocumentParams& params) {
  return Statistics(record, params).document().dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

MachineRate machine_rate(const FleetRecord& record, const FailureParams& params) {
  MachineRate out;
  const Watched w = watched(record, params);
  out.failures = static_cast<std::int64_t>(failures(record, params).size());
  out.machines = w.hosts;
  out.days = w.days;
  const double exposure = static_cast<double>(w.hosts) * w.days;
  if (!(exposure > 0)) return out;
  const Interval i = poisson_interval(out.failures);
  out.rate = static_cast<double>(out.failures) / exposure;
  out.interval = {i.low / exposure, i.high / exposure};
  return out;
}

std::vector<double> relative_rates(const FleetRecord& record, std::span<const std::string> hosts,
                                   const FailureParams& params) {
  const Watched w = watched(record, params);
  std::map<std::string, std::int64_t> counts;
  for (const Failure& f : failures(record, params))
    if (!f.host.empty()) ++counts[f.host];
  const OffenderReport report = offenders(counts, w.hosts, w.days);
  const double time = report.rate_days + w.days;
  if (counts.empty() || !(report.shape > 0) || !(report.rate_days > 0) || !(time > 0)) return {};
  const double mean = report.shape / report.rate_days;
  std::vector<double> out;
  for (const std::string& host : hosts) {
    const auto it = counts.find(host);
    const auto count = it == counts.end() ? 0.0 : static_cast<double>(it->second);
    out.push_back((report.shape + count) / time / mean);
  }
  return out;
}

}  // namespace culprit::fleet
