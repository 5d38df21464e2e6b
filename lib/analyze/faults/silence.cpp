#include "analyze/faults/silence.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

// Ranks by number, and of which of them there is output.
struct Heard {
  std::map<Rank, const RankRow*> all;
  std::set<Rank> heard;
};

Heard ranks_heard(const Facts& facts) {
  Heard out;
  auto& all = out.all;
  auto& heard = out.heard;
  // Which ranks the bundle has a voice of at all: a rank whose output was not collected is no
  // silent rank.
  for (const RankRow& r : facts.ranks) all.emplace(r.rank, &r);
  for (const MemberRow& m : facts.members)
    if (m.rank && m.kind == "file" && m.lines > 0 && m.text_kind.empty()) heard.insert(*m.rank);
  for (const EventRow& e : facts.events)
    if (e.rank) heard.insert(*e.rank);
  for (const RankRow& r : facts.ranks)
    if (r.source.rfind("nccl-init", 0) == 0 || r.source == "prefix" || r.source == "log line" ||
        r.source == "srun label")
      heard.insert(r.rank);
  // One file that holds the output of many ranks would hold that of all: there, even a rank without
  // a line is a silent one.
  std::map<MemberId, std::set<Rank>> speakers;
  for (const EventRow& e : facts.events)
    if (e.rank) speakers[e.place.member].insert(*e.rank);
  const std::int64_t ranks = std::max<std::int64_t>(
      facts.world_size, all.empty() ? 0 : number_of(all.rbegin()->first) + 1);
  const bool together = std::ranges::any_of(speakers, [&](const auto& one) {
    return one.second.size() >= 3 && 2 * static_cast<std::int64_t>(one.second.size()) >= ranks;
  });
  // A file of its own that stayed empty is collected output, too.
  for (const MemberRow& m : facts.members)
    if (m.rank && m.kind == "file" && m.lines == 0 && m.size == 0) heard.insert(*m.rank);
  static const RankRow kNobody{};
  if (together && ranks <= (1 << 20))
    for (std::int64_t r = 0; r < ranks; ++r) {
      all.emplace(Rank(r), &kNobody);
      heard.insert(Rank(r));
    }
  for (const Rank r : heard) all.emplace(r, &kNobody);
  return out;
}

// Numbers of ranks between 0 and the last one known of which nothing at all was collected.
std::vector<Rank> ranks_unheard(const Facts& facts, const std::set<Rank>& heard) {
  // A stack or a dump of a rank is something of it, too. Beyond the numbers seen nobody knows of a
  // rank, unless the job's size is told.
  std::set<Rank> told = heard;
  const auto tell = [&](const std::optional<Rank>& rank) {
    if (rank) told.insert(*rank);
  };
  for (const StackSample& s : facts.samples) tell(s.row.rank);
  for (const CollectiveSample& c : facts.collectives) tell(c.row.rank);
  for (const RecorderRow& r : facts.recorders) tell(r.rank);
  for (const FrontierRow& f : facts.frontiers) tell(f.rank);
  for (const ProcessRow& p : facts.processes) tell(p.rank);
  std::vector<Rank> unheard;
  // Numbers begin with 0: a rank 1 that timed out had a rank 0 to wait for.
  const std::int64_t last = facts.world_size > 0 ? facts.world_size - 1
                            : told.empty()       ? -1
                                                 : number_of(*told.rbegin());
  for (std::int64_t r = 0; r <= std::min<std::int64_t>(last, (1 << 20) - 1); ++r)
    if (told.count(Rank(r)) == 0) unheard.push_back(Rank(r));
  return unheard;
}

}  // namespace

std::vector<Finding> silence(const Facts& facts, const std::vector<Signal>& signals,
                             const SilenceParams& params) {
  std::set<Rank> reported;
  const std::vector<const Signal*> outs = timeouts(signals);
  for (const Signal* s : outs)
    if (s->rank) reported.insert(*s->rank);
  if (outs.empty()) return {};
  Finding base;
  base.analysis = Analysis::silence;
  base.severity = Severity::distributed;
  base.role = Role::root;
  base.scope = Scope::host_local;
  base.symptom = Symptom::job_hang;
  base.event_class = "silent_rank";
  for (const Signal* s : outs)
    if (s->start && (!base.start || *s->start < *base.start)) {
      base.start = s->start;
      base.uncertainty = s->uncertainty;
    }
  for (const Signal* s : outs)
    if (!s->evidence.empty() && base.evidence.size() < 6)
      base.evidence.push_back(s->evidence.front());
  base.remedy = "find_lagging_rank";

  const auto [all, heard] = ranks_heard(facts);
  const std::size_t world = std::max<std::size_t>(
      all.size(), facts.world_size > 0 ? static_cast<std::size_t>(facts.world_size) : 0);

  std::vector<Rank> silent;
  for (const auto& [rank, row] : all)
    if (reported.count(rank) == 0 && heard.count(rank) > 0) silent.push_back(rank);

  const auto undecided = [&](Text why) {
    Finding f = base;
    f.id = "silence/none";
    f.outcome = Outcome::not_enough_evidence;
    f.subject = {SubjectKind::job, "job"};
    f.scope = Scope::job_wide;
    f.title = say(Phrase::nobody_silent);
    f.confidence = confidence::kNobodySilent;
    f.why = std::move(why);
    return std::vector<Finding>{f};
  };
  if (reported.empty()) return undecided(say(Phrase::timeouts_without_ranks));
  if (static_cast<double>(reported.size()) < params.reporters * static_cast<double>(world))
    return undecided(say(Phrase::too_few_reported, reported.size(), world));
  const std::vector<Rank> unheard = ranks_unheard(facts, heard);
  const bool few_unheard = unheard.size() == 1 || static_cast<double>(unheard.size()) <=
                                                      params.silent * static_cast<double>(world);
  if (silent.empty() && (unheard.empty() || !few_unheard))
    return undecided(say(Phrase::all_reported, reported.size()));
  if (silent.size() > 1 &&
      static_cast<double>(silent.size()) > params.silent * static_cast<double>(world))
    return undecided(say(Phrase::too_many_silent, silent.size(), world));

  std::vector<Finding> out;
  const bool missing = silent.empty();
  for (const Rank rank : missing ? unheard : silent) {
    Finding f = base;
    f.id = "silence/rank/" + std::to_string(number_of(rank));
    f.subject = {SubjectKind::rank, std::to_string(number_of(rank))};
    f.ranks = {rank};
    if (const auto known = all.find(rank); known != all.end() && known->second->host) {
      f.host = known->second->host;
      f.hosts = {*f.host};
    }
    f.title = say(missing ? Phrase::rank_without_output : Phrase::rank_never_reported);
    f.confidence = missing              ? confidence::kSilentMissing
                   : silent.size() == 1 ? confidence::kSilentAlone
                                        : confidence::kSilentOfSeveral;
    f.why = say(missing ? Phrase::timed_out_no_output_of : Phrase::timed_out_one_never,
                reported.size(), world, rank);
    f.advice = say(Phrase::stacks_next_time, rank);
    f.facts =
        SilenceFacts{reported.size(), silent.size(), missing, static_cast<std::int64_t>(world)};
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<Finding> silence(const Facts& facts, const std::vector<Signal>& signals) {
  return silence(facts, signals, SilenceParams{});
}

}  // namespace culprit::analyze
