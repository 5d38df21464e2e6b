#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "model/json.hpp"
#include "model/median.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"
#include "plan/group_command.hpp"
#include "plan/link_times.hpp"
#include "plan/links.hpp"
#include "cluster.hpp"
#include "incident.hpp"
#include "report/terminal.hpp"
#include "table_file.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanLinksOptions =
    joined({kClusterHosts,
            {"topology", "KIND", "ring, tree or both (default: both, as NCCL uses either)"},
            {"parent", "CHILD=PARENT",
             "the tree as it ran (may be repeated); else NCCL's two binary trees"},
            {"command", "TEXT", "command of a link: {from} and {to} are the hosts"},
            {"times", "FILE",
             "what the links took: a table of from, to and time or bandwidth; says who is slow"},
            {"all", nullptr, "print all links"}},
           kPlanDatabase, kPlanOptions);
constexpr const char* kDefaultCommand =
    "ssh {to} 'ib_write_bw -a -F --report_gbits' & sleep 2; ssh {from} ib_write_bw -a -F "
    "--report_gbits {to}; wait";
constexpr std::size_t kMostPrintedOfPlanLinks = 24;

struct Part {
  std::string name;
  std::vector<plan::Pass> passes;
};

// The template is known to be sound.
std::string command_of(const std::string& text, const std::string& from, const std::string& to) {
  const auto filled =
      plan::fill_words(text, {{"from", shell_quoted(from)}, {"to", shell_quoted(to)}});
  return filled ? *filled : std::string();
}

// --parent, as positions. Members are the hosts, or when there are none those that it names, in the
// order of their names.
Result<std::vector<std::size_t>> parents_of(const PlanInput& input,
                                            std::vector<std::string>& hosts) {
  CULPRIT_TRY(given, input.pairs("parent", kMostHosts));
  const bool named = hosts.empty();
  if (named) {
    for (const auto& [child, parent] : given) {
      hosts.push_back(child);
      hosts.push_back(parent);
    }
    sort_unique(hosts);
  }
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < hosts.size(); ++i) at.emplace(hosts[i], i);
  std::vector<std::size_t> out(hosts.size(), plan::kNoParent);
  for (const auto& [child, parent] : given) {
    for (const std::string& name : {child, parent})
      if (at.count(name) == 0)
        return input.complaint("parent", fmt::format("names {}, which is none of the hosts", name))
            .hint("--hosts names them all");
    if (out[at[child]] != plan::kNoParent)
      return input.complaint("parent", fmt::format("gives {} two parents", child))
          .hint("a host of a tree has one parent");
    out[at[child]] = at[parent];
  }
  std::vector<std::string> roots;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == plan::kNoParent) roots.push_back(hosts[i]);
  if (roots.size() != 1)
    return input.complaint(
        "parent", roots.empty()
                      ? std::string("tells no tree: every host has a parent")
                      : fmt::format("tells no tree: {} hosts have no parent, such as {} and {}",
                                    roots.size(), roots[0], roots[1]));
  return out;
}

std::string text_of(const std::vector<Part>& parts, const std::vector<std::string>& hosts,
                    const std::string& command, bool all) {
  std::size_t passes = 0, links = 0;
  for (const Part& part : parts)
    for (const plan::Pass& pass : part.passes) {
      ++passes;
      links += pass.links.size();
    }
  std::string out = fmt::format(
      "{} pass{} over {} links between {} hosts\n  links of one pass at the same time, one pass "
      "after the other; all send as\n  much, so the slow link is the one that takes longer\n",
      passes, passes == 1 ? "" : "es", links, hosts.size());
  for (const Part& part : parts) {
    out += fmt::format("\n{}, {} pass{}\n", part.name, part.passes.size(),
                       part.passes.size() == 1 ? "" : "es");
    for (std::size_t i = 0; i < part.passes.size(); ++i) {
      const plan::Pass& pass = part.passes[i];
      out += fmt::format("  pass {}: {}\n", i + 1, pass.what);
      for (std::size_t l = 0; l < pass.links.size(); ++l) {
        if (!all && l == kMostPrintedOfPlanLinks) {
          out +=
              fmt::format("    and {} more; --all and --json have them\n", pass.links.size() - l);
          break;
        }
        out += fmt::format("    {} -> {}\n", report::visible(hosts[pass.links[l].from]),
                           report::visible(hosts[pass.links[l].to]));
      }
    }
  }
  for (const Part& part : parts)
    for (const plan::Pass& pass : part.passes)
      if (!pass.links.empty())
        return out + fmt::format("\nThe command of the first link (--json has all):\n  {}\n",
                                 plan::folded_command(
                                     report::visible(command_of(command, hosts[pass.links[0].from],
                                                                hosts[pass.links[0].to])),
                                     76, 4));
  return out;
}

std::string json_of(const std::vector<Part>& parts, const std::vector<std::string>& hosts,
                    const std::string& command) {
  ordered_json out{
      {"schema", "culprit.plan-links/1"}, {"hosts", hosts}, {"topologies", ordered_json::array()}};
  for (const Part& part : parts) {
    ordered_json passes = ordered_json::array();
    for (const plan::Pass& pass : part.passes) {
      ordered_json links = ordered_json::array();
      for (const plan::Link& link : pass.links)
        links.push_back({{"from", hosts[link.from]},
                         {"to", hosts[link.to]},
                         {"command", command_of(command, hosts[link.from], hosts[link.to])}});
      passes.push_back({{"what", pass.what}, {"links", std::move(links)}});
    }
    out["topologies"].push_back({{"name", part.name}, {"passes", std::move(passes)}});
  }
  return json_text(out) + "\n";
}

// The same transfer, measured again, that took much longer: the two do not fit.
struct Unsteady {
  std::size_t from = 0, to = 0;
  double factor = 1;
};

struct Measured {
  std::vector<std::string> hosts;  // by name
  plan::LinkTimes answer;
  std::size_t pairs = 0;
  bool bandwidth = false;
  std::vector<Unsteady> unsteady;
};

// GREYHOUND section 6 sends 16, 32 and 64 MB: each time over the median of its size.
void divide_by_size(std::vector<plan::LinkTime>& times, const std::vector<double>& sizes) {
  std::map<double, std::vector<double>> of_size;
  for (std::size_t i = 0; i < times.size(); ++i) of_size[sizes[i]].push_back(times[i].time);
  if (of_size.size() < 2) return;
  std::map<double, double> middle;
  for (auto& [size, all] : of_size) middle[size] = median_of(std::move(all));
  for (std::size_t i = 0; i < times.size(); ++i) times[i].time /= middle[sizes[i]];
}

std::vector<Unsteady> unsteady_of(const std::vector<plan::LinkTime>& times) {
  constexpr double kUnsteady = 1.5;
  std::map<std::pair<std::size_t, std::size_t>, std::pair<double, double>> spread;
  for (const plan::LinkTime& t : times) {
    const auto [at, fresh] = spread.try_emplace({t.from, t.to}, t.time, t.time);
    if (!fresh) {
      at->second.first = std::min(at->second.first, t.time);
      at->second.second = std::max(at->second.second, t.time);
    }
  }
  std::vector<Unsteady> out;
  for (const auto& [ends, range] : spread)
    if (range.second > kUnsteady * range.first)
      out.push_back({ends.first, ends.second, range.second / range.first});
  return out;
}

// Where the table gives bandwidths, a time is what one unit takes.
Result<Measured> read_times(const Arguments& arguments, const std::string& path) {
  CULPRIT_TRY(table, read_table_file(arguments, path));
  const auto* from =
      table.named({"from", "src", "source", "sender", "client", "fromhost", "srchost", "a"});
  const auto* to = table.named(
      {"to", "dst", "dest", "destination", "receiver", "server", "tohost", "dsthost", "b"});
  const auto* time = table.named({"time", "ms", "us", "s", "timems", "timeus", "times", "seconds",
                                  "latency", "latencyus", "duration", "durationms"});
  const auto* rate = table.named({"bandwidth", "bw", "gbps", "gbits", "gbs", "busbw", "algbw",
                                  "bandwidthgbps", "bandwidthgbs", "bwaverage"});
  if (from == nullptr || to == nullptr || (time == nullptr && rate == nullptr))
    return fail("the table does not say what each link took")
        .at({path, 1})
        .hint("columns: from, to, and time or bandwidth of transfers of one size");
  Measured out;
  out.bandwidth = time == nullptr;
  const auto* value = out.bandwidth ? rate : time;
  for (std::size_t r = 0; r < table.rows; ++r)
    for (const auto* end : {from, to})
      if (!end->cells[r].empty()) out.hosts.emplace_back(end->cells[r]);
  sort_unique(out.hosts);
  if (out.hosts.size() > kMostHosts)
    return fail(fmt::format("{} hosts are more than {}", out.hosts.size(), kMostHosts))
        .at({path, 1})
        .hint("one table for each part of the network");
  const auto at = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::lower_bound(out.hosts, name) - out.hosts.begin());
  };
  const auto* size = table.named({"bytes", "size", "sizebytes", "mb", "sizemb", "message"});
  std::vector<plan::LinkTime> times;
  std::vector<double> sizes;
  std::size_t left_out = 0;
  for (std::size_t r = 0; r < table.rows; ++r) {
    if (from->cells[r].empty() || to->cells[r].empty() || !(value->values[r] > 0)) {
      ++left_out;
      continue;
    }
    const double measured = out.bandwidth ? 1 / value->values[r] : value->values[r];
    times.push_back({at(from->cells[r]), at(to->cells[r]), measured});
    sizes.push_back(size != nullptr && std::isfinite(size->values[r]) ? size->values[r] : 0);
  }
  divide_by_size(times, sizes);
  out.unsteady = unsteady_of(times);
  out.answer = plan::attribute_link_times(times, out.hosts.size());
  out.pairs = times.size() - out.answer.unusable;
  if (left_out + out.answer.unusable > 0)
    remark(arguments, fmt::format("{}: {} rows left out: no two hosts, or no positive number", path,
                                  left_out + out.answer.unusable));
  return out;
}

const char* side_of(plan::SlowEnd::Side side) {
  switch (side) {
    case plan::SlowEnd::Side::sends: return "sends";
    case plan::SlowEnd::Side::receives: return "receives";
    case plan::SlowEnd::Side::both: break;
  }
  return "both";
}

std::string measured_text(const Measured& m, bool all) {
  const plan::LinkTimes& a = m.answer;
  if (!a.enough)
    return fmt::format("not enough: {} measured pair{}, and {} are needed\n", m.pairs,
                       m.pairs == 1 ? "" : "s", plan::LinkTimeParams{}.least);
  std::string out;
  if (a.hosts.empty() && a.links.empty())
    out = fmt::format("no host and no link is slow, of {} hosts and {} transfers\n", m.hosts.size(),
                      m.pairs);
  else
    out = fmt::format("{} slow host{} and {} slow link{}, of {} hosts and {} transfers\n",
                      a.hosts.size(), a.hosts.size() == 1 ? "" : "s", a.links.size(),
                      a.links.size() == 1 ? "" : "s", m.hosts.size(), m.pairs);
  out += fmt::format("  healthy transfers differ by {:.1f} %\n", 100 * a.spread);
  std::size_t shown = 0;
  const auto more = [&] { return shown++ < kMostPrintedOfPlanLinks || all; };
  for (const plan::SlowEnd& h : a.hosts)
    if (more())
      out += fmt::format("  host {}: {:.2f} times as long{}, in {} of {} transfers\n",
                         report::visible(m.hosts[h.host]), h.factor,
                         h.side == plan::SlowEnd::Side::both    ? ""
                         : h.side == plan::SlowEnd::Side::sends ? " when it sends"
                                                                : " when it receives",
                         h.slow, h.links);
  for (const plan::SlowLink& l : a.links)
    if (more())
      out += fmt::format("  link {} -> {}: {:.2f} times as long; its ends are not with others\n",
                         report::visible(m.hosts[l.from]), report::visible(m.hosts[l.to]),
                         l.time / l.expected);
  for (const Unsteady& u : m.unsteady)
    if (more())
      out += fmt::format(
          "  contradiction: {} -> {} took {:.2f} times as long in one measurement as in another;\n"
          "    it comes and goes: measure it again\n",
          report::visible(m.hosts[u.from]), report::visible(m.hosts[u.to]), u.factor);
  if (!all && shown > kMostPrintedOfPlanLinks)
    out +=
        fmt::format("  and {} more; --all and --json have them\n", shown - kMostPrintedOfPlanLinks);
  if (!a.once.empty())
    out += fmt::format(
        "  {} host{} of slow links took part in one transfer only: host or link, nothing tells\n",
        a.once.size(), a.once.size() == 1 ? "" : "s");
  return out;
}

std::string measured_json(const Measured& m) {
  const plan::LinkTimes& a = m.answer;
  ordered_json measured{{"transfers", m.pairs},
                        {"enough", a.enough},
                        {"by", m.bandwidth ? "bandwidth" : "time"},
                        {"spread", a.spread},
                        {"slow_hosts", ordered_json::array()},
                        {"slow_links", ordered_json::array()},
                        {"once", ordered_json::array()},
                        {"unsteady", ordered_json::array()}};
  for (const Unsteady& u : m.unsteady)
    measured["unsteady"].push_back(
        {{"from", m.hosts[u.from]}, {"to", m.hosts[u.to]}, {"factor", u.factor}});
  for (const plan::SlowEnd& h : a.hosts)
    measured["slow_hosts"].push_back({{"host", m.hosts[h.host]},
                                      {"side", side_of(h.side)},
                                      {"factor", h.factor},
                                      {"score", h.score},
                                      {"slow", h.slow},
                                      {"transfers", h.links}});
  for (const plan::SlowLink& l : a.links)
    measured["slow_links"].push_back({{"from", m.hosts[l.from]},
                                      {"to", m.hosts[l.to]},
                                      {"factor", l.time / l.expected},
                                      {"score", l.score}});
  for (const std::size_t h : a.once) measured["once"].push_back(m.hosts[h]);
  return json_text(ordered_json{{"schema", "culprit.plan-links/1"},
                                {"hosts", m.hosts},
                                {"topologies", ordered_json::array()},
                                {"measured", std::move(measured)}}) +
         "\n";
}

Result<Exit> run_plan_links(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanLinksOptions, true));
  const auto& words = arguments.positional();
  const bool solve = !words.empty() && words[0] == "solve";
  if (solve && (words.size() != 2 || input.has("times")))
    return usage_error("plan links solve takes one table of measured times")
        .hint("culprit plan links solve measured.csv");
  if (solve || input.has("times")) {
    CULPRIT_TRY(path, input.text("times", solve ? words[1] : ""));
    CULPRIT_TRY(measured, read_times(arguments, path));
    print(input.wants_json() ? measured_json(measured)
                             : measured_text(measured, arguments.has("all")));
    return Exit::finished;
  }
  CULPRIT_TRY(cluster, read_cluster(input, arguments));
  CULPRIT_TRY(kind, input.text("topology", input.has("parent") ? "tree" : "both"));
  if (kind != "ring" && kind != "tree" && kind != "both")
    return input.complaint("topology", fmt::format("takes ring, tree or both, not '{}'", kind));
  if (kind == "ring" && input.has("parent"))
    return input.complaint("parent", "tells a tree, and --topology is ring");
  CULPRIT_TRY(command, input.text("command", kDefaultCommand));
  if (auto filled = plan::fill_words(command, {{"from", "a"}, {"to", "b"}}); !filled)
    return std::move(filled).error();
  std::vector<std::string> hosts = cluster.hosts;
  std::vector<Part> parts;
  std::vector<std::size_t> parents;
  if (input.has("parent")) {
    CULPRIT_TRY(read, parents_of(input, hosts));
    parents = std::move(read);
  }
  if (hosts.size() < 2)
    return usage_error("plan links needs two hosts or more")
        .hint("--hosts node[01-24] in the order of the ring, or -d incident.db");
  if (kind != "tree") parts.push_back({"ring", plan::ring_passes(hosts.size())});
  if (kind != "ring") {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> trees;
    if (!parents.empty())
      trees.emplace_back("tree", std::move(parents));
    else
      for (auto& tree : plan::double_binary_tree(hosts.size()))
        trees.emplace_back(fmt::format("tree {} of 2", trees.size() + 1), std::move(tree));
    for (const auto& [name, tree] : trees) {
      auto passes = plan::tree_passes(tree);
      if (!passes) return input.complaint("parent", "tells no tree: " + passes.error().what);
      parts.push_back({name, std::move(*passes)});
    }
  }
  print(input.wants_json() ? identified(json_of(parts, hosts, command))
                           : text_of(parts, hosts, command, arguments.has("all")));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanLinks{
    "plan links",
    "time every link of a ring or tree in a few passes",
    "plan links [solve TABLE] [BUNDLE...] [options]",
    "  culprit plan links --hosts node[01-24] --topology ring\n"
    "  culprit plan links --parent b=a --parent c=a --parent d=b\n"
    "  culprit plan links solve measured.csv\n\n"
    "  Two passes time all links of a ring, three when its size is "
    "odd, four those of a tree: every\n"
    "  link once, no host in two transfers at the same time. With the "
    "times: which hosts or\n"
    "  links are slow, by least squares over all of them.\n",
    kPlanLinksOptions,
    run_plan_links};

}  // namespace culprit::cli
