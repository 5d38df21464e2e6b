#include "batch/entry.hpp"

#include <fstream>

#include "fleet/incident.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"

namespace culprit::batch {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMostEntryBytes = 256 << 20;

std::string text(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

std::string to_json(const Entry& e) {
  const ordered_json out{
      {"schema", "culprit.batch-entry/1"},
      {"name", e.name},
      {"source", e.source},
      {"fingerprint", e.fingerprint},
      {"setup", e.setup},
      {"status", e.status},
      {"reason", e.reason},
      {"where", e.where},
      {"help", e.help},
      {"gate", e.gate},
      {"problems", e.problems},
      {"incident", e.incident ? fleet::to_json(*e.incident) : ordered_json(nullptr)}};
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::optional<Entry> entry_from_json(const std::string& document) {
  const json d = parse_json(document);
  if (!d.is_object() || text(d, "schema") != "culprit.batch-entry/1") return std::nullopt;
  Entry e{.name = text(d, "name"),
          .source = text(d, "source"),
          .fingerprint = text(d, "fingerprint"),
          .setup = text(d, "setup"),
          .status = text(d, "status"),
          .reason = text(d, "reason"),
          .where = text(d, "where"),
          .help = text(d, "help"),
          .gate = text(d, "gate")};
  if (const auto it = d.find("problems"); it != d.end() && it->is_number_unsigned())
    e.problems = it->get<std::uint64_t>();
  if (const auto it = d.find("incident"); it != d.end() && it->is_object())
    e.incident = fleet::from_json(*it);
  if (e.status == "done" && !e.incident) return std::nullopt;
  return e;
}

std::vector<Entry> read_entries(const fs::path& folder) {
  std::vector<Entry> out;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const auto document = read_file(it->path() / "entry.json", kMostEntryBytes);
    if (!document) continue;
    auto entry = entry_from_json(*document);
    if (entry && entry->name == it->path().filename().string()) out.push_back(std::move(*entry));
  }
  sort_by(out, &Entry::name);
  return out;
}

Result<> write_file(const fs::path& path, const std::string& text) {
  const fs::path part = path.string() + ".part";
  std::error_code error;
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.flush()) {
      fs::remove(part, error);
      return fail("cannot write this file")
          .at({path.string(), 0})
          .hint("is the disk full, the folder writable?");
    }
  }
  fs::rename(part, path, error);
  if (error) return fail("cannot write this file: " + error.message()).at({path.string(), 0});
  return {};
}

Result<std::string> read_file(const fs::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot read this file").at({path.string(), 0});
  std::string out;
  std::error_code error;
  if (const auto size = fs::file_size(path, error); !error && size <= most) out.reserve(size + 1);
  char block[1 << 16];
  while (file && out.size() <= most) {
    file.read(block, sizeof block);
    out.append(block, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) return fail("cannot read this file").at({path.string(), 0});
  return out;
}

}  // namespace culprit::batch
