// Reads the table of enumerations, and finds a name or a number in it.
#include "rules/enumerations.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "model/json.hpp"
#include "model/number.hpp"
#include "schema/embedded.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

constexpr const char* kEnumerationsFile = "rules/tables/enumerations.json";

Enumeration enumeration_of(const nlohmann::json& object) {
  Enumeration out{.name = object["name"].get<std::string>(),
                  .title = object["title"].get<std::string>(),
                  .source = object["source"].get<std::string>(),
                  .date = object["date"].get<std::string>(),
                  .count = object["count"].get<std::size_t>(),
                  .shape = object.value("shape", ""),
                  .hexadecimal = object.value("hexadecimal", false)};
  for (const auto& one : object["entries"]) {
    EnumerationEntry& entry = out.entries.emplace_back();
    entry.code = one["code"].get<std::string>();
    if (one.contains("number")) entry.number = one["number"].get<std::int64_t>();
    entry.reason = one.value("reason", "");
    entry.means = one.value("means", "");
    entry.is_not = one.value("not", "");
    entry.vague = one.value("vague", false);
  }
  return out;
}

// "12", "-12" or "0x62".
std::optional<std::int64_t> code_number(std::string_view text) {
  return text.starts_with("0x") ? whole_number<std::int64_t>(text.substr(2), 16)
                                : whole_number<std::int64_t>(text);
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

Result<Enumerations> Enumerations::parse(std::string_view text, bool trusted) {
  CULPRIT_TRY(document, schema::parse_checked(text, kEnumerationsFile, "enumerations-v1.json",
                                              "the table may hold", trusted));
  Enumerations out;
  for (const auto& object : document["enumerations"]) out.all_.push_back(enumeration_of(object));
  if (trusted) return out;
  std::set<std::string_view> names;
  for (const Enumeration& list : out.all_) {
    std::set<std::string_view> codes;
    if (!names.insert(list.name).second)
      return fail(fmt::format("'{}' stands twice", list.name)).at({kEnumerationsFile, 0});
    for (const EnumerationEntry& entry : list.entries)
      if (!codes.insert(entry.code).second)
        return fail(fmt::format("{}: '{}' stands twice", list.name, entry.code))
            .at({kEnumerationsFile, 0});
    if (codes.size() != list.count)
      return fail(fmt::format("{}: has {} entries, not {}", list.name, codes.size(), list.count))
          .at({kEnumerationsFile, 0});
  }
  return out;
}

const Enumerations& Enumerations::built_in() {
  static const Enumerations kBuiltIn = [] {
    auto parsed = parse(embedded_rule("tables/enumerations.json"), true);
    return parsed ? std::move(parsed).value() : Enumerations{};
  }();
  return kBuiltIn;
}

std::vector<std::pair<const Enumeration*, const EnumerationEntry*>> Enumerations::named(
    std::string_view query) const {
  const std::size_t space = query.rfind(' ');
  const bool alone = space == std::string_view::npos;
  const auto number = code_number(alone ? query : query.substr(space + 1));
  std::vector<std::pair<const Enumeration*, const EnumerationEntry*>> out;
  for (const Enumeration& list : all_) {
    const bool counted = number && (alone || same_name(query.substr(0, space), list.name));
    const EnumerationEntry* best = nullptr;
    for (const EnumerationEntry& entry : list.entries) {
      if (entry.code == query) {
        best = &entry;
        break;
      }
      // Kernels print error numbers below zero.
      const bool by_number =
          counted && entry.number && (*entry.number == *number || -*entry.number == *number);
      if (best == nullptr && (by_number || same_name(entry.code, query))) best = &entry;
    }
    if (best != nullptr) out.emplace_back(&list, best);
  }
  return out;
}

}  // namespace culprit::rules
