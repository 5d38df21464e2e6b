#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "command.hpp"
#include "diagnose/congestion.hpp"
#include "incident.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "plan/topology.hpp"
#include "shape.hpp"
#include "report/phrases.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLinesOfPlanTopology = 64;  // of moves, for people
constexpr std::size_t kMostNotesOfPlanTopology = 24;

constexpr auto kPlanTopologyOptions = joined(
    {{"straggler", "RANK,SLOWDOWN",
      "a rank that takes SLOWDOWN times as long (may be repeated); in a file objects with the "
      "keys "
      "rank, slowdown"},
     {"congested", "HOST,HOST", "a congested link, by its two hosts"}},
    kShapeOptions,
    {{"micro-batches", "N", "micro-batches of one replica in a step (default 8)"},
     {"end-load", "F", "time of the first and last stage against the others (default 1)"},
     {"dp-mb", "MB", "what a GPU sends in a step for data parallelism (default 10000)"},
     {"pp-mb", "MB", "what it sends to the next stage (default 100)"}},
    kPlanDatabase, kPlanOptions);

// What the plan is made of, and where that is from.
struct TopologyQuestion {
  JobShape job;
  std::vector<plan::SlowRank> slow;
  std::optional<plan::CongestedLink> link;
  std::vector<std::string> notes;
};

std::string text_of(const TopologyQuestion& question, const plan::TopologyPlan& plan) {
  const JobShape& job = question.job;
  std::string out;
  if (plan.moves.empty())
    out = "Leave the ranks where they are\n";
  else
    out = fmt::format("{} ranks change places\n", plan.moves.size());
  out += fmt::format("  {}\n  {} ranks, layout {}\n\n", report::wrapped(plan.why, 76, 2),
                     job.shape.ranks(), report::visible(job.source));
  if (!plan.stages_before.empty()) {
    out += fmt::format(
        "  slow stages   {} -> {}; {} needed, as tensor-parallel groups stay whole\n               "
        " ({} by GPUs alone)\n",
        to_ranges(plan.stages_before), to_ranges(plan.stages_after), plan.needed_stages,
        plan.least_stages);
    out += fmt::format(
        "  step time     {:.3f} -> {:.3f} times the healthy one, if all replicas wait for\n        "
        "        the slowest of a stage\n",
        plan.stage_before, plan.stage_after);
    out += fmt::format(
        "                {:.3f} -> {:.3f}, if replicas meet at the end of the step only\n",
        plan.replica_before, plan.replica_after);
  }
  if (plan.link_before)
    out += fmt::format(
        "  link, a step  {:g} -> {:g} MB of data parallelism, {:g} -> {:g} MB between stages\n",
        plan.link_before->dp_mb, plan.link_after->dp_mb, plan.link_before->pp_mb,
        plan.link_after->pp_mb);
  for (const std::string& note : question.notes)
    out += report::paragraph("note: ", report::visible(note), 74, 6);
  if (plan.moves.empty()) return out;
  out += "\n  rank  takes the place of\n";
  for (std::size_t i = 0; i < std::min(kMostLinesOfPlanTopology, plan.moves.size()); ++i) {
    const auto& m = plan.moves[i];
    out += fmt::format("  {:>4}  {:>4}   {} on {} -> {}\n", m.rank, m.place, job.place_of(m.rank),
                       report::visible(job.host_of(m.rank)), job.place_of(m.place));
  }
  if (plan.moves.size() > kMostLinesOfPlanTopology)
    out += fmt::format("  and {} more: --format json has all\n",
                       plan.moves.size() - kMostLinesOfPlanTopology);
  return out;
}

std::string json_of(const TopologyQuestion& question, const plan::TopologyPlan& plan) {
  const JobShape& job = question.job;
  ordered_json out{{"plan", "topology"},
                   {"version", 1},
                   {"ranks", job.shape.ranks()},
                   {"layout_from", job.source},
                   {"why", plan.why},
                   {"stages_before", plan.stages_before},
                   {"stages_after", plan.stages_after},
                   {"least_stages", plan.least_stages},
                   {"needed_stages", plan.needed_stages},
                   {"step_by_stage", {plan.stage_before, plan.stage_after}},
                   {"step_by_replica", {plan.replica_before, plan.replica_after}}};
  if (plan.link_before)
    out["link"] = {{"dp_mb", {plan.link_before->dp_mb, plan.link_after->dp_mb}},
                   {"pp_mb", {plan.link_before->pp_mb, plan.link_after->pp_mb}}};
  out["straggler"] = ordered_json::array();
  for (const plan::SlowRank& s : question.slow)
    out["straggler"].push_back({{"rank", number_of(s.rank)}, {"slowdown", s.slowdown}});
  if (question.link) {
    const auto& [a, b] = *question.link;
    out["congested"] = {job.name_of_host(a), job.name_of_host(b)};
  }
  out["moves"] = ordered_json::array();
  for (const auto& m : plan.moves) out["moves"].push_back({{"rank", m.rank}, {"place", m.place}});
  if (!question.notes.empty()) out["notes"] = question.notes;
  return json_text(out) + "\n";
}

// The slow ranks and the link that the options or the file give.
Result<> take_given(const PlanInput& input, TopologyQuestion& out) {
  static constexpr const char* kColumns[] = {"rank", "slowdown"};
  CULPRIT_TRY(rows, input.table("straggler", kColumns, 0, 1e8, 1u << 20));
  for (const auto& row : rows) {
    if (row[0] != static_cast<double>(static_cast<std::int64_t>(row[0])))
      return input.complaint("straggler",
                             fmt::format("names ranks by whole numbers, not {}", row[0]));
    out.slow.push_back({Rank(static_cast<std::int64_t>(row[0])), row[1]});
  }
  CULPRIT_TRY(ends, input.names("congested", 2));
  if (!input.has("congested")) return {};
  if (ends.size() != 2 || ends[0] == ends[1])
    return input.complaint("congested", "takes two different hosts");
  std::int32_t found[2];
  for (std::size_t e = 0; e < 2; ++e) {
    const auto number = out.job.number_of_host(ends[e]);
    if (!number)
      return input
          .complaint("congested",
                     fmt::format("names '{}', which is not a host of the job", ends[e]))
          .hint("hosts without a name are host0, host1, ...");
    found[e] = *number;
  }
  out.link = plan::CongestedLink{found[0], found[1]};
  return {};
}

// Ranks that compute slowly, as long as steps are for it. A NIC or a switch is none, and is slow
// wherever its ranks stand.
Result<> take_slow_ranks(PlanIncident& incident, TopologyQuestion& out) {
  CULPRIT_TRY(slow, slow_spells(incident));
  if (slow.spells.empty())
    out.notes.push_back("no slow interval in this incident: " + report::words(slow.why));
  std::map<Rank, double> slowdown;
  for (const diagnose::SlowSpell& s : slow.to_act_on()) {
    const bool network =
        s.subject.kind == SubjectKind::nic || s.subject.kind == SubjectKind::network_switch;
    std::vector<Rank> ranks(network ? std::vector<Rank>() : s.ranks);
    std::erase_if(ranks, [&](Rank r) { return !is_rank_of(out.job.shape.ranks(), r); });
    if (!ranks.empty() && out.job.size("pp") < 2) {
      out.notes.push_back(
          fmt::format("ranks {} are slow {}, and one pipeline stage gives them nowhere to go: "
                      "`culprit plan microbatch`",
                      to_ranges(ranks), because_of(s)));
      continue;
    }
    for (const Rank r : ranks) slowdown[r] = std::max(slowdown[r], s.level_ms / s.healthy_ms);
    out.notes.push_back((network         ? "no slow rank: a NIC or a switch slows whoever uses it, "
                         : ranks.empty() ? "no rank is known to be slow, "
                                         : fmt::format("slow ranks: {}, ", to_ranges(ranks))) +
                        because_of(s));
  }
  for (const auto& [rank, factor] : slowdown) out.slow.push_back({rank, factor});
  return {};
}

void take_link(const PlanIncident& incident, TopologyQuestion& out) {
  const diagnose::Congestion found = diagnose::congestion_of(incident.db, incident.resolved);
  if (found.machine)
    out.notes.push_back(fmt::format(
        "{} is slow with several machines: no exchange of places takes traffic off its NIC",
        *found.machine));
  if (found.link) {
    const auto a = out.job.number_of_host(found.link->hosts[0]),
               b = out.job.number_of_host(found.link->hosts[1]);
    if (a && b) out.link = plan::CongestedLink{*a, *b};
    out.notes.push_back(fmt::format("the link {} - {} is {}: {}: {}", found.link->hosts[0],
                                    found.link->hosts[1],
                                    out.link ? "congested" : "not between machines of this layout",
                                    found.link->who, report::words(found.link->what)));
  }
  for (const diagnose::SlowTransfers& s : found.seen)
    if (s.hosts.size() != 2)
      out.notes.push_back(fmt::format(
          "{}: {}; {}", s.who, report::words(s.what),
          s.hosts.empty() ? "between which machines is not known"
          : s.hosts.size() == 1
              ? "all within " + s.hosts[0]
              : "which link, culprit plan links --hosts " + fold_hostlist(s.hosts) + " finds"));
  if (found.seen.empty())
    out.notes.push_back(
        "no congested link: neither work requests nor process groups of this incident are slow");
}

Result<TopologyQuestion> topology_question(const PlanInput& input, const Arguments& arguments) {
  TopologyQuestion out;
  const bool given = input.has("straggler") || input.has("congested");
  if (given || !names_plan_incident(arguments)) {
    CULPRIT_TRY(job, job_shape(input, arguments));
    out.job = std::move(job);
    CULPRIT_CHECK(take_given(input, out));
    if (out.slow.empty() && !out.link)
      return usage_error("plan topology needs slow ranks or a congested link")
          .hint("--straggler 3,1.5 or --congested host2,host3, or -d incident.db");
    return out;
  }
  CULPRIT_TRY(incident, open_plan_incident(arguments));
  CULPRIT_TRY(job, job_shape(input, arguments, &incident));
  out.job = std::move(job);
  if (out.job.hosts.empty() && !input.has("gpus-per-host"))
    place(incident.resolved.topology, out.job);
  CULPRIT_CHECK(take_slow_ranks(incident, out));
  take_link(incident, out);
  if (out.notes.size() > kMostNotesOfPlanTopology) out.notes.resize(kMostNotesOfPlanTopology);
  return out;
}

Result<Exit> run_plan_topology(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanTopologyOptions));
  CULPRIT_TRY(question, topology_question(input, arguments));
  plan::TopologyParams p;
  CULPRIT_CHECK(input.set("micro-batches", p.micro_batches, 1, 1'000'000'000));
  CULPRIT_CHECK(input.set("end-load", p.end_load, 0.01, 100));
  CULPRIT_CHECK(input.set("dp-mb", p.dp_mb, 0, 1e12));
  CULPRIT_CHECK(input.set("pp-mb", p.pp_mb, 0, 1e12));
  CULPRIT_TRY(plan, plan::plan_topology(question.job.shape, question.slow, question.link, p));
  print(input.wants_json() ? identified(json_of(question, plan)) : text_of(question, plan));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanTopology{
    "plan topology",
    "which ranks change places around slow GPUs or a congested link",
    "plan topology [BUNDLE...] [options]",
    "  culprit plan topology --pp 4 --dp 4 --gpus-per-host 1 --straggler 0,1.6 --straggler 13,1.6\n"
    "  culprit plan topology --tp 8 --pp 4 --dp 16 --congested host2,host3\n"
    "  culprit plan topology -d incident.db\n\n"
    "  Slow ranks go into the fewest pipeline stages; a congested link goes from the rings of "
    "data\n"
    "  parallelism to the pipeline. Tensor-parallel groups stay on their hosts. Without either\n"
    "  option an incident tells both.\n",
    kPlanTopologyOptions,
    run_plan_topology};

}  // namespace culprit::cli
