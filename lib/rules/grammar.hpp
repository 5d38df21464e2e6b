// The grammar of error lines that no rule knows: who speaks, and for what reason it failed. Both
// are data, rules/tables/speakers.json and rules/tables/reasons.json (schemas/speakers-v1.json and
// reasons-v1.json are their manuals); codes are those of the enumerations. What it says is a name
// for a line: it accuses nobody and decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"
#include "rules/archive.hpp"
#include "rules/search.hpp"

namespace culprit::rules {

// A pattern that is compiled when it is first asked.
class LazyPattern;
class Enumerations;

// specific: it says itself what failed. passed_on: it repeats what failed elsewhere. teardown: it
// follows from an end. advice: nothing failed.
enum class ReasonRole : std::uint8_t { specific, passed_on, teardown, advice };
std::string_view name(ReasonRole role);

struct ReasonRow {
  std::string name;   // the second half of a class
  std::string title;  // "out of memory"
  ReasonRole role = ReasonRole::passed_on;
  std::string cause;  // what kind of cause it hints at, for readers
  std::string means;
  bool general = false;            // it says no more than that something failed
  std::vector<std::string> codes;  // of the enumerations
  std::vector<std::shared_ptr<LazyPattern>> match;

  template <class Archive, MaybeConst<ReasonRow> T>
  friend void each_field(Archive& archive, T& row) {
    archive(row.name, row.title, row.role, row.cause, row.means, row.general, row.codes, row.match);
  }
};

// What was being done, for titles.
struct Operation {
  std::string title;  // "memory registration"
  std::shared_ptr<LazyPattern> match;

  template <class Archive, MaybeConst<Operation> T>
  friend void each_field(Archive& archive, T& operation) {
    archive(operation.title, operation.match);
  }
};

// A part of a program that goes by a name of its own.
struct SpeakerPart {
  std::string name, title;
  std::shared_ptr<LazyPattern> match;

  template <class Archive, MaybeConst<SpeakerPart> T>
  friend void each_field(Archive& archive, T& part) {
    archive(part.name, part.title, part.match);
  }
};

struct GrammarSample {
  std::string line, event_class, title;  // class and title are "" where it must stay silent

  template <class Archive, MaybeConst<GrammarSample> T>
  friend void each_field(Archive& archive, T& sample) {
    archive(sample.line, sample.event_class, sample.title);
  }
};

struct SpeakerRow {
  std::string name;       // the first half of a class
  std::string title;      // "NCCL"
  std::string component;  // what of the stack it is
  std::string means, source;
  bool severe = false;               // its mark alone says that something failed
  std::string numbers;               // which list of numbers its codes are taken from
  std::vector<std::string> markers;  // folded: one of them stands in every line of it
  std::vector<std::shared_ptr<LazyPattern>> match;
  std::vector<SpeakerPart> parts;
  std::vector<GrammarSample> samples;

  template <class Archive, MaybeConst<SpeakerRow> T>
  friend void each_field(Archive& archive, T& row) {
    archive(row.name, row.title, row.component, row.means, row.source, row.severe, row.numbers,
            row.markers, row.match, row.parts, row.samples);
  }
};

// What the grammar says of one line. Pointers live as long as the grammar.
struct Said {
  const SpeakerRow* speaker = nullptr;
  const ReasonRow* reason = nullptr;
  std::string event_class;  // speaker/reason
  std::string title;        // "NCCL NET/IB: memory registration failed: out of memory (ENOMEM)"
  std::string code;         // ENOMEM
};

class Grammar {
 public:
  // Errors name file, key and reason. trusted: our own tables, which the tests hold against the
  // schemas; a start of the program need not repeat that.
  static Result<Grammar> parse(std::string_view speakers, std::string_view reasons,
                               const Enumerations& enumerations, bool trusted = false);
  static const Grammar& built_in();

  // `raw`: the line as it was printed; the marks of severity stand in what the line layer takes
  // off. Only a line that holds a marker meets a pattern. Safe to call from several threads.
  // only_severe: nothing of speakers whose mark does not say that something failed; their warnings
  // may stand in a log by the million.
  std::optional<Said> said(std::string_view raw, bool only_severe = false) const;
  // "nccl_ib/no_memory": what the class means, without a line.
  std::optional<Said> of_class(std::string_view event_class) const;

  const std::vector<SpeakerRow>& speakers() const { return speakers_; }
  const std::vector<ReasonRow>& reasons() const { return reasons_; }
  // Folded words of which one stands in every line that it can know.
  const std::vector<std::string>& markers() const;

 private:
  struct Numbers {
    std::shared_ptr<LazyPattern> shape;
    std::map<std::string, std::string> names;  // "12" -> ENOMEM

    template <class Archive, MaybeConst<Numbers> T>
    friend void each_field(Archive& archive, T& numbers) {
      archive(numbers.shape, numbers.names);
    }
  };
  // Without what index() makes of it.
  template <class Archive, MaybeConst<Grammar> T>
  friend void each_field(Archive& archive, T& g) {
    archive(g.speakers_, g.reasons_, g.operations_, g.numbers_, g.texts_, g.code_shape_,
            g.text_shape_, g.harmless_, g.failure_words_);
  }
  struct Found {
    const ReasonRow* reason = nullptr;
    std::string code;
  };

  Found reason_of(const SpeakerRow& speaker, std::string_view text) const;
  std::string code_in(const SpeakerRow& speaker, std::string_view text) const;
  std::string code_of_text(std::string_view text) const;
  Said put_together(const SpeakerRow& speaker, const SpeakerPart* part, const Found& found,
                    const Operation* operation) const;
  void index();
  friend struct GrammarReader;

  std::vector<SpeakerRow> speakers_;
  std::vector<ReasonRow> reasons_;  // in the order in which they are asked
  std::vector<Operation> operations_;
  std::map<std::string, Numbers, std::less<>> numbers_;
  std::map<std::string, std::size_t, std::less<>> reason_of_code_;
  std::map<std::string, std::string, std::less<>> texts_;  // "no such device" -> ENODEV
  std::shared_ptr<LazyPattern> code_shape_, text_shape_;
  std::vector<std::shared_ptr<LazyPattern>> harmless_, failure_words_;
  std::shared_ptr<WordSearch> search_;                   // of the markers
  std::vector<std::vector<std::uint32_t>> speakers_of_;  // by marker
};

}  // namespace culprit::rules
