#include "analyze/hang/stacks.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/facts/topology.hpp"
#include "analyze/hang/standstill.hpp"
#include "command.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"
#include "pack.hpp"
#include "incident.hpp"
#include "terminal.hpp"
#include "report/terminal.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

using analyze::StackGroup;
using analyze::StackReport;
using analyze::StackTree;

constexpr std::size_t kMostLinesOfStacks = 400;  // of a tree; a terminal is no place for more

class StacksPrinter : report::Ink {
 public:
  StacksPrinter(const Arguments& arguments, const StackReport& report,
                const std::vector<Finding>& findings)
      : Ink{use_color(arguments)},
        report_(report),
        findings_(findings),
        lacks_(arguments.has("lacks")),
        width_(std::max<std::size_t>(40, terminal_width())),
        role_(arguments.get("role", "trainer")) {}

  bool shown(const std::string& role) const { return role_ == "all" || role == role_; }

  std::string text() const {
    std::string out = verdict();
    out += waits();
    out += groups();
    for (const auto& [role, tree] : report_.trees)
      if (shown(role)) out += "\n" + bold(role) + "\n" + draw(tree);
    std::string notes;
    for (const std::string& note : report::words(report_.notes))
      notes += "  " + report::visible(note) + "\n";
    if (!notes.empty()) out += "\n" + bold("Notes") + "\n" + notes;
    return out;
  }

  // The rule by itself (ByteRobust section 5): the machines of the smallest parallel groups that
  // cover the outliers, or those that most rounds flag.
  std::string over_evict() const {
    if (!report_.degrader.empty())
      return bold(fmt::format("over-evict {}", report::visible(report_.degrader))) +
             fmt::format("\n  it is flagged in {} of {} rounds\n", report_.degrader_flags,
                         report_.rounds.size());
    if (!report_.cover || report_.outliers.empty())
      return fmt::format("nobody to evict: no outlier among the stacks of {} trainers\n",
                         report_.trainers);
    const analyze::StackCover& cover = *report_.cover;
    std::string out =
        bold(cover.hosts.empty()
                 ? fmt::format("over-evict the machines of ranks {}", to_ranges(cover.ranks))
                 : fmt::format("over-evict {}", report::visible(fold_hostlist(cover.hosts)))) +
        "\n";
    out += report::paragraph(
        "  ",
        cover.shared ? fmt::format("outliers are ranks {}; the smallest parallel group{} "
                                   "that cover{} them: {}, ranks {}",
                                   to_ranges(report_.outliers), cover.groups.size() == 1 ? "" : "s",
                                   cover.groups.size() == 1 ? "s" : "",
                                   fmt::join(cover.groups, ", "), to_ranges(cover.ranks))
                     : fmt::format("outliers are ranks {}, and no parallel group covers more "
                                   "than one machine's: the machines alone",
                                   to_ranges(report_.outliers)),
        width_, 2, 2);
    if (!report_.hang && report_.motion != analyze::Motion::standing)
      out += report::paragraph("  ",
                               report_.motion == analyze::Motion::moving
                                   ? "but the job moved between the snapshots: evict nobody"
                                   : "the stacks alone do not show that the job stood still: take "
                                     "them again before anybody is evicted",
                               width_, 2, 2);
    return out;
  }

  std::string folded() const {
    std::string out;
    for (const auto& [role, tree] : report_.trees) {
      if (!shown(role)) continue;
      for (const StackTree::Leaf& leaf : tree.leaves()) {
        std::string line;
        for (const std::uint32_t frame : report_.normal.stacks[leaf.stack]) {
          std::string name = report::visible(report_.normal.names[frame]);
          std::ranges::replace(name, ';', ':');
          line += (line.empty() ? "" : ";") + name;
        }
        out += fmt::format("{} {}\n", line, leaf.processes);
      }
    }
    return out;
  }

 private:
  std::string cut(const std::string& text, std::size_t width) const {
    if (text.size() <= width) return text;
    if (width < 4) return "…";
    std::size_t at = width - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return text.substr(0, at) + "…";
  }

  // What fired, the surest first; else what could not be told.
  std::string verdict() const {
    std::vector<const Finding*> order;
    for (const Finding& f : findings_) order.push_back(&f);
    sort_by(order, [](const Finding* f) {
      return std::tuple(!f->fired(), f->role != Role::root, -f->confidence);
    });
    if (order.empty()) return "";
    const Finding& f = *order.front();
    std::string out;
    if (f.fired()) {
      out = paint("1;31", fmt::format("{} {}: {}", name(f.subject.kind),
                                      report::visible(f.subject.id), report::words(f.title))) +
            fmt::format(" (weight {:.2f})\n", f.confidence);
    } else {
      out = bold(f.outcome == Outcome::ruled_out ? "No hang: " + report::words(f.title)
                                                 : "No verdict: " + report::words(f.title)) +
            "\n";
    }
    out += report::paragraph("  ", report::visible(report::words(f.why)), width_, 2, 2);
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i]->fired())
        out += report::paragraph(
            "  ",
            fmt::format("{} {}: {}", name(order[i]->subject.kind),
                        report::visible(order[i]->subject.id), report::words(order[i]->title)),
            width_, 2, 2);
    if (report_.cover && report_.hang && !report_.outliers.empty())
      out += report::paragraph(
          "  ",
          fmt::format("ranks with another stack: {}{}{}", to_ranges(report_.outliers),
                      report_.cover->shared
                          ? fmt::format("; all of them in {}",
                                        report::visible(fmt::format(
                                            "{}", fmt::join(report_.cover->groups, ", "))))
                          : "",
                      report_.cover->hosts.empty()
                          ? ""
                          : " on " + report::visible(
                                         fmt::format("{}", fmt::join(report_.cover->hosts, ", ")))),
          width_, 2, 2);
    return out;
  }

  std::string waits() const {
    if (report_.waits.empty() || !shown("trainer")) return "";
    std::string out = "\n" + bold("Wait-for graph") + "\n";
    std::size_t lines = 0;
    for (const analyze::StackWait& w : report_.waits) {
      if (++lines > kMostLinesOfStacks / 4) {
        out += "  and more: --format json has them all\n";
        break;
      }
      out += report::paragraph(
          "  ",
          fmt::format("{} {} in {}{} for {}", w.from.size() == 1 ? "rank" : "ranks",
                      to_ranges(w.from) + (w.from.size() == 1 ? " waits" : " wait"), w.operation,
                      w.group.empty() ? "" : " of " + report::visible(w.group),
                      fmt::format("{} {}", w.to.size() == 1 ? "rank" : "ranks", to_ranges(w.to))),
          width_, 2, 2);
    }
    return out;
  }

  std::string groups() const {
    std::string out = "\n" + bold("Groups of equal stacks") + "\n";
    std::size_t lines = 0;
    for (const StackGroup& g : report_.groups) {
      if (!shown(g.role)) continue;
      if (++lines > kMostLinesOfStacks / 4) {
        out += "  and more: --format json has them all\n";
        break;
      }
      const std::string hosts = g.hosts.size() > 3
                                    ? fmt::format("{} hosts", g.hosts.size())
                                    : report::visible(fmt::format("{}", fmt::join(g.hosts, ",")));
      const std::string head = cut(fmt::format("{:>6}  {} {}  {}", g.processes,
                                               g.role == "trainer" ? "ranks" : g.role + " of ranks",
                                               g.ranks.empty() ? "?" : to_ranges(g.ranks), hosts),
                                   width_ / 2 + 10);
      out += fmt::format(
          "{}  {}{}\n", g.dominant ? head : paint("33", head),
          report::words(analyze::describe(g.stage)),
          g.dominant && g.role == "trainer" ? dim(" (" + report::words(g.why) + ")") : "");
      const auto& stack = report_.normal.stacks[g.stack];
      std::string inner;
      for (std::size_t i = 0; i < std::min<std::size_t>(3, stack.size()); ++i)
        inner += (i == 0 ? "" : " < ") + report_.normal.names[stack[stack.size() - 1 - i]];
      out += "        " + dim(cut(report::visible(inner), width_ - 8)) + "\n";
    }
    return out;
  }

  // Frames that all share stand under each other without a branch; only where ways part the tree is
  // indented.
  std::string draw(const StackTree& tree) const {
    std::string out;
    struct Work {
      std::uint32_t node;
      std::string before;
      bool last, branch;
    };
    const auto children = [&](std::uint32_t node) {
      std::vector<std::uint32_t> list;
      for (std::uint32_t child = node + 1; child < tree.nodes()[node].end;
           child = tree.nodes()[child].end)
        list.push_back(child);
      return list;
    };
    std::vector<Work> work;
    std::size_t lines = 0;
    const auto push = [&](std::uint32_t node, const std::string& indent) {
      const auto list = children(node);
      const bool branch = list.size() > 1 || (!list.empty() && node > 0 && tree.ends_here(node));
      for (auto child = list.rbegin(); child != list.rend(); ++child)
        work.push_back({*child, indent, child == list.rbegin(), branch});
    };
    push(0, "");
    std::string last_ranks;
    while (!work.empty()) {
      const Work at = work.back();
      work.pop_back();
      if (++lines > kMostLinesOfStacks) {
        out += "  and more: --format folded has them all\n";
        break;
      }
      const std::string lead = at.before + (at.branch ? at.last ? "└─ " : "├─ " : "");
      const std::size_t columns = 2 + report::columns(lead);
      const auto ranks = tree.ranks(at.node);
      std::string tail = ranks.empty() ? fmt::format("{} process{}", tree.processes(at.node),
                                                     tree.processes(at.node) == 1 ? "" : "es")
                                       : fmt::format("[{}]", to_ranges(ranks));
      if (lacks_)
        if (const auto lacking = tree.lacking(at.node); !lacking.empty())
          tail += fmt::format(" lacks [{}]", to_ranges(lacking));
      // A chain has the same ranks all along: told once.
      if (!at.branch && tail == last_ranks)
        tail.clear();
      else
        last_ranks = tail;
      const std::size_t room = width_ > columns + 20 ? width_ - columns : 20;
      const std::string name =
          cut(report::visible(report_.normal.names[tree.nodes()[at.node].frame]),
              tail.empty() ? room : room - std::min(room / 2, tail.size() + 2));
      out += "  " + lead + name +
             (tail.empty()
                  ? ""
                  : "  " + dim(cut(tail, room > name.size() + 2
                                             ? std::max<std::size_t>(8, room - name.size() - 2)
                                             : 8))) +
             "\n";
      push(at.node, at.branch ? at.before + (at.last ? "   " : "│  ") : at.before);
    }
    return out;
  }

  const StackReport& report_;
  const std::vector<Finding>& findings_;
  bool lacks_;
  std::size_t width_;
  std::string role_;
};

nlohmann::ordered_json stage_json(const analyze::Stage& stage) {
  return {
      {"doing", name(stage.doing)}, {"operation", stage.operation}, {"dimension", stage.dimension}};
}

Json sinks_json(const StackReport& report) {
  Json out = Json::array();
  for (const auto& s : report.sinks)
    out.push_back({{"ranks", to_ranges(s.ranks)},
                   {"hosts", s.hosts},
                   {"role", s.role},
                   {"stage", stage_json(s.stage)},
                   {"function", s.function},
                   {"file", s.file},
                   {"line", s.line},
                   {"native", s.native_reason},
                   {"waiting", s.waiting},
                   {"in_collective", !s.elsewhere},
                   {"has_stack", !s.unheard}});
  return out;
}

Json waits_json(const StackReport& report) {
  Json out = Json::array();
  for (const auto& w : report.waits)
    out.push_back({{"group", w.group},
                   {"operation", w.operation},
                   {"from", to_ranges(w.from)},
                   {"for", to_ranges(w.to)}});
  return out;
}

Json rounds_json(const StackReport& report) {
  Json out = Json::array();
  for (const auto& r : report.rounds)
    out.push_back({{"name", r.name},
                   {"time", r.time ? Json(iso_utc(*r.time)) : Json(nullptr)},
                   {"outliers", to_ranges(r.outliers)},
                   {"flagged", r.flagged}});
  return out;
}

Json groups_json(const StacksPrinter& printer, const StackReport& report) {
  Json out = Json::array();
  for (const auto& g : report.groups) {
    if (!printer.shown(g.role)) continue;
    Json frames = Json::array();
    const auto& stack = report.normal.stacks[g.stack];
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame)
      frames.push_back(report.normal.names[*frame]);
    out.push_back({{"role", g.role},
                   {"processes", g.processes},
                   {"ranks", to_ranges(g.ranks)},
                   {"hosts", g.hosts},
                   {"dominant", g.dominant},
                   {"why", report::words(g.why)},
                   {"stage", stage_json(g.stage)},
                   {"frames", std::move(frames)}});
  }
  return out;
}

Json trees_json(const StacksPrinter& printer, const StackReport& report, bool lacks) {
  Json out = Json::object();
  for (const auto& [role, tree] : report.trees) {
    if (!printer.shown(role)) continue;
    Json nodes = Json::array();
    for (std::uint32_t i = 1; i < tree.nodes().size(); ++i) {
      Json node{{"depth", tree.nodes()[i].depth},
                {"frame", report.normal.names[tree.nodes()[i].frame]},
                {"processes", tree.processes(i)},
                {"ranks", to_ranges(tree.ranks(i))}};
      if (lacks) node["lacks"] = to_ranges(tree.lacking(i));
      nodes.push_back(std::move(node));
    }
    out[role] = std::move(nodes);
  }
  return out;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& f : findings) {
    Json evidence = Json::array();
    for (const Evidence& e : f.evidence) {
      evidence.push_back({{"path", e.path}, {"line", e.line}, {"excerpt", e.excerpt}});
      if (!e.reading.empty()) evidence.back()["reading"] = e.reading;
    }
    out.push_back({{"id", f.id},
                   {"outcome", name(f.outcome)},
                   {"subject", {{"kind", f.subject.kind}, {"id", f.subject.id}}},
                   {"title", report::words(f.title)},
                   {"confidence", f.confidence},
                   {"why", report::words(f.why)},
                   {"evidence", std::move(evidence)}});
  }
  return out;
}

std::string to_json(const StacksPrinter& printer, const StackReport& report,
                    const std::vector<Finding>& findings, bool lacks) {
  Json out;
  out["schema"] = "culprit.stacks/1";
  out["trainers"] = report.trainers;
  out["hang"] = report.hang;
  out["hang_why"] = report::words(report.hang_why);
  out["motion"] = report.motion == analyze::Motion::standing ? "standing"
                  : report.motion == analyze::Motion::moving ? "moving"
                                                             : "unknown";
  out["motion_why"] = report::words(report.motion_why);
  out["confidence"] = report.confidence;
  out["outliers"] = to_ranges(report.outliers);
  out["unheard"] = to_ranges(report.unheard);
  if (report.cover)
    out["cover"] = {{"shared", report.cover->shared},
                    {"groups", report.cover->groups},
                    {"hosts", report.cover->hosts},
                    {"ranks", to_ranges(report.cover->ranks)}};
  out["sinks"] = sinks_json(report);
  out["waits"] = waits_json(report);
  if (!report.storage.empty())
    out["storage"] = {{"call", report.storage}, {"hosts", report.storage_hosts}};
  out["rounds"] = rounds_json(report);
  if (!report.degrader.empty())
    out["degrader"] = {{"group", report.degrader}, {"flags", report.degrader_flags}};
  out["groups"] = groups_json(printer, report);
  out["trees"] = trees_json(printer, report, lacks);
  out["findings"] = findings_json(findings);
  out["notes"] = report::words(report.notes);
  return json_text(out) + "\n";
}

Result<Exit> run_stacks(const Arguments& arguments) {
  if (arguments.positional().empty() && !arguments.has("db"))
    return usage_error("stacks needs a database or a bundle").hint("culprit stacks -d incident.db");
  const std::string format = arguments.has("json") ? "json" : arguments.get("format", "text");
  if (format != "text" && format != "json" && format != "folded")
    return usage_error(fmt::format("--format takes text, json or folded, not '{}'", format));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_incident(arguments, pack));
  auto& [db, resolved, incomplete] = incident;
  const auto& [facts, topology] = resolved;
  analyze::StackParams params;
  params.keep_lines = arguments.has("lines");
  const auto report = analyze::aggregate_stacks(
      facts, topology, analyze::hang_known(facts, analyze::collect_signals(facts, pack)), params);
  auto findings = analyze::stack_findings(report, facts, topology);
  CULPRIT_CHECK(db.save_findings(Analysis::stacks, findings, report::words));
  const StacksPrinter printer(arguments, report, findings);
  if (const std::string role = arguments.get("role", "trainer");
      role != "all" && !report.trees.empty() && !report.trees.contains(role) &&
      arguments.has("role")) {
    std::string roles;
    for (const auto& [one, tree] : report.trees) roles += (roles.empty() ? "" : ", ") + one;
    return usage_error(fmt::format("there is no process of role '{}'", role))
        .hint("there are: " + roles);
  }
  if (format == "json")
    print(identified(to_json(printer, report, findings, arguments.has("lacks")), incident));
  else if (report.processes.empty())
    remark(arguments, "there are no stacks of processes in it");
  else
    print(format == "folded"            ? printer.folded()
          : arguments.has("over-evict") ? printer.over_evict()
                                        : printer.text());
  return incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

constexpr auto kStacksOptions = with_read_options({
    {"db,d", "FILE", "the database that `ingest` made; with a BUNDLE, where to keep it"},
    {"role", "ROLE", "processes of this role: trainer (default), dataloader, agent, ... or all"},
    {"lacks", nullptr, "also which ranks do not come through a frame"},
    {"over-evict", nullptr,
     "ByteRobust's rule alone: the machines of the group that covers the outliers"},
    {"lines", nullptr, "other lines of one function are other stacks"},
    {"format", "FORMAT", "text, json or folded"},
    {"json", nullptr, "the same as --format json"},
    {"strict", nullptr, "exit with 4 when something of the bundle could not be read"},
});

}  // namespace

constinit const Command kStacks{
    "stacks",
    "stacks of a job: groups, a tree, and the wait-for graph",
    "stacks [BUNDLE...] -d FILE [options]",
    "  culprit stacks -d incident.db\n"
    "  culprit stacks dumps/ --lacks\n"
    "  culprit stacks -d incident.db --format folded | flamegraph.pl > stacks.svg\n\n"
    "  Equal stacks make a group; the exceptions, the parallel groups that cover them and the rank "
    "that\n"
    "  the others wait for come first. One snapshot alone shows no hang.\n",
    kStacksOptions,
    run_stacks};

}  // namespace culprit::cli
