#include "batch/summary.hpp"

#include <map>
#include <set>

#include <fmt/format.h>

#include "fleet/failures.hpp"
#include "model/csv.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "model/terms.hpp"

namespace culprit::batch {

namespace {

using nlohmann::ordered_json;

// The actions as they stand in the summary: what needs hands first.
constexpr Action kActions[] = {
    Action::isolate,  Action::offline,  Action::repair,      Action::replay,    Action::checks,
    Action::rollback, Action::mitigate, Action::investigate, Action::reattempt, Action::none};

ordered_json time_or_null(const std::optional<Nanoseconds>& t) {
  return t ? ordered_json(iso_utc(*t)) : ordered_json(nullptr);
}

ordered_json row_of(const Entry& e, const std::map<std::string, std::string>& first) {
  ordered_json row{{"name", e.name}, {"source", e.source}, {"status", e.status}};
  if (e.incident) {
    const FleetIncident& i = *e.incident;
    ordered_json targets = ordered_json::array();
    for (const FleetTarget& t : i.targets)
      targets.push_back({{"kind", t.kind}, {"id", t.id}, {"confidence", t.confidence}});
    row["action"] = i.action;
    row["symptom"] = i.symptom;
    row["targets"] = std::move(targets);
    row["precision"] = i.precision;
    row["confidence"] = i.confidence;
    row["restart"] = i.restart;
    row["class"] = i.event_class;
    row["component"] = fleet::component_of(i);
    row["job"] = i.job;
    row["job_id"] = i.job_id;
    row["start"] = time_or_null(i.start);
    row["end"] = time_or_null(i.end);
    row["hosts"] = i.hosts.size();
    row["gpus"] = i.gpus;
    row["complete"] = i.complete;
    row["problems"] = e.problems;
    row["gate"] = e.gate;
    if (!e.reason.empty()) {
      row["reason"] = e.reason;
      row["where"] = e.where;
    }
    row["summary"] = i.summary;
    row["report"] = i.report;
    row["digest"] = i.id;
    if (const auto it = first.find(i.id); it->second != e.name)
      row["same_contents_as"] = it->second;
  } else {
    row["gate"] = e.gate;
    row["reason"] = e.reason;
    row["where"] = e.where;
    row["help"] = e.help;
  }
  return row;
}

}  // namespace

std::string summary_document(const std::vector<Entry>& entries,
                             const std::vector<std::string>& left_out) {
  std::map<std::string, std::string> first;  // digest -> name of the first with it
  std::map<std::string, std::int64_t> actions, statuses;
  std::map<std::string, std::set<std::string>> named;  // host -> bundles whose verdict acts on it
  for (const Entry& e : entries) {
    ++statuses[e.status];
    if (!e.incident) continue;
    const bool copy = !first.emplace(e.incident->id, e.name).second;
    ++actions[e.incident->action];
    if (copy) continue;
    for (const FleetTarget& t : e.incident->targets)
      if (t.blamed && !t.host.empty()) named[t.host].insert(e.name);
  }
  ordered_json out{{"schema", "culprit.batch/1"},
                   {"bundles", entries.size()},
                   {"diagnosed", statuses["done"]},
                   {"not_diagnosed", entries.size() - static_cast<std::size_t>(statuses["done"])}};
  ordered_json by_action = ordered_json::object();
  for (const Action action : kActions)
    if (const auto it = actions.find(std::string(name(action))); it != actions.end())
      by_action[it->first] = it->second;
  for (const auto& [action, count] : actions) by_action[action] = count;
  out["actions"] = std::move(by_action);
  std::vector<std::pair<std::string, std::vector<std::string>>> hosts;
  for (const auto& [host, names] : named)
    if (names.size() > 1) hosts.emplace_back(host, std::vector(names.begin(), names.end()));
  sort_rows(hosts, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  ordered_json repeated = ordered_json::array();
  for (const auto& [host, names] : hosts)
    repeated.push_back({{"host", host}, {"count", names.size()}, {"bundles", names}});
  out["repeated_hosts"] = std::move(repeated);
  ordered_json rows = ordered_json::array();
  for (const Entry& e : entries) rows.push_back(row_of(e, first));
  out["entries"] = std::move(rows);
  out["left_out"] = left_out;
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string summary_csv(const std::string& document) {
  static constexpr const char* kColumns[] = {
      "name",     "status",    "action", "symptom", "targets", "precision", "confidence", "restart",
      "class",    "component", "job",    "job_id",  "start",   "end",       "hosts",      "gpus",
      "complete", "gate",      "reason", "summary", "report",  "source"};
  std::string out = fmt::format("{}\r\n", fmt::join(kColumns, ","));
  const auto d = parse_json(document);
  if (!d.is_object() || !d.contains("entries")) return out;
  for (const auto& row : d["entries"]) {
    std::vector<std::string> cells;
    for (const std::string column : kColumns) {
      const auto it = row.find(column);
      if (it == row.end() || it->is_null()) {
        cells.emplace_back();
      } else if (column == "targets") {
        std::string all;
        for (const auto& t : *it)
          all += fmt::format("{}{} {}", all.empty() ? "" : "; ", t["kind"].get<std::string>(),
                             t["id"].get<std::string>());
        cells.push_back(csv_cell(all));
      } else {
        cells.push_back(it->is_string() ? csv_cell(it->get<std::string>()) : it->dump());
      }
    }
    out += fmt::format("{}\r\n", fmt::join(cells, ","));
  }
  return out;
}

}  // namespace culprit::batch
