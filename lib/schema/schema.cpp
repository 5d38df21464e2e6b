#include "schema/schema.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace culprit::schema {

std::string_view text(std::string_view name) {
  for (const EmbeddedFile& file : embedded_schemas())
    if (name == file.name) return file.text();
  return {};
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t above = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (word[i - 1] == candidate[j - 1] ? 0u : 1u)});
        diagonal = above;
      }
    }
    if (row.back() < best_distance) { best_distance = row.back(); best = candidate; }
  }
  return best;
}

Result<nlohmann::json> parse_strict(std::string_view text, const std::string& file) {
  using nlohmann::json;
  std::vector<std::set<std::string>> open;
  std::string duplicate;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    else if (event == json::parse_event_t::object_end) open.pop_back();
    else if (event == json::parse_event_t::key && duplicate.empty() && !open.back().insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  try {
    json document = json::parse(text.begin(), text.end(), watch, true, true);
    if (!duplicate.empty())
      return fail(fmt::format("the key '{}' stands twice in one object", duplicate)).at({file, 0}).hint("keep one of the two; a reader would silently take either");
    return document;
  } catch (const json::parse_error& error) {
    const std::size_t byte = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    std::string reason = error.what();
    if (const std::size_t colon = reason.find("] "); colon != std::string::npos) reason.erase(0, colon + 2);
    return fail("no valid JSON: " + reason).at({file, static_cast<std::uint64_t>(line)});
  } catch (const json::exception& error) {
    return fail(std::string("no valid JSON: ") + error.what()).at({file, 0});
  }
}

}  // namespace culprit::schema
