// Asks a line who speaks in it and for what reason something failed.
#include "rules/grammar.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "line/line.hpp"
#include "model/ascii.hpp"
#include "model/sort.hpp"
#include "rules/enumerations.hpp"
#include "rules/lazy_pattern.hpp"
#include "rules/pack.hpp"
#include "rules/prepared.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {

namespace {

constexpr std::size_t kLongest = 4'096;  // of a line; the reason of a longer one stands before it

bool any_in(const std::vector<std::shared_ptr<LazyPattern>>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns,
                             [&](const auto& pattern) { return pattern->stands_in(text); });
}

// Behind the mark of the first pattern that is found; npos: none is.
std::size_t mark_end(const SpeakerRow& speaker, std::string_view line) {
  for (const auto& pattern : speaker.match)
    if (const std::size_t end = pattern->end_in(line); end != std::string_view::npos) return end;
  return std::string_view::npos;
}

const SpeakerPart* part_in(const SpeakerRow& speaker, std::string_view line) {
  for (const SpeakerPart& part : speaker.parts)
    if (part.match->stands_in(line)) return &part;
  return nullptr;
}

}  // namespace

const Grammar& Grammar::built_in() {
  static const Grammar kBuiltIn = [] {
    if (auto prepared = prepared_part(PreparedPart::grammar)) {
      Grammar grammar;
      (*prepared)(grammar);
      grammar.index();
      return grammar;
    }
    auto parsed = parse(embedded_rule("tables/speakers.json"), embedded_rule("tables/reasons.json"),
                        Enumerations::built_in(), true);
    return parsed ? std::move(parsed).value() : Grammar{};
  }();
  return kBuiltIn;
}

const std::vector<std::string>& Grammar::markers() const {
  static const std::vector<std::string> kNone;
  return search_ == nullptr ? kNone : search_->words();
}

void Grammar::index() {
  std::map<std::string, std::vector<std::uint32_t>> speakers_of;
  for (std::size_t i = 0; i < speakers_.size(); ++i)
    for (const std::string& marker : speakers_[i].markers)
      speakers_of[marker].push_back(static_cast<std::uint32_t>(i));
  std::vector<std::string> words;
  for (auto& [word, list] : speakers_of) {
    words.push_back(word);
    speakers_of_.push_back(std::move(list));
  }
  if (!words.empty()) search_ = std::make_shared<WordSearch>(std::move(words), ordinary_lines());
  for (std::size_t i = 0; i < reasons_.size(); ++i)
    for (const std::string& code : reasons_[i].codes) reason_of_code_.emplace(code, i);
}

// The name of an error number that the text holds, as a name or as a number of the speaker's own.
std::string Grammar::code_in(const SpeakerRow& speaker, std::string_view text) const {
  if (code_shape_ != nullptr) {
    re2::StringPiece rest(text.data(), text.size());
    for (std::string code; re2::RE2::FindAndConsume(&rest, code_shape_->expression(), &code);)
      if (reason_of_code_.contains(code)) return code;
  }
  const auto numbers = numbers_.find(speaker.numbers);
  if (numbers == numbers_.end()) return code_of_text(text);
  re2::StringPiece rest(text.data(), text.size());
  for (std::string digits;
       re2::RE2::FindAndConsume(&rest, numbers->second.shape->expression(), &digits);)
    if (const auto name = numbers->second.names.find(digits); name != numbers->second.names.end())
      return name->second;
  return code_of_text(text);
}

// What the system calls an error stands at the end of a line, behind what was tried.
std::string Grammar::code_of_text(std::string_view text) const {
  if (texts_.empty()) return {};
  std::string last;
  re2::StringPiece rest(text.data(), text.size());
  while (re2::RE2::FindAndConsume(&rest, text_shape_->expression(), &last)) {}
  const auto code = texts_.find(lower(last));
  return code == texts_.end() ? std::string() : code->second;
}

Grammar::Found Grammar::reason_of(const SpeakerRow& speaker, std::string_view text) const {
  Found found;
  found.code = code_in(speaker, text);
  if (const auto at = reason_of_code_.find(found.code); at != reason_of_code_.end())
    found.reason = &reasons_[at->second];
  else if (speaker.severe || any_in(failure_words_, text))
    for (const ReasonRow& reason : reasons_)
      if (any_in(reason.match, text)) {
        found.reason = &reason;
        break;
      }
  // The last row is for what says nothing but that it is an error.
  if (found.reason == nullptr && speaker.severe) found.reason = &reasons_.back();
  return found;
}

Said Grammar::put_together(const SpeakerRow& speaker, const SpeakerPart* part, const Found& found,
                           const Operation* operation) const {
  Said said{&speaker, found.reason, {}, {}, found.code};
  said.event_class =
      fmt::format("{}/{}", part == nullptr ? speaker.name : part->name, found.reason->name);
  said.title = part == nullptr ? speaker.title : part->title;
  if (operation != nullptr) said.title += fmt::format(": {} failed", operation->title);
  if (operation == nullptr || !found.reason->general) said.title += ": " + found.reason->title;
  if (!found.code.empty()) said.title += fmt::format(" ({})", found.code);
  return said;
}

std::optional<Said> Grammar::said(std::string_view raw, bool only_severe) const {
  if (search_ == nullptr) return std::nullopt;
  raw = raw.substr(0, kLongest);
  std::string cleaned;
  if (line::needs_cleaning(raw)) {
    cleaned = line::clean(raw);
    raw = cleaned;
  }
  std::vector<WordSearch::Hit> hits;
  search_->find(raw, hits);
  if (hits.empty()) return std::nullopt;
  std::vector<std::uint32_t> able;
  for (const auto& hit : hits)
    able.insert(able.end(), speakers_of_[hit.word].begin(), speakers_of_[hit.word].end());
  sort_unique(able);
  for (const std::uint32_t i : able) {
    const SpeakerRow& speaker = speakers_[i];
    const std::size_t end = mark_end(speaker, raw);
    if (end == std::string_view::npos) continue;
    if (only_severe && !speaker.severe) return std::nullopt;
    const std::string_view text = raw.substr(end);
    if (any_in(harmless_, text)) return std::nullopt;
    const Found found = reason_of(speaker, text);
    if (found.reason == nullptr) continue;
    const auto operation = std::ranges::find_if(
        operations_, [&](const auto& one) { return one.match->stands_in(text); });
    return put_together(speaker, part_in(speaker, raw), found,
                        operation == operations_.end() ? nullptr : &*operation);
  }
  return std::nullopt;
}

std::optional<Said> Grammar::of_class(std::string_view event_class) const {
  const std::size_t slash = event_class.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view who = event_class.substr(0, slash), why = event_class.substr(slash + 1);
  const auto reason = std::ranges::find(reasons_, why, &ReasonRow::name);
  if (reason == reasons_.end()) return std::nullopt;
  for (const SpeakerRow& speaker : speakers_) {
    const auto part = std::ranges::find(speaker.parts, who, &SpeakerPart::name);
    if (part != speaker.parts.end()) return put_together(speaker, &*part, {&*reason, {}}, nullptr);
    if (speaker.name == who) return put_together(speaker, nullptr, {&*reason, {}}, nullptr);
  }
  return std::nullopt;
}

}  // namespace culprit::rules
