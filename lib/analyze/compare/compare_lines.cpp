// Kinds of lines that one of two runs has and the other has not, or far more often.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "analyze/compare/compare_runs.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr double kHarmless = 0.15;  // of what the rules know to say nothing

// How much a line says by itself, before any rule knows it.
enum class Tone { plain, warning, error };

bool one_of(std::string_view word, std::span<const std::string_view> list) {
  return contains(list, word);
}

// By whole words: error_injection_rate is a setting. RuntimeError is an error.
Tone tone_of(std::string_view text) {
  static constexpr std::string_view kErrors[] = {
      "error",   "errors",    "fail",   "fails",   "failed",    "failure",  "failures",
      "failing", "exception", "fatal",  "abort",   "aborted",   "aborting", "panic",
      "timeout", "refused",   "denied", "corrupt", "corrupted", "killed",   "nan",
      "inf",     "lost",      "cannot", "unable",  "traceback", "crashed",  "crash",
      "dead",    "invalid",   "err"};
  static constexpr std::string_view kWarnings[] = {
      "warn",     "warning", "warnings",   "retry",   "retrying",   "retries",
      "degraded", "slow",    "deprecated", "missing", "unexpected", "mismatch",
      "fallback", "falling", "disabled",   "dropped", "exceeded",   "behind",
      "reset",    "skipped", "skipping",   "stale",   "lagging",    "throttled"};
  Tone tone = Tone::plain;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += culprit::lower(c);
      continue;
    }
    const bool plain = !contains(word, '_');
    if (one_of(word, kErrors) ||
        (plain && (word.ends_with("error") || word.ends_with("exception"))))
      return Tone::error;
    if (one_of(word, kWarnings) || (plain && word.ends_with("warning"))) tone = Tone::warning;
    word.clear();
  }
  return tone;
}

struct Judged {
  double score = 0;  // of a line that was not there before
  std::string event_class;
  bool is_error = false;
};

Judged judge(const std::string& example) {
  switch (tone_of(example)) {
    case Tone::error: return {0.75, "", true};
    case Tone::warning: return {0.66, "", true};
    case Tone::plain: break;
  }
  return {0.5, "", false};
}

// How much longer the bad run is, as the ordinary lines tell: the median of the ratios of what both
// have (the size factors of Anders and Huber, Genome Biology 2010). 0: they have nothing in common.
double size_factor(const std::vector<LineTemplate>& lines) {
  std::vector<double> ratios;
  for (const LineTemplate& t : lines)
    if (t.runs[0].lines >= 3 && t.runs[1].lines >= 3)
      ratios.push_back(static_cast<double>(t.runs[1].lines) / static_cast<double>(t.runs[0].lines));
  if (ratios.empty()) return 0;
  sort_rows(ratios);
  return ratios[ratios.size() / 2];
}

std::string quoted(const std::string& text) {
  return text.size() <= 160 ? text : text.substr(0, 110) + " ... " + text.substr(text.size() - 45);
}

// What the rules made events of, by class: a class knows the number that a template masks (Xid 63
// is not Xid 79).
std::vector<LineTemplate> classes_of(const ComparedRun& good, const ComparedRun& bad,
                                     std::map<std::string, const EventRow*>& samples) {
  std::map<std::string, LineTemplate> out;
  const std::array<const ComparedRun*, 2> runs{&good, &bad};
  for (std::size_t r = 0; r < 2; ++r)
    for (const EventRow& e : runs[r]->facts->events) {
      const MemberRow* member = runs[r]->facts->member(e.place.member);
      if (!runs[r]->facts->counts(member)) continue;
      LineTemplate& t = out[e.event_class];
      t.text = e.event_class;
      TemplateCount& own = t.runs[r];
      if (own.lines == 0 || std::tie(member->path, e.place.line) < std::tie(own.path, own.line)) {
        own.path = member->path;
        own.line = e.place.line;
        own.text = e.message;
        own.kind = member->text_kind;
        samples[e.event_class] = &e;
      }
      own.lines += e.count;
    }
  std::vector<LineTemplate> sorted;
  for (auto& [event_class, t] : out) sorted.push_back(std::move(t));
  return sorted;
}

Judged judge(const EventRow& e) {
  const double by = e.severity == Severity::critical      ? 0.95
                    : e.severity == Severity::distributed ? 0.90
                    : e.severity == Severity::warning     ? 0.80
                                                          : 0.45;
  const bool after =
      e.role == Role::cascade || e.role == Role::teardown || e.role == Role::confirmation;
  return {e.role == Role::recovery ? 0.3
          : after                  ? 0.88 * by
                                   : by,
          e.event_class, e.severity != Severity::info};
}

std::optional<Change> changed(const LineTemplate& t, const Judged& judged, double factor,
                              const CompareParams& params, const ComparedRun& good,
                              const ComparedRun& bad) {
  const auto comparable = [](const TemplateCount& count, const std::set<std::string>& other) {
    return count.kind.empty() || other.contains(count.kind);
  };
  const TemplateCount &was = t.runs[0], &is = t.runs[1];
  const auto g = static_cast<double>(was.lines), b = static_cast<double>(is.lines);
  const double expected = g * factor;
  Change one{.what = t.text, .event_class = judged.event_class};
  if (was.lines == 0) {
    if (!comparable(is, good.text_kinds)) return std::nullopt;
    one.kind = ChangeKind::new_lines;
    // Once is an accident more often than five times.
    one.score = judged.score * (is.lines == 1 && !judged.is_error ? 0.8 : is.lines < 3 ? 0.97 : 1);
    one.bad = quoted(is.text);
    one.effect = std::log2(b + 1);
    one.title = say(Phrase::lines_of_new_kind, is.lines, one.event_class, one.bad);
    one.places.push_back({true, is.path, is.line, is.bytes});
  } else if (is.lines == 0) {
    if (!comparable(was, bad.text_kinds) || factor <= 0 || expected < params.gone_from)
      return std::nullopt;
    one.kind = ChangeKind::gone_lines;
    one.score = judged.is_error ? 0.3 : std::min(0.76, 0.5 + 0.12 * std::log10(expected));
    one.good = quoted(was.text);
    one.effect = -std::log2(expected + 1);
    one.title = say(Phrase::lines_gone, expected, one.good);
    one.places.push_back({false, was.path, was.line, was.bytes});
  } else {
    if (factor <= 0) return std::nullopt;
    const double ratio = (b + 0.5) / (expected + 0.5);
    // A count of the good run is uncertain as well.
    const double sigmas = std::abs(b - expected) / std::sqrt(expected + expected * factor + 1);
    if (std::abs(std::log2(ratio)) < std::log2(params.rate_factor) || sigmas < params.rate_sigmas)
      return std::nullopt;
    one.kind = ChangeKind::rate_of_lines;
    one.effect = std::log2(ratio);
    one.score = std::min(0.85, 0.3 + 0.09 * std::min(4.0, std::abs(one.effect)) +
                                   (ratio > 1 ? 0.25 * judged.score : 0));
    one.good = fmt::format("{} lines", was.lines);
    one.bad = fmt::format("{} lines", is.lines);
    one.title =
        say(ratio > 1 ? Phrase::lines_more_often : Phrase::lines_less_often,
            ratio > 1 ? ratio : 1 / ratio, is.lines,
            static_cast<std::int64_t>(std::llround(expected)), one.event_class, quoted(is.text));
    one.places = {{false, was.path, was.line, was.bytes}, {true, is.path, is.line, is.bytes}};
  }
  return one;
}

}  // namespace

std::vector<Change> changed_lines(const ComparedRun& good, const ComparedRun& bad,
                                  const std::vector<LineTemplate>& lines,
                                  const rules::RulePack& pack, const CompareParams& params,
                                  std::vector<Text>& notes) {
  std::vector<Change> out;
  for (const bool in_bad : {false, true}) {
    const auto& has = in_bad ? bad.text_kinds : good.text_kinds;
    const auto& other = in_bad ? good.text_kinds : bad.text_kinds;
    for (const std::string& kind : has)
      if (!kind.empty() && !other.contains(kind))
        notes.push_back(say(in_bad ? Phrase::kind_in_bad_run : Phrase::kind_in_good_run, kind));
  }
  const double factor = size_factor(lines);
  if (factor == 0 && !lines.empty()) notes.push_back(say(Phrase::no_common_kind));
  std::map<std::string, const EventRow*> samples;
  for (const LineTemplate& t : classes_of(good, bad, samples))
    if (auto one = changed(t, judge(*samples.at(t.text)), factor, params, good, bad))
      out.push_back(std::move(*one));
  for (const LineTemplate& t : lines) {
    const std::string& example = t.runs[1].lines > 0 ? t.runs[1].text : t.runs[0].text;
    const auto match = pack.match(example);
    if (match && pack.is_event(*match)) continue;  // counted by its class
    if (auto one = changed(t, match ? Judged{kHarmless, match->event_class, false} : judge(example),
                           factor, params, good, bad))
      out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace culprit::analyze
