#include "collectives_groups.hpp"

#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/metrics/group_compare.hpp"
#include "diagnose/pace.hpp"
#include "ingest/table/bare_table.hpp"
#include "model/enum_name.hpp"
#include "model/json.hpp"
#include "model/median.hpp"
#include "report/phrases.hpp"
#include "report/terminal.hpp"
#include "table_file.hpp"

namespace culprit::cli {

namespace {

using analyze::GroupCluster;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostClusters = 12;  // printed; JSON has all

struct GroupTable {
  std::vector<analyze::GroupTime> times;
  std::size_t left_out = 0;  // rows without a group or a time
};

const ingest::TableColumn* time_of(const ingest::BareTable& table) {
  const auto* found =
      table.named({"time", "timems", "timeus", "times", "timens", "duration", "durationms",
                   "durationus", "durations", "tookms", "tookus", "took", "elapsed", "elapsedms",
                   "latencyus", "latencyms", "latency", "exectimeus", "exectimems"});
  return found != nullptr ? found : table.first(ingest::TableColumn::Use::time);
}

Result<GroupTable> group_times(const ingest::BareTable& table, const std::string& path) {
  const auto* group = table.named(
      {"group", "communicator", "comm", "commid", "commhash", "processgroup", "pg", "pgname"});
  const auto* time = time_of(table);
  if (group == nullptr || time == nullptr)
    return fail(group == nullptr ? "it has no column of groups" : "it has no column of times")
        .at({path, 1})
        .hint("a row is one run of a collective: group, operation, bytes, time");
  const auto* operation = table.named({"operation", "op", "collective", "coll", "kind"});
  const auto* bytes = table.named({"bytes", "size", "sizebytes", "volume", "elements", "count"});
  const auto* sequence = table.named({"sequence", "seq", "opcount", "run", "iteration", "step"});
  const auto* past = table.named({"past", "pasttime", "before", "baseline"});
  GroupTable out;
  // An operation lasts as long as for the rank that waits least: the others wait for it.
  using Kind = std::tuple<std::string, std::string, double>;  // group, operation, bytes
  std::map<Kind, std::map<double, double>> runs;
  std::map<Kind, double> before;
  for (std::size_t r = 0; r < table.rows; ++r) {
    const double took = time->values[r];
    if (group->cells[r].empty() || !(took > 0) || !std::isfinite(took)) {
      ++out.left_out;
      continue;
    }
    const double volume = bytes != nullptr && bytes->values[r] > 0 ? bytes->values[r] : 1;
    const Kind kind{std::string(group->cells[r]),
                    operation == nullptr ? "" : std::string(operation->cells[r]), volume};
    const bool numbered = sequence != nullptr && std::isfinite(sequence->values[r]);
    const auto [run, fresh] =
        runs[kind].try_emplace(numbered ? sequence->values[r] : -1 - static_cast<double>(r), took);
    if (!fresh) run->second = std::min(run->second, took);
    if (past != nullptr && past->values[r] > 0) before[kind] = past->values[r];
  }
  for (const auto& [kind, of] : runs) {
    std::vector<double> times;
    for (const auto& [number, took] : of) times.push_back(took);
    analyze::GroupTime g;
    std::tie(g.name, g.kind, g.volume) = kind;
    g.time = median_of(std::move(times));
    if (const auto known = before.find(kind); known != before.end()) g.past = known->second;
    out.times.push_back(std::move(g));
  }
  if (out.times.empty())
    return fail("no row has a group and a time").at({path, 1}).hint("times are positive numbers");
  return out;
}

const char* words(GroupCluster::Against against) {
  switch (against) {
    case GroupCluster::Against::median: return "the median of its like";
    case GroupCluster::Against::faster: return "the other one";
    case GroupCluster::Against::past: return "its own past";
    case GroupCluster::Against::nothing: break;
  }
  return "nothing";
}

std::string kind_words(const std::string& kind, double volume) {
  if (volume == 1) return kind.empty() ? "operations" : report::visible(kind);
  return fmt::format("{} of {:.12g}", kind.empty() ? "operations" : report::visible(kind), volume);
}

std::string text_of(const analyze::GroupComparison& c) {
  std::size_t judged = 0, groups = 0;
  for (const GroupCluster& cluster : c.clusters) {
    groups += cluster.groups.size();
    judged += cluster.against == GroupCluster::Against::nothing ? 0 : cluster.groups.size();
  }
  std::string out =
      judged == 0 ? fmt::format("not enough evidence: none of {} groups has its like\n", groups)
                  : fmt::format("{} of {} groups slow, by more than {:.0f} %\n", c.slow.size(),
                                judged, 100 * (analyze::GroupCompareParams{}.factor - 1));
  for (const analyze::SlowGroup& s : c.slow)
    out += fmt::format("  {}: {:.2f} times {} ({:.4g} against {:.4g}{})\n", report::visible(s.name),
                       s.factor, words(s.against), s.time, s.reference,
                       s.kind.empty() ? "" : ", " + report::visible(s.kind));
  std::size_t shown = 0;
  out += "\nGroups that move as much\n";
  for (const GroupCluster& cluster : c.clusters) {
    if (shown++ == kMostClusters) {
      out += fmt::format("  {} more; --json has all\n", c.clusters.size() - kMostClusters);
      break;
    }
    std::string line = fmt::format("{}: {} group{}", kind_words(cluster.kind, cluster.volume),
                                   cluster.groups.size(), cluster.groups.size() == 1 ? "" : "s");
    if (cluster.reference > 0)
      line += fmt::format(
          ", held against {} {:.4g}",
          cluster.against == GroupCluster::Against::faster ? "the faster" : "their median",
          cluster.reference);
    if (const std::string why = report::words(cluster.why); !why.empty()) line += ": " + why;
    out += report::paragraph("  ", line, 78, 4);
  }
  return out;
}

std::string json_of(const analyze::GroupComparison& c) {
  Json out{{"schema", "culprit.collective-groups/1"},
           {"slow", Json::array()},
           {"clusters", Json::array()},
           {"unusable", c.unusable}};
  for (const analyze::SlowGroup& s : c.slow)
    out["slow"].push_back({{"group", s.name},
                           {"kind", s.kind},
                           {"time", s.time},
                           {"reference", s.reference},
                           {"factor", s.factor},
                           {"against", enum_name(s.against)}});
  for (const GroupCluster& cluster : c.clusters)
    out["clusters"].push_back({{"kind", cluster.kind},
                               {"volume", cluster.volume},
                               {"groups", cluster.groups},
                               {"against", enum_name(cluster.against)},
                               {"reference", cluster.reference},
                               {"why", report::words(cluster.why)}});
  return json_text(out) + "\n";
}

}  // namespace

Result<Exit> compare_group_table(const Arguments& arguments) {
  if (arguments.positional().size() != 1)
    return usage_error(fmt::format("collectives --groups takes one table, not {}",
                                   arguments.positional().size()))
        .hint("culprit collectives --groups times.csv; `-` reads standard input");
  const std::string& path = arguments.positional()[0];
  CULPRIT_TRY(table, read_table_file(arguments, path));
  CULPRIT_TRY(read, group_times(table, path));
  if (read.left_out > 0)
    remark(arguments, fmt::format("{}: {} rows without a group or a positive time left out", path,
                                  read.left_out));
  const auto compared = analyze::compare_groups(read.times);
  print(wants_json(arguments) ? identified(json_of(compared)) : text_of(compared));
  return table.rejected + read.left_out > 0 && arguments.has("strict") ? Exit::incomplete
                                                                       : Exit::finished;
}

Result<Exit> compare_groups_of(const Arguments& arguments, const Incident& incident) {
  const auto times = diagnose::group_times_of(incident.db, incident.resolved.facts);
  if (times.empty() && !wants_json(arguments)) {
    remark(arguments,
           "no process groups with durations have their like in it: the flight recorder and NCCL's "
           "Inspector tell durations");
    return Exit::finished;
  }
  const auto compared = analyze::compare_groups(times);
  print(wants_json(arguments) ? identified(json_of(compared), incident) : text_of(compared));
  return incident.incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

}  // namespace culprit::cli
