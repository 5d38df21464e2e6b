#include "slow_spells.hpp"

#include <algorithm>

#include "model/number.hpp"
#include "model/ranges.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::diagnose {

namespace {

bool whole(const std::string& text, std::int64_t& value) {
  return parse_whole(text, value) && value >= 0;
}

// Whom a finding is about, in ranks. A GPU whose rank is not known stands for none: its neighbours
// are not slow.
std::vector<Rank> ranks_of(const Subject& s, const Resolved& incident) {
  std::vector<Rank> out;
  std::int64_t one = 0;
  if (s.kind == SubjectKind::rank && whole(s.id, one)) out.push_back(Rank(one));
  if (s.kind == SubjectKind::group && s.id.rfind("ranks ", 0) == 0)
    out = from_ranges(s.id.substr(6), 1u << 20);
  const std::size_t slash = s.id.find('/');
  const std::string host = s.id.substr(0, slash);
  const bool gpu = s.kind == SubjectKind::gpu && slash != std::string::npos &&
                   s.id.rfind("gpu", slash + 1) == slash + 1 && whole(s.id.substr(slash + 4), one);
  if (s.kind == SubjectKind::host || s.kind == SubjectKind::nic || gpu)
    for (const auto& [rank, name] : incident.topology.host_of) {
      if (name != host) continue;
      const auto row = std::ranges::find_if(
          incident.facts.ranks, [&, r = rank](const RankRow& known) { return known.rank == r; });
      if (!gpu || (row != incident.facts.ranks.end() && row->local_rank == LocalRank(one)))
        out.push_back(rank);
    }
  sort_rows(out);
  return out;
}

}  // namespace

std::vector<SlowSpell> SlowSpells::to_act_on() const {
  const bool now = std::ranges::any_of(spells, [](const SlowSpell& s) { return !s.over; });
  std::vector<SlowSpell> out(spells);
  if (now) std::erase_if(out, std::mem_fn(&SlowSpell::over));
  return out;
}

SlowSpells slow_spells(const std::vector<Finding>& findings, const Resolved& incident) {
  SlowSpells out;
  for (const Finding& f : findings) {
    if (f.analysis != Analysis::slow) continue;
    if (!f.fired()) {
      out.why = f.why;
      continue;
    }
    const auto* slow = std::get_if<SlowFacts>(&f.facts);
    if (slow == nullptr || slow->first < 0 || slow->last < slow->first ||
        !(slow->baseline_ms > 0) || !(slow->level_ms > slow->baseline_ms))
      continue;
    SlowSpell s{.first = slow->first,
                .last = slow->last,
                .healthy_ms = slow->baseline_ms,
                .level_ms = slow->level_ms};
    s.mean_ms =
        std::max(s.healthy_ms,
                 s.healthy_ms + slow->cost_s * 1e3 / static_cast<double>(s.last - s.first + 1));
    s.over = slow->over;
    s.subject = f.subject;
    s.ranks = ranks_of(f.subject, incident);
    out.spells.push_back(std::move(s));
  }
  sort_by(out.spells, &SlowSpell::first);
  if (out.spells.empty() && out.why.empty()) out.why = say(Phrase::no_step_durations);
  return out;
}

}  // namespace culprit::diagnose
