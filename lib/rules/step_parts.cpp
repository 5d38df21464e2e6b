#include "rules/step_parts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

constexpr std::array<const char*, kStepParts> kNames{
    "", "communication", "data", "checkpoint", "generation", "compute", "host"};

struct Word {
  StepPart part = StepPart::none;
  bool waits = false;
};

// So that words are found without a string of each.
struct TextHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using WordSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

struct Table {
  WordSet units, middles, extremes, waiting, synchronising, whole, loads, other_work, no_durations;
  std::vector<std::string> losses, loss_lines, counters;
  std::map<std::string, Word, std::less<>> words;
  std::array<std::string, kStepParts> labels, reliefs;
  std::array<bool, kStepParts> overhead{};
  std::array<std::set<std::string, std::less<>>, kStepParts> symptoms;
};

Table read_table() {
  Table out;
  const auto document = parse_json(embedded_rule("tables/step_parts.json"));
  for (const auto& word : document["units"]) out.units.insert(word.get<std::string>());
  for (const auto& word : document["middles"]) out.middles.insert(word.get<std::string>());
  for (const auto& word : document["extremes"]) out.extremes.insert(word.get<std::string>());
  for (const auto& word : document["waiting"]) out.waiting.insert(word.get<std::string>());
  for (const auto& word : document["loads"]) out.loads.insert(word.get<std::string>());
  for (const auto& word : document["synchronising"])
    out.synchronising.insert(word.get<std::string>());
  for (const auto& word : document["whole"]) out.whole.insert(word.get<std::string>());
  for (const auto& word : document["no_durations"])
    out.no_durations.insert(word.get<std::string>());
  for (const auto& word : document["other_work"]) out.other_work.insert(word.get<std::string>());
  document["losses"].get_to(out.losses);
  document["loss_lines"].get_to(out.loss_lines);
  document["counters"].get_to(out.counters);
  for (const auto& row : document["parts"]) {
    const auto index = static_cast<std::size_t>(part_named(row["part"].get<std::string>()));
    for (const auto& symptom : row["symptoms"])
      out.symptoms[index].insert(symptom.get<std::string>());
    out.labels[index] = row["label"].get<std::string>();
    out.reliefs[index] = row.value("relief", "");
    out.overhead[index] = row.value("overhead", false);
    for (const auto& word : row["words"])
      out.words[word.get<std::string>()] = {static_cast<StepPart>(index), row["waits"].get<bool>()};
  }
  return out;
}

const Table& table() {
  static const Table kTable = read_table();
  return kTable;
}

std::vector<std::string> words_of_part(std::string_view name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out.back() += lower(c);
    else if (!out.back().empty())
      out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

bool has_any(const std::vector<std::string>& words,
             std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return contains(wanted, word); });
}

// As of words_of_part(), which makes a string of each: this is asked of every line of ranks.
bool has_word_of(std::string_view text, const WordSet& words) {
  std::array<char, 32> word;
  std::size_t size = 0;
  const auto known = [&] {
    return size > 0 && size < word.size() && words.count(std::string_view(word.data(), size)) > 0;
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word[std::min(size, word.size() - 1)] =
          static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      ++size;
      continue;
    }
    if (known()) return true;
    size = 0;
  }
  return known();
}

PartName read_part(std::string_view text) {
  PartName out;
  bool waiting = false;
  const std::vector<std::string> words = words_of_part(text);
  if (std::ranges::any_of(
          words, [](const std::string& word) { return table().no_durations.count(word) > 0; }))
    return out;
  for (const std::string& word : words) {
    if (table().units.count(word) > 0) continue;
    out.whole = out.whole || table().whole.count(word) > 0;
    waiting = waiting || table().waiting.count(word) > 0;
    const auto known = table().words.find(word);
    if (known == table().words.end()) continue;
    out.waits = out.waits || known->second.waits;
    out.works = out.works || !known->second.waits;
    if (out.part == StepPart::none || known->second.waits) out.part = known->second.part;
  }
  if (waiting && out.part == StepPart::none) {
    out.part = StepPart::communication;
    out.waits = true;
  }
  // In a pipeline stage's forward-backward time it waits for its neighbours, too.
  const bool both = has_any(words, {"forward", "fwd", "fw"}) &&
                    has_any(words, {"backward", "bwd", "bw"}) &&
                    !has_any(words, {"compute", "kernel"});
  // "optimizer_step" is a part of a step.
  const bool of_optimizer = has_any(words, {"optimizer", "optim", "opt"});
  if (out.whole && of_optimizer) out.whole = false;
  if (out.waits || out.whole || both) out.works = false;
  if (out.whole && !out.waits) out.part = StepPart::none;
  return out;
}

}  // namespace

const char* name(StepPart part) { return kNames[static_cast<std::size_t>(part)]; }
const std::string& label(StepPart part) { return table().labels[static_cast<std::size_t>(part)]; }

const std::string& relief(StepPart part) { return table().reliefs[static_cast<std::size_t>(part)]; }

bool overhead(StepPart part) { return table().overhead[static_cast<std::size_t>(part)]; }

StepPart part_named(std::string_view text) {
  const auto at = std::ranges::find(kNames, text);
  return at == kNames.end() ? StepPart::none : static_cast<StepPart>(at - kNames.begin());
}

bool made_longer_by(StepPart part, Symptom symptom) {
  return table().symptoms[static_cast<std::size_t>(part)].count(name(symptom)) > 0;
}

// The same few names come with each of ten thousand files of ranks.
PartName part_name(std::string_view text) {
  constexpr std::size_t kMostNames = 4096;
  thread_local std::unordered_map<std::string, PartName, TextHash, std::equal_to<>> known;
  const auto at = known.find(text);
  if (at != known.end()) return at->second;
  const PartName part = read_part(text);
  if (known.size() < kMostNames) known.emplace(text, part);
  return part;
}

bool synchronises(std::string_view text) { return has_word_of(text, table().synchronising); }
bool tells_load(std::string_view text) { return has_word_of(text, table().loads); }

TimeStatistic statistic_of(std::string_view name) {
  const std::size_t cut = name.find_last_of("_/. ");
  if (cut == std::string_view::npos || cut == 0) return {name};
  const std::string_view word = name.substr(cut + 1);
  const bool middle = table().middles.count(word) > 0;
  if (!middle && table().extremes.count(word) == 0) return {name};
  return {name.substr(0, cut), true, middle};
}

bool whole_of_step(std::string_view text) {
  const PartName part = part_name(text);
  return part.whole && part.part == StepPart::none && !part.waits;
}

bool tells_of_other_work(std::string_view text) { return has_word_of(text, table().other_work); }

std::span<const std::string> loss_names() { return table().losses; }
std::span<const std::string> loss_line_words() { return table().loss_lines; }
std::span<const std::string> counter_names() { return table().counters; }

}  // namespace culprit::rules
