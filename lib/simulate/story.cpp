// Tells the story of an incident.
#include "simulate/story.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

using nlohmann::json;

Nanoseconds seconds(double s) { return static_cast<Nanoseconds>(s * 1e9); }

class Story {
 public:
  Story(const Cast& cast, const Dice& dice)
      : cast_(cast),
        dice_(dice.fork("story")),
        mute_(cast.data().contains("mute") ? cast.onset + seconds(cast.data()["mute"].get<double>())
                                           : std::numeric_limits<Nanoseconds>::max()) {}

  // Events, or scenes of them; times count from `origin`.
  void events(const json& list, Nanoseconds origin) {
    for (const json& event : list) {
      const Nanoseconds from =
          (event.contains("from") ? cast_.begin : origin) + seconds(event.value("at", 0.0));
      if (event.contains("scene"))
        events(scenes()[event["scene"].get<std::string>()], from);
      else if (meant(event))
        happen(event, from);
    }
  }

  void ordinary_lines() {
    const Nanoseconds last = last_time();
    for (const json& noise : world()["noise"]) {
      if (!meant(noise)) continue;
      // Machines live longer than the job; nobody trains any more once progress has ended.
      const bool kernel = noise["in"] == "kernel";
      const Nanoseconds from = kernel ? cast_.before : cast_.begin + 2 * kMinute;
      const Nanoseconds to = noise.contains("before")
                                 ? cast_.begin - noise["before"].get<int>() * kSecond
                                 : (kernel || noise["in"] == "ctl" ? last : cast_.until);
      if (to <= from) continue;
      for (const Speaker who : cast_.speakers(noise["who"].get<std::string>())) {
        const double count = noise["count"].get<double>() * 2 * dice_.unit();
        const int times = static_cast<int>(count + dice_.unit());
        for (int i = 0; i < times; ++i)
          say(noise, who,
              from + static_cast<Nanoseconds>(dice_.unit() * static_cast<double>(to - from)));
      }
    }
  }

  void progress(const std::vector<Step>& steps) {
    const json& way = cast_.progress;
    const Speaker who = cast_.speakers(way["who"].get<std::string>()).front();
    const double diverge = cast_.data().value("pace", json::object()).value("diverge", 0.0);
    const Nanoseconds sick =
        diverge > 0 ? cast_.onset - seconds(diverge) : std::numeric_limits<Nanoseconds>::max();
    double loss = 2.1 + dice_.unit(), norm = 0.4;
    std::size_t index = 0;
    for (const Step& step : steps) {
      const bool nan = diverge > 0 && ++index + 1 >= steps.size();
      const bool ill = step.time > sick;
      loss = ill ? loss * (1.3 + dice_.unit() / 2) : loss * (0.9985 + dice_.unit() * 0.001);
      norm = ill ? norm * (1.6 + dice_.unit()) : 0.3 + dice_.unit() * 0.2;
      const std::string spelt = nan ? "nan" : fmt::format("{:.4f}", loss);
      const std::int64_t batch = std::stoll(cast_.words.at("batch"));
      const WordMap own{
          {"step", std::to_string(step.number)},
          {"ms", fmt::format("{:.1f}", step.seconds * 1000)},
          {"sec", fmt::format("{:.3f}", step.seconds)},
          {"loss", spelt},
          {"lm_loss", nan ? "" : fmt::format(" lm loss: {:.6E} |", loss)},
          {"gnorm", nan ? "nan" : fmt::format("{:.3f}", norm)},
          {"nans", nan ? "1" : "0"},
          {"lr", ill ? "3.000000E-02" : "3.000000E-04"},
          {"samples", std::to_string(step.number * batch)},
          {"tps", std::to_string(std::llround(static_cast<double>(batch) * 4096 / step.seconds))}};
      put(way["say"].get<std::string>(), "rank", who, step.time, &own, 0);
    }
  }

  std::vector<Line> take() {
    std::ranges::stable_sort(lines_, [](const Line& a, const Line& b) { return a.time < b.time; });
    return std::move(lines_);
  }
  Nanoseconds last_time() const {
    Nanoseconds last = cast_.until;
    for (const Line& line : lines_) last = std::max(last, line.time);
    return last;
  }

 private:
  bool meant(const json& event) const {
    if (!event.contains("on")) return true;
    const json& on = event["on"];
    if (on == "direct" || on == "launcher")
      return cast_.scheduler() == "slurm" &&
             cast_.layout.value("direct", false) == (on == "direct");
    return on == cast_.scheduler();
  }

  void happen(const json& event, Nanoseconds from) {
    const double spread = event.value("spread", 0.0), share = event.value("share", 1.0);
    for (const Speaker who : cast_.speakers(event["who"].get<std::string>())) {
      if (share < 1 && !dice_.chance(share)) continue;
      const Nanoseconds at = from + seconds(dice_.unit() * spread);
      for (int i = 0; i < event.value("times", 1); ++i)
        say(event, who, at + seconds(i * event.value("every", 0.0)));
    }
  }

  void say(const json& event, Speaker who, Nanoseconds at) {
    const Nanoseconds boot = event.value("boot", false) ? at - 2 * kSecond : 0;
    at += dice_.between(0, 999'999);
    for (const json& text : event["say"]) {
      put(text.get<std::string>(), event["in"].get<std::string>(), who, at, nullptr, boot);
      at += dice_.between(200, 4000) * 1000;
    }
  }

  void put(const std::string& text, const std::string& place, Speaker who, Nanoseconds at,
           const WordMap* own, Nanoseconds boot) {
    const bool its = place == "rank" || place == "agent" || place == "kernel";
    if (who.host == cast_.guilty.host && its && at >= mute_ && boot == 0) return;
    if (cast_.data().value("bare", false) && (place == "kernel" || place == "ctl")) return;
    lines_.push_back({at, who, place, fill(cast_, text, {who, at, own, boot}, dice_), boot});
  }

  const Cast& cast_;
  Dice dice_;
  Nanoseconds mute_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Step> steps_of(Cast& cast, const Dice& dice) {
  const json pace = cast.data().value("pace", json::object());
  const std::string part = pace.value("part", ""), who = pace.value("who", "");
  const double factor = pace.value("factor", 1.0);
  Dice jitter = dice.fork("steps");
  std::vector<Step> out;
  std::int64_t before = cast.first_step;
  Nanoseconds now = cast.begin + kMinute;
  for (Step step{cast.first_step}; now < cast.until;) {
    step = {step.number + 1, 0, 0, {}};
    if (now < cast.onset - 600 * kSecond) before = step.number;
    const double scale = cast.step_s * (0.985 + jitter.unit() * 0.03);
    const double slower = now >= cast.onset ? factor : 1.0;
    for (int rank = 0; rank < cast.world(); ++rank) {
      const bool hit = who == "all" || (who == "guilty" && rank == cast.guilty.rank) ||
                       (who == "host" && rank / cast.per_host == cast.guilty.host);
      const double times = hit ? slower : 1.0, wobble = 0.99 + jitter.unit() * 0.01;
      const Step::Parts parts{scale * 0.72 * wobble * (part == "compute" ? times : 1), 0,
                              scale * 0.06 * wobble * (part == "data" ? times : 1)};
      step.seconds = std::max(step.seconds, parts.compute + parts.data);
      step.ranks.push_back(parts);
    }
    step.seconds += scale * 0.22 * (part == "comm" ? slower : 1);
    for (Step::Parts& parts : step.ranks)
      parts.communication = step.seconds - parts.compute - parts.data;
    now += seconds(step.seconds);
    step.time = now;
    const bool last = now >= cast.until && pace.value("finish", false);
    if (last || (now < cast.until && step.number % cast.interval == 0)) out.push_back(step);
    cast.words["step"] = std::to_string(step.number);
    if (last) cast.words["total"] = cast.words["step"], cast.onset = cast.until = now;
  }
  cast.words["step_before"] = std::to_string(before);
  return out;
}

std::vector<Line> tell(Cast& cast, const std::vector<Step>& steps, const Dice& dice) {
  Story story(cast, dice);
  if (cast.attempt > 0) story.events(world()["restart"], cast.begin);
  story.events(cast.data().contains("start") ? cast.data()["start"] : world()["start"], cast.begin);
  story.progress(steps);
  if (cast.data().contains("events")) story.events(cast.data()["events"], cast.onset);
  story.ordinary_lines();
  Dice none(0);
  cast.words["end"] = cast.words["sacct.state"] == "Running"
                          ? "Unknown"
                          : fill(cast, "{t.iso}", {{}, story.last_time() + 2 * kSecond}, none);
  cast.collected = story.last_time() + dice.fork("collected").between(300, 1500) * kSecond;
  return story.take();
}

}  // namespace culprit::simulate
