#include "report/fields.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/json_cursor.hpp"
#include "model/ranges.hpp"
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

std::string raw_id(const json& finding) {
  const json& id = member(finding, "id");
  return id.is_string() ? id.get<std::string>() : std::string{};
}

constexpr std::string_view kContext = "last_lines/";

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

// How much a finding says, the most first: severity, role, the earlier, by name.
using Strength = std::tuple<std::ptrdiff_t, std::ptrdiff_t, std::int64_t, std::string>;

// Nothing of one that did not fire or shows no line.
std::optional<Strength> strength(const json& finding) {
  static constexpr std::string_view kSeverities[] = {"critical", "distributed", "warning"};
  static constexpr std::string_view kRoles[] = {"root", "confirmation", "cascade", "teardown"};
  const auto at = [](const auto& names, const std::string& word) {
    return std::ranges::find(names, word) - std::begin(names);
  };
  if (text(finding, "outcome") != "fired" || list(finding, "evidence").empty()) return {};
  const auto severity = at(kSeverities, text(finding, "severity"));
  // What is good to know proves nothing; the lines that an open verdict quotes are advice.
  if (severity == std::ssize(kSeverities) && text(finding, "analysis") != "leads") return {};
  const json& start = member(member(finding, "interval"), "start_ns");
  return Strength(severity, at(kRoles, text(finding, "role")),
                  start.is_number_integer() ? start.get<std::int64_t>()
                                            : std::numeric_limits<std::int64_t>::max(),
                  raw_id(finding));
}

// Some of the findings, the strongest first.
class Strongest {
 public:
  void see(const json& finding) {
    auto strong = strength(finding);
    if (!strong) return;
    const auto at =
        std::ranges::upper_bound(best_, *strong, {}, [](const auto& one) { return one.first; });
    best_.emplace(at, std::move(*strong), finding);
    if (best_.size() > kMost) best_.pop_back();
  }
  const auto& best() const { return best_; }

 private:
  static constexpr std::size_t kMost = 4;
  std::vector<std::pair<Strength, json>> best_;
};

bool asks_for_something(const json& document) {
  const std::string action = text(member(document, "verdict"), "action");
  return !action.empty() && action != "none";
}

}  // namespace

// Its text without the rows of the ledger, which are most of it: to parse them and leave them out
// takes twenty times as long.
static std::string cut_ledger(const std::string& document) {
  std::size_t begin = 0, end = 0;
  JsonCursor in(document);
  in.object([&](std::string_view key, bool) {
    if (key != "ledger" || in.peek() != '[') return in.skip();
    begin = in.offset();
    if (in.skip()) end = in.offset();
    return false;
  });
  return end > begin ? document.substr(0, begin) + "[]" + document.substr(end) : document;
}

json without_ledger(const std::string& document) { return parse_json(cut_ledger(document)); }

json with_grounds(const std::string& document) {
  bool rows = false;
  const auto wanted = [&rows](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && depth == 1) rows = value == "findings";
    return !(rows && depth == 2 && event == json::parse_event_t::object_start);
  };
  json page = parse_json(cut_ledger(document), wanted);
  if (!list(page, "findings").empty() || !member(page, "findings").is_array()) return page;
  const std::vector<std::string> ids = grounds(page);
  std::set<std::string> needed(ids.begin(), ids.end());
  for (const json& link : list(member(page, "verdict"), "chain"))
    if (member(link, "finding").is_string()) needed.insert(link["finding"].get<std::string>());
  const bool any = ids.empty() && asks_for_something(page);
  Strongest strongest;
  JsonCursor in(document);
  const auto take = [&] {
    const std::size_t begin = in.offset();
    if (!in.skip()) return false;
    const auto text = std::string_view(document).substr(begin, in.offset() - begin);
    if (any && contains(text, "\"fired\"")) strongest.see(parse_json(text));
    const std::string id = id_of(text);
    if (needed.count(id) != 0 || id.starts_with(kContext))
      page["findings"].push_back(parse_json(text));
    return true;
  };
  in.object([&](std::string_view key, bool) {
    if (key != "findings") return in.skip();
    in.array(take);
    return false;  // nothing behind it matters
  });
  for (const auto& [strong, finding] : strongest.best())
    if (needed.count(raw_id(finding)) == 0) page["findings"].push_back(finding);
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

std::string quoted(const json& evidence) {
  const std::string reading = text(evidence, "reading"), excerpt = text(evidence, "excerpt");
  return reading.empty() || excerpt.empty() ? reading + excerpt : reading + ": " + excerpt;
}

std::size_t cut_at(const std::string& text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size();) {
    std::size_t next = end + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    shown += columns(std::string_view(text).substr(end, next - end));
    if (shown > most) break;
    end = next;
  }
  // A word that is cut near its beginning is left out.
  if (end < text.size() && text[end] != ' ')
    if (const std::size_t space = text.rfind(' ', end);
        space != std::string::npos && space > 0 &&
        end - space <= std::max<std::size_t>(8, most / 4))
      return space;
  return end;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (columns(text) <= most) return text;
  std::size_t end = cut_at(text, most - std::min<std::size_t>(most, 1));
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ',' || text[end - 1] == ':')) --end;
  return text.substr(0, end) + "…";
}

std::string target_id(const json& document, const json& target) {
  const std::string kind = text(target, "kind"), id = text(target, "id");
  // Of a machine whose name no file tells.
  static constexpr std::string_view kPci = "hhhh:hh:hh";
  const bool pci = id.size() >= kPci.size() &&
                   std::equal(kPci.begin(), kPci.end(), id.begin(), [](char a, char b) {
                     return a == ':' ? b == ':' : std::isxdigit(static_cast<unsigned char>(b)) != 0;
                   });
  if (kind == "host" && pci) return "the host of GPU " + id;
  const bool repaired_job =
      kind == "job" && text(member(document, "verdict"), "action") == "repair";
  if (kind != "config" && kind != "group" && !repaired_job) return kind == "job" ? "the job" : id;
  for (const json& proof : list(target, "because"))
    for (const json& f : list(document, "findings")) {
      if (member(f, "id") != proof) continue;
      const std::string name = text(f, "class"), title = text(f, "title");
      if (name.empty() || title.empty()) continue;
      if (repaired_job || id == name) return title;
      if (id.ends_with(": " + name)) return id.substr(0, id.size() - name.size()) + title;
    }
  return kind == "job" ? "the job" : id;
}

std::string target_name(const json& document, const json& target) {
  const std::string kind = text(target, "kind"), id = text(target, "id");
  const std::string name = target_id(document, target);
  const bool says_it = kind == "host" || kind == "job" || name != id;
  return says_it ? name : kind + " " + name;
}

std::string accused(const json& document) {
  constexpr std::size_t kMost = 4;
  const json& verdict = member(document, "verdict");
  if (text(verdict, "action") == "none") return {};
  std::vector<std::string> names;
  for (const json& t : list(verdict, "targets")) names.push_back(target_name(document, t));
  // "gpu-r03: driver mismatch" has its host in front.
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(
        names, [&](const std::string& other) { return other.starts_with(name + ": "); });
  });
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i)
    out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  return out;
}

std::string about(const json& document) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : "; ") + part; };
  const json& job = member(document, "job");
  const std::string id = text(job, "id"), name = text(job, "name");
  if (!id.empty() || !name.empty())
    add("job " + id + (id.empty() ? name : name.empty() || name == id ? "" : " (" + name + ")"));
  const json& incident = member(document, "incident");
  const std::string start = text(incident, "start"), end = text(incident, "end");
  const auto clock_of = [](const std::string& iso) {
    return iso.size() < 19 ? iso : iso.substr(0, 10) + " " + iso.substr(11, 8);
  };
  if (text(member(document, "verdict"), "action") != "none" && !start.empty())
    add(clock_of(start) +
        (end.empty() || end == start                                    ? ""
         : end.substr(0, 10) == start.substr(0, 10) && end.size() >= 19 ? " to " + end.substr(11, 8)
                                                                        : " to " + clock_of(end)) +
        " UTC");
  const json& bundle = member(document, "bundle");
  const std::uint64_t world = count(bundle, "world_size"), seen = count(bundle, "ranks");
  if (world > 0 && seen < world) add(fmt::format("the logs name {} of {} ranks", seen, world));
  return out;
}

std::string chain_who(const json& document, const json& link) {
  constexpr std::size_t kMost = 26;  // columns
  const std::string who = text(link, "who");
  for (const json& f : list(document, "findings")) {
    if (member(f, "id") != member(link, "finding")) continue;
    const json& subject = member(f, "subject");
    if (text(subject, "kind") == "rank" && text(subject, "id") == who) return "rank " + who;
    const std::string ranks = text(f, "ranks"), hosts = text(f, "hosts");
    if (who.ends_with(" hosts") && !hosts.empty() && columns(hosts) <= kMost) return hosts;
    if (!who.ends_with(" ranks") || ranks.empty()) return who;
    std::string out = "ranks " + ranks;
    for (std::size_t at = ranks.rfind(','); columns(out) > kMost && at != std::string::npos;
         at = at == 0 ? std::string::npos : ranks.rfind(',', at - 1))
      out = fmt::format("ranks {} and {} more", ranks.substr(0, at),
                        from_ranges(ranks.substr(at + 1)).size());
    return out;
  }
  return who;
}

std::string headline(const std::string& action, const std::string& step) {
  if (action == "none") return step == "no_failure" ? "NO FAILURE FOUND" : "NOTHING TO DO";
  const auto it = std::ranges::find(kHeadlines, action, &Word::action);
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

bool is_context(const json& finding) { return raw_id(finding).starts_with(kContext); }

std::vector<std::string> shown_grounds(const json& document) {
  std::vector<std::string> out = grounds(document);
  if (out.empty() && asks_for_something(document)) {
    Strongest strongest;
    for (const json& finding : list(document, "findings")) strongest.see(finding);
    for (const auto& [strong, finding] : strongest.best()) out.push_back(raw_id(finding));
  }
  for (const json& finding : list(document, "findings"))
    if (is_context(finding)) out.push_back(raw_id(finding));
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

std::vector<json> alternatives(const json& document) {
  constexpr std::size_t kMost = 2;
  constexpr std::int64_t kLeast = -15;  // decibans: thirty to one against it, and it was ruled out
  std::vector<json> out;
  const json& verdict = member(document, "verdict");
  const std::string taken = taken_step(document);
  if (taken == "job_finished" || taken == "no_failure" || taken == "bundle_empty") return out;
  std::set<std::string> named;  // machines and other things that the verdict names
  const auto machine = [](const json& target) {
    const std::string id = text(target, "id");
    return id.substr(0, id.find('/'));
  };
  for (const json& t : list(verdict, "targets")) named.insert(machine(t));
  // Another view of what the verdict names is no other possibility.
  const auto same = [&](const json& c) {
    const json& targets = list(c, "targets");
    return !targets.empty() && std::ranges::all_of(targets, [&](const json& t) {
      return named.count(machine(t)) != 0;
    });
  };
  bool own = true;
  for (const json& c : list(verdict, "differential")) {
    if (!std::exchange(own, false) && out.size() < kMost && text(c, "action") != "none" &&
        !same(c) && text(c, "kind") != "not_enough_evidence" &&
        text(c, "kind") != "process_ended" && number(c, "score") >= static_cast<double>(kLeast))
      out.push_back(c);
  }
  return out;
}

std::string sureness(const json& document) {
  const json& sure = member(member(document, "verdict"), "sureness");
  if (!sure.is_object()) return {};
  const std::string word = text(sure, "word");
  if (word.empty() || word == "open") return {};
  return count(sure, "of") == 0 ? word
                                : fmt::format("{}: {} of {} such verdicts were right", word,
                                              count(sure, "right"), count(sure, "of"));
}

}  // namespace culprit::report
