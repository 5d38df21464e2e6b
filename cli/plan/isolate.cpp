#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"
#include "plan/group_command.hpp"
#include "plan/isolate.hpp"
#include "cluster.hpp"
#include "incident.hpp"
#include "replay_document.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using plan::HostSet;
using plan::IsolateState;

constexpr auto kPlanIsolateOptions = joined(
    {kClusterHosts,
     kClusterTor,
     kClusterPod,
     kClusterCenter,
     {"smallest", "N", "hosts that the reference model needs at the least (default 1)"},
     {"gpus-per-host", "N", "GPUs of a host, for {nproc} and {world} (default 8)"},
     {"command", "TEXT",
      "command of a half: {hosts} {hostlist} {first} {nnodes} {nproc} {world} {tag}"},
     {"state", "FILE", "what this command printed with --json, to go on from"},
     {"outcome", "NAME=OUTCOME", "pass, fail, or 2/5: two failures in five runs (may be repeated)"},
     {"depth", "N", "rounds ahead whose halves are shown (default 3)"}},
    kPlanDatabase, kPlanOptions);

std::string listed(const IsolateState& state, const HostSet& set) {
  std::vector<std::string> names;
  for (const std::size_t h : set) names.push_back(state.hosts[h].name);
  return report::visible(fold_hostlist(names));
}

std::string border(const plan::Cut& cut) {
  return cut.border == "datacenter" ? "between data centers"
         : cut.border == "pod"      ? "between pods"
         : cut.border == "tor"      ? "between ToR groups"
                                    : "within a ToR group, or without a known border";
}

void add_tree(const IsolateState& state, const std::string& name, const HostSet& set,
              std::int64_t depth, std::size_t indent, std::string& out) {
  if (set.size() < 2 || depth == 0) return;
  const plan::Cut cut = plan::cut_in_half(state.hosts, set);
  for (const auto& [letter, half] : {std::pair{'A', &cut.first}, {'B', &cut.second}}) {
    out += fmt::format("{:{}}{}{}  {} host{}: {}{}\n", "", indent, name, letter, half->size(),
                       half->size() == 1 ? "" : "s", listed(state, *half),
                       letter == 'A' ? fmt::format("   (cut {})", border(cut)) : "");
    add_tree(state, name + letter, *half, depth - 1, indent + 2, out);
  }
}

std::string text_of(const IsolateState& state, std::int64_t depth,
                    const std::map<std::string, std::string>& commands) {
  std::string out;
  if (!state.faulty.empty()) out += fmt::format("Faulty: {}\n", listed(state, state.faulty));
  for (const plan::IsolateClue& clue : state.clues) {
    out += fmt::format("{}\n", report::wrapped(report::visible(clue.text), 78, 2));
    if (!clue.suspects.empty())
      out += fmt::format(
          "  hosts {}\n  next: run all of them together again. If that passes, the fault does not\n"
          "  always show: repeat the halves. If it fails, test those switches with probes\n"
          "  of all lengths (64 B to 8 KB): one was seen to drop only packets above 1 KB\n",
          listed(state, clue.hosts));
  }
  if (state.done()) {
    out += fmt::format("After {} round{}, back to service: {}\n", state.round - 1,
                       state.round == 2 ? "" : "s",
                       state.cleared.empty() ? "nobody" : listed(state, state.cleared));
    return out;
  }
  std::size_t left = 0, rounds = 0;
  for (const plan::IsolateSet& set : state.active) {
    left += set.hosts.size();
    rounds = std::max(rounds, static_cast<std::size_t>(plan::halving_rounds(set.hosts.size())) + 1);
  }
  out += fmt::format("Round {}: {} host{} left; {} more round{} at most, the last one confirms\n",
                     state.round, left, left == 1 ? "" : "s", rounds, rounds == 1 ? "" : "s");
  int wave = 0;
  for (const plan::IsolateTest& test : [&] {
         auto tests = plan::tests_of(state);
         sort_by(tests, [](const auto& a) { return a.wave; });
         return tests;
       }()) {
    if (test.wave != wave) {
      wave = test.wave;
      out += "  then, as these share links with those before:\n";
    }
    out += fmt::format("  {}  {}{}\n", test.name, listed(state, test.hosts),
                       test.fillers.empty()
                           ? ""
                           : fmt::format(", filled up with {}", listed(state, test.fillers)));
    if (test.short_of_hosts)
      out += fmt::format(
          "      fewer than the {} hosts that the reference model needs: add good ones\n",
          state.smallest);
    if (const auto it = commands.find(test.name); it != commands.end())
      out += fmt::format("      {}\n", plan::folded_command(report::visible(it->second), 72, 8));
  }
  if (!state.cleared.empty())
    out += fmt::format("Back to service: {}\n", listed(state, state.cleared));
  if (depth > 1) {
    out += "\nThe halves to come\n";
    for (const plan::IsolateSet& set : state.active)
      add_tree(state, set.name, set.hosts, depth, 2, out);
  }
  if (state.round == 1) {
    std::vector<std::string> all;
    for (const plan::IsolateSet& set : state.active)
      for (const auto host : set.hosts) all.push_back(state.hosts[host].name);
    out += fmt::format(
        "\nFirst, every host by itself:\n  culprit plan checks --hosts {}\nA half that passes goes "
        "back to service; one that fails is halved again.\n",
        shell_quoted(fold_hostlist(all)));
  }
  return out;
}

ordered_json names_of(const IsolateState& state, const HostSet& set) {
  ordered_json out = ordered_json::array();
  for (const std::size_t h : set) out.push_back(state.hosts[h].name);
  return out;
}

std::string json_of(const IsolateState& state, const std::map<std::string, std::string>& commands) {
  ordered_json out{{"schema", "culprit.plan-isolate/1"},
                   {"done", state.done()},
                   {"round", state.round},
                   {"smallest", state.smallest},
                   {"faulty", names_of(state, state.faulty)},
                   {"clues", ordered_json::array()},
                   {"tests", ordered_json::array()},
                   {"active", ordered_json::array()},
                   {"cleared", names_of(state, state.cleared)},
                   {"history", ordered_json::array()},
                   {"hosts", ordered_json::array()}};
  for (const plan::IsolateClue& clue : state.clues)
    out["clues"].push_back({{"set", clue.set},
                            {"hosts", names_of(state, clue.hosts)},
                            {"suspects", clue.suspects},
                            {"text", clue.text}});
  for (const plan::IsolateTest& test : plan::tests_of(state)) {
    ordered_json one{{"name", test.name},
                     {"wave", test.wave},
                     {"hosts", names_of(state, test.hosts)},
                     {"fillers", names_of(state, test.fillers)},
                     {"enough_hosts", !test.short_of_hosts}};
    if (const auto it = commands.find(test.name); it != commands.end()) one["command"] = it->second;
    out["tests"].push_back(std::move(one));
  }
  for (const plan::IsolateSet& set : state.active)
    out["active"].push_back({{"name", set.name}, {"hosts", names_of(state, set.hosts)}});
  for (const plan::IsolateRound& r : state.history)
    out["history"].push_back(
        {{"round", r.round}, {"test", r.test}, {"failed", r.failed}, {"hosts", r.hosts}});
  for (const plan::IsolateHost& host : state.hosts) {
    ordered_json one{{"name", host.name}, {"tor", host.tor}, {"pod", host.pod}};
    if (!host.center.empty()) one["datacenter"] = host.center;
    out["hosts"].push_back(std::move(one));
  }
  return json_text(out) + "\n";
}

// Every list of hosts in the file is by name, and a host is in one of them.
class StateReader {
 public:
  StateReader(const json& root, std::string path) : root_(root), path_(std::move(path)) {}

  Result<IsolateState> read() {
    // By reference: a copy of something nested deeply would be deeper than the stack.
    if (!root_.is_object() || !root_.contains("schema") || !root_["schema"].is_string() ||
        root_["schema"].get<std::string>() != "culprit.plan-isolate/1")
      return refuse("this is not a state of plan isolate");
    std::vector<plan::IsolateHost> hosts;
    for (const json& one : array(root_, "hosts"))
      hosts.push_back(
          {text(one, "name"), text(one, "tor"), text(one, "pod"),
           one.is_object() && one.contains("datacenter") ? text(one, "datacenter") : ""});
    if (!complaint_.empty()) return refuse(complaint_);
    const auto smallest = number(root_, "smallest");
    auto started = plan::start_isolation(std::move(hosts), static_cast<std::size_t>(smallest));
    if (!started) return refuse(started.error().what);
    IsolateState out = std::move(*started);
    for (std::size_t i = 0; i < out.hosts.size(); ++i) at_.emplace(out.hosts[i].name, i);
    out.round = number(root_, "round");
    out.active.clear();
    std::set<std::string> names;
    for (const json& one : array(root_, "active")) {
      plan::IsolateSet set{text(one, "name"), hosts_of(one, "hosts")};
      if (set.hosts.empty() || !names.insert(set.name).second || set.name.size() > 64)
        complain("a set of 'active' is empty or named twice");
      out.active.push_back(std::move(set));
    }
    out.cleared = hosts_of(root_, "cleared");
    out.faulty = hosts_of(root_, "faulty");
    for (const json& one : array(root_, "clues")) {
      plan::IsolateClue clue{text(one, "set"), hosts_of(one, "hosts"), {}, text(one, "text")};
      for (const json& suspect : array(one, "suspects"))
        if (suspect.is_string()) clue.suspects.push_back(suspect.get<std::string>());
      out.clues.push_back(std::move(clue));
    }
    for (const json& one : array(root_, "history")) {
      if (!one.is_object() || !one.contains("failed") || !one["failed"].is_boolean()) {
        complain("'history' has a round without 'failed'");
        break;
      }
      out.history.push_back({number(one, "round"), text(one, "test"), one["failed"].get<bool>(),
                             static_cast<std::size_t>(number(one, "hosts"))});
    }
    if (complaint_.empty() && taken_.size() != out.hosts.size())
      complain(fmt::format("{} hosts are neither active nor cleared nor faulty",
                           out.hosts.size() - taken_.size()));
    if (!complaint_.empty()) return refuse(complaint_);
    return out;
  }

 private:
  Error refuse(const std::string& what) const {
    return usage_error(what)
        .at({path_, 0})
        .hint("`culprit plan isolate --json` prints what --state reads");
  }
  void complain(std::string what) {
    if (complaint_.empty()) complaint_ = std::move(what);
  }
  const json& array(const json& object, const char* key) {
    static const json kEmpty = json::array();
    if (!object.is_object() || !object.contains(key) || !object[key].is_array()) {
      complain(fmt::format("the array '{}' is missing", key));
      return kEmpty;
    }
    return object[key];
  }
  std::string text(const json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_string()) {
      complain(fmt::format("the text '{}' is missing", key));
      return {};
    }
    return object[key].get<std::string>();
  }
  std::int64_t number(const json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number_unsigned() ||
        object[key].get<std::uint64_t>() > (1u << 20)) {
      complain(fmt::format("the number '{}' is missing", key));
      return 1;
    }
    return object[key].get<std::int64_t>();
  }
  HostSet hosts_of(const json& object, const char* key) {
    HostSet out;
    for (const json& one : array(object, key)) {
      const auto it = one.is_string() ? at_.find(one.get<std::string>()) : at_.end();
      if (it == at_.end()) {
        complain(fmt::format("'{}' has a host that is none of the hosts", key));
        continue;
      }
      if (!taken_.insert(it->second).second) complain(fmt::format("{} is in two sets", it->first));
      out.push_back(it->second);
    }
    sort_rows(out);
    return out;
  }

  const json& root_;
  std::string path_, complaint_;
  std::map<std::string, std::size_t> at_;
  std::set<std::size_t> taken_;
};

Result<IsolateState> state_of(const PlanInput& input, const Arguments& arguments,
                              std::optional<std::int64_t>& gpus) {
  CULPRIT_TRY(path, input.text("state"));
  if (!path.empty()) {
    for (const char* option : {"hosts", "tor", "pod", "datacenter", "smallest", "db"})
      if (input.has(option) || arguments.has(option))
        return input.complaint(option, "does not go with --state").hint("the state has it");
    CULPRIT_TRY(text, read_plan_file(path));
    CULPRIT_TRY(parsed, parse_plan_json(text, path, "what `culprit plan isolate --json` printed"));
    return StateReader(parsed, path).read();
  }
  CULPRIT_TRY(cluster, read_cluster(input, arguments));
  gpus = cluster.gpus;
  if (cluster.hosts.empty())
    return usage_error("plan isolate needs the hosts")
        .hint("--hosts node[01-24] with --tor and --pod, or -d incident.db");
  CULPRIT_TRY(smallest, input.integer("smallest", 1, 1, 1 << 16));
  std::vector<plan::IsolateHost> hosts;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i)
    hosts.push_back({cluster.hosts[i], cluster.tor[i], cluster.pod[i], cluster.center[i]});
  const auto unknown =
      std::ranges::count_if(hosts, [](const auto& h) { return h.tor.empty() && h.pod.empty(); });
  if (unknown > 0)
    remark(arguments, fmt::format("no switch is known for {} of {} hosts: halves may share links "
                                  "that is not known (--tor, --pod)",
                                  unknown, hosts.size()));
  return plan::start_isolation(std::move(hosts), static_cast<std::size_t>(smallest));
}

Result<Exit> run_plan_isolate(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanIsolateOptions));
  CULPRIT_TRY(depth, input.integer("depth", 3, 1, 20));
  CULPRIT_TRY(command, input.text("command"));
  CULPRIT_TRY(given, input.pairs("outcome", 1 << 20));
  std::optional<std::int64_t> known_gpus;
  CULPRIT_TRY(state, state_of(input, arguments, known_gpus));
  CULPRIT_TRY(gpus, input.integer("gpus-per-host", known_gpus.value_or(8), 1, 1024));
  if (!known_gpus && !input.has("gpus-per-host") &&
      (contains(command, "{nproc}") || contains(command, "{world}")))
    remark(arguments, kAssumedGpus);
  std::map<std::string, bool> failed;
  for (const auto& [test, text] : given) {
    CULPRIT_TRY(outcome, parse_outcome(text));
    failed[test] = failed[test] || outcome.failures > 0;  // one failure is one too many
  }
  // The names of later rounds are longer ones, so the outcomes of several rounds can be given at
  // once.
  while (!failed.empty() && !state.done()) {
    std::map<std::string, bool> round;
    for (const plan::IsolateTest& test : plan::tests_of(state))
      if (const auto it = failed.find(test.name); it != failed.end())
        round.insert(failed.extract(it));
    if (round.empty()) break;
    CULPRIT_TRY(next, plan::step(state, round));
    state = std::move(next);
  }
  if (!failed.empty()) {
    std::vector<std::string> names;
    for (const plan::IsolateTest& test : plan::tests_of(state)) names.push_back(test.name);
    return input
        .complaint("outcome", fmt::format("has '{}', which is not a test of round {}",
                                          failed.begin()->first, state.round))
        .hint(names.empty() ? std::string("nothing is left to test")
                            : fmt::format("its tests are {}", fmt::join(names, ", ")));
  }
  std::map<std::string, std::string> commands;
  if (!command.empty())
    for (const plan::IsolateTest& test : plan::tests_of(state)) {
      plan::GroupRun group{test.name, 1, test.wave, {}, gpus, 1, 1, 1};
      for (const auto* part : {&test.hosts, &test.fillers})
        for (const std::size_t h : *part) group.hosts.push_back(state.hosts[h].name);
      CULPRIT_TRY(filled, plan::fill_template(command, group));
      commands.emplace(test.name, std::move(filled));
    }
  print(input.wants_json() ? identified(json_of(state, commands))
                           : text_of(state, depth, commands));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanIsolate{
    "plan isolate",
    "halve the hosts along pods and ToR groups until the faulty one is left",
    "plan isolate [BUNDLE...] [options]",
    "  culprit plan isolate --hosts n[1-8] --tor t1=n[1-4] --tor t2=n[5-8] --json > state.json\n"
    "  culprit plan isolate --state state.json --outcome A=fail --outcome B=pass\n\n"
    "  Both halves run at once and share no link. A half that passes goes back to service, one "
    "that\n"
    "  fails is halved again; when none fails, the switches between them are the suspects.\n",
    kPlanIsolateOptions,
    run_plan_isolate};

}  // namespace culprit::cli
