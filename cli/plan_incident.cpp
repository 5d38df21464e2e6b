#include "plan_incident.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "model/ranges.hpp"
#include "pack.hpp"
#include "pipeline.hpp"

namespace culprit::cli {

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
std::vector<std::int64_t> ranks_of(const Subject& s, const analyze::Facts& facts, const analyze::Topology& topology) {
  std::vector<std::int64_t> out;
  std::int64_t one = 0;
  if (s.kind == "rank" && whole(s.id, one)) out.push_back(one);
  if (s.kind == "group" && s.id.rfind("ranks ", 0) == 0) out = from_ranges(s.id.substr(6), 1u << 20);
  const std::size_t slash = s.id.find('/');
  const std::string host = s.id.substr(0, slash);
  const bool gpu = s.kind == "gpu" && slash != std::string::npos && s.id.rfind("gpu", slash + 1) == slash + 1 && whole(s.id.substr(slash + 4), one);
  if (s.kind == "host" || s.kind == "nic" || gpu)
    for (const auto& [rank, name] : topology.host_of) {
      if (name != host) continue;
      const auto row = std::find_if(facts.ranks.begin(), facts.ranks.end(), [&, r = rank](const RankRow& known) { return known.rank == r; });
      if (!gpu || (row != facts.ranks.end() && row->local_rank == one)) out.push_back(rank);
    }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

bool names_plan_incident(const Arguments& arguments) { return arguments.has("db") || !arguments.positional().empty(); }

Result<PlanIncident> open_plan_incident(const Arguments& arguments) {
  if (arguments.positional().empty()) {
    CULPRIT_TRY(db, open_database(arguments, store::Access::read));
    CULPRIT_TRY(facts, resolve(db, false));
    return PlanIncident{std::move(db), std::move(facts), arguments.get("db"), std::nullopt};
  }
  for (const std::string& path : arguments.positional()) {
    std::error_code error;
    if (path != "-" && !std::filesystem::exists(path, error)) return fail("there is no such bundle").at({path, 0}).hint("a plan takes a folder or archive of logs, or -d incident.db; numbers are options");
  }
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_incident(arguments, pack));
  return PlanIncident{std::move(incident.db), std::move(incident.facts), arguments.positional().front(), std::move(pack)};
}

Result<SlowSpells> slow_spells(PlanIncident& incident, const analyze::Topology& topology) {
  std::vector<Finding> findings;
  if (!incident.pack) {
    findings = incident.db.findings();
    if (findings.empty()) return usage_error("this database holds no findings yet").at({incident.path, 0}).hint("culprit classify -d " + incident.path);
  } else {
    CULPRIT_TRY(made, analyse(incident.db, incident.facts, *incident.pack));
    findings = std::move(made);
  }
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
    s.ranks = ranks_of(f.subject, incident.facts, topology);
    out.spells.push_back(std::move(s));
  }
  std::stable_sort(out.spells.begin(), out.spells.end(), [](const SlowSpell& a, const SlowSpell& b) { return a.first < b.first; });
  if (out.spells.empty() && out.why.empty()) out.why = "no log reports how long its steps took";
  return out;
}

}  // namespace culprit::cli
