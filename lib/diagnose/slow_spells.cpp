#include "slow_spells.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "model/ranges.hpp"

namespace culprit::diagnose {

namespace {

std::string number(const Finding& f, std::string_view key) {
  for (const auto& [name, value] : f.numbers)
    if (name == key) return value;
  return {};
}
double real(const Finding& f, std::string_view key) { return std::strtod(number(f, key).c_str(), nullptr); }

bool whole(const std::string& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

// Whom a finding is about, in ranks. A GPU whose rank is not known stands for none: its neighbours are not slow.
std::vector<std::int64_t> ranks_of(const Subject& s, const Resolved& incident) {
  std::vector<std::int64_t> out;
  std::int64_t one = 0;
  if (s.kind == "rank" && whole(s.id, one)) out.push_back(one);
  if (s.kind == "group" && s.id.rfind("ranks ", 0) == 0) out = from_ranges(s.id.substr(6), 1u << 20);
  const std::size_t slash = s.id.find('/');
  const std::string host = s.id.substr(0, slash);
  const bool gpu = s.kind == "gpu" && slash != std::string::npos && s.id.rfind("gpu", slash + 1) == slash + 1 && whole(s.id.substr(slash + 4), one);
  if (s.kind == "host" || s.kind == "nic" || gpu)
    for (const auto& [rank, name] : incident.topology.host_of) {
      if (name != host) continue;
      const auto row = std::find_if(incident.facts.ranks.begin(), incident.facts.ranks.end(), [&, r = rank](const RankRow& known) { return known.rank == r; });
      if (!gpu || (row != incident.facts.ranks.end() && row->local_rank == one)) out.push_back(rank);
    }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

SlowSpells slow_spells(const std::vector<Finding>& findings, const Resolved& incident) {
  SlowSpells out;
  for (const Finding& f : findings) {
    if (f.analysis != "slow") continue;
    if (f.outcome != Outcome::fired) {
      out.why = f.why;
      continue;
    }
    SlowSpell s;
    s.healthy_ms = real(f, "baseline_ms");
    s.level_ms = real(f, "level_ms");
    if (!whole(number(f, "first_iteration"), s.first) || !whole(number(f, "last_iteration"), s.last) || s.last < s.first || !(s.healthy_ms > 0) || !(s.level_ms > s.healthy_ms)) continue;
    s.mean_ms = std::max(s.healthy_ms, s.healthy_ms + real(f, "cost_s") * 1e3 / static_cast<double>(s.last - s.first + 1));
    s.over = number(f, "relieved") == "1";
    s.subject = f.subject;
    s.ranks = ranks_of(f.subject, incident);
    out.spells.push_back(std::move(s));
  }
  std::stable_sort(out.spells.begin(), out.spells.end(), [](const SlowSpell& a, const SlowSpell& b) { return a.first < b.first; });
  if (out.spells.empty() && out.why.empty()) out.why = "no log reports how long its steps took";
  return out;
}

}  // namespace culprit::diagnose
