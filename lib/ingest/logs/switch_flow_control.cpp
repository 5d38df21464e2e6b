// Ports of a switch that lost what keeps RoCE from losing packets (PFC): tables of lossless
// priorities, and what somebody took out of a configuration.
//
//   Interface    Lossless priorities
//   -----------  ---------------------
//   Ethernet0    3
//   Ethernet8
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/logs/switch_name.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

// Nothing of a machine that is no switch, and of notes.
void say_of_switch(const Place& place, std::string what, Reading& reading) {
  if (const auto owner = switch_of(reading); owner && reading.text_kind != "notes")
    put_said(place, owner, std::move(what), reading);
}

// The rows below the heading.
class LosslessTable final : public Assembler {
 public:
  explicit LosslessTable(const Place& place) : place_(place) {}

  Step feed(const TextLine& line, Reading&) override {
    static const re2::RE2 kRule(R"(^[- ]+$)"),
        kPort(R"(^\s*(?:Ethernet|swp|Eth|et-)[\d/.:-]+(.*)$)");
    const re2::StringPiece text(line.raw.data(), line.raw.size());
    std::string priorities;
    if (re2::RE2::FullMatch(text, kRule)) return Step::took;
    if (!re2::RE2::FullMatch(text, kPort, &priorities)) return Step::not_mine;
    const bool some = priorities.find_first_of("01234567") != std::string::npos;
    ++(some ? lossless_ : lossy_);
    return Step::took;
  }

  void finish(Reading& reading) override {
    if (lossless_ == 0 && lossy_ > 0)
      say_of_switch(place_,
                    fmt::format("flow control: no lossless priority on any of {} ports", lossy_),
                    reading);
  }

 private:
  Place place_;
  std::size_t lossless_ = 0, lossy_ = 0;
};

// Lines of a comparison of two configurations: settings that stand on the old side alone.
class FlowControlChange final : public Kept {
 public:
  void line(bool added, std::string what, const Place& place) {
    std::string key = what.substr(0, what.find_first_of(" :"));
    Change& change = changes_[std::move(key)];
    ++(added ? change.added : change.removed);
    if (!added && change.what.empty()) change.what = std::move(what), change.place = place;
  }
  void finish(Reading& reading) override {
    for (const auto& [key, change] : changes_)
      if (change.removed > 0 && change.added == 0)
        return say_of_switch(
            change.place,
            fmt::format("flow control: taken out of the configuration: {}", change.what), reading);
  }

 private:
  struct Change {
    std::size_t removed = 0, added = 0;
    std::string what;
    Place place;
  };
  std::map<std::string, Change> changes_;
};

// What a switch prints of its ports, one by one or as a range.
class FlowControlOff final : public Kept {
 public:
  void line(bool off, bool several, const Place& place) {
    if (!off) on_ = true;
    if (off && ports_ == 0) first_ = place;
    if (off) ports_ += several ? 2 : 1;
  }
  void finish(Reading& reading) override {
    if (ports_ > 1 && !on_)
      say_of_switch(first_, "flow control: PFC is enabled on no port", reading);
  }

 private:
  bool on_ = false;
  std::size_t ports_ = 0;
  Place first_;
};

Outcome read_switch_flow_control(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHeading(R"(^\s*Interface\s+Lossless priorities\s*$)"),
      kChanged(
          R"((?i)^([-+])\s*"?(priority-flow-control (?:mode )?(?:on|auto|priority \d no-drop)|)"
          R"(pfc (?:on|enable|priority \d)\b.*|service-policy (?:input )?type (?:qos|queuing) .*|)"
          R"(pfc_enable": ?"\d[\d,]*"|qos roce(?: lossless)?|roce (?:mode )?lossless)\s*,?\s*$)"),
      kState(R"re((?i)\bpfc_enable\b"?\s*[:=]\s*(\(none\)|none|off|""|"?\d[\d,]*))re");
  if (line.raw.size() > 300) return {};
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  if (re2::RE2::FullMatch(text, kHeading))
    return {true, std::make_unique<LosslessTable>(line.place)};
  std::string sign, what;
  if (re2::RE2::FullMatch(text, kChanged, &sign, &what)) {
    reading.keep<FlowControlChange>().line(sign == "+", what, line.place);
    return {true};
  }
  if (!re2::RE2::PartialMatch(text, kState, &what)) return {};
  reading.keep<FlowControlOff>().line(what.find_first_of("01234567") == std::string::npos,
                                      contains(line.raw, ".."), line.place);
  return {true};
}

constexpr std::string_view kSwitchFlowControlWords[] = {
    "Lossless priorities", "priority-flow-control", "pfc_enable", "service-policy",
    "pfc enable",          "pfc priority",          "qos roce",   "lossless"};

}  // namespace

extern const Recogniser kSwitchFlowControl;
constinit const Recogniser kSwitchFlowControl{
    "switch-flow-control", "switches without the lossless priorities that RoCE needs",
    kSwitchFlowControlWords, read_switch_flow_control};

}  // namespace culprit::ingest
