#include "replay_document.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/json.hpp"
#include "input.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMostRuns = 1'000'000;
constexpr std::size_t kMostTests = 1 << 19;

// Typed values of one object; the first complaint is kept and everything after it is a default.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::int64_t integer(const char* key, std::int64_t otherwise, std::int64_t low,
                       std::int64_t high) {
    const auto it = object_.find(key);
    if (it == object_.end()) return otherwise;
    const bool fits =
        it->is_number_integer() &&
        !(it->is_number_unsigned() && it->get<std::uint64_t>() > static_cast<std::uint64_t>(high));
    if (!fits || it->get<std::int64_t>() < low || it->get<std::int64_t>() > high) {
      complain(fmt::format("{}{} takes a whole number from {} to {}", where_, key, low, high));
      return otherwise;
    }
    return it->get<std::int64_t>();
  }
  double real(const char* key, double otherwise) {
    const auto it = object_.find(key);
    if (it == object_.end()) return otherwise;
    if (!it->is_number()) {
      complain(fmt::format("{}{} takes a number", where_, key));
      return otherwise;
    }
    return it->get<double>();
  }
  std::string text(const char* key) {
    const auto it = object_.find(key);
    if (it == object_.end()) return {};
    if (!it->is_string()) {
      complain(fmt::format("{}{} takes a text", where_, key));
      return {};
    }
    return it->get<std::string>();
  }
  std::vector<plan::MachineIndex> machines(const char* key, std::int64_t limit) {
    std::vector<plan::MachineIndex> out;
    const auto it = object_.find(key);
    if (it == object_.end()) return out;
    if (!it->is_array()) {
      complain(fmt::format("{}{} is an array of machines", where_, key));
      return out;
    }
    for (const json& one : *it) {
      if (!one.is_number_unsigned() ||
          one.get<std::uint64_t>() >= static_cast<std::uint64_t>(limit)) {
        complain(fmt::format("{}{} takes machines from 0 to {}", where_, key, limit - 1));
        return {};
      }
      out.push_back(static_cast<plan::MachineIndex>(one.get<std::uint64_t>()));
    }
    sort_rows(out);
    if (std::ranges::adjacent_find(out) != out.end())
      complain(fmt::format("{}{} has a machine twice", where_, key));
    return out;
  }
  const std::string& complaint() const { return complaint_; }

 private:
  void complain(std::string text) {
    if (complaint_.empty()) complaint_ = std::move(text);
  }
  const json& object_;
  std::string where_, complaint_;
};

ordered_json test_json(const ReplayDocument& d, const plan::ReplayGroup& g,
                       const plan::ReplayOutcome& o) {
  ordered_json out{
      {"name", g.name},         {"phase", g.phase},   {"wave", g.wave}, {"machines", g.members},
      {"borrowed", g.borrowed}, {"spares", g.spares}, {"dp", g.dp}};
  if (!d.hosts.empty()) out["hosts"] = d.run(g).hosts;
  out["runs"] = o.runs;
  out["failures"] = o.failures;
  return out;
}

ordered_json plan_json(const ReplayDocument& d) {
  const plan::ReplayPlan& plan = d.plan;
  const plan::ReplayParams& p = plan.params;
  ordered_json out{{"schema", "culprit.replay-plan/1"},
                   {"machines", p.machines},
                   {"spares", p.spares},
                   {"gpus_per_machine", p.gpus_per_machine},
                   {"tp", p.tp},
                   {"pp", p.pp},
                   {"cp", p.cp},
                   {"dp", p.dp},
                   {"k", p.k},
                   {"group", plan.group},
                   {"groups", plan.groups},
                   {"replica_machines", plan.replica_machines},
                   {"unique", plan.unique()},
                   {"most_candidates", plan.most_candidates},
                   {"shows", p.shows},
                   {"confidence", p.confidence},
                   {"repeats", plan.repeats},
                   {"minutes", p.minutes}};
  if (!d.hosts.empty()) out["hosts"] = d.hosts;
  if (!d.command.empty()) out["command"] = d.command;
  out["tests"] = ordered_json::array();
  for (std::size_t i = 0; i < plan.tests.size(); ++i)
    out["tests"].push_back(
        test_json(d, plan.tests[i], i < d.outcomes.size() ? d.outcomes[i] : plan::ReplayOutcome{}));
  out["costs"] = ordered_json::array();
  for (const plan::ReplayCost& c : plan.costs)
    out["costs"].push_back({{"method", c.method},
                            {"rounds", c.rounds},
                            {"repeats", c.repeats},
                            {"hours", c.hours},
                            {"gpu_hours", c.gpu_hours},
                            {"held_gpu_hours", c.held_gpu_hours}});
  out["notes"] = plan.notes;
  return out;
}

struct ReadTest {
  plan::ReplayGroup group;
  plan::ReplayOutcome outcome;
};

// One group of a plan over `all` machines. `names`: those of the groups before it. Returns what is
// wrong with it; "": nothing.
std::string read_test(const json& one, const std::string& where, std::int64_t all,
                      std::set<std::string>& names, ReadTest& out) {
  if (!one.is_object()) return where + " is not a group";
  Reader t(one, where);
  plan::ReplayGroup& g = out.group;
  g.name = t.text("name");
  g.phase = static_cast<int>(t.integer("phase", 1, 1, 3));
  g.wave = static_cast<int>(t.integer("wave", 0, 0, 1 << 20));
  g.members = t.machines("machines", all);
  g.borrowed = t.machines("borrowed", all);
  g.spares = t.machines("spares", all);
  g.dp = t.integer("dp", 1, 0, 1 << 20);
  const std::int64_t runs = t.integer("runs", 0, 0, kMostRuns),
                     failures = t.integer("failures", 0, 0, kMostRuns);
  if (!t.complaint().empty()) return t.complaint();
  if (g.name.empty() || !names.insert(g.name).second) return where + "name is missing or taken";
  if (g.members.empty()) return where + "machines is empty";
  for (const plan::MachineIndex x : g.borrowed)
    if (std::ranges::binary_search(g.members, x))
      return where + "borrowed has a machine of its own group";
  if (failures > runs) return where + "failures are more than runs";
  out.outcome = {runs, failures};
  return "";
}

}  // namespace

std::string ReplayDocument::host(plan::MachineIndex machine) const {
  return machine < hosts.size() ? hosts[machine] : fmt::format("machine {}", machine);
}

plan::GroupRun ReplayDocument::run(const plan::ReplayGroup& group) const {
  plan::GroupRun out{group.name,     group.phase,    group.wave, {}, plan.params.gpus_per_machine,
                     plan.params.tp, plan.params.pp, group.dp};
  for (const auto* part : {&group.members, &group.borrowed, &group.spares})
    for (const plan::MachineIndex x : *part)
      out.hosts.push_back(x < hosts.size() ? hosts[x] : std::to_string(x));
  return out;
}

Result<ordered_json> to_json(const ReplayDocument& document) {
  ordered_json out = plan_json(document);
  if (!document.hosts.empty())
    for (std::size_t i = 0; i < document.plan.tests.size(); ++i) {
      CULPRIT_TRY(command, plan::fill_template(
                               document.command.empty() ? plan::kSlurmTemplate : document.command,
                               document.run(document.plan.tests[i])));
      out["tests"][i]["command"] = std::move(command);
    }
  return out;
}

ordered_json to_json(const ReplayDocument& document, const plan::ReplaySolution& s) {
  const auto machine = [&](plan::MachineIndex x) {
    ordered_json out{{"machine", x}};
    if (x < document.hosts.size()) out["host"] = document.hosts[x];
    return out;
  };
  ordered_json out{{"schema", "culprit.replay-solution/1"},
                   {"answer", name(s.answer)},
                   {"faulty", ordered_json::array()},
                   {"candidates", ordered_json::array()},
                   {"candidates_left_out", s.left_out},
                   {"shows", s.shows},
                   {"shows_from_outcomes", s.shows_from_outcomes},
                   {"why", s.why},
                   {"advice", s.advice}};
  for (std::size_t i = 0; i < s.candidates.size(); ++i) {
    ordered_json one = machine(s.candidates[i].machine);
    one["probability"] = s.candidates[i].probability;
    if (i < s.found) out["faulty"].push_back(one);
    out["candidates"].push_back(std::move(one));
  }
  out["run_next"] = ordered_json::array();
  for (const std::uint32_t t : s.run_next) out["run_next"].push_back(document.plan.tests[t].name);
  out["run_times"] = s.run_times;
  ReplayDocument next = document;
  for (const plan::ReplayGroup& g : s.third_phase) {
    out["run_next"].push_back(g.name);
    next.plan.tests.push_back(g);
    next.outcomes.emplace_back();
  }
  out["plan"] = plan_json(next);
  return out;
}

Result<ReplayDocument> read_replay_document(const std::string& text, const std::string& path) {
  const auto refuse = [&](std::string what) {
    return usage_error(std::move(what))
        .at({path, 0})
        .hint("`culprit replay plan --json` and `replay solve --json` print what this reads");
  };
  CULPRIT_TRY(parsed, parse_plan_json(
                          text, path,
                          "what `culprit replay plan --json` or `replay solve --json` printed"));
  const json* root = &parsed;
  if (root->is_object() && root->contains("plan")) root = &root->at("plan");
  const auto kind = root->is_object() ? root->find("schema") : root->end();
  if (!root->is_object() || kind == root->end() || !kind->is_string() ||
      kind->get<std::string>() != "culprit.replay-plan/1")
    return refuse("this is not a replay plan");
  ReplayDocument out;
  plan::ReplayParams& p = out.plan.params;
  Reader r(*root, "");
  p.machines = r.integer("machines", 0, 1, plan::kMostMachines);
  p.spares = r.integer("spares", 0, 0, plan::kMostMachines);
  p.gpus_per_machine = r.integer("gpus_per_machine", 8, 1, 1024);
  p.tp = r.integer("tp", 0, 1, 1 << 20);
  p.pp = r.integer("pp", 1, 1, 1 << 20);
  p.cp = r.integer("cp", 1, 1, 1 << 20);
  p.dp = r.integer("dp", 0, 0, 1 << 20);
  p.k = r.integer("k", 0, 1, 1 << 20);
  p.shows = r.real("shows", 1);
  p.confidence = r.real("confidence", 0.95);
  p.repeats = r.integer("repeats", 1, 1, 1000);
  p.minutes = r.real("minutes", 30);
  out.command = r.text("command");
  if (!r.complaint().empty()) return refuse(r.complaint());
  // The sizes, costs and notes are computed again; the tests are the file's, which may be
  // somebody's own.
  auto made = plan::plan_replay(p);
  if (!made) return std::move(made.error()).at({path, 0});
  out.plan = std::move(*made);
  const std::int64_t all = p.machines + p.spares;
  if (const auto it = root->find("hosts"); it != root->end()) {
    if (!it->is_array() || it->size() != static_cast<std::size_t>(all))
      return refuse(fmt::format("hosts is an array of {} names", all));
    for (const json& one : *it) {
      if (!one.is_string()) return refuse("hosts takes names");
      out.hosts.push_back(one.get<std::string>());
    }
  }
  const auto tests = root->find("tests");
  if (tests == root->end() || !tests->is_array() || tests->empty() || tests->size() > kMostTests)
    return refuse("tests is an array of groups");
  out.plan.tests.clear();
  std::set<std::string> names;
  for (const json& one : *tests) {
    ReadTest test;
    if (std::string wrong =
            read_test(one, fmt::format("tests[{}].", out.plan.tests.size()), all, names, test);
        !wrong.empty())
      return refuse(std::move(wrong));
    out.plan.tests.push_back(std::move(test.group));
    out.outcomes.push_back(test.outcome);
  }
  plan::index_tests(out.plan);
  return out;
}

Result<plan::ReplayOutcome> parse_outcome(const std::string& text) {
  if (text == "pass") return plan::ReplayOutcome{1, 0};
  if (text == "fail") return plan::ReplayOutcome{1, 1};
  const auto number = [&](std::size_t begin, std::size_t end) {
    std::int64_t value = -1;
    return parse_whole(std::string_view(text).substr(begin, end - begin), value) &&
                   value <= kMostRuns
               ? value
               : -1;
  };
  if (const std::size_t slash = text.find('/'); slash != std::string::npos)
    if (const std::int64_t failures = number(0, slash), runs = number(slash + 1, text.size());
        failures >= 0 && runs > 0 && failures <= runs)
      return plan::ReplayOutcome{runs, failures};
  return usage_error(fmt::format("'{}' is not an outcome", text.substr(0, 60)))
      .hint("pass, fail, or 2/5 for two failures in five runs");
}

Result<> add_outcome(ReplayDocument& document, const std::string& test,
                     const std::string& outcome) {
  CULPRIT_TRY(parsed, parse_outcome(outcome));
  for (std::size_t i = 0; i < document.plan.tests.size(); ++i)
    if (document.plan.tests[i].name == test) {
      plan::ReplayOutcome& known = document.outcomes[i];
      known.runs = std::min(kMostRuns, known.runs + parsed.runs);
      known.failures = std::min(known.runs, known.failures + parsed.failures);
      return {};
    }
  return usage_error(fmt::format("the plan has no group '{}'", test.substr(0, 60)))
      .hint(fmt::format("its groups are {} to {}", document.plan.tests.front().name,
                        document.plan.tests.back().name));
}

}  // namespace culprit::cli
