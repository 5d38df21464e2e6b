#include "novelty.hpp"

#include <fmt/format.h>

#include "analyze/compare/compare_runs.hpp"
#include "model/confidence.hpp"
#include "model/sort.hpp"
#include "run.hpp"
#include "model/phrases.hpp"

namespace culprit::diagnose {

namespace {

constexpr std::size_t kMostNew = 5;
constexpr double kTelling = 0.6;  // by its words: of a warning or an error

Finding lead_of(const analyze::Change& change, const analyze::Facts& facts, std::size_t number) {
  Finding f{.id = fmt::format("leads/new/{}", number),
            .analysis = Analysis::leads,
            .outcome = Outcome::not_enough_evidence,
            .subject = {SubjectKind::job, "job"},
            .event_class = "new_line",
            .severity = Severity::info,
            .role = Role::advice,
            .scope = Scope::job_wide,
            .confidence = confidence::kUnknownLine,
            .why = say(Phrase::none_of_kind_in_good_run),
            .title = say(Phrase::not_in_good_run),
            .facts = LeadFacts{change.bad, 0, false}};
  for (const analyze::ChangePlace& place : change.places)
    for (const MemberRow& m : facts.members)
      if (place.in_bad && m.path == place.path && m.duplicate_of == 0 && f.evidence.empty()) {
        f.evidence.push_back(
            {m.id, m.path, place.line, place.bytes.offset, place.bytes.length, change.bad});
        if (m.host) {
          f.host = *m.host;
          f.hosts = {*m.host};
          f.subject = {SubjectKind::host, *m.host};
        }
      }
  return f;
}

}  // namespace

Result<Novelty> new_lines(const store::Database& db, const Resolved& incident,
                          const std::string& good, const rules::RulePack& pack,
                          const bundle::Limits& limits) {
  Novelty out;
  CULPRIT_TRY(good_db, store::Database::open(good, store::Access::read));
  CULPRIT_TRY(worked, load_run(std::move(good_db)));
  const auto sources = readable_sources(db);
  if (sources.empty() || worked.sources.empty()) {
    out.notes.push_back(say(Phrase::baseline_not_read));
    return out;
  }
  analyze::TemplateMiner miner;
  const analyze::Facts* both[] = {&worked.resolved.facts, &incident.facts};
  for (const analyze::Facts* facts : both)
    for (const HostRow& h : facts->hosts) {
      miner.add_host(h.host);
      miner.add_host(analyze::short_host(h.host));
    }
  CULPRIT_CHECK(mine_lines(worked, 0, limits, miner));
  CULPRIT_CHECK(mine_lines(incident.facts, sources, 1, limits, miner));
  analyze::ComparedRun bad{.facts = &incident.facts, .text_kinds = text_kinds_of(incident.facts)};
  std::vector<analyze::Change> changes =
      analyze::changed_lines(worked.view(), bad, miner.templates(), pack, {}, out.notes);
  // What a rule knows is a finding already.
  std::erase_if(changes, [](const analyze::Change& c) {
    return c.kind != analyze::ChangeKind::new_lines || !c.event_class.empty() || c.score < kTelling;
  });
  sort_rows(changes, [](const analyze::Change& a, const analyze::Change& b) {
    return std::tie(b.score, a.what) < std::tie(a.score, b.what);
  });
  for (std::size_t i = 0; i < changes.size() && i < kMostNew; ++i)
    out.leads.push_back(lead_of(changes[i], incident.facts, i + 1));
  return out;
}

}  // namespace culprit::diagnose
