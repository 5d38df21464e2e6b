#include "rules/nvlink5.hpp"

#include <cstdlib>

#include <re2/re2.h>

#include "model/json.hpp"
#include "rules/rule.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {

namespace {

struct Row {
  std::int64_t xid;
  std::string unit, v1, v2;
  std::uint32_t status;
  NvlinkDecode decode;
};

std::vector<Row> load() {
  std::vector<Row> rows;
  const auto document = parse_json(embedded_rule("tables/nvlink5.json"));
  if (!document.is_object()) return rows;
  for (const auto& one : document["rules"]) {
    Row row{.xid = one.value("xid", 0),
            .unit = one.value("unit", ""),
            .v1 = one.value("intrinfo_v1", ""),
            .v2 = one.value("intrinfo_v2", ""),
            .status = one.value("errorstatus", 0u)};
    row.decode = {row.unit,
                  one.value("severity", ""),
                  one.value("action", ""),
                  one.value("followup", ""),
                  one.value("origin", ""),
                  one.value("packet_loss_local", false),
                  one.value("packet_loss_remote", false)};
    rows.push_back(std::move(row));
  }
  return rows;
}

// pattern: 32 characters, highest bit first, '-' for any.
bool fits(const std::string& pattern, std::uint32_t word) {
  if (pattern.size() != 32) return false;
  for (unsigned i = 0; i < 32; ++i)
    if (pattern[i] != '-' && (pattern[i] == '1') != ((word >> (31 - i)) & 1u)) return false;
  return true;
}

bool same_unit(const std::string& table, const std::string& printed) {
  // "NETIR_LINK_EVT/NETIR_LINK_DOWN" lists two spellings; old drivers print the short "NETIR".
  for (std::size_t at = 0; at <= table.size();) {
    const std::size_t slash = std::min(table.find('/', at), table.size());
    const std::string one = table.substr(at, slash - at);
    if (one == printed || one.rfind(printed + "_", 0) == 0) return true;
    at = slash + 1;
  }
  return printed.empty();
}

}  // namespace

std::optional<NvlinkDecode> decode_nvlink5(std::int64_t xid, std::string_view message,
                                           const std::string& driver_version) {
  static const std::vector<Row> kRows = load();
  static const re2::RE2 kWords(
      R"((?:, ?|\d |: )(?:([A-Z][A-Z0-9_]*)\s+)?(?i:(?:Link[ -])?Fatal|Non-?fatal)\b.*\((0x[0-9a-fA-F]{1,8}) (0x[0-9a-fA-F]{1,8}) 0x)");
  std::string unit, intrinfo, status;
  if (!re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), kWords, &unit,
                              &intrinfo, &status))
    return std::nullopt;
  const auto info_word = static_cast<std::uint32_t>(std::strtoul(intrinfo.c_str(), nullptr, 16));
  const auto status_word = static_cast<std::uint32_t>(std::strtoul(status.c_str(), nullptr, 16));
  const bool known = !driver_version.empty();
  const bool newer = known && compare_versions(driver_version, "575") >= 0;
  const auto look = [&](bool v2, bool exact) -> std::optional<NvlinkDecode> {
    for (const Row& row : kRows) {
      if (row.xid != xid || !same_unit(row.unit, unit) || !fits(v2 ? row.v2 : row.v1, info_word))
        continue;
      if (exact ? row.status == status_word : (row.status & status_word) != 0) return row.decode;
    }
    return std::nullopt;
  };
  for (const bool exact : {true, false})
    for (const bool v2 : {true, false}) {
      if (known && v2 != newer) continue;
      if (auto found = look(v2, exact)) return found;
    }
  return std::nullopt;
}

}  // namespace culprit::rules
