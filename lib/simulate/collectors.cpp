// What a person collects afterwards: the output of nvidia-smi, ibstat, ps, sacct ..., and tables of
// metrics. The collectors are data (world.json); a kind says what they find and where.
#include <cmath>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "simulate/bundle.hpp"
#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

using nlohmann::json;

constexpr int kMostSamples = 90;  // of a table of metrics

class Collector {
 public:
  Collector(const Cast& cast, const json& spec, Dice dice, Files& files)
      : cast_(cast), spec_(spec), dice_(dice), files_(files) {}

  void run() {
    if (spec_["per"] == "job") return write({0, -1});
    for (const Speaker host : cast_.speakers("hosts"))
      // A machine that died answers no collector.
      if (host.host != cast_.guilty.host || !cast_.data().contains("mute") ||
          cast_.data().value("returns", false))
        write(host);
  }

 private:
  void write(Speaker of) {
    std::string out = lines("head", of, cast_.collected);
    const Nanoseconds every = static_cast<Nanoseconds>(spec_.value("every", 0)) * kSecond;
    const Nanoseconds from = std::max(cast_.begin, cast_.collected - kMostSamples * every);
    for (Nanoseconds at = every > 0 ? from : cast_.collected; at <= cast_.collected;
         at += std::max<Nanoseconds>(1, every)) {
      for (const Speaker one : each(of)) out += lines("body", one, at);
      if (every == 0) break;
    }
    files_[fill(cast_, spec_["file"].get<std::string>(), {of}, dice_)] += out;
  }

  std::vector<Speaker> each(Speaker of) const {
    const std::string what = spec_.value("each", "");
    std::vector<Speaker> out;
    if (what == "host") return cast_.speakers("hosts");
    if (what == "leaf") {
      for (const Speaker host : cast_.speakers("hosts"))
        if (host.host == 0 || cast_.hosts[static_cast<std::size_t>(host.host)].leaf !=
                                  cast_.hosts[static_cast<std::size_t>(host.host) - 1].leaf)
          out.push_back(host);
      return out;
    }
    if (what.empty()) return {of};
    for (int local = 0; local < cast_.per_host; ++local)
      out.push_back({of.host, of.host * cast_.per_host + local});
    return out;
  }

  // What the kind has this collector find there, from the incident on.
  WordMap found(Speaker who, Nanoseconds at) const {
    WordMap out;
    if (at < cast_.onset || !cast_.data().contains("found")) return out;
    for (const json& one : cast_.data()["found"]) {
      const bool here =
          one["who"] == "all" || (one["who"] == "guilty" && who == cast_.guilty) ||
          (one["who"] == "host" && who.host == cast_.guilty.host) ||
          (one["who"] == "leaf" && contains(cast_.speakers("leaf"), Speaker{who.host, -1}));
      if (!here) continue;
      for (const auto& [name, value] : one["words"].items())
        out.emplace(name, value.get<std::string>());
    }
    return out;
  }

  std::string lines(const char* part, Speaker who, Nanoseconds at) {
    std::string out;
    if (!spec_.contains(part)) return out;
    const WordMap own = found(who, at);
    for (const json& line : spec_[part])
      out += fill(cast_, line.get<std::string>(), {who, at, &own}, dice_) + "\n";
    return out;
  }

  const Cast& cast_;
  const json& spec_;
  Dice dice_;
  Files& files_;
};

bool listed(const json& data, const char* key, const json& id) {
  return data.contains(key) && contains(data[key], id);
}

// How long the parts of a step took on each rank: one table, or a file of JSON lines for each rank.
void write_steps(const Cast& cast, const std::vector<Step>& steps, Dice dice, Files& files) {
  const bool table = dice.chance(0.5);
  if (table)
    files["metrics/steps.csv"] =
        "time,step,rank,host,iteration_s,compute_s,communication_s,data_s\n";
  for (const Step& step : steps)
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
      const auto& [compute, communication, data] = step.ranks[rank];
      const Speaker who{static_cast<int>(rank) / cast.per_host, static_cast<int>(rank)};
      if (table)
        files["metrics/steps.csv"] += fmt::format(
            "{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}\n",
            fill(cast, "{t.z}", {who, step.time}, dice), step.number, rank,
            fill(cast, "{host}", {who}, dice), step.seconds, compute, communication, data);
      else
        files[fmt::format("metrics/rank_{}.jsonl", rank)] +=
            json_text(
                nlohmann::ordered_json{{"time", static_cast<double>(step.time / 1'000'000) / 1e3},
                                       {"rank", rank},
                                       {"step", step.number},
                                       {"iter_ms", std::llround(step.seconds * 1e3)},
                                       {"compute_ms", std::llround(compute * 1e3)},
                                       {"comm_ms", std::llround(communication * 1e3)},
                                       {"data_ms", std::llround(data * 1e3)}},
                -1) +
            "\n";
    }
}

}  // namespace

void collect(const Cast& cast, const std::vector<Step>& steps, const Dice& dice, Files& files) {
  Dice drawn = dice.fork("collectors");
  const json& data = cast.data();
  const bool bare = data.value("bare", false);
  for (const json& spec : world()["collectors"]) {
    const json& id = spec["id"];
    const bool chosen =
        drawn.chance(spec["share"].get<double>()) && (!bare || id == "date" || id == "pods");
    // Without it nobody could tell when the lines of such a kernel log were printed.
    const bool clock =
        id == "uptime" && !cast.kernel.is_null() && cast.kernel.value("clock", false);
    if ((!chosen && !clock && !listed(data, "collect", id)) || listed(data, "absent", id)) continue;
    if (spec.contains("on") && spec["on"] != cast.scheduler()) continue;
    Collector(cast, spec, dice.fork(id.get<std::string>()), files).run();
  }
  const bool table = drawn.chance(0.2) && !bare;
  if ((table || data.value("steps", false)) && !steps.empty())
    write_steps(cast, steps, dice.fork("steps"), files);
  const json extra = data.value("files", json::object());
  for (const auto& [path, lines] : extra.items())
    for (const json& line : lines)
      files[path] += fill(cast, line.get<std::string>(), {cast.guilty, cast.onset}, drawn) + "\n";
}

}  // namespace culprit::simulate
