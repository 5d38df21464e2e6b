#include "report/fields.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/json_cursor.hpp"
#include "model/time.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

struct Word {
  const char* action;
  const char* headline;
};
constexpr Word kHeadlines[] = {
    {"isolate", "ISOLATE"},   {"rollback", "ROLL BACK"},  {"repair", "REPAIR"},
    {"checks", "RUN CHECKS"}, {"reattempt", "TRY AGAIN"}, {"offline", "STOP"},
    {"mitigate", "MITIGATE"}, {"replay", "REPLAY"},       {"investigate", "INVESTIGATE"},
};

// Of an object as it is written.
std::string id_of(std::string_view object) {
  std::string id;
  JsonCursor in(object);
  in.object([&](std::string_view key, bool) {
    if (key != "id" || in.peek() != '"') return in.skip();
    std::string_view raw;
    bool escaped = false;
    if (in.text(raw, escaped)) id = escaped ? json_unescaped(raw) : std::string(raw);
    return false;
  });
  return id;
}

}  // namespace

json without_ledger(const std::string& document) {
  bool ledger = false;
  const auto wanted = [&ledger](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && depth == 1) ledger = value == "ledger";
    return !(ledger && depth == 2 && event == json::parse_event_t::object_start);
  };
  return json::parse(document, wanted, false);
}

json with_grounds(const std::string& document) {
  bool rows = false;
  const auto wanted = [&rows](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && depth == 1)
      rows = value == "ledger" || value == "findings";
    return !(rows && depth == 2 && event == json::parse_event_t::object_start);
  };
  json page = json::parse(document, wanted, false);
  if (!list(page, "findings").empty() || !member(page, "findings").is_array()) return page;
  const std::vector<std::string> ids = grounds(page);
  const std::set<std::string> needed(ids.begin(), ids.end());
  JsonCursor in(document);
  const auto take = [&] {
    const std::size_t begin = in.offset();
    if (!in.skip()) return false;
    const auto text = std::string_view(document).substr(begin, in.offset() - begin);
    if (needed.count(id_of(text)) != 0)
      page["findings"].push_back(json::parse(text, nullptr, false));
    return true;
  };
  in.object([&](std::string_view key, bool) {
    if (key != "findings") return in.skip();
    in.array(take);
    return false;  // nothing behind it matters
  });
  return page;
}

const json& member(const json& object, const char* key) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto it = object.find(key);
  return it == object.end() ? nothing : *it;
}

const json& list(const json& object, const char* key) {
  static const json empty = json::array();
  const json& found = member(object, key);
  return found.is_array() ? found : empty;
}

std::string visible_text(const json& value) {
  return value.is_string() ? visible(value.get_ref<const std::string&>()) : std::string{};
}

std::string text(const json& object, const char* key) { return visible_text(member(object, key)); }

std::string exact_time(const json& object, const std::string& key) {
  const json& exactly = member(object, (key + "_ns").c_str());
  return exactly.is_number_integer() ? iso_utc(exactly.get<Nanoseconds>())
                                     : text(object, key.c_str());
}

std::uint64_t count(const json& object, const char* key) {
  const json& found = member(object, key);
  if (found.is_number_unsigned()) return found.get<std::uint64_t>();
  if (!found.is_number_integer()) return 0;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, found.get<std::int64_t>()));
}

double number(const json& object, const char* key) {
  const json& found = member(object, key);
  return found.is_number() ? found.get<double>() : 0;
}

std::string counted(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string place(const json& evidence) {
  const std::uint64_t line = count(evidence, "line");
  if (line != 0) return fmt::format("{}:{}", text(evidence, "path"), line);
  return fmt::format("{} at byte {}", text(evidence, "path"), count(evidence, "byte_offset"));
}

std::string headline(const std::string& action, const std::string& step) {
  if (action == "none") return step == "no_failure" ? "NO FAILURE FOUND" : "NOTHING TO DO";
  const auto it = std::find_if(std::begin(kHeadlines), std::end(kHeadlines),
                               [&](const Word& w) { return w.action == action; });
  return it == std::end(kHeadlines) ? "INVESTIGATE" : it->headline;
}

std::string taken_step(const json& document) {
  for (const json& step : list(member(document, "verdict"), "steps"))
    if (text(step, "outcome") == "taken") return text(step, "step");
  return {};
}

std::vector<std::string> grounds(const json& document) {
  std::vector<std::string> out;
  std::set<std::string> known;
  for (const json& target : list(member(document, "verdict"), "targets"))
    for (const json& id : list(target, "because"))
      if (id.is_string() && known.insert(id.get<std::string>()).second)
        out.push_back(id.get<std::string>());
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

std::string fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fmt::format("{:016x}", hash);
}

}  // namespace culprit::report
