#include "identity.hpp"

#include "analyze/facts/scheduler_job.hpp"
#include "ingest/logs/manifest.hpp"

namespace culprit::diagnose {

report::Identity identity_of(const store::Database& db, const analyze::Facts& facts) {
  report::Identity out{.tool = db.meta("tool").value_or("culprit"),
                       .rules = db.meta("rules").value_or(""),
                       .bundle = report::bundle_digest(facts.members)};
  if (facts.manifest) {
    out.job = facts.manifest->job;
    out.job_id = facts.manifest->job_id;
  }
  if (!out.job_id.empty()) return out;
  out.job_id = analyze::job_in_question(facts);
  return out;
}

report::Identity identity_of(const store::Database& db) {
  analyze::Facts facts;
  facts.members = db.members();
  facts.configs = db.rows<ConfigRow>();
  for (const store::StoredManifest& stored : db.manifests()) {
    std::vector<std::string> ignored;
    auto manifest = ingest::parse_manifest(stored.document, stored.path, ignored);
    if (!manifest) continue;
    facts.manifest = std::move(*manifest);
    break;
  }
  return identity_of(db, facts);
}

}  // namespace culprit::diagnose
