#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "diagnosed.hpp"
#include "from_incident.hpp"
#include "incident.hpp"
#include "input.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "pack.hpp"
#include "plan/survival.hpp"
#include "report/terminal.hpp"
#include "rules/survival.hpp"
#include "shape.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;
using Why = plan::SurvivalAnswer::Why;

constexpr auto kPlanSurvivalOptions =
    joined(kShapeOptions,
           {{"evict", "NAMES", "hosts or ranks at fault; else those that the verdict names"},
            {"spares", "N", "machines that stand by (default 1)"},
            {"min-replicas", "N", "replicas without which torchft waits (default 1)"}},
           kPlanDatabase, kPlanOptions);

// The verdict of the incident, as its document has it.
struct Judged {
  std::string action;
  std::set<std::string> hosts;
  std::set<std::int64_t> ranks;
};

Judged judged(const std::string& text) {
  Judged out;
  const auto document = parse_json(text);
  if (document.is_discarded() || !document.contains("verdict")) return out;
  const auto& verdict = document["verdict"];
  out.action = verdict.value("action", "");
  for (const auto& target : verdict["targets"]) {
    const auto kind = term_named<SubjectKind>(target.value("kind", ""));
    const std::string id = target.value("id", "");
    if (kind == SubjectKind::host) out.hosts.insert(id);
    if (kind == SubjectKind::gpu || kind == SubjectKind::nic)
      out.hosts.insert(id.substr(0, id.find('/')));
    if (kind == SubjectKind::rank)
      for (const Rank rank : from_ranges(id)) out.ranks.insert(number_of(rank));
  }
  return out;
}

plan::FailureCause cause_of(const std::string& action) {
  switch (term_named<Action>(action).value_or(Action::none)) {
    case Action::isolate:
    case Action::checks:
    case Action::offline:
    case Action::replay: return plan::FailureCause::machines;
    case Action::rollback: return plan::FailureCause::program;
    case Action::reattempt:
    case Action::repair: return plan::FailureCause::transient;
    case Action::none:
    case Action::mitigate:
    case Action::investigate: break;
  }
  return plan::FailureCause::unknown;
}

// The errors of communication of each rank, the worst of each: what quits outweighs what is tried
// again.
std::vector<plan::SurvivorError> errors_of(const analyze::Facts& facts) {
  std::map<Rank, const rules::CommunicationError*> worst;
  const auto take = [&](std::optional<Rank> rank, const Place& place, std::string_view message) {
    const MemberRow* m = facts.member(place.member);
    if (!facts.counts(m)) return;
    if (!rank) rank = m->rank;
    const rules::CommunicationError* error = rules::communication_error(message);
    if (!rank || error == nullptr) return;
    const rules::CommunicationError*& known = worst[*rank];
    if (known == nullptr || (known->recoverable && !error->recoverable)) known = error;
  };
  for (const EventRow& e : facts.events) take(e.rank, e.place, e.message);
  for (const TracebackRow& t : facts.tracebacks) take(t.rank, t.place, t.message);
  std::vector<plan::SurvivorError> out;
  for (const auto& [rank, error] : worst) out.push_back({rank, error->name, error->recoverable});
  return out;
}

std::string words(const plan::SurvivalAnswer& a) {
  switch (a.why) {
    case Why::cause_unknown: return "which machines failed is not known";
    case Why::program: return "the program or its data failed, and would again";
    case Why::nothing_to_do: return "any restart goes on: nothing has to be replaced";
    case Why::spares_enough:
      return fmt::format(
          "{} machine{} to replace, and as many stand by; what was computed since "
          "the last checkpoint is lost",
          a.count, a.count == 1 ? "" : "s");
    case Why::spares_short:
      return fmt::format("{} machine{} too few stand by", a.count, a.count == 1 ? "" : "s");
    case Why::copies_left:
      return fmt::format("{} shard{} of evicted ranks {} a copy on another machine", a.count,
                         a.count == 1 ? "" : "s", a.count == 1 ? "has" : "have");
    case Why::copies_lost:
      return fmt::format("{} shard{} lost with both copies", a.count,
                         a.count == 1 ? " is" : "s are");
    case Why::one_replica: return "the job is one replica";
    case Why::all_replicas: return fmt::format("each of {} replicas lost a rank", a.of);
    case Why::fatal_error: {
      std::map<std::string, std::vector<Rank>> by_error;
      for (const plan::SurvivorError& e : a.fatal) by_error[e.error].push_back(e.rank);
      std::string out = "healthy replicas quit:";
      for (const auto& [error, ranks] : by_error)
        out += fmt::format(" {} on ranks {};", error, to_ranges(ranks));
      out.pop_back();
      return out;
    }
    case Why::replicas_left:
    case Why::from_next_step:
      return fmt::format("{} of {} replicas go on{}, with {:.0f} % of the throughput", a.count,
                         a.of, a.why == Why::from_next_step ? " and compute this step again" : "",
                         100.0 * static_cast<double>(a.count) /
                             static_cast<double>(std::max<std::size_t>(1, a.of)));
    case Why::too_few_replicas:
      return fmt::format("{} of {} replicas are left, fewer than it needs (--min-replicas)",
                         a.count, a.of);
  }
  return {};
}

struct LayerAnswer {
  const char* layer;
  const char* label;
  const plan::SurvivalAnswer* answer;
};
std::vector<LayerAnswer> layers_of(const plan::SurvivalReport& r) {
  return {{"spare", "a spare machine", &r.spare},
          {"memory", "a checkpoint in memory", &r.memory},
          {"replicas", "a layer of replicas", &r.replicas},
          {"torchft", "torchft", &r.torchft}};
}

struct SurvivalContext {
  Judged judged;
  plan::SurvivalQuestion question;
  std::vector<std::string> hosts;  // evicted
  std::string source;              // of the layout
};

std::string text_of(const plan::SurvivalReport& report, const SurvivalContext& c) {
  std::string out;
  for (const LayerAnswer& row : layers_of(report))
    out += fmt::format("{:<23} {:<8} {}\n", row.label, plan::name(row.answer->survived),
                       report::wrapped(words(*row.answer), 78, 33, 33));
  out += fmt::format("\n  evicted: {}\n  layout: {}\n",
                     c.hosts.empty() && c.question.evicted.empty() ? "nobody is named"
                     : c.hosts.empty() ? "ranks " + to_ranges(c.question.evicted)
                                       : report::visible(fold_hostlist(c.hosts)),
                     report::visible(c.source));
  std::map<std::pair<bool, std::string>, std::vector<Rank>> errors;
  for (const plan::SurvivorError& e : c.question.errors)
    errors[{e.recoverable, e.error}].push_back(e.rank);
  for (const auto& [error, ranks] : errors)
    out += fmt::format("  {} ({}): ranks {}\n", error.second, error.first ? "recoverable" : "fatal",
                       to_ranges(ranks));
  return out;
}

std::string json_of(const plan::SurvivalReport& report, const SurvivalContext& c) {
  ordered_json out{{"schema", "culprit.plan-survival/1"},
                   {"action", c.judged.action},
                   {"evicted_hosts", c.hosts},
                   {"evicted_ranks", to_ranges(c.question.evicted)},
                   {"spares", c.question.spares},
                   {"min_replicas", c.question.min_replicas},
                   {"answers", ordered_json::array()},
                   {"errors", ordered_json::array()}};
  for (const LayerAnswer& row : layers_of(report))
    out["answers"].push_back({{"layer", row.layer},
                              {"survived", plan::name(row.answer->survived)},
                              {"why", words(*row.answer)}});
  for (const plan::SurvivorError& e : c.question.errors)
    out["errors"].push_back(
        {{"rank", number_of(e.rank)}, {"error", e.error}, {"recoverable", e.recoverable}});
  return json_text(out) + "\n";
}

// Whose machines are evicted, and all ranks on them.
Result<> evict(const PlanInput& input, const JobShape& job, SurvivalContext& c) {
  std::vector<Rank> at_fault;
  if (input.has("evict")) {
    CULPRIT_TRY(named, ranks_named(input, "evict", job));
    at_fault = std::move(named);
    c.question.cause = plan::FailureCause::machines;
  } else {
    for (const std::int64_t rank : c.judged.ranks)
      if (rank < job.shape.ranks()) at_fault.push_back(Rank(rank));
  }
  std::set<std::string> hosts(c.judged.hosts);
  if (input.has("evict")) hosts.clear();
  for (const Rank rank : at_fault) hosts.insert(job.host_of(rank));
  for (std::int64_t r = 0; r < job.shape.ranks(); ++r)
    if (hosts.count(job.host_of(Rank(r))) != 0) c.question.evicted.push_back(Rank(r));
  if (c.question.cause != plan::FailureCause::machines) {
    c.question.evicted.clear();
    hosts.clear();
  }
  c.hosts.assign(hosts.begin(), hosts.end());
  c.question.machines = c.hosts.size();
  return {};
}

Result<Exit> run_plan_survival(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanSurvivalOptions));
  CULPRIT_TRY(job, job_shape(input, arguments));
  CULPRIT_TRY(spares, input.integer("spares", 1, 0, 1'000'000));
  SurvivalContext c;
  c.source = job.source;
  c.question.spares = spares;
  CULPRIT_CHECK(input.set("min-replicas", c.question.min_replicas, 1, 1'000'000'000));
  if (names_plan_incident(arguments)) {
    CULPRIT_TRY(pack, load_pack(arguments));
    CULPRIT_TRY(incident, open_diagnosed(arguments, arguments.positional(), pack));
    c.judged = judged(incident.document);
    c.question.cause = cause_of(c.judged.action);
    c.question.errors = errors_of(incident.resolved.facts);
    if (job.hosts.empty() && !input.has("gpus-per-host")) place(incident.resolved.topology, job);
    c.source = job.source;
  } else if (!input.has("evict")) {
    return usage_error("plan survival needs to know who failed")
        .hint("-d incident.db, or --evict node-07 with --tp, --pp and --dp");
  }
  CULPRIT_CHECK(evict(input, job, c));
  CULPRIT_TRY(report, plan::would_survive(job.shape, c.question));
  print(input.wants_json() ? identified(json_of(report, c)) : text_of(report, c));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanSurvival{
    "plan survival",
    "would a spare, a checkpoint in memory, replicas or torchft have survived this",
    "plan survival [BUNDLE...] [options]",
    "  culprit plan survival -d incident.db --spares 2\n"
    "  culprit plan survival --tp 8 --dp 16 --evict host3\n\n"
    "  Of the machines that the verdict names, and of the errors that the other ranks raised:\n"
    "  recoverable or fatal, as FT-HSDP has them.\n",
    kPlanSurvivalOptions,
    run_plan_survival};

}  // namespace culprit::cli
