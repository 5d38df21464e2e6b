#include "several.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ingest/engine/ingest.hpp"
#include "ingest/logs/manifest.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::diagnose {

namespace {

constexpr std::size_t kMostNamed = 4;
// Manifests are compared each with each: of more than these, which nobody collects, the first.
constexpr std::size_t kMostCompared = 256;

// Both are known, and no machine is in both. Sorted.
bool disjoint(const std::vector<Host>& a, const std::vector<Host>& b) {
  if (a.empty() || b.empty()) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end(); *x < *y ? ++x : ++y)
    if (*x == *y) return false;
  return true;
}

std::set<std::string> jobs_of(const store::Database& db) {
  std::set<std::string> jobs, ids;
  std::vector<Manifest> told;
  for (const store::StoredManifest& stored : db.manifests()) {
    std::vector<std::string> ignored;
    auto manifest = ingest::parse_manifest(stored.document, stored.path, ignored);
    if (!manifest || (manifest->job.empty() && manifest->job_id.empty())) continue;
    sort_rows(manifest->hosts);
    // A job that is submitted again has another id and the same name, and no other machines
    // throughout.
    jobs.insert(manifest->job.empty() ? manifest->job_id : manifest->job);
    for (const Manifest& other : told)
      if (!other.job_id.empty() && !manifest->job_id.empty() && other.job_id != manifest->job_id &&
          disjoint(other.hosts, manifest->hosts))
        ids.insert({other.job_id, manifest->job_id});
    if (told.size() < kMostCompared) told.push_back(std::move(*manifest));
  }
  return ids.size() > jobs.size() ? ids : jobs;
}

// "slurm-531001.out" -> "531001"; "" for any other name.
std::string slurm_job_of(std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with("slurm-")) return "";
  file.remove_prefix(6);
  const std::size_t digits = std::min(file.find_first_not_of("0123456789"), file.size());
  return digits >= 2 && file.substr(digits) == ".out" ? std::string(file.substr(0, digits)) : "";
}

// The bundle of a call that holds a member; nullptr when none is told.
const ingest::Source* bundle_of(const MemberRow& member,
                                const std::vector<ingest::Source>& bundles) {
  for (const ingest::Source& bundle : bundles)
    if (!bundle.label.empty() && member.stored_path.starts_with(bundle.label + "/")) return &bundle;
  return nullptr;
}

// Bundles whose schedulers' output is of one job each, and of different ones.
std::set<std::string> slurm_jobs(const std::vector<MemberRow>& members,
                                 const std::vector<ingest::Source>& labels) {
  std::map<std::string, std::set<std::string>> jobs;  // label -> jobs
  for (const MemberRow& m : members) {
    const std::string job = m.duplicate_of != 0 ? "" : slurm_job_of(m.stored_path);
    if (job.empty()) continue;
    if (const auto* bundle = bundle_of(m, labels)) jobs[bundle->label].insert(job);
  }
  std::set<std::string> all;
  for (const auto& [label, own] : jobs)
    if (own.size() != 1 || !all.insert(*own.begin()).second) return {};
  return jobs.size() == labels.size() ? all : std::set<std::string>{};
}

}  // namespace

Text several_incidents(const store::Database& db, const Resolved& incident) {
  if (const auto jobs = jobs_of(db); jobs.size() > 1)
    return say(Phrase::several_jobs, jobs.size(), list(jobs, kMostNamed));
  std::vector<std::string> sources;
  const std::string all = db.meta("sources").value_or("");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    sources.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  if (sources.size() < 2) return {};
  const auto labels = ingest::label_sources(sources);
  if (const auto jobs = slurm_jobs(incident.facts.members, labels); jobs.size() > 1)
    return say(Phrase::several_jobs, jobs.size(), list(jobs, kMostNamed));
  // A job has one rank 0 at a time; one that moved to another machine has another attempt.
  std::map<std::string, std::set<std::string>> hosts_of_zero;  // label of the bundle -> hosts
  for (const MemberRow& m : incident.facts.members) {
    if (m.rank != Rank{} || !m.host || m.duplicate_of != 0 || m.attempt.value_or(0) != 0) continue;
    if (const auto* bundle = bundle_of(m, labels)) hosts_of_zero[bundle->label].insert(*m.host);
  }
  std::set<std::string> bundles, hosts;
  for (const auto& [label, zero] : hosts_of_zero) {
    if (zero.size() != 1 || !hosts.insert(*zero.begin()).second) return {};
    bundles.insert(label);
  }
  if (bundles.size() < 2) return {};
  return say(Phrase::several_rank_zeros, bundles.size(), list(bundles, kMostNamed));
}

}  // namespace culprit::diagnose
