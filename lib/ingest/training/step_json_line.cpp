// Step records in JSON among the other lines of a log: {"level": "INFO", "msg": "train", "step":
// 1500, "loss": 1.93, "step_ms": 2204}. A file of nothing else is read by step_jsonl.cpp.
#include "ingest/engine/recogniser.hpp"
#include "ingest/training/step_object.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestPrefix = 160;  // of a collector: a time, a pod, a stream

class StepLines final : public Kept {
 public:
  StepObjects objects{"json"};
};

Outcome read_step_json(const TextLine& line, Reading& reading) {
  const std::size_t begin = line.raw.find('{');
  if (begin == std::string_view::npos || begin > kLongestPrefix) return {};
  const std::string_view text = line.raw.substr(begin);
  const ObjectGlance seen = glance(text);
  if (!seen.complete || !seen.step || seen.numbers + seen.figure == 0) return {};
  Outcome out =
      reading.keep<StepLines>().objects.read(text, line.place, reading, line.line.prefix.time);
  out.reject = {};  // it is a log, whatever else its lines hold
  return out;
}

constexpr std::string_view kStepJsonWords[] = {
    "\"step\":", "\"global_step\":", "\"iteration\":", "\"step\" :"};

}  // namespace

extern constinit const Recogniser kStepJson{"step-json-line",
                                            "JSON records of steps among the lines of a log",
                                            kStepJsonWords, read_step_json};

}  // namespace culprit::ingest
