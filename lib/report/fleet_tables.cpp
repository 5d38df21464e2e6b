// A fleet for other programs: CSV, one figure a row, and an OpenMetrics text for the collectors of
// Prometheus (node_exporter's textfile directory).
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/csv.hpp"
#include "report/fleet.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

std::string figure(const json& v) { return v.is_number() ? v.dump() : ""; }

class Csv {
 public:
  void row(const std::string& table, const std::string& name, const std::string& count,
           const json& value, const json& interval, const json& published) {
    const bool both = interval.is_array() && interval.size() == 2;
    out_ += fmt::format("{},{},{},{},{},{},{}\r\n", table, csv_cell(name), count, figure(value),
                        both ? figure(interval[0]) : "", both ? figure(interval[1]) : "",
                        published.is_number() ? figure(published) : "");
  }
  void rated(const std::string& table, const std::string& name, const json& row_of,
             const char* rate) {
    const json& r = member(row_of, rate);
    row(table, name, figure(member(row_of, "count")), member(r, "value"), member(r, "interval"),
        member(row_of, "published"));
  }
  std::string out_ = "table,name,count,value,low,high,published\r\n";
};

std::string csv(const json& d) {
  Csv out;
  const json& w = member(d, "watched");
  for (const char* key : {"days", "machines", "gpus"})
    out.row("watched", key, "", member(w, key), nullptr, nullptr);
  for (const char* key : {"incidents", "failed", "events", "episodes", "machine_failures"})
    out.row("counted", key, figure(member(d, key)), nullptr, nullptr, nullptr);
  const json& r = member(d, "rates");
  for (const char* key :
       {"interruptions_per_1000_machines_a_day", "failures_per_1000_machines_a_day"})
    out.row(
        "rate", key, "", member(member(r, key), "value"), member(member(r, key), "interval"),
        std::string_view(key).starts_with("int") ? member(r, "published_interruptions") : json());
  for (const char* key : {"fleet_mtbf", "machine_mtbf", "gpu_mtbf"})
    out.row("mtbf_days", key, "", member(member(r, key), "days"),
            member(member(r, key), "interval"), nullptr);
  for (const char* table : {"symptoms", "components", "mechanisms"})
    for (const json& row : list(d, table)) out.rated(table, text(row, "name"), row, "share");
  for (const json& row : list(d, "actions"))
    out.row("actions", text(row, "name"), figure(member(row, "count")), nullptr, nullptr, nullptr);
  for (const json& row : list(d, "event_classes")) {
    out.rated("event_classes", text(row, "level") + "/" + text(row, "class"), row, "rate");
    for (const json& one : list(row, "descriptions"))
      out.row("event_descriptions",
              text(row, "level") + "/" + text(row, "class") + "/" + text(one, "name"),
              figure(member(one, "count")), nullptr, nullptr, nullptr);
  }
  out.rated("early", "failed in the first ten minutes", member(d, "early"), "share");
  out.rated("diagnosed", "diagnosed at run time", member(d, "diagnosed"), "share");
  for (const char* table : {"repair_times", "resolution"})
    for (const json& row : list(d, table)) {
      const std::string name = text(row, "name").empty() ? "all" : text(row, "name");
      for (const char* key : {"median_s", "mean_s", "p90_s", "longest_s"})
        out.row(table, name + "/" + key, figure(member(row, "count")), member(row, key), nullptr,
                key == std::string_view("mean_s") ? member(row, "published_mean_s") : json());
    }
  for (const json& row : list(member(d, "offenders"), "machines"))
    out.row(member(row, "beyond_chance") == true ? "offenders" : "repeated", text(row, "machine"),
            figure(member(row, "count")), member(row, "rate_a_day"), member(row, "interval"),
            nullptr);
  for (const json& row : list(member(d, "offenders"), "counts"))
    out.row("machines_by_failures", figure(member(row, "failures")),
            figure(member(row, "machines")), member(row, "expected"), nullptr, nullptr);
  for (const json& row : list(d, "groups"))
    out.row("groups", text(row, "name") + "=" + text(row, "value"), figure(member(row, "failing")),
            member(row, "expected"), nullptr, nullptr);
  for (const json& row : list(d, "returning"))
    out.row("returning_" + text(row, "advice"), text(row, "machine") + "/" + text(row, "component"),
            figure(member(row, "failures")), nullptr, nullptr, nullptr);
  for (const json& row : list(d, "bursts"))
    out.row("bursts", text(row, "component") + "/" + text(row, "from"),
            figure(member(row, "count")), member(row, "expected"), nullptr, nullptr);
  for (const json& row : list(member(d, "outcomes"), "verdicts"))
    out.rated("confirmed", text(row, "table") + "/" + text(row, "name"), row, "share");
  for (const json& row : list(member(d, "time"), "parts"))
    out.row("time_hours", text(row, "part"), "", member(row, "hours"), nullptr, nullptr);
  return out.out_;
}

// OpenMetrics 1.0: backslash, quote and line feed are escaped.
std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

class Metrics {
 public:
  void family(const char* name, const char* help, const char* unit = "") {
    name_ = name;
    out_ += fmt::format("# TYPE {} gauge\n", name);
    if (*unit != 0) out_ += fmt::format("# UNIT {} {}\n", name, unit);
    out_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void sample(const std::string& labels, const json& value) {
    if (value.is_number())
      out_ += fmt::format("{}{}{}{} {}\n", name_, labels.empty() ? "" : "{", labels,
                          labels.empty() ? "" : "}", value.dump());
  }
  void bounds(const json& rate, const char* value) {
    sample("bound=\"estimate\"", member(rate, value));
    const json& interval = list(rate, "interval");
    if (interval.size() != 2) return;
    sample("bound=\"low\"", interval[0]);
    sample("bound=\"high\"", interval[1]);
  }
  std::string out_;

 private:
  std::string name_;
};

void machines_of(const json& d, Metrics& m) {
  m.family("culprit_fleet_offenders", "Machines that fail more often than chance explains.");
  m.sample("", member(member(d, "offenders"), "beyond_chance"));
  m.family("culprit_fleet_machine_failures", "Failures of machines that failed more than once.");
  const json& machines = list(member(d, "offenders"), "machines");
  for (const json& row : machines)
    m.sample(fmt::format("machine=\"{}\",beyond_chance=\"{}\"", label(text(row, "machine")),
                         member(row, "beyond_chance") == true),
             member(row, "count"));
  m.family("culprit_fleet_machine_failure_rate_a_day",
           "Mean of the posterior rate of failures of a machine.");
  for (const json& row : machines)
    m.sample(fmt::format("machine=\"{}\"", label(text(row, "machine"))), member(row, "rate_a_day"));
  m.family("culprit_fleet_repair_advised",
           "Failures in a row of machines that ought to be sent for repair.");
  for (const json& row : list(d, "returning"))
    if (text(row, "advice") == "repair")
      m.sample(
          fmt::format("machine=\"{}\",component=\"{}\",first=\"{}\"", label(text(row, "machine")),
                      label(text(row, "component")), label(text(row, "first"))),
          member(row, "failures"));
  m.family("culprit_fleet_batch_failures",
           "Failures of one component in a week with more of them than its past explains.");
  for (const json& row : list(d, "bursts"))
    m.sample(fmt::format("component=\"{}\",week=\"{}\"", label(text(row, "component")),
                         label(text(row, "from").substr(0, 10))),
             member(row, "count"));
}

void times_of(const json& d, Metrics& m) {
  for (const auto& [table, name, help] :
       {std::tuple("resolution", "culprit_fleet_incident_seconds",
                   "From the first failure to the end of the job, by symptom."),
        std::tuple("repair_times", "culprit_fleet_repair_seconds",
                   "From the beginning to the end of a fault, by class.")}) {
    m.family(name, help, "seconds");
    for (const json& row : list(d, table))
      for (const auto& [key, quantile] : {std::pair("median_s", "0.5"), std::pair("p90_s", "0.9")})
        m.sample(
            fmt::format("of=\"{}\",q=\"{}\"",
                        text(row, "name").empty() ? "all" : label(text(row, "name")), quantile),
            member(row, key));
  }
  m.family("culprit_fleet_machines_down_p99",
           "Machines that fail on a day: 99 percent of the days have no more.");
  m.sample("", member(member(d, "down"), "p99_new_a_day"));
  m.family("culprit_fleet_time_hours", "Where the time of the diagnosed jobs went.", "hours");
  for (const json& row : list(member(d, "time"), "parts"))
    m.sample(fmt::format("part=\"{}\"", label(text(row, "part"))), member(row, "hours"));
  m.family("culprit_fleet_unproductive_gpu_hours",
           "GPU hours of the diagnosed jobs that were not training.", "hours");
  m.sample("", member(member(d, "time"), "unproductive_gpu_hours"));
}

std::string metrics(const json& d) {
  Metrics m;
  m.family("culprit_fleet_machines", "Machines of the fleet.");
  m.sample("", member(member(d, "watched"), "machines"));
  m.family("culprit_fleet_watched_days", "Time that was watched.", "days");
  m.sample("", member(member(d, "watched"), "days"));
  m.family("culprit_fleet_incidents", "Diagnosed incidents by action of the verdict.");
  for (const json& row : list(d, "actions"))
    m.sample(fmt::format("action=\"{}\"", label(text(row, "name"))), member(row, "count"));
  m.family("culprit_fleet_symptoms", "Failed jobs by symptom.");
  for (const json& row : list(d, "symptoms"))
    m.sample(fmt::format("symptom=\"{}\",category=\"{}\"", label(text(row, "name")),
                         label(text(row, "category"))),
             member(row, "count"));
  m.family("culprit_fleet_components", "Failures by component.");
  for (const json& row : list(d, "components"))
    m.sample(fmt::format("component=\"{}\"", label(text(row, "name"))), member(row, "count"));
  m.family("culprit_fleet_mechanisms", "Failed jobs by what resolves them.");
  for (const json& row : list(d, "mechanisms"))
    m.sample(fmt::format("mechanism=\"{}\"", label(text(row, "name"))), member(row, "count"));
  m.family("culprit_fleet_early_failures_ratio",
           "Failed jobs that failed in their first ten minutes, with the 95 percent interval.",
           "ratio");
  m.bounds(member(member(d, "early"), "share"), "value");
  if (const json& o = list(member(d, "outcomes"), "verdicts"); !o.empty()) {
    m.family("culprit_fleet_verdicts", "Verdicts by what was found afterwards.");
    for (const json& row : o)
      for (const char* found : {"confirmed", "cleared", "other"})
        m.sample(fmt::format("{}=\"{}\",found=\"{}\"", text(row, "table"), label(text(row, "name")),
                             found),
                 member(row, found));
  }
  const json& r = member(d, "rates");
  m.family("culprit_fleet_mtbf_days",
           "Mean time between failures of the fleet, with the 95 percent interval.", "days");
  m.bounds(member(r, "fleet_mtbf"), "days");
  m.family("culprit_fleet_interruptions_per_1000_machines_a_day",
           "Interrupted jobs, with the 95 percent interval.");
  m.bounds(member(r, "interruptions_per_1000_machines_a_day"), "value");
  m.family("culprit_fleet_failures_per_1000_machines_a_day",
           "Failures of machines, with the 95 percent interval.");
  m.bounds(member(r, "failures_per_1000_machines_a_day"), "value");
  m.family("culprit_fleet_machine_mtbf_days",
           "Mean time between failures of a machine, with the 95 percent interval.", "days");
  m.bounds(member(r, "machine_mtbf"), "days");
  m.family("culprit_fleet_gpu_mtbf_days",
           "Mean time between failures of a GPU, with the 95 percent interval.", "days");
  m.bounds(member(r, "gpu_mtbf"), "days");
  machines_of(d, m);
  times_of(d, m);
  return m.out_ + "# EOF\n";
}

}  // namespace

extern constinit const FleetFormat kFleetCsv{"csv", "fleet.csv", csv};
extern constinit const FleetFormat kFleetMetrics{"openmetrics", "fleet.prom", metrics};

}  // namespace culprit::report
