// job.json, the manifest (schemas/job-v1.json).
#include <fmt/format.h>

#include "ingest/document.hpp"
#include "ingest/manifest.hpp"
#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::ingest {

namespace {

using nlohmann::json;

bool sniff(const Head& head) {
  // At the top of the bundle, or in the one folder that an archive wraps around it.
  return head.base() == "job.json" && std::count(head.path.begin(), head.path.end(), '/') <= 1;
}

std::vector<std::pair<std::string, std::vector<std::string>>> groups(const json& object) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const auto& [name, members] : object.items()) out.emplace_back(name, members.get<std::vector<std::string>>());
  return out;
}

}  // namespace

// Split from read() so that the manifest can be taken up again from the database.
static Manifest manifest_of(const json& d) {
  Manifest m;
  m.job = d.value("job", "");
  if (d.contains("world_size")) m.world_size = d["world_size"].get<std::int64_t>();
  if (d.contains("gpus_per_node")) m.gpus_per_node = d["gpus_per_node"].get<std::int64_t>();
  if (d.contains("hosts")) m.hosts = d["hosts"].get<std::vector<std::string>>();
  m.timezone = d.value("timezone", "");
  if (d.contains("year")) m.year = d["year"].get<std::int64_t>();
  if (const auto it = d.find("network"); it != d.end()) {
    if (it->contains("tor")) m.tor = groups((*it)["tor"]);
    if (it->contains("pod")) m.pod = groups((*it)["pod"]);
  }
  if (const auto it = d.find("boot_times"); it != d.end())
    for (const auto& [host, time] : it->items()) m.boot_times.emplace_back(host, time.get<std::string>());
  if (const auto it = d.find("attempts"); it != d.end())
    for (const auto& one : *it) {
      ManifestAttempt attempt;
      attempt.id = one["id"].get<std::int64_t>();
      attempt.start = one.value("start", "");
      attempt.end = one.value("end", "");
      attempt.code_version = one.value("code_version", "");
      attempt.action_before = one.value("action_before", "");
      if (one.contains("exit_code")) attempt.exit_code = one["exit_code"].get<std::int64_t>();
      if (one.contains("hosts")) attempt.hosts = one["hosts"].get<std::vector<std::string>>();
      m.attempts.push_back(std::move(attempt));
    }
  if (const auto it = d.find("parallelism"); it != d.end()) m.parallelism = it->dump();
  return m;
}

Result<Manifest> parse_manifest(const std::string& document, const std::string& path) {
  CULPRIT_TRY(parsed, schema::parse_strict(document, path));
  static const json kSchema = json::parse(schema::text("job-v1.json"));
  if (const auto violations = schema::validate(parsed, kSchema); !violations.empty())
    return fail((violations[0].path.empty() ? "" : violations[0].path + ": ") + violations[0].reason).at({path, 0}).hint("`culprit schema job-v1.json` prints what a manifest may hold");
  return manifest_of(parsed);
}

namespace {

std::string read(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const auto document = schema::parse_strict(bytes, member.path);
  const Place place{member.id, 1, 0, static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), 1u << 30))};
  if (!document) {
    reading.sink.put(RejectRow{{member.id, document.error().where ? document.error().where->line : 1, 0, 0}, "manifest.not_json", document.error().what});
    return "manifest.not_json";
  }
  static const json kSchema = json::parse(schema::text("job-v1.json"));
  if (const auto violations = schema::validate(*document, kSchema); !violations.empty()) {
    for (const auto& violation : violations)
      reading.sink.put(RejectRow{place, "manifest.invalid", (violation.path.empty() ? "" : violation.path + ": ") + violation.reason});
    return "manifest.invalid";
  }
  Manifest m = manifest_of(*document);
  m.document = std::string(bytes);
  reading.sink.put(m, place);
  return {};
}

}  // namespace

extern const Document kManifest;
constinit const Document kManifest{"job-manifest", "job.json: the optional manifest of a bundle (schemas/job-v1.json)", 16u << 20, sniff, read};

}  // namespace culprit::ingest
