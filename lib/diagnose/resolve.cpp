#include "resolve.hpp"

#include "analyze/facts/attribution.hpp"
#include "analyze/facts/belonging.hpp"
#include "analyze/facts/clock.hpp"
#include "analyze/facts/identity.hpp"
#include "analyze/facts/process_tree.hpp"
#include "analyze/facts/story.hpp"
#include "identity.hpp"
#include "ingest/logs/manifest.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "read.hpp"
#include "rules/rule.hpp"

namespace culprit::diagnose {

namespace {

Result<analyze::Facts> load_facts(const store::Database& db) {
  CULPRIT_CHECK(db.check());
  analyze::Facts facts;
  facts.members = db.members();
  // Names are derived: made from what was read, not from what an earlier pass made of it.
  for (MemberRow& m : facts.members) {
    m.path = m.stored_path;
    m.host.reset();
    m.rank.reset();
    m.local_rank.reset();
    m.attempt.reset();
    m.attribution.clear();
    m.duplicate_of = 0;
  }
  db.load(facts);
  for (EventRow& e : facts.events) e.traits = rules::traits_of_class(e.event_class);
  facts.progress = db.progress();
  facts.stacks.frames = db.frames();
  facts.stacks.stacks = db.stack_frames();
  const auto index = [](std::optional<std::int64_t> stack_id) {
    return stack_id ? static_cast<std::int32_t>(*stack_id - 1) : -1;
  };
  db.each_sample([&](StackRow&& row, std::optional<std::int64_t> stack_id) {
    facts.samples.push_back({std::move(row), index(stack_id), {}});
  });
  db.each_launch([&](CollectiveRow&& row, std::optional<std::int64_t> stack_id) {
    facts.collectives.push_back({std::move(row), index(stack_id)});
  });
  facts.groups = db.rows<GroupRow>();
  facts.series = db.rows<SeriesRow>();
  CULPRIT_CHECK(db.read_to_the_end());
  if (db.partial()) facts.notes.push_back(say(Phrase::database_partial));
  if (const auto own = db.meta("own_databases"); own && !own->empty())
    facts.notes.push_back(say(Phrase::own_files_left_out, *own));
  for (const store::StoredManifest& stored : db.manifests()) {
    std::vector<std::string> notes;
    CULPRIT_TRY(manifest, ingest::parse_manifest(stored.document, stored.path, notes));
    if (!facts.manifest) {
      facts.manifest = std::move(manifest);
      for (const std::string& note : notes)
        facts.notes.push_back(say(Phrase::note_of_manifest, stored.path, note));
    } else if (manifest.job != facts.manifest->job && !manifest.job.empty() &&
               !facts.manifest->job.empty()) {
      facts.notes.push_back(
          say(Phrase::manifest_of_another_job, stored.path, manifest.job, facts.manifest->job));
    }
  }
  if (const auto zone = db.meta("timezone")) {
    if (!facts.manifest) facts.manifest.emplace();
    facts.manifest->timezone = *zone;
  }
  return facts;
}

std::vector<std::pair<std::string, std::string>> job_rows(const report::Identity& identity,
                                                          const analyze::Facts& facts) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!identity.job.empty()) out.emplace_back("job", identity.job);
  if (!identity.job_id.empty()) out.emplace_back("job_id", identity.job_id);
  if (facts.world_size > 0) out.emplace_back("world_size", std::to_string(facts.world_size));
  if (facts.job_start) out.emplace_back("job_start_ns", std::to_string(*facts.job_start));
  if (facts.job_end) out.emplace_back("job_end_ns", std::to_string(*facts.job_end));
  return out;
}

}  // namespace

Result<Resolved> resolve(store::Database& db, bool keep) {
  CULPRIT_TRY(facts, load_facts(db));
  analyze::resolve_identity(facts);
  analyze::place_members(facts);
  analyze::resolve_clocks(facts);
  analyze::put_in_order(facts);
  analyze::drop_other_stories(facts);
  // Whoever asks for the last one means the time, not the order of the files in an archive.
  const auto moment = [&](const ExitRow& x) {
    return std::tuple(x.time_ns.has_value(), x.time_ns.value_or(0), facts.order(x.place.member),
                      x.place.line, x.place.offset);
  };
  sort_by(facts.exits, [&](const ExitRow& a) { return moment(a); });
  analyze::attribute_dumps(facts);
  analyze::assign_roles(facts);
  analyze::guess_trainers(facts);
  std::vector<ClockRow>().swap(facts.clocks);  // every file has some, and all are resolved
  if (keep)
    CULPRIT_CHECK(db.save_resolution({facts.members, facts.events, facts.tracebacks, facts.exits,
                                      facts.processes, facts.member_clocks, facts.hosts,
                                      facts.ranks, job_rows(identity_of(db, facts), facts)}));
  analyze::Topology topology = analyze::make_topology(facts);
  return Resolved{std::move(facts), std::move(topology)};
}

}  // namespace culprit::diagnose
