// A fleet on the terminal: what is worth knowing on Monday, with its uncertainty.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/fleet.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRows = 20;

std::string heading(std::string_view title, std::string_view more = "") {
  return fmt::format("\n{}{}{}\n", title, more.empty() ? "" : "   ", more);
}

std::string rest(std::size_t all, std::size_t most = kMostRows) {
  return all > most ? fmt::format("  and {} more\n", all - most) : "";
}

std::string published(const json& value) {
  if (value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number())
    return percent(value[0].get<double>()) + ", " + percent(value[1].get<double>());
  return value.is_number() ? percent(value.get<double>()) : "";
}

// name, count, share with interval, published share
std::string shares(const json& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    out += fmt::format("  {:<26} {:>6}  {:<24} {}\n", text(rows[i], "name"),
                       count(rows[i], "count"), with_interval(member(rows[i], "share"), true),
                       published(member(rows[i], "published")));
  return out + rest(rows.size());
}

std::string rates(const json& d) {
  const json& r = member(d, "rates");
  std::string out = heading("RATES", "95 % intervals in brackets");
  const auto line = [&](const char* name, const std::string& value, const std::string& beside) {
    if (!value.empty()) out += fmt::format("  {:<44} {:<28} {}\n", name, value, beside);
  };
  if (count(d, "failed") > 0)
    line("interrupted jobs, 1,000 machines and day",
         with_interval(member(r, "interruptions_per_1000_machines_a_day"), false),
         fmt::format("FT-HSDP: {}", number(r, "published_interruptions")));
  line("failures of machines, 1,000 machines and day",
       with_interval(member(r, "failures_per_1000_machines_a_day"), false), "");
  line("mean time between failures: fleet", days_of(member(r, "fleet_mtbf")), "");
  line("  of a machine", days_of(member(r, "machine_mtbf")), "");
  line("  of a GPU", days_of(member(r, "gpu_mtbf")), "");
  return out;
}

std::string offenders(const json& d) {
  const json& o = member(d, "offenders");
  const std::uint64_t beyond = count(o, "beyond_chance");
  std::string out = heading("REPEAT OFFENDERS");
  if (count(o, "several") == 0)
    out += "  no machine failed more than once\n";
  else if (beyond == 0)
    out += fmt::format("  {} failed more than once; none more often than chance explains\n",
                       counted(count(o, "several"), "machine"));
  else
    out += fmt::format("  {} more often than chance explains ({} expected by chance)\n",
                       beyond == 1 ? "1 machine fails" : fmt::format("{} machines fail", beyond),
                       short_number(number(o, "expected_beyond")));
  const json& rows = list(o, "machines");
  std::string table;
  for (const json& row : rows) {
    if (member(row, "beyond_chance") != true) continue;
    std::string what;
    for (const json& c : list(row, "components"))
      what +=
          fmt::format("{}{} {}", what.empty() ? "" : ", ", count(c, "count"), text(c, "component"));
    table += fmt::format("  {:<38} {:>4}  {:>5} x fleet  {:>9}  {}\n", text(row, "machine"),
                         count(row, "count"), short_number(number(row, "times_fleet")),
                         short_number(number(row, "by_chance")), what);
  }
  if (!table.empty())
    out +=
        fmt::format("  {:<38} {:>4}  {:>13}  {:>9}\n", "machine", "n", "rate", "by chance") + table;
  out += fmt::format("  failures of a machine: variance / mean {} (1: all machines are alike)\n",
                     short_number(number(o, "dispersion")));
  out += "    failures  machines  expected by chance\n";
  const json& counts = list(o, "counts");
  for (std::size_t i = 0; i < counts.size() && i < 12; ++i)
    out += fmt::format("    {:>8}  {:>8}  {:>18}\n", count(counts[i], "failures"),
                       count(counts[i], "machines"), short_number(number(counts[i], "expected")));
  if (counts.size() > 12) out += fmt::format("    up to {}\n", count(counts.back(), "failures"));
  return out;
}

std::string returning(const json& d) {
  const json& rows = list(d, "returning");
  std::string out;
  std::size_t shown = 0;
  for (const json& row : rows) {
    if (text(row, "advice") != "repair" || ++shown > kMostRows) continue;
    out += fmt::format("  {:<38} {:>2} x {} in a row: send it for repair\n", text(row, "machine"),
                       count(row, "failures"), text(row, "component"));
  }
  if (out.empty()) return "";
  return heading("REBOOT OR REPAIR",
                 "three reboots passed, and it failed again (Aegis, appendix B)") +
         out + rest(shown);
}

std::string groups(const json& d) {
  std::string out;
  for (const json& row : list(d, "groups")) {
    if (number(row, "chance") > 0.05) continue;
    out += fmt::format("  {:<16} {:<24} {} of its {} machines failed, {} expected (chance {})\n",
                       text(row, "name"), text(row, "value"), count(row, "failing"),
                       count(row, "machines"), short_number(number(row, "expected")),
                       short_number(number(row, "chance")));
  }
  return out.empty() ? "" : heading("SHARED BY FAILING MACHINES") + out;
}

std::string parts(const json& d) {
  const json& rows = list(d, "parts");
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    out += fmt::format("  {:<8} {:<40} {} incidents\n", text(rows[i], "kind"), text(rows[i], "id"),
                       count(rows[i], "count"));
  return out.empty() ? "" : heading("PARTS NAMED MORE THAN ONCE") + out + rest(rows.size());
}

std::string bursts(const json& d) {
  const json& rows = list(d, "bursts");
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    out += fmt::format("  {} to {}  {:<22} {} on {}, {} a week before\n",
                       text(rows[i], "from").substr(0, 10), text(rows[i], "to").substr(0, 10),
                       text(rows[i], "component"), counted(count(rows[i], "count"), "failure"),
                       counted(count(rows[i], "machines"), "machine"),
                       short_number(number(rows[i], "expected")));
  return out.empty() ? ""
                     : heading("BATCHES",
                               "weeks with more failures of a class than its own past explains") +
                           out + rest(rows.size());
}

std::string durations(const json& rows, std::string_view title, std::string_view more) {
  if (rows.empty()) return "";
  std::string out = heading(title, more);
  const bool beside = std::ranges::any_of(
      rows, [](const json& row) { return member(row, "published_mean_s").is_number(); });
  out += fmt::format("  {:<26} {:>5} {:>5} {:>10} {:>10} {:>10} {:>10}{}\n", "", "n", "open",
                     "median", "mean", "90 %", "longest", beside ? "  published" : "");
  const auto cell = [](const json& row, const char* key) {
    return member(row, key).is_number() ? seconds_of(number(row, key)) : std::string("-");
  };
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    out += fmt::format("  {:<26} {:>5} {:>5} {:>10} {:>10} {:>10} {:>10}{}\n",
                       text(rows[i], "name").empty() ? "all" : text(rows[i], "name"),
                       count(rows[i], "count"), count(rows[i], "open"), cell(rows[i], "median_s"),
                       cell(rows[i], "mean_s"), cell(rows[i], "p90_s"), cell(rows[i], "longest_s"),
                       beside ? fmt::format(" {:>10}", cell(rows[i], "published_mean_s")) : "");
  return out + rest(rows.size());
}

std::string classes(const json& d) {
  const json& rows = list(d, "event_classes");
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    out +=
        fmt::format("  {:<20} {:<26} {:>5}  {}\n", text(rows[i], "level"), text(rows[i], "class"),
                    count(rows[i], "count"), with_interval(member(rows[i], "rate"), false));
  return out.empty()
             ? ""
             : heading("EVENTS OF OTHER SYSTEMS", "as they name them; a day and 1,000 machines") +
                   out + rest(rows.size());
}

std::string down(const json& d) {
  const json& v = member(d, "down");
  std::string out = heading("MACHINES DOWN");
  out += fmt::format("  failing on a day: mean {}, 99 % of days at most {}, at most {}\n",
                     short_number(number(v, "new_a_day")), count(v, "p99_new_a_day"),
                     count(v, "most_new_a_day"));
  if (number(v, "mean") > 0)
    out += fmt::format(
        "  down at the same time: mean {}, half of the time at most {}, 99 % of it at most {}, at "
        "most {}\n",
        short_number(number(v, "mean")), count(v, "median"), count(v, "p99"), count(v, "most"));
  return out;
}

std::string time_budget(const json& d) {
  const json& t = member(d, "time");
  const json& rows = list(t, "parts");
  if (rows.empty()) return "";
  double all = 0;
  for (const json& row : rows) all += number(row, "hours");
  std::string out = heading("WHERE THE TIME OF THE JOBS WENT");
  for (const json& row : rows)
    out += fmt::format("  {:<26} {:>10}  {}\n", text(row, "part"),
                       seconds_of(number(row, "hours") * 3600),
                       percent(all > 0 ? number(row, "hours") / all : 0));
  return out + fmt::format("  unproductive: {} GPU hours\n",
                           short_number(number(t, "unproductive_gpu_hours")));
}

std::string actions(const json& d) {
  std::string out;
  for (const json& row : list(d, "actions"))
    out +=
        fmt::format("{}{} {}", out.empty() ? "  " : ", ", text(row, "name"), count(row, "count"));
  return out.empty() ? "" : heading("ACTIONS", "of the verdicts, all incidents") + out + "\n";
}

std::string outcomes(const json& d) {
  const json& o = member(d, "outcomes");
  if (!o.is_object()) return "";
  std::string out = heading("OUTCOMES", "of verdicts, by their word and by the kind of cause") +
                    fmt::format("  {} of {} cards have one", count(o, "known"), count(o, "cards"));
  if (count(o, "reopened") > 0)
    out += fmt::format("; {} confirmed at first and reopened", count(o, "reopened"));
  out += "\n";
  for (const json& row : list(o, "verdicts"))
    out += fmt::format("  {:<9} {:<22} {:>5} of {:<5} confirmed  {}\n", text(row, "table"),
                       text(row, "name"), count(row, "confirmed"), count(row, "count"),
                       with_interval(member(row, "share"), true));
  return out;
}

std::string render(const json& d) {
  const json& w = member(d, "watched");
  std::string out = fmt::format("FLEET   {}", counted(count(w, "machines"), "machine"));
  if (count(w, "gpus") > 0) out += fmt::format(", {} GPUs", count(w, "gpus"));
  if (number(w, "days") > 0)
    out += fmt::format(", {:.1f} days ({} to {})", number(w, "days"), text(w, "from").substr(0, 10),
                       text(w, "to").substr(0, 10));
  out += "\n";
  if (count(d, "incidents") > 0)
    out += fmt::format("  {}, {} of them failed jobs{}\n",
                       counted(count(d, "incidents"), "incident"), count(d, "failed"),
                       count(d, "undecided") > 0
                           ? fmt::format(", {} without an answer", count(d, "undecided"))
                           : "");
  if (count(d, "events") > 0)
    out += fmt::format("  {} of other systems, in {}\n", counted(count(d, "events"), "event"),
                       counted(count(d, "episodes"), "episode"));
  if (count(d, "incidents") + count(d, "events") == 0)
    return out + "  nothing is recorded in this time\n";
  out += rates(d) + offenders(d) + returning(d);
  if (!list(d, "symptoms").empty())
    out += heading("SYMPTOMS", "share; ByteRobust table 1") + shares(list(d, "symptoms"));
  out += heading("COMPONENTS", "share; FT-HSDP table 1") + shares(list(d, "components"));
  if (!list(d, "mechanisms").empty())
    out += heading("MECHANISMS", "share; ByteRobust table 4: dense, MoE") +
           shares(list(d, "mechanisms"));
  out += actions(d) + outcomes(d);
  if (const json& early = member(d, "early"); count(early, "known") > 0)
    out += heading("FIRST TEN MINUTES") +
           fmt::format("  {} of {} jobs failed in them: {} (Aegis: {})\n", count(early, "count"),
                       count(early, "known"), with_interval(member(early, "share"), true),
                       percent(number(early, "published")));
  if (const json& own = member(d, "diagnosed"); count(own, "known") > 0)
    out +=
        heading("DIAGNOSED AT RUN TIME", "Aegis section 7.1: almost all") +
        fmt::format("  {} of {} failed jobs without a test of machines: {}\n", count(own, "count"),
                    count(own, "known"), with_interval(member(own, "share"), true));
  out += parts(d) + groups(d) + bursts(d) + classes(d);
  out += durations(list(d, "repair_times"), "REPAIR TIMES",
                   "from the beginning to the end of an episode");
  out += durations(list(d, "resolution"), "FROM THE FIRST FAILURE TO THE END OF THE JOB",
                   "by symptom; published: ByteRobust table 6");
  out += down(d) + time_budget(d);
  for (const json& note : list(d, "notes"))
    out +=
        fmt::format("{}note: {}\n", &note == &list(d, "notes")[0] ? "\n" : "", visible_text(note));
  return out;
}

std::string as_json(const json& d) {
  return d.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string short_number(double value) {
  if (value == 0 || !std::isfinite(value)) return "0";
  const double size = std::abs(value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 0.01) return fmt::format("{:.{}f}", value, size >= 1 ? 2 : 3);
  return fmt::format("{:.1e}", value);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string seconds_of(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string days_of(const json& mtbf) {
  const json& interval = list(mtbf, "interval");
  if (interval.size() != 2 || !interval[0].is_number()) return "";
  const std::string low = short_number(interval[0].get<double>());
  if (!member(mtbf, "days").is_number()) return fmt::format("more than {} days", low);
  return fmt::format("{} days [{}, {}]", short_number(number(mtbf, "days")), low,
                     interval[1].is_number() ? short_number(interval[1].get<double>()) : "...");
}

std::string with_interval(const json& rate, bool percents) {
  const json& interval = list(rate, "interval");
  if (!member(rate, "value").is_number() || interval.size() != 2) return "";
  const auto one = [&](const json& v) {
    return percents ? fmt::format("{:.1f}", v.get<double>() * 100) : short_number(v.get<double>());
  };
  return fmt::format("{}{} [{}, {}]", one(member(rate, "value")), percents ? " %" : "",
                     one(interval[0]), one(interval[1]));
}

extern const FleetFormat kFleetText, kFleetJson, kFleetCsv, kFleetHtml, kFleetMetrics;
constinit const FleetFormat kFleetText{"text", "fleet.txt", render};
constinit const FleetFormat kFleetJson{"json", "fleet.json", as_json};

namespace {
constexpr const FleetFormat* kFleetFormats[] = {&kFleetText, &kFleetJson, &kFleetCsv, &kFleetHtml,
                                                &kFleetMetrics};
}

std::span<const FleetFormat* const> fleet_formats() { return kFleetFormats; }

const FleetFormat* find_fleet_format(std::string_view name) {
  const auto it =
      std::ranges::find_if(kFleetFormats, [&](const FleetFormat* f) { return f->name == name; });
  return it == std::end(kFleetFormats) ? nullptr : *it;
}

}  // namespace culprit::report
