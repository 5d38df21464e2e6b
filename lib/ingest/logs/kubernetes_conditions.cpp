// Conditions of Kubernetes objects, as `kubectl describe` and `kubectl get -o yaml` print them:
// what a controller says of a workload, and since when.
//
//     Last Transition Time:  2026-08-05T20:35:01Z
//     Message:               Preempted to accommodate a workload (UID: ...)
//     Reason:                Preempted
//     Status:                True
//     Type:                  Evicted

#include <fmt/format.h>

#include "ingest/engine/events.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/ascii.hpp"

namespace culprit::ingest {

namespace {

struct ConditionField {
  std::string key;  // "lasttransitiontime"
  std::string_view value;
};

// A dash before it begins an item of a list.
ConditionField condition_field(std::string_view text) {
  text = line::trimmed(text);
  if (text.starts_with("- ")) text = line::trimmed(text.substr(2));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > 24) return {};
  ConditionField out{{}, line::trimmed(text.substr(colon + 1))};
  for (const char c : text.substr(0, colon))
    if (c != ' ') out.key += lower(c);
  if (out.value.size() >= 2 && (out.value.front() == '"' || out.value.front() == '\'') &&
      out.value.back() == out.value.front())
    out.value = out.value.substr(1, out.value.size() - 2);
  return out;
}

class Condition final : public Assembler {
 public:
  Condition(const Place& place, const Timestamp& time) : place_(place), time_(time) {}

  Step feed(const TextLine& line, Reading&) override {
    const ConditionField field = condition_field(line.raw);
    if (field.key == "message") {
      message_ = field.value;
      place_ = line.place;
    } else if (field.key == "reason") {
      reason_ = field.value;
    } else if (field.key == "status") {
      holds_ = field.value == "True";
    } else if (field.key == "type") {
      type_ = field.value;
      return Step::finished;
    } else if (field.key != "lastupdatetime" && field.key != "observedgeneration" &&
               field.key != "transitionid") {
      return Step::not_mine;
    }
    return Step::took;
  }

  // What is no longer so, or not yet, is no event.
  void finish(Reading& reading) override {
    if (!holds_ || message_.empty()) return;
    line::Line said;
    said.prefix.time = time_;
    said.message = fmt::format("{}, reason: {}, message: {}", type_, reason_, message_);
    put_said(place_, said, reading.text_kind, reading);
  }
  std::uint64_t most_lines() const override { return 8; }

 private:
  Place place_;
  Timestamp time_;
  std::string message_, reason_, type_;
  bool holds_ = false;
};

Outcome read_condition(const TextLine& line, Reading&) {
  const ConditionField field = condition_field(line.raw);
  Timestamp time;
  if (field.key != "lasttransitiontime" || line::parse_iso(field.value, time) == 0) return {};
  return {true, std::make_unique<Condition>(line.place, time)};
}

constexpr std::string_view kConditionWords[] = {"Last Transition Time:", "lastTransitionTime:"};

}  // namespace

extern constinit const Recogniser kKubernetesConditions{
    "kubernetes-conditions", "conditions of Kubernetes objects, with the time since when",
    kConditionWords, read_condition};

}  // namespace culprit::ingest
