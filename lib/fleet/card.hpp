// An incident on one line of JSON (schemas/card-v1.json), and files of such lines: what was found
// afterwards stands on lines of its own, so files grow only, and `sort -u` merges them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fleet.hpp"
#include "model/json.hpp"
#include "model/result.hpp"

namespace culprit::fleet {

// Of a report (schemas/diagnosis-v1.json); nothing when the document is none. The same report gives
// the same bytes, 10 kB of them at the most.
std::optional<std::string> card_of(const nlohmann::json& document);

// confirmed: the verdict was right; cleared: what it accused was not at fault; other: something
// else was found.
enum class Found : std::uint8_t { confirmed, cleared, other };
std::string_view name(Found found);
std::optional<Found> found_named(std::string_view name);

// What was found of one incident, with the verdict of which it is said: another program may give
// another verdict later.
struct CardOutcome {
  std::uint64_t id = 0;
  Found found{};
  std::string cause, by;  // "" = not said
  Nanoseconds time = 0;   // when it was written down, UTC
  std::string action, kind, sureness;
  bool reopened = false;  // read: it takes a confirmation back. Never written
};
std::string to_line(const CardOutcome& outcome);

// 16 hexadecimal digits, lower case.
std::optional<std::uint64_t> card_id(std::string_view text);
std::string card_id(std::uint64_t id);

// What is looked at of a card among many: views into the text of its file, as they stand there.
struct CardRow {
  std::uint64_t id = 0;
  std::uint64_t line = 0;  // from 1
  std::string_view text, start, tool;
  std::string_view target;  // whose host the first target is or is part of, else itself
  std::uint32_t traits = 0, traits_end = 0;  // into Cards::traits
};

// A file of cards. One card an incident: of the newest program, and of those the last by its text,
// so that the order of lines does not matter; the last outcome by its time.
class Cards {
 public:
  // threads: that read; the answer does not depend on it. Errors name the line.
  static Result<Cards> read(std::string text, const std::string& file, unsigned threads = 1);

  const std::vector<CardRow>& rows() const { return rows_; }  // by id
  const CardRow* find(std::uint64_t id) const;
  const std::map<std::uint64_t, CardOutcome>& outcomes() const { return outcomes_; }
  // What makes incidents alike, hashed: symptom, kind of cause, kinds of targets, signs, effects,
  // shape of the waits. Sorted, each once.
  std::span<const std::uint64_t> traits(const CardRow& row) const {
    return std::span(traits_).subspan(row.traits, row.traits_end - row.traits);
  }

 private:
  std::unique_ptr<std::string> text_;  // the views stay when this is moved
  std::vector<CardRow> rows_;
  std::vector<std::uint64_t> traits_;
  std::map<std::uint64_t, CardOutcome> outcomes_;
};

// The same of many incidents for the statistics of a fleet.
std::vector<FleetIncident> incidents_of(const Cards& cards);

}  // namespace culprit::fleet
