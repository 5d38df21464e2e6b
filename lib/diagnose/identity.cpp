#include "identity.hpp"

#include <set>

#include <re2/re2.h>

#include "ingest/logs/manifest.hpp"

namespace culprit::diagnose {

namespace {

std::string only(const std::set<std::string>& names) {
  return names.size() == 1 ? *names.begin() : std::string();
}

}  // namespace

report::Identity identity_of(const store::Database& db, const analyze::Facts& facts) {
  report::Identity out;
  out.tool = db.meta("tool").value_or("culprit");
  out.rules = db.meta("rules").value_or("");
  out.bundle = report::bundle_digest(facts.members);
  if (facts.manifest) {
    out.job = facts.manifest->job;
    out.job_id = facts.manifest->job_id;
  }
  if (!out.job_id.empty()) return out;
  std::set<std::string> recorded, named;
  constexpr std::string_view kRecord = "slurm.job.";
  for (const ConfigRow& c : facts.configs)
    if (c.name.starts_with(kRecord)) recorded.insert(c.value.substr(0, c.value.find(' ')));
  static const re2::RE2 kOutput(R"((?:^|/)(?:slurm|lsf|pbs)[-_](\d+)[^/]*$)");
  for (const MemberRow& m : facts.members)
    if (std::string number; re2::RE2::PartialMatch(m.path, kOutput, &number)) named.insert(number);
  out.job_id = recorded.empty() ? only(named) : only(recorded);
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
