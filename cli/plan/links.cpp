#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "plan/group_command.hpp"
#include "plan/links.hpp"
#include "cluster.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr OptionSpec kPlanLinksOptions[] = {
    kClusterHosts,
    {"topology", "KIND", "ring, tree or both (default: both, as NCCL uses either)"},
    {"parent", "CHILD=PARENT",
     "the tree as it ran (may be repeated); else NCCL's two binary trees"},
    {"command", "TEXT", "command of a link: {from} and {to} are the hosts"},
    {"all", nullptr, "print all links"},
    kPlanDatabase,
    kPlanInput,
    kPlanFormat,
    kPlanJson,
};
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
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
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

Result<Exit> run_plan_links(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanLinksOptions));
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
  print(input.wants_json() ? json_of(parts, hosts, command)
                           : text_of(parts, hosts, command, arguments.has("all")));
  return Exit::finished;
}

}  // namespace

extern const Command kPlanLinks;
constinit const Command kPlanLinks{"plan links",
                                   "time every link of a ring or tree in a few passes",
                                   "plan links [BUNDLE...] [options]",
                                   "  culprit plan links --hosts node[01-24] --topology ring\n"
                                   "  culprit plan links --parent b=a --parent c=a --parent d=b\n\n"
                                   "  Two passes time all links of a ring, three when its size is "
                                   "odd, four those of a tree: every\n"
                                   "  link once, no host in two transfers at the same time.\n",
                                   kPlanLinksOptions,
                                   run_plan_links};

}  // namespace culprit::cli
