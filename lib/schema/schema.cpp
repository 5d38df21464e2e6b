#include "schema/schema.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/json.hpp"

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
        row[j] = std::min(
            {row[j] + 1, row[j - 1] + 1, diagonal + (word[i - 1] == candidate[j - 1] ? 0u : 1u)});
        diagonal = above;
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

namespace {

// What the JSON library says, without its own numbers and with the place only once:
// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
// object key - invalid literal; last read: '{b'; expected string literal" becomes "invalid literal
// at column 2 (near '{b'); expected string literal".
std::string reason_of(std::string what) {
  if (const std::size_t bracket = what.find("] "); bracket != std::string::npos)
    what.erase(0, bracket + 2);
  std::string column;
  if (what.rfind("parse error at ", 0) == 0) {
    const std::size_t colon = what.find(": ");
    if (const std::size_t at = what.find("column "); at != std::string::npos && at < colon)
      column = what.substr(at, colon - at);
    if (colon != std::string::npos) what.erase(0, colon + 2);
  }
  if (what.rfind("syntax error while parsing ", 0) == 0)
    if (const std::size_t dash = what.find(" - "); dash != std::string::npos)
      what.erase(0, dash + 3);
  std::string near;
  if (const std::size_t last = what.find("; last read: "); last != std::string::npos) {
    const std::size_t end = std::min(what.find("; expected", last), what.size());
    near = what.substr(last + 13, end - last - 13);
    what.erase(last, end - last);
  }
  const std::size_t tail = std::min(what.find("; expected"), what.size());
  return what.substr(0, tail) + (column.empty() ? "" : " at " + column) +
         (near.empty() ? "" : " (near " + near + ")") + what.substr(tail);
}

}  // namespace

Result<nlohmann::json> parse_strict(std::string_view text, const std::string& file) {
  using nlohmann::json;
  std::vector<std::set<std::string>> open;
  std::string duplicate;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key && duplicate.empty() &&
             !open.back().insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  try {
    json document = json::parse(text.begin(), text.end(), watch, true, true);
    if (!duplicate.empty())
      return fail(fmt::format("the key '{}' stands twice in one object", duplicate))
          .at({file, 0})
          .hint("keep one of the two; a reader would silently take either");
    return document;
  } catch (const json::parse_error& error) {
    const std::size_t byte = std::min(error.byte, text.size());
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    return fail("no valid JSON: " + reason_of(error.what()))
        .at({file, static_cast<std::uint64_t>(line)});
  } catch (const json::exception& error) {
    return fail("no valid JSON: " + reason_of(error.what())).at({file, 0});
  }
}

std::string described(const std::vector<Violation>& violations) {
  const Violation& first = violations.front();
  std::string out = (first.path.empty() ? "" : first.path + ": ") + first.reason;
  if (violations.size() > 1) out += fmt::format(" (and {} more)", violations.size() - 1);
  return out;
}

Result<nlohmann::json> parse_checked(std::string_view text, const std::string& file,
                                     std::string_view schema_name, std::string_view what,
                                     bool trusted) {
  CULPRIT_TRY(document, parse_strict(text, file));
  if (trusted) return document;
  const auto violations = validate(document, parse_json(schema::text(schema_name)));
  if (violations.empty()) return document;
  return fail(described(violations))
      .at({file, 0})
      .hint(fmt::format("`culprit schema {}` prints what {}", schema_name, what));
}

}  // namespace culprit::schema
