// Lines on which a framework says that it writes or reads a checkpoint. What failed is a matter of
// rules: such lines are left alone here.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/training/line_figures.hpp"
#include "model/contains.hpp"
#include "rules/literals.hpp"

namespace culprit::ingest {

namespace {

// The first that matches says what happened. "checkpoint" may have words before it ("the model
// checkpoint", "a distributed checkpoint"), and save what stands behind it.
struct CheckpointPhrase {
  const char* pattern;
  CheckpointEvent event;
};
constexpr CheckpointPhrase kPhrases[] = {
    {R"((?i)\bcheckpoint \S+ is about to be saved)", CheckpointEvent::saving},
    {R"((?i)\b(?:saved|wrote|written|stored|(?:finished|done|completed) (?:saving|writing|storing))(?: [\w-]+){0,4}? checkpoint\b)",
     CheckpointEvent::saved},
    // Megatron's and NeMo's asynchronous ones, DeepSpeed's "Checkpoint global_step40 is ready now!"
    {R"((?i)\bcheckpoint (?:save |\S+ ){0,6}?(?:finalized|completed|(?:was |is |been )?(?:successfully )?(?:saved|written|ready now)))",
     CheckpointEvent::saved},
    {R"((?i)\b(?:saving|writing|storing)(?: [\w-]+){0,4}? checkpoint\b)", CheckpointEvent::saving},
    {R"((?i)\bsaving (?:current )?(?:training )?state to \S*checkpoint)", CheckpointEvent::saving},
    {R"((?i)\b(?:loaded|restored|resumed|(?:finished|done|completed) (?:loading|restoring|reading))(?: [\w-]+){0,4}? checkpoint\b)",
     CheckpointEvent::loaded},
    {R"((?i)\bcheckpoint (?:\S+ ){0,3}?(?:was |is )?(?:successfully )?(?:loaded|restored))",
     CheckpointEvent::loaded},
    {R"((?i)\b(?:loading|restoring|reading|resuming|continuing|resume)(?: [\w-]+){0,4}? checkpoint\b)",
     CheckpointEvent::loading}};

// What speaks of a plan, of a failure or of parts of one checkpoint.
constexpr const char* kOther =
    R"((?i)fail|error|unable|cannot|could not|corrupt|truncat|invalid|mismatch|skip|missing|not found|)"
    R"(no checkpoint|not (?:be )?(?:saved|loaded|written)|without|\bwill\b|every|interval|activation|)"
    R"(gradient checkpoint|checkpoint shards|checkpoint is about to be loaded|warning)";

// Whose state it is: "at iteration 1,200", "global_step1200", ".../checkpoint-1200", "step=1200".
constexpr const char* kCheckpointNumber =
    R"((?i)(?:\biteration|\biter|global_?step|\bsteps?|\bstep_|_step|\bcheckpoint|\bckpt)[ _=:#-]{0,8}(\d{1,12})\b)";

// A class of its own: compiled once, before threads share it.
class CheckpointLines {
 public:
  CheckpointLines() : other_(kOther), number_(kCheckpointNumber) {
    for (const CheckpointPhrase& phrase : kPhrases)
      phrases_.push_back({std::make_unique<re2::RE2>(phrase.pattern), phrase.event});
  }

  std::optional<CheckpointEvent> event(const re2::StringPiece& text) const {
    for (const auto& [pattern, event] : phrases_)
      if (re2::RE2::PartialMatch(text, *pattern))
        return re2::RE2::PartialMatch(text, other_) ? std::nullopt : std::optional(event);
    return std::nullopt;
  }
  // What the sentence says, else what the file or folder is called: the last of its path.
  std::optional<std::int64_t> iteration(std::string_view text) const {
    std::string sentence;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string_view word = text.substr(at, end - at);
      if (!contains(word, '/')) sentence.append(word).push_back(' ');
      at = end + 1;
    }
    std::int64_t found = 0;
    if (re2::RE2::PartialMatch(sentence, number_, &found)) return found;
    std::optional<std::int64_t> out;
    re2::StringPiece rest(text.data(), text.size());
    for (int n = 0; n < 16 && re2::RE2::FindAndConsume(&rest, number_, &found); ++n) out = found;
    return out;
  }

 private:
  std::vector<std::pair<std::unique_ptr<re2::RE2>, CheckpointEvent>> phrases_;
  re2::RE2 other_, number_;
};

// Whether a phrase can stand there at all: all but one want a space before or behind
// "checkpoint", which file names ("utils/checkpoint.py") seldom have, and asking eight patterns
// takes a microsecond. Bytes beyond ASCII may be letters by another name: those are asked.
bool may_say_it(std::string_view text) {
  constexpr std::string_view kWord = "checkpoint";
  if (std::ranges::any_of(text, [](char c) { return (c & 0x80) != 0; })) return true;
  const std::string folded = rules::fold(text);
  for (std::size_t at = folded.find(kWord); at != std::string::npos;
       at = folded.find(kWord, at + 1))
    if ((at > 0 && folded[at - 1] == ' ') ||
        (at + kWord.size() < folded.size() && folded[at + kWord.size()] == ' '))
      return true;
  return contains(folded, "state to ");
}

// "Save duration: 48.8s", "saved step-1200 in 41.3s": how long a save took, as the line says.
Outcome read_save_time(const TextLine& line, Reading& reading) {
  static const re2::RE2 kSave(
      R"((?i)\b(?:save[ds]?|saving|wrote|written|persisted)\b.{0,200}?\b(?:in|took|after|duration|elapsed)[ :=]+(\d+(?:\.\d+)?) ?(ms|s|secs?|seconds)\b)"),
      kOf(R"((?i)checkpoint|ckpt)"), kRead(R"((?i)\b(?:load|restor|read)|fail|error|eval)");
  // "ckpt: " may be the name of the logger.
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  double value = 0;
  std::string unit;
  if (text.size() > 400 || !re2::RE2::PartialMatch(text, kOf) ||
      re2::RE2::PartialMatch(text, kRead) || !re2::RE2::PartialMatch(text, kSave, &value, &unit))
    return {};
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, std::nullopt);
  figures.add("save-checkpoint", unit == "ms" ? "ms" : "s", {}, value);
  return {figures.end(line, reading)};
}

Outcome read_checkpoint(const TextLine& line, Reading& reading) {
  static const CheckpointLines kLines;
  constexpr std::size_t kLongest = 1024;  // a sentence, not a dump of a configuration
  const std::string_view text = std::string_view(line.line.message).substr(0, kLongest);
  if (!may_say_it(text)) return {};
  const re2::StringPiece piece(text.data(), text.size());
  const auto event = kLines.event(piece);
  if (!event) return {};
  reading.sink.put(CheckpointRow{.place = line.place,
                                 .time = line.line.prefix.time,
                                 .event = *event,
                                 .iteration = kLines.iteration(text)});
  return {true};
}

constexpr std::string_view kCheckpointWords[] = {"checkpoint"};
constexpr std::string_view kSaveTimeWords[] = {"save duration", "saved ",    "saving ",
                                               "written ",      "save for ", "save took"};
constexpr std::string_view kAlsoOfSaves[] = {"checkpoint", "ckpt"};

}  // namespace

extern constinit const Recogniser kSaveTime{.name = "save-times",
                                            .summary = "how long the saving of a checkpoint took",
                                            .words = kSaveTimeWords,
                                            .read = read_save_time,
                                            .also = kAlsoOfSaves,
                                            .beside = true};
extern constinit const Recogniser kCheckpoint{
    "checkpoint", "checkpoints written and read, as training frameworks report them",
    kCheckpointWords, read_checkpoint};

}  // namespace culprit::ingest
