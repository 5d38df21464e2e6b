#include "analyze/faults/drift.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "command.hpp"
#include "model/enum_name.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "incident.hpp"
#include "terminal.hpp"
#include "report/terminal.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using analyze::DriftItem;
using analyze::DriftReport;
using analyze::DriftState;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostHostsShown = 8;  // named in a line; JSON has all

std::string label(const DriftItem& item) {
  return item.rule->label.empty() ? item.name : item.rule->label;
}

std::string listed(const std::vector<Host>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMostHostsShown; ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + report::visible(names[i]);
  if (names.size() > kMostHostsShown)
    out += fmt::format(" and {} more", names.size() - kMostHostsShown);
  return out;
}

std::string answer(const DriftReport& report) {
  if (report.items.empty())
    return "Nothing to compare: the bundle holds no version and no setting that can be tied to a "
           "host.";
  const auto compared = std::ranges::count_if(
      report.items, [](const DriftItem& i) { return i.state != DriftState::one_host; });
  if (compared == 0)
    return fmt::format(
        "Nothing to compare: no setting is known of more than one host ({} settings, of {}).",
        report.items.size(), listed(report.hosts));
  const DriftItem& first = report.items.front();
  if (first.state == DriftState::same || first.state == DriftState::one_host)
    return fmt::format("No drift: {} settings of {} hosts were compared, and none differs.",
                       compared, report.hosts.size());
  std::string out;
  const auto minority = report.minority();
  if (minority.empty())
    out = fmt::format("The {} hosts differ, and no majority says which are right: ",
                      report.hosts.size());
  else
    out = fmt::format("{} of {} hosts differ{}: ", minority.size(), report.hosts.size(),
                      minority.size() == 1 ? "s" : "");
  // The most severe that has a majority; the table has the rest.
  const auto best = std::ranges::find_if(
      report.items, [](const DriftItem& i) { return i.state == DriftState::differs; });
  const DriftItem& told = best == report.items.end() ? first : *best;
  const std::size_t from = told.state == DriftState::differs ? 1 : 0;
  for (std::size_t i = from; i < told.values.size() && i < from + 3; ++i)
    out += fmt::format("{}{} {} on {}", i == from ? "" : ", ", label(told),
                       report::visible(told.values[i].value), listed(told.values[i].hosts));
  if (from == 1) out += fmt::format("; the others have {}", report::visible(told.values[0].value));
  const auto more = std::ranges::count_if(report.items,
                                          [](const DriftItem& i) {
                                            return i.state == DriftState::differs ||
                                                   i.state == DriftState::no_majority;
                                          }) -
                    1;
  return out +
         (more > 0 ? fmt::format(" (and {} more setting{})", more, more == 1 ? "" : "s") : "") +
         ".";
}

std::string text(const Arguments& arguments, const analyze::Facts& facts,
                 const DriftReport& report) {
  const report::Ink ink{use_color(arguments)};
  const std::size_t width = std::max<std::size_t>(40, terminal_width());
  std::string out = ink.bold(report::wrapped(answer(report), width - 2, 0)) + "\n";
  const bool all = arguments.has("all");
  for (const DriftItem& item : report.items) {
    const bool differs = item.state == DriftState::differs || item.state == DriftState::no_majority;
    if (!differs && !all) continue;
    out += "\n" + ink.bold(report::visible(item.name)) +
           fmt::format("  {}{}\n",
                       differs ? std::string(name(item.rule->severity)) + ", explains " +
                                     item.rule->explains
                       : item.state == DriftState::same ? "the same"
                                                        : "one host only",
                       item.state == DriftState::no_majority ? ", no majority" : "");
    for (std::size_t i = 0; i < item.values.size(); ++i) {
      const analyze::DriftValue& v = item.values[i];
      out += fmt::format("  {:>5} {:<5} {}\n", v.hosts.size(),
                         v.hosts.size() == 1 ? "host" : "hosts", report::visible(v.value));
      if (!differs || (i == 0 && item.state == DriftState::differs && !all)) continue;
      out += report::paragraph("              ", listed(v.hosts), width - 16, 14);
      for (std::size_t d = 0; d < v.devices.size() && d < kMostHostsShown; ++d)
        out += "              " + report::visible(v.devices[d]) + "\n";
      if (const MemberRow* m = facts.member(v.places.front().place.member); m != nullptr)
        out += fmt::format("              {}:{}\n", report::visible(m->path),
                           v.places.front().place.line);
    }
    if (differs && !item.missing.empty())
      out += report::paragraph("  not reported by ", listed(item.missing), width - 16, 14);
  }
  return out;
}

Json json_of(const analyze::Facts& facts, const DriftReport& report) {
  Json out;
  out["schema"] = "culprit.drift/1";
  out["answer"] = answer(report);
  out["hosts"] = report.hosts;
  out["differing_hosts"] = report.minority();
  out["settings"] = Json::array();
  for (const DriftItem& item : report.items) {
    Json values = Json::array();
    for (const analyze::DriftValue& v : item.values) {
      Json places = Json::array();
      for (const analyze::DriftPlace& p : v.places)
        if (const MemberRow* m = facts.member(p.place.member); m != nullptr && places.size() < 3)
          places.push_back({{"path", m->path}, {"line", p.place.line}, {"value", p.value}});
      values.push_back(
          {{"value", v.value}, {"hosts", v.hosts}, {"devices", v.devices}, {"places", places}});
    }
    out["settings"].push_back({{"name", item.name},
                               {"state", enum_name(item.state)},
                               {"severity", name(item.rule->severity)},
                               {"entity", item.rule->entity},
                               {"explains", item.rule->explains},
                               {"values", values},
                               {"missing", item.missing}});
  }
  return out;
}

Result<Exit> run_drift(const Arguments& arguments) {
  const bool bundle = !arguments.positional().empty();
  if (!bundle && !arguments.has("db"))
    return usage_error("drift needs a database or a bundle").hint("culprit drift -d incident.db");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_incident(arguments, pack));
  auto& [db, resolved, incomplete] = incident;
  const analyze::Facts& facts = resolved.facts;
  const DriftReport report = analyze::compare_settings(facts, rules::DriftRules::built_in());
  auto findings = analyze::drift_findings(report, facts);
  CULPRIT_CHECK(db.save_findings(Analysis::drift, findings, report::words));
  if (wants_json(arguments))
    print(identified(json_text(json_of(facts, report)) + "\n", incident));
  else
    print(text(arguments, facts, report));
  return incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

constexpr auto kDriftOptions = with_read_options({
    {"db,d", "FILE", "the database that `ingest` made; with a BUNDLE, where to keep it"},
    {"all", nullptr, "settings that are the same, too"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
    {"strict", nullptr, "exit with 4 when something of the bundle could not be read"},
});

}  // namespace

constinit const Command kDrift{"drift",
                               "versions and settings that differ between hosts",
                               "drift [BUNDLE...] -d FILE [options]",
                               "  culprit drift -d incident.db\n"
                               "  culprit drift hosts/ --all\n\n"
                               "  Drivers, libraries, firmware, kernel settings and variables of "
                               "each host, compared with the majority\n"
                               "  of the hosts. A difference is not a fault by itself.\n",
                               kDriftOptions,
                               run_drift};

}  // namespace culprit::cli
