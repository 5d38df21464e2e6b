#include "analyze/hang/collectives.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyze/facts/topology.hpp"
#include "command.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "collectives_groups.hpp"
#include "pack.hpp"
#include "diagnose/calls.hpp"
#include "incident.hpp"
#include "terminal.hpp"
#include "report/terminal.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using analyze::CollectiveReport;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostGroups = 40;  // printed; JSON has all

class CollectivesPrinter : report::Ink {
 public:
  CollectivesPrinter(const Arguments& arguments, const analyze::Facts& facts,
                     const analyze::Topology& topology, const CollectiveReport& report,
                     const std::vector<Finding>& findings)
      : Ink{use_color(arguments)},
        facts_(facts),
        topology_(topology),
        report_(report),
        findings_(findings),
        all_(arguments.has("all")),
        width_(std::max<std::size_t>(40, terminal_width())) {}

  std::string text() const {
    std::string out;
    for (const Finding& f : findings_) {
      if (f.event_class == "slow_rank" || f.event_class == "slow_requests") continue;
      out += f.fired() ? bold(fmt::format("{} {}: {} (weight {:.2f})", name(f.subject.kind),
                                          report::visible(f.subject.id), report::words(f.title),
                                          f.confidence)) +
                             "\n"
                       : bold(fmt::format("No verdict: {}", report::words(f.title))) + "\n";
      out += report::paragraph("  ", report::visible(report::words(f.why)), width_, 2, 2);
    }
    if (!report_.chain.empty()) {
      out += "\n" + bold("Wait-for graph") + "\n";
      for (const analyze::Wait& w : report_.chain)
        out += report::paragraph(
            "  ",
            fmt::format(
                "{} is in {} {} of {}, which {} {}", report::visible(topology_.where(w.from)),
                w.operation.empty() ? "operation" : report::visible(w.operation), w.sequence,
                report::visible(group(w.group)), report::visible(topology_.where(w.to)), w.because),
            width_ - 4, 4);
    }
    out += frontiers();
    out += ranks_of("slow_rank", "Ranks that join last");
    out += ranks_of("slow_requests", "Ranks whose work requests take longer");
    out += "\n" +
           dim(report::wrapped(
               fmt::format(
                   "from {}: {} ranks seen{}{}; {} unfinished operations{}", source(),
                   report_.seen.size(),
                   report_.unseen.empty() ? ""
                                          : fmt::format(", {} not ({})", report_.unseen.size(),
                                                        listed(report_.unseen)),
                   report_.cut.empty() ? "" : fmt::format(", dumps cut of {}", listed(report_.cut)),
                   report_.pending,
                   report_.timed_out == 0 ? "" : fmt::format(", {} timed out", report_.timed_out)),
               width_ - 2, 2)) +
           "\n";
    for (const std::string& note : report::words(report_.notes))
      out += dim("note: " + report::wrapped(report::visible(note), width_, 6, 6)) + "\n";
    return out;
  }

  // Findings of one class, a rank each.
  std::string ranks_of(std::string_view event_class, const char* heading) const {
    std::string out;
    for (const Finding& f : findings_) {
      if (f.event_class != event_class) continue;
      if (out.empty()) out = "\n" + bold(heading) + "\n";
      out += report::paragraph(
          "  ", fmt::format("rank {}: {}", f.subject.id, report::visible(report::words(f.why))),
          width_, 4, 2);
    }
    return out;
  }

  // Groups with something unfinished: how far their members are apart.
  std::string frontiers() const {
    std::string out;
    if (!report_.groups.empty())
      out += "\n" + bold("Groups with something unfinished") +
             dim("   completed / enqueued, lowest..highest") + "\n";
    std::size_t shown = 0;
    for (const analyze::GroupFrontier& g : report_.groups) {
      if (!all_ && shown++ >= kMostGroups) {
        out += fmt::format("  {} more; --all shows them\n", report_.groups.size() - kMostGroups);
        break;
      }
      const std::string who = report::visible(group(g.group));
      const std::string where =
          fmt::format("{}..{} / {}..{}  at {} {}", number(g.completed_low),
                      number(g.completed_high), number(g.enqueued_low), number(g.enqueued_high),
                      g.operation.empty() ? "operation" : report::visible(g.operation), g.sequence);
      out += "  " + who + (report::columns(who) + 4 + where.size() > width_ ? "\n      " : "  ") +
             where + "\n";
      out += "      inside " + listed(g.pending);
      std::size_t used = 13 + listed(g.pending).size();
      for (const auto& [what, ranks] :
           {std::pair{"never came ", &g.missing}, std::pair{"behind ", &g.behind}}) {
        if (ranks->empty()) continue;
        const std::string text = listed(*ranks);
        const bool room = used + 13 + text.size() <= width_;
        out += (room ? ", " : ",\n      ") + std::string(what) + paint("31", text);
        used = (room ? used + 2 : 6) + 11 + text.size();
      }
      out += "\n";
    }
    return out;
  }

  // Who misses what: a row for each rank of a group with something unfinished.
  std::string table() const {
    std::map<GroupId, std::map<Rank, Reached>> reached;
    for (const FrontierRow& row : facts_.frontiers) {
      if (row.p2p || !row.rank) continue;
      Reached& at = reached[row.group][*row.rank];
      at.completed = std::max(at.completed, row.completed);
      at.enqueued = std::max(at.enqueued, row.enqueued);
    }
    std::map<Rank, std::string> hosts;
    for (const RankRow& row : facts_.ranks)
      if (row.host) hosts[row.rank] = report::visible(*row.host);
    std::string out =
        fmt::format("{:<28} {:>6} {:<20} {:>9} {:>9} {:<8} {:>9} {}\n", "group", "rank", "host",
                    "completed", "enqueued", "state", "sequence", "operation");
    for (const analyze::GroupFrontier& g : report_.groups) {
      auto& ranks = reached[g.group];
      for (const auto& [state, which] :
           {std::pair{"behind", &g.behind}, {"inside", &g.pending}, {"missing", &g.missing}})
        for (const Rank rank : *which) ranks[rank].state = state;
      for (const auto& [rank, at] : ranks)
        out += fmt::format("{:<28} {:>6} {:<20} {:>9} {:>9} {:<8} {:>9} {}\n",
                           report::visible(analyze::group_name(facts_, g.group)), rank,
                           hosts.count(rank) > 0 ? hosts[rank] : "-", number(at.completed),
                           number(at.enqueued), at.state, g.sequence,
                           g.operation.empty() ? "-" : report::visible(g.operation));
    }
    return out;
  }

  std::string json() const {
    Json out;
    out["schema"] = "culprit.collectives/1";
    out["source"] = name(report_.source);
    out["moving"] = report_.moving;
    out["seen"] = to_ranges(report_.seen);
    out["unseen"] = to_ranges(report_.unseen);
    out["cut"] = to_ranges(report_.cut);
    out["pending"] = report_.pending;
    out["timed_out"] = report_.timed_out;
    out["leaves"] = Json::array();
    for (const analyze::Leaf& l : report_.leaves)
      out["leaves"].push_back({{"kind", name(l.kind)},
                               {"ranks", l.ranks},
                               {"against", l.against},
                               {"group", group(l.group)},
                               {"sequence", l.sequence},
                               {"operation", l.operation},
                               {"waiting", l.waiting},
                               {"tie", l.tie},
                               {"confidence", l.confidence},
                               {"why", report::words(l.why)}});
    out["chain"] = Json::array();
    for (const analyze::Wait& w : report_.chain)
      out["chain"].push_back({{"from", w.from},
                              {"to", w.to},
                              {"group", group(w.group)},
                              {"sequence", w.sequence},
                              {"operation", w.operation},
                              {"because", w.because}});
    out["groups"] = Json::array();
    for (const analyze::GroupFrontier& g : report_.groups)
      out["groups"].push_back({{"group", group(g.group)},
                               {"completed", {g.completed_low, g.completed_high}},
                               {"enqueued", {g.enqueued_low, g.enqueued_high}},
                               {"sequence", g.sequence},
                               {"operation", g.operation},
                               {"inside", to_ranges(g.pending)},
                               {"missing", to_ranges(g.missing)},
                               {"behind", to_ranges(g.behind)}});
    out["findings"] = Json::array();
    for (const Finding& f : findings_)
      out["findings"].push_back({{"id", f.id},
                                 {"outcome", name(f.outcome)},
                                 {"subject", {{"kind", f.subject.kind}, {"id", f.subject.id}}},
                                 {"title", report::words(f.title)},
                                 {"confidence", f.confidence},
                                 {"why", report::words(f.why)}});
    out["notes"] = report::words(report_.notes);
    return json_text(out) + "\n";
  }

 private:
  struct Reached {
    std::int64_t completed = kUnknownSequence, enqueued = kUnknownSequence;
    const char* state = "";
  };
  static std::string number(std::int64_t sequence) {
    return sequence < 0 ? "-" : std::to_string(sequence);
  }
  std::string source() const {
    switch (report_.source) {
      case CollectiveSource::recorder: return "flight recorders";
      case CollectiveSource::watchdog: return "watchdog lines";
      case CollectiveSource::ras: return "NCCL RAS";
      case CollectiveSource::work_requests: return "counters of work requests";
      default: return "NCCL call lines";
    }
  }
  static std::string listed(const std::vector<Rank>& ranks) {
    const std::string text = to_ranges(ranks);
    if (text.empty()) return "nobody";
    return text.size() > 60
               ? text.substr(0, text.rfind(',', 60)) + fmt::format(",... ({} ranks)", ranks.size())
               : text;
  }
  std::string group(GroupId id) const {
    const GroupRow* known = facts_.group(id);
    if (known == nullptr) return "?";
    const GroupRow& g = *known;
    std::string out = analyze::group_name(facts_, id);
    if (!g.ranks.empty()) out += " [" + listed(g.ranks) + "]";
    return out;
  }

  const analyze::Facts& facts_;
  const analyze::Topology& topology_;
  const CollectiveReport& report_;
  const std::vector<Finding>& findings_;
  bool all_;
  std::size_t width_;
};

Result<Exit> run_collectives(const Arguments& arguments) {
  if (arguments.positional().empty() && !arguments.has("db"))
    return usage_error("collectives needs a database or a bundle")
        .hint("culprit collectives -d incident.db");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  if (arguments.has("groups") && !names_incident(arguments)) return compare_group_table(arguments);
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_incident(arguments, pack));
  if (arguments.has("groups")) return compare_groups_of(arguments, incident);
  auto& [db, resolved, incomplete] = incident;
  const auto& [facts, topology] = resolved;
  const auto report =
      diagnose::collectives_of(facts, topology, analyze::collect_signals(facts, pack));
  auto findings =
      analyze::collective_findings(report, diagnose::slow_ranks_of(db, facts), facts, topology);
  CULPRIT_CHECK(db.save_findings(Analysis::collectives, findings, report::words));
  const CollectivesPrinter printer(arguments, facts, topology, report, findings);
  if (wants_json(arguments))
    print(identified(printer.json(), incident));
  else if (report.source == CollectiveSource::none && findings.empty())
    remark(arguments,
           "there are no counters of collectives in it: no flight recorder, no counters of work "
           "requests, no watchdog line, no NCCL call log, no RAS");
  else
    print(arguments.has("table") ? printer.table() : printer.text());
  return incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

constexpr auto kCollectivesOptions = with_read_options({
    {"db,d", "FILE", "the database that `ingest` made; with a BUNDLE, where to keep it"},
    {"all", nullptr, "every group with something unfinished"},
    {"table", nullptr, "who misses what: a row for each rank of a group with something unfinished"},
    {"groups", nullptr,
     "which process group is slower than its like; of a table too: group, operation, bytes, time"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
    {"strict", nullptr, "exit with 4 when something of the bundle could not be read"},
});

}  // namespace

constinit const Command kCollectives{
    "collectives",
    "wait-for graph of collectives: counters, mismatches, ranks that join last",
    "collectives [BUNDLE...] -d FILE [options]",
    "  culprit collectives -d incident.db\n"
    "  culprit collectives dumps/\n"
    "  culprit collectives counters.csv\n"
    "  culprit collectives --groups times.csv\n\n"
    "  From flight recorders, counters of work requests, watchdog lines, NCCL call logs or RAS: "
    "how far every rank has come "
    "in every\n"
    "  process group, which rank the others wait for in the end, and how it stopped.\n",
    kCollectivesOptions,
    run_collectives};

}  // namespace culprit::cli
