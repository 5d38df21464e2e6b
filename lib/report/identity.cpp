#include "report/identity.hpp"

#include <tuple>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::report {

std::string bundle_digest(std::span<const MemberRow> rows) {
  std::vector<const MemberRow*> members;
  for (const MemberRow& m : rows) members.push_back(&m);
  sort_by(members, [](const MemberRow* a) { return std::tie(a->path, a->digest, a->id); });
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  for (const MemberRow* m : members)
    for (const std::string* part : {&m->path, &m->digest}) {
      for (const char c : *part)
        digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      digest *= 0x100000001b3ULL;  // of the byte 0 between them
    }
  return fmt::format("{:016x}", digest);
}

nlohmann::ordered_json tool_json(const Identity& identity) {
  const std::size_t space = identity.tool.find(' ');
  nlohmann::ordered_json out = {{"name", identity.tool.substr(0, space)}};
  if (space != std::string::npos) out["version"] = identity.tool.substr(space + 1);
  if (!identity.rules.empty()) out["rules"] = identity.rules;
  return out;
}

nlohmann::ordered_json job_json(const Identity& identity) {
  const auto known = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
  };
  return {{"name", known(identity.job)}, {"id", known(identity.job_id)}};
}

std::string identified(std::string document, const Identity& identity) {
  if (!document.starts_with("{\n")) return document;
  std::string added = fmt::format("  \"tool\": {},\n", json_text(tool_json(identity), -1));
  if (!identity.bundle.empty()) {
    added += fmt::format("  \"bundle\": {{\"digest\":\"{}\"}},\n", identity.bundle);
    added += fmt::format("  \"job\": {},\n", json_text(job_json(identity), -1));
  }
  // A schema stays the first word.
  constexpr std::string_view kSchema = "{\n  \"schema\": ";
  const std::size_t at =
      document.starts_with(kSchema) ? document.find('\n', kSchema.size()) + 1 : 2;
  document.insert(at, added);
  return document;
}

}  // namespace culprit::report
