// Reads the tables of the grammar of error lines, and refuses what would never be met.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/json.hpp"
#include "rules/enumerations.hpp"
#include "rules/grammar.hpp"
#include "rules/lazy_pattern.hpp"
#include "rules/literals.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

using nlohmann::json;

constexpr std::string_view kSpeakers = "rules/tables/speakers.json";
constexpr std::string_view kReasons = "rules/tables/reasons.json";
constexpr std::string_view kEnumerations = "rules/tables/enumerations.json";
constexpr std::string_view kRoles[] = {"specific", "passed_on", "teardown", "advice"};

std::shared_ptr<LazyPattern> pattern(const json& text) {
  return std::make_shared<LazyPattern>(text.get<std::string>());
}

std::vector<std::shared_ptr<LazyPattern>> patterns(const json& object, const char* key) {
  std::vector<std::shared_ptr<LazyPattern>> out;
  if (const auto it = object.find(key); it != object.end())
    for (const json& one : *it) out.push_back(pattern(one));
  return out;
}

std::vector<std::string> texts(const json& object, const char* key) {
  std::vector<std::string> out;
  if (const auto it = object.find(key); it != object.end())
    for (const json& one : *it) out.push_back(one.get<std::string>());
  return out;
}

ReasonRow reason_of(const json& object) {
  ReasonRow row{.name = object["name"].get<std::string>(),
                .title = object["title"].get<std::string>()};
  const std::string role = object["role"].get<std::string>();
  for (std::size_t i = 0; i < std::size(kRoles); ++i)
    if (kRoles[i] == role) row.role = static_cast<ReasonRole>(i);
  row.cause = object.value("cause", "none");
  row.means = object["means"].get<std::string>();
  row.general = object.value("general", false);
  row.match = patterns(object, "match");
  return row;
}

SpeakerRow speaker_of(const json& object) {
  SpeakerRow row{.name = object["name"].get<std::string>(),
                 .title = object["title"].get<std::string>(),
                 .component = object["component"].get<std::string>(),
                 .means = object["means"].get<std::string>(),
                 .source = object["source"].get<std::string>(),
                 .severe = object["severe"].get<bool>(),
                 .numbers = object.value("numbers", "")};
  for (const std::string& marker : texts(object, "markers")) row.markers.push_back(fold(marker));
  row.match = patterns(object, "match");
  if (const auto it = object.find("parts"); it != object.end())
    for (const json& one : *it)
      row.parts.push_back(
          {one["name"].get<std::string>(), one["title"].get<std::string>(), pattern(one["match"])});
  for (const json& one : object["samples"]["fires"])
    row.samples.push_back(
        {one["line"].get<std::string>(), one["class"].get<std::string>(), one.value("title", "")});
  for (const json& one : object["samples"]["silent"])
    row.samples.push_back({one.get<std::string>(), "", ""});
  return row;
}

}  // namespace

std::string_view name(ReasonRole role) { return kRoles[static_cast<std::size_t>(role)]; }

struct GrammarReader {
  Grammar out;

  void read_reasons(const json& document) {
    out.harmless_ = patterns(document, "harmless");
    out.failure_words_ = patterns(document, "failure_words");
    for (const json& one : document["operations"])
      out.operations_.push_back({one["title"].get<std::string>(), pattern(one["match"])});
    for (const auto& [name, list] : document["numbers"].items())
      out.numbers_[name].shape = pattern(list["shape"]);
    std::vector<std::string> quoted;
    for (const auto& [text, code] : document["texts"].items()) {
      out.texts_.emplace(text, code.get<std::string>());
      quoted.push_back(re2::RE2::QuoteMeta(text));
    }
    out.text_shape_ =
        std::make_shared<LazyPattern>(fmt::format("(?i)\\b({})", fmt::join(quoted, "|")));
    for (const json& one : document["reasons"]) out.reasons_.push_back(reason_of(one));
  }

  // Codes, what they look like in a line, and the numbers that stand for them.
  void read_codes(const Enumerations& enumerations) {
    std::vector<std::string> shapes;
    for (const Enumeration& list : enumerations.all()) {
      if (list.shape.empty()) continue;
      shapes.push_back(list.shape);
      const auto numbers = out.numbers_.find(list.name);
      for (const EnumerationEntry& entry : list.entries) {
        const auto row = std::ranges::find(out.reasons_, entry.reason, &ReasonRow::name);
        if (row == out.reasons_.end() || entry.vague) continue;
        row->codes.push_back(entry.code);
        if (numbers == out.numbers_.end() || !entry.number) continue;
        // Of two names of a number the first is taken.
        auto& names = numbers->second.names;
        if (!list.hexadecimal) names.emplace(fmt::format("{}", *entry.number), entry.code);
        if (list.hexadecimal) names.emplace(fmt::format("{:x}", *entry.number), entry.code);
        if (list.hexadecimal) names.emplace(fmt::format("{:X}", *entry.number), entry.code);
      }
    }
    out.code_shape_ =
        std::make_shared<LazyPattern>(fmt::format("\\b({})\\b", fmt::join(shapes, "|")));
  }

  // A name that stands twice would be met once only.
  Result<> check(const Enumerations& enumerations) const {
    std::set<std::string> names, codes;
    const auto twice = [](std::string_view file, const std::string& name) {
      return fail(fmt::format("'{}' stands twice", name)).at({std::string(file), 0});
    };
    for (const SpeakerRow& row : out.speakers_) {
      if (!names.insert(row.name).second) return twice(kSpeakers, row.name);
      for (const SpeakerPart& part : row.parts)
        if (!names.insert(part.name).second) return twice(kSpeakers, part.name);
      if (!row.numbers.empty() && !out.numbers_.contains(row.numbers))
        return fail(fmt::format("'{}' names the numbers '{}', which {} does not have", row.name,
                                row.numbers, kReasons))
            .at({std::string(kSpeakers), 0});
    }
    names.clear();
    for (const ReasonRow& row : out.reasons_) {
      if (!names.insert(row.name).second) return twice(kReasons, row.name);
      for (const std::string& code : row.codes)
        if (!codes.insert(code).second) return twice(kEnumerations, code);
    }
    for (const Enumeration& list : enumerations.all())
      for (const EnumerationEntry& entry : list.entries)
        if (!entry.reason.empty() && !names.contains(entry.reason))
          return fail(fmt::format("{}: no reason is called '{}'", entry.code, entry.reason))
              .at({std::string(kEnumerations), 0});
    for (const auto& [text, code] : out.texts_)
      if (!codes.contains(code))
        return fail(fmt::format("texts: no reason has the code '{}'", code))
            .at({std::string(kReasons), 0});
    for (const auto& [name, numbers] : out.numbers_)
      if (numbers.names.empty())
        return fail(fmt::format("numbers.{}: no enumeration of that name has a shape and numbers",
                                name))
            .at({std::string(kReasons), 0});
    return {};
  }
};

Result<Grammar> Grammar::parse(std::string_view speakers, std::string_view reasons,
                               const Enumerations& enumerations, bool trusted) {
  CULPRIT_TRY(of_speakers,
              schema::parse_checked(speakers, std::string(kSpeakers), "speakers-v1.json",
                                    "the table may hold", trusted));
  CULPRIT_TRY(of_reasons, schema::parse_checked(reasons, std::string(kReasons), "reasons-v1.json",
                                                "the table may hold", trusted));
  GrammarReader reader;
  reader.read_reasons(of_reasons);
  reader.read_codes(enumerations);
  for (const json& one : of_speakers["speakers"]) reader.out.speakers_.push_back(speaker_of(one));
  if (!trusted) CULPRIT_CHECK(reader.check(enumerations));
  reader.out.index();
  return std::move(reader.out);
}

}  // namespace culprit::rules
