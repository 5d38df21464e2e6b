// JSON lines of step metrics: what home-made loops write for each rank, and the history that wandb
// exports.
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/remarks.hpp"
#include "ingest/training/step_object.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr int kLinesLookedAt = 16;

// Strict: a stream of log records in JSON has numbers and times too, and must reach the rules.
bool sniff_step_jsonl(const Head& head) {
  std::string_view rest = head.bytes;
  if (const std::size_t at = rest.find_first_not_of("\xEF\xBB\xBF \t\r\n");
      at == std::string_view::npos || rest[at] != '{')
    return false;
  else
    rest.remove_prefix(at);
  if (head.base() == "wandb-summary.json") return false;
  const bool named = head.base().ends_with(".jsonl") || head.base().ends_with(".ndjson");
  int lines = 0, good = 0, stepped = 0, told = 0;
  while (!rest.empty() && lines < kLinesLookedAt) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const bool cut = end == std::string_view::npos;
    if (cut && lines > 0) break;  // the head, or the file, ends within it
    const ObjectGlance seen = glance(text);
    ++lines;
    if (seen.log || (seen.event && !seen.step)) return false;
    const bool whole = seen.complete || (cut && !head.whole);
    good += whole && seen.numbers > 0 && (seen.step || seen.time || seen.figure);
    stepped += seen.step;
    told += seen.time || seen.figure;
  }
  // What a program prints between its records is read as a log.
  if (lines == 0 || good * 10 < lines * 8 || !only_objects(head)) return false;
  return stepped > 0 || (told > 0 && (lines > 1 || named));
}

class JsonlStepReader final : public RecordReader {
 public:
  explicit JsonlStepReader(std::string_view framework) : objects_(framework) {}
  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    if (place.line == 1 && raw.starts_with("\xEF\xBB\xBF")) raw.remove_prefix(3);
    Outcome out = objects_.read(raw, place, reading);
    if (speaks(raw, out.used)) {
      reading.keep<Remarks>().hear(raw, place, reading);
      out.used = true;
    }
    return out;
  }

 private:
  // Beside its numbers a program records how it failed, and what it prints by itself.
  static bool speaks(std::string_view raw, bool numbers) {
    if (contains(raw, "rror") || contains(raw, "RROR") || contains(raw, "xception")) return true;
    return !numbers && !raw.empty();
  }

  StepObjects objects_;
};

std::unique_ptr<RecordReader> make_step_jsonl(const Head& head) {
  return std::make_unique<JsonlStepReader>(
      head.has("\"_step\"") && (head.has("\"_runtime\"") || head.has("\"_timestamp\"")) ? "wandb"
                                                                                        : "jsonl");
}

}  // namespace

extern constinit const RecordText kStepJsonl{
    "metrics-jsonl", "JSON lines of numbers by step or time, one record a line; wandb history",
    sniff_step_jsonl, make_step_jsonl};

}  // namespace culprit::ingest
