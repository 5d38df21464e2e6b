// culprit replay: which machines replay the job together, and what the outcomes say.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/contains.hpp"
#include "model/sort.hpp"
#include "store/fleet.hpp"
#include "fleet/document.hpp"
#include "command.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"

#include "cluster.hpp"
#include "incident.hpp"
#include "replay_document.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostPrintedOfReplay = 24;  // groups of a phase; --all and JSON have all

std::string indented(const ordered_json& value) { return identified(json_text(value) + "\n"); }
const char* s(std::int64_t n) { return n == 1 ? "" : "s"; }

std::string machines_of(const ReplayDocument& d, const std::vector<plan::MachineIndex>& machines) {
  if (d.hosts.empty())
    return to_ranges(std::vector<std::int64_t>(machines.begin(), machines.end()));
  std::vector<std::string> names;
  for (const plan::MachineIndex x : machines) names.push_back(d.host(x));
  return report::visible(fold_hostlist(names));
}

std::string group_line(const ReplayDocument& d, const plan::ReplayGroup& g) {
  std::string out = machines_of(d, g.members);
  if (!g.borrowed.empty())
    out += fmt::format(", with {} of other groups", machines_of(d, g.borrowed));
  if (!g.spares.empty()) out += fmt::format(", filled up with {}", machines_of(d, g.spares));
  return fmt::format("  {:<5} {}\n", g.name, report::wrapped(out, 72, 8));
}

std::string groups_text(const ReplayDocument& d, int phase, bool all) {
  std::string out;
  std::size_t shown = 0, hidden = 0;
  int wave = 0;
  std::vector<const plan::ReplayGroup*> groups;
  for (const plan::ReplayGroup& g : d.plan.tests)
    if (g.phase == phase) groups.push_back(&g);
  sort_by(groups, [](const auto* a) { return a->wave; });
  for (const plan::ReplayGroup* g : groups) {
    if (!all && shown == kMostPrintedOfReplay) {
      ++hidden;
      continue;
    }
    if (g->wave != wave) {
      wave = g->wave;
      out += fmt::format("  then, as machines of the groups before are in these, too:\n");
    }
    out += group_line(d, *g);
    ++shown;
  }
  if (hidden > 0) out += fmt::format("  and {} more; --all and --json have them\n", hidden);
  return out;
}

Result<std::string> plan_text(const ReplayDocument& d, bool all) {
  const plan::ReplayPlan& plan = d.plan;
  const plan::ReplayParams& p = plan.params;
  std::string out =
      plan.groups == 1
          ? fmt::format(
                "One group takes all {} machine{} (k = {}): two phases tell nothing apart\n",
                p.machines, s(p.machines), p.k)
          : fmt::format("{} groups of {} machine{} (k = {}), {} machines, two phases:\n{}\n",
                        plan.groups, plan.group, s(plan.group), p.k, p.machines,
                        plan.unique() ? "one faulty machine is found for certain"
                                      : fmt::format("one faulty machine is found among up to {}",
                                                    plan.most_candidates));
  out += fmt::format("  each replay keeps TP {} and PP {}{} and has DP {}{}; {} run{} each\n", p.tp,
                     p.pp, p.cp > 1 ? fmt::format(" and CP {}", p.cp) : "", plan.tests.front().dp,
                     p.dp > 0 ? fmt::format(" instead of {}", p.dp) : "", plan.repeats,
                     s(plan.repeats));
  if (p.shows < 1)
    out += fmt::format(
        "  a fault that shows in {:g} % of runs shows in both phases with {:g} % or more\n",
        100 * p.shows, 100 * p.confidence);
  out += fmt::format("\nPhase 1: machine x in group floor(x / {}), all at the same time\n{}",
                     plan.group, groups_text(d, 1, all));
  out += fmt::format(
      "\nPhase 2: machine x in group x mod {}; after phase 1, only the groups that\nhold a "
      "suspect\n{}",
      plan.groups, groups_text(d, 2, all));
  out += fmt::format(
      "\nPrice until one machine is left, at {:g} minutes a replay, at worst\n  {:<12} {:>7} {:>9} "
      "{:>12} {:>18}\n",
      p.minutes, "", "rounds", "hours", "GPU-hours", "GPU-hours waiting");
  for (const plan::ReplayCost& c : plan.costs)
    out += fmt::format("  {:<12} {:>7} {:>9.1f} {:>12.0f} {:>18.0f}\n", c.method, c.rounds, c.hours,
                       c.gpu_hours, c.held_gpu_hours);
  if (!d.hosts.empty()) {
    CULPRIT_TRY(command, plan::fill_template(d.command.empty() ? plan::kSlurmTemplate : d.command,
                                             d.run(plan.tests.front())));
    out +=
        fmt::format("\nThe command of {} (--script has all of them):\n  {}\n",
                    plan.tests.front().name, plan::folded_command(report::visible(command), 76, 4));
    if (d.command.empty())
      out +=
          "  train.py is a placeholder for your own: fewer layers, the same data and seeds;\n  "
          "--command "
          "takes a template\n";
  }
  // An example that can be pasted: the first group of each phase.
  std::string failed;
  int phase = 0;
  for (const plan::ReplayGroup& g : plan.tests)
    if (std::exchange(phase, g.phase) != g.phase)
      failed += fmt::format(" --outcome {}=fail", g.name);
  out += fmt::format(
      "\nThen, with this plan in a file (--format json >plan.json), and these failed:\n  culprit "
      "replay solve --plan plan.json{} --rest pass\n",
      failed);
  for (const std::string& note : plan.notes)
    out += report::paragraph("note: ", report::visible(note), 74, 6);
  return out;
}

constexpr OptionSpec kReplayOptions[] = {
    kClusterHosts,
    {"machines", "N", "number of machines, when they have no names"},
    {"tp", "N", "tensor-parallel size (default: the GPUs of a machine)"},
    {"pp", "N", "pipeline stages"},
    {"cp", "N", "context-parallel size"},
    {"dp", "N", "data-parallel size of the job; with --pp it gives the number of machines"},
    {"gpus-per-host", "N", "GPUs of a machine (default 8)"},
    {"k", "N", "group size in replicas (default: the smallest that is unique)"},
    {"min-dp", "N", "smallest data-parallel size of a replay"},
    {"spares", "LIST", "hosts known to be good that fill up groups, or their number"},
    {"cleared", "LIST", "hosts of the job that are cleared: no suspects, used as spares"},
    {"shows", "P", "how often a replay with the faulty machine shows the fault (default 1)"},
    {"confidence", "P", "how sure the answer must be (default 0.95)"},
    {"repeats", "N", "runs of each replay (default: what --shows and --confidence need)"},
    {"minutes", "M", "minutes of one replay (default 30)"},
    {"command", "TEXT",
     "command of a group: {hosts} {hostlist} {first} {nnodes} {nproc} {world} {tp} {pp} {dp} "
     "{tag}"},
};

constexpr auto kReplayPlanOptions =
    joined(kReplayOptions,
           {{"script", nullptr, "print a Slurm batch script of all replays instead"},
            {"all", nullptr, "print all groups"}},
           kPlanDatabase, kPlanOptions);

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

constexpr std::int64_t kMostSize = 1 << 20;  // of a dimension

// What the options say of the job and the tests, machines apart.
Result<plan::ReplayParams> given_params(const PlanInput& input, const Cluster& cluster) {
  plan::ReplayParams p{.gpus_per_machine = cluster.gpus.value_or(8),
                       .tp = cluster.tp.value_or(0),
                       .pp = cluster.pp.value_or(1),
                       .cp = cluster.cp.value_or(1),
                       .dp = cluster.dp.value_or(0)};
  // 0 stands for what is not given: nobody can give it.
  const auto least = [&](const char* option) { return std::int64_t{input.has(option)}; };
  CULPRIT_CHECK(input.set("gpus-per-host", p.gpus_per_machine, 1, 1024));
  CULPRIT_CHECK(input.set("tp", p.tp, least("tp"), kMostSize));
  CULPRIT_CHECK(input.set("pp", p.pp, 1, kMostSize));
  CULPRIT_CHECK(input.set("cp", p.cp, 1, kMostSize));
  CULPRIT_CHECK(input.set("dp", p.dp, least("dp"), kMostSize));
  CULPRIT_CHECK(input.set("k", p.k, least("k"), kMostSize));
  CULPRIT_CHECK(input.set("min-dp", p.min_dp, 1, kMostSize));
  CULPRIT_CHECK(input.set("shows", p.shows, 1e-6, 1));
  CULPRIT_CHECK(input.set("confidence", p.confidence, 1e-6, 1 - 1e-9));
  CULPRIT_CHECK(input.set("repeats", p.repeats, least("repeats"), 1000));
  CULPRIT_CHECK(input.set("minutes", p.minutes, 1e-3, 1e6));
  CULPRIT_CHECK(input.set("machines", p.machines, least("machines"), plan::kMostMachines));
  return p;
}

// Machines without names: their number is given, or follows from the whole job.
Result<> count_machines(const PlanInput& input, const std::vector<std::string>& cleared,
                        const std::vector<std::string>& spares, bool solving,
                        plan::ReplayParams& p) {
  const bool count_only = spares.size() == 1 && is_number(spares[0]);
  if (!cleared.empty())
    return input.complaint("cleared", "names hosts, and the machines have no names")
        .hint("--hosts names them all");
  if (!spares.empty() && !count_only)
    return input.complaint("spares", "names hosts, and the machines have no names")
        .hint("--hosts names them, or give the number of spares");
  // The machines of the whole job.
  const std::int64_t replica =
      std::min<std::int64_t>(kMostSize, p.tp == 0 ? p.gpus_per_machine : p.tp) *
      std::min(kMostSize, p.pp) * std::min(kMostSize, p.cp);
  constexpr std::int64_t kMostGpus = plan::kMostMachines * 1024;
  if (p.machines == 0 && p.dp > 0 &&
      p.dp <= kMostGpus / std::max<std::int64_t>(1, std::min<std::int64_t>(replica, kMostGpus)))
    p.machines = (p.dp * replica + p.gpus_per_machine - 1) / p.gpus_per_machine;
  if (p.machines == 0)
    return usage_error("replay needs the machines")
        .hint(solving ? "--plan plan.json, which `culprit replay plan --json` printed; else the "
                        "options that the plan was made with, such as --machines 24 --pp 4"
                      : "--hosts node[01-24], --machines 24, --dp with --pp, or -d incident.db "
                        "of a job whose hosts are known");
  p.spares = count_only ? std::stoll(spares[0]) : 0;
  return {};
}

// Machines with names: the suspects, and after them those that are known to be good.
Result<std::vector<std::string>> name_machines(const PlanInput& input,
                                               std::vector<std::string> hosts,
                                               const std::vector<std::string>& cleared,
                                               const std::vector<std::string>& spares,
                                               plan::ReplayParams& p) {
  if (p.machines != 0 && p.machines != static_cast<std::int64_t>(hosts.size()))
    return input
        .complaint("machines",
                   fmt::format("is {}, and there are {} hosts", p.machines, hosts.size()))
        .hint("leave --machines out: the hosts are counted");
  std::vector<std::string> good;
  for (const std::string& host : cleared) {
    const auto it = std::ranges::find(hosts, host);
    if (it == hosts.end())
      return input.complaint("cleared", fmt::format("has {}, which is none of the hosts", host))
          .hint("hosts of other jobs that are known to be good are --spares");
    good.push_back(host);
    hosts.erase(it);
  }
  for (const std::string& host : spares) {
    if (contains(hosts, host) || contains(good, host))
      return input
          .complaint("spares",
                     fmt::format("has {}, which is a host of the job or named twice", host))
          .hint(
              "spares are hosts of other jobs, known to be good; hosts of this one are "
              "--cleared");
    good.push_back(host);
  }
  if (hosts.empty())
    return input.complaint("cleared", "leaves no suspect")
        .hint("at least one host of the job must not be cleared");
  p.machines = static_cast<std::int64_t>(hosts.size());
  p.spares = static_cast<std::int64_t>(good.size());
  hosts.insert(hosts.end(), good.begin(), good.end());
  return hosts;
}

// From options, a file or a database to a plan; what `plan` prints and what `solve` solves without
// --plan.
Result<ReplayDocument> make_document(const PlanInput& input, const Arguments& arguments,
                                     bool solving = false) {
  CULPRIT_TRY(cluster, read_cluster(input, arguments));
  CULPRIT_TRY(p, given_params(input, cluster));
  CULPRIT_TRY(command, input.text("command"));
  ReplayDocument out;
  out.command = command;
  CULPRIT_TRY(cleared, input.names("cleared", kMostHosts));
  CULPRIT_TRY(spares, input.names("spares", kMostHosts));
  for (const std::string& spare : spares)
    if (spare.empty() || spare.front() == '-')
      return input.complaint("spares", fmt::format("takes hosts or their number, not '{}'", spare))
          .hint("--spares spare[1-2], or --spares 2 when the machines have no names");
  if (cluster.hosts.empty()) {
    CULPRIT_CHECK(count_machines(input, cleared, spares, solving, p));
  } else {
    CULPRIT_TRY(hosts, name_machines(input, std::move(cluster.hosts), cleared, spares, p));
    out.hosts = std::move(hosts);
  }
  // A template that cannot be filled is an error at once, not in the script that somebody runs at
  // night.
  CULPRIT_TRY(filled, plan::fill_template(
                          command.empty() ? plan::kSlurmTemplate : command,
                          plan::GroupRun{"H0", 1, 0, {"host"}, p.gpus_per_machine, 1, 1, 1}));
  CULPRIT_TRY(plan, plan::plan_replay(p));
  out.plan = std::move(plan);
  if (!input.has("gpus-per-host") && !cluster.gpus) out.plan.notes.push_back(kAssumedGpus);
  if (!input.has("pp") && !cluster.pp)
    out.plan.notes.insert(out.plan.notes.begin(),
                          "the number of pipeline stages is not known and taken as 1; a replay "
                          "that cuts a pipeline does not run (--pp)");
  out.plan.notes.insert(out.plan.notes.begin(), cluster.notes.begin(), cluster.notes.end());
  out.outcomes.resize(out.plan.tests.size());
  return out;
}

Result<Exit> run_replay_plan(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kReplayPlanOptions));
  CULPRIT_TRY(document, make_document(input, arguments));
  if (arguments.has("script")) {
    if (document.hosts.empty())
      return usage_error("a script needs the names of the hosts")
          .hint("--hosts node[01-24], or -d incident.db");
    std::vector<plan::GroupRun> runs;
    for (const plan::ReplayGroup& g : document.plan.tests) runs.push_back(document.run(g));
    CULPRIT_TRY(script, plan::slurm_script(
                            document.command.empty() ? plan::kSlurmTemplate : document.command,
                            runs, document.plan.repeats, document.plan.params.minutes));
    print(script);
  } else if (input.wants_json()) {
    CULPRIT_TRY(out, to_json(document));
    print(indented(out));
  } else {
    CULPRIT_TRY(text, plan_text(document, arguments.has("all")));
    print(text);
  }
  return Exit::finished;
}

constexpr auto kSolveOptions = joined(
    {{"plan", "FILE",
      "what `replay plan --json` or `replay solve --json` printed; else the options of `replay "
      "plan`"},
     {"outcome", "NAME=OUTCOME",
      "pass, fail, or 2/5: two failures in five runs (may be repeated; runs add up)"},
     {"outcomes", "FILE", "outcomes from a file: lines NAME=OUTCOME, or a JSON object"},
     {"rest", "pass", "groups that are not named passed"},
     {"fleet", "FILE",
      "a fleet database: machines that failed more often than others are likelier before any "
      "test"}},
    kReplayOptions, kPlanDatabase, kPlanOptions);

Result<> read_outcomes(const std::string& path, ReplayDocument& document) {
  CULPRIT_TRY(text, read_plan_file(path));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    CULPRIT_TRY(
        parsed,
        parse_plan_json(text, path, "an object of outcomes, {\"H3\": \"fail\"}, or lines H3=fail"));
    const auto& root = parsed.contains("outcomes") ? parsed.at("outcomes") : parsed;
    if (!root.is_object())
      return usage_error("outcomes are an object")
          .at({path, 0})
          .hint("{\"H3\": \"fail\", \"V1\": \"pass\"}");
    for (const auto& [test, value] : root.items()) {
      std::string outcome;
      if (value.is_string())
        outcome = value.get<std::string>();
      else if (value.is_object() && value.contains("runs") && value.contains("failures") &&
               value["runs"].is_number_unsigned() && value["failures"].is_number_unsigned())
        outcome = fmt::format("{}/{}", value["failures"].get<std::uint64_t>(),
                              value["runs"].get<std::uint64_t>());
      else
        return usage_error(fmt::format("the outcome of {} is none", test))
            .at({path, 0})
            .hint("\"pass\", \"fail\", \"2/5\" or {\"runs\": 5, \"failures\": 2}");
      if (auto added = add_outcome(document, test, outcome); !added)
        return std::move(added.error()).at({path, 0});
    }
    return {};
  }
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
      line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos)
      return usage_error("this line is not an outcome").at({path, number}).hint("H3=fail");
    if (auto added = add_outcome(document, line.substr(0, equals), line.substr(equals + 1)); !added)
      return std::move(added.error()).at({path, number});
  }
  return {};
}

std::string solution_text(const ReplayDocument& d, const plan::ReplaySolution& solution) {
  std::vector<plan::MachineIndex> found;
  for (std::size_t i = 0; i < solution.found; ++i) found.push_back(solution.candidates[i].machine);
  std::string out;
  switch (solution.answer) {
    case plan::ReplayAnswer::found:
      out =
          solution.found == 1
              ? fmt::format("{} is faulty ({} % sure)\n", report::visible(d.host(found[0])),
                            solution.candidates[0].probability > 0.999
                                ? "over 99.9"
                                : fmt::format("{:.1f}", 100 * solution.candidates[0].probability))
              : fmt::format("{} machines are faulty: {}\n", solution.found, machines_of(d, found));
      break;
    case plan::ReplayAnswer::candidates:
      out = fmt::format("{} machines are candidates\n",
                        solution.candidates.size() + solution.left_out);
      break;
    case plan::ReplayAnswer::more_runs: out = "Not decided yet\n"; break;
    case plan::ReplayAnswer::contradiction:
      out = "The outcomes fit no machine whose fault always shows\n";
      break;
    case plan::ReplayAnswer::not_reproduced: out = "The fault did not show in any group\n"; break;
    case plan::ReplayAnswer::no_machine:
      out = "Everything fails, which accuses no machine\n";
      break;
  }
  for (const std::string& why : solution.why)
    out += report::paragraph("  ", report::visible(why), 78, 4);
  if (solution.candidates.size() > solution.found) {
    out += "\n";
    for (const plan::ReplayCandidate& c : solution.candidates) {
      std::string tests;
      for (const std::uint32_t t : d.plan.tests_of[c.machine]) {
        const plan::ReplayOutcome& o = d.outcomes[t];
        tests += fmt::format(
            "  {} {}", d.plan.tests[t].name,
            o.runs == 0 ? "not reported" : fmt::format("failed {}/{}", o.failures, o.runs));
      }
      out += fmt::format("  {:>6.2f} %  {}{}\n", 100 * c.probability,
                         report::visible(d.host(c.machine)), tests);
    }
    if (solution.left_out > 0) out += fmt::format("  and {} less likely ones\n", solution.left_out);
    double all = 0;
    for (const plan::ReplayCandidate& c : solution.candidates) all += c.probability;
    if (all > 1.5 && solution.answer != plan::ReplayAnswer::contradiction)
      out += fmt::format("  ({:.0f} % in all: that many machines are faulty)\n", 100 * all);
  }
  if (!solution.advice.empty()) out += "\nNext\n";
  for (const std::string& advice : solution.advice)
    out += report::paragraph("  ", report::visible(advice), 78, 4);
  for (const plan::ReplayGroup& g : solution.third_phase) out += group_line(d, g);
  if (!solution.third_phase.empty())
    out += "  their outcomes go to the plan that --json prints with this answer\n";
  return out;
}

Result<std::vector<double>> priors_of(const ReplayDocument& document, const std::string& path) {
  CULPRIT_TRY(record, store::read_fleet(path));
  std::vector<std::string> hosts;
  for (std::int64_t x = 0; x < document.plan.params.machines; ++x)
    hosts.push_back(document.host(static_cast<plan::MachineIndex>(x)));
  std::vector<double> out = fleet::relative_rates(record, hosts);
  if (out.empty())
    return usage_error("this fleet database holds no failures of machines over a time")
        .at({path, 0})
        .hint("`culprit fleet -d " + path + "` prints what it holds");
  return out;
}

Result<Exit> run_solve(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kSolveOptions));
  CULPRIT_TRY(path, input.text("plan"));
  ReplayDocument document;
  if (path.empty()) {
    CULPRIT_TRY(made, make_document(input, arguments, true));
    document = std::move(made);
  } else {
    for (const OptionSpec& option : kReplayPlanOptions)
      if (const std::string name =
              std::string(option.name).substr(0, std::string(option.name).find(','));
          input.has(name) && name != "shows" && name != "confidence" && name != "input" &&
          name != "format" && name != "json")
        return input.complaint(name, "does not go with --plan").hint("the plan has it");
    CULPRIT_TRY(text, read_plan_file(path));
    CULPRIT_TRY(read, read_replay_document(text, path));
    document = std::move(read);
    CULPRIT_CHECK(input.set("shows", document.plan.params.shows, 1e-6, 1));
    CULPRIT_CHECK(input.set("confidence", document.plan.params.confidence, 1e-6, 1 - 1e-9));
  }
  CULPRIT_TRY(file, input.text("outcomes"));
  if (!file.empty()) CULPRIT_CHECK(read_outcomes(file, document));
  CULPRIT_TRY(given, input.pairs("outcome", std::size_t{1} << 20));
  for (const auto& [test, outcome] : given) CULPRIT_CHECK(add_outcome(document, test, outcome));
  CULPRIT_TRY(rest, input.text("rest"));
  if (!rest.empty() && rest != "pass")
    return input.complaint("rest", fmt::format("takes pass, not '{}'", rest))
        .hint("--rest pass: what is not named passed; failures are named one by one");
  for (plan::ReplayOutcome& o : document.outcomes)
    if (!rest.empty() && o.runs == 0) o.runs = document.plan.repeats;
  plan::SolveParams params;
  CULPRIT_TRY(fleet_file, input.text("fleet"));
  if (!fleet_file.empty()) {
    CULPRIT_TRY(priors, priors_of(document, fleet_file));
    params.priors = std::move(priors);
  }
  CULPRIT_TRY(solution, plan::solve_replay(document.plan, document.outcomes, params));
  if (!params.priors.empty())
    solution.why.push_back("before the tests, machines were as likely as their failures in " +
                           fleet_file + " make them");
  print(input.wants_json() ? indented(to_json(document, solution))
                           : solution_text(document, solution));
  return Exit::finished;
}

Result<Exit> run_replay(const Arguments&) {
  return usage_error("replay needs plan or solve").hint("`culprit help replay` tells of both");
}

constinit const Command kReplayPlan{
    "replay plan",
    "which machines replay the job together, twice",
    "replay plan [BUNDLE...] [options]",
    "  culprit replay plan --hosts node[00-23] --pp 4 --json > plan.json\n"
    "  culprit replay plan -d incident.db --shows 0.7 --script > replay.sbatch\n\n"
    "  Two groupings in which two machines share a group at most once: where the fault shows in "
    "one\n"
    "  group of each, their common machine has it. TP and PP stay, only the data-parallel size "
    "shrinks.\n",
    kReplayPlanOptions,
    run_replay_plan};
constinit const Command kReplaySolve{
    "replay solve",
    "from outcomes to the machine",
    "replay solve [BUNDLE...] [options]",
    "  culprit replay solve --plan plan.json --outcome H3=fail --outcome V1=fail --rest pass\n"
    "  culprit replay solve --machines 24 --pp 4 --outcomes replay-outcomes.txt\n\n"
    "  The machine, or candidates with probabilities and the third phase that tells them apart, or "
    "why\n"
    "  the outcomes fit no machine and what to do about that.\n",
    kSolveOptions,
    run_solve};
constexpr const Command* kSubcommands[] = {&kReplayPlan, &kReplaySolve};

}  // namespace

constinit const Command kReplay{
    "replay",
    "find the faulty machine by replaying the job in groups",
    "replay plan|solve [options]",
    "  culprit replay plan --hosts node[00-23] --pp 4 --json > plan.json\n"
    "  culprit replay solve --plan plan.json --outcome H3=fail --outcome V1=fail --rest pass\n",
    {},
    run_replay,
    kSubcommands};

}  // namespace culprit::cli
