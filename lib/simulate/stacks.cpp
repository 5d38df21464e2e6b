// Stacks of py-spy dump, as text or as JSON.
#include <fmt/format.h>

#include "model/number.hpp"
#include "simulate/bundle.hpp"
#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

using Json = nlohmann::ordered_json;

struct Process {
  Speaker who;
  std::int64_t pid = 0, parent = 0;
  nlohmann::json threads;  // of data/stacks.json
};

// "all_reduce (torch/distributed/distributed_c10d.py:2501)" as an object of py-spy dump --json.
Json frame_of(std::string_view frame) {
  const auto open = frame.rfind(" ("), colon = frame.rfind(':');
  const std::string file(frame.substr(open + 2, colon - open - 2));
  return {
      {"name", frame.substr(0, open)},
      {"filename", "/usr/lib/python3.10/" + file},
      {"module", nullptr},
      {"short_filename", file},
      {"line", whole_number<int>(frame.substr(colon + 1, frame.size() - colon - 2)).value_or(0)},
      {"locals", nullptr},
      {"is_entry", false}};
}

std::string as_json(const Process& process) {
  Json out = Json::array();
  std::int64_t thread = 0;
  for (const auto& one : process.threads) {
    Json frames = Json::array();
    for (const auto& frame : one["frames"]) frames.push_back(frame_of(frame.get<std::string>()));
    out.push_back({{"pid", process.pid},
                   {"thread_id", 140234000000000 + process.pid * 4096 + thread},
                   {"thread_name", one["name"]},
                   {"os_thread_id", process.pid + thread * 41},
                   {"active", !one.value("idle", false)},
                   {"owns_gil", false},
                   {"frames", std::move(frames)},
                   {"process_info", nullptr}});
    ++thread;
  }
  return json_text(out) + "\n";
}

std::string as_text(const Cast& cast, const Process& process, Dice& dice) {
  std::string out = fill(cast,
                         fmt::format("Process {}: {{python}} -u {{script}} --config "
                                     "{{name}}.yaml\nPython v3.10.12 ({{python}})\n",
                                     process.pid),
                         {process.who}, dice);
  if (process.parent != 0)
    out += fill(cast,
                fmt::format("Parent Process {}: {{python}} -u {{script}} --config {{name}}.yaml\n",
                            process.parent),
                {process.who}, dice);
  std::int64_t thread = 0;
  for (const auto& one : process.threads) {
    out +=
        fmt::format("\nThread {} ({}): \"{}\"\n", process.pid + thread++ * 41,
                    one.value("idle", false) ? "idle" : "active", one["name"].get<std::string>());
    for (const auto& frame : one["frames"]) out += "    " + frame.get<std::string>() + "\n";
  }
  return out;
}

}  // namespace

void dump_stacks(const Cast& cast, const Dice& dice, Files& files) {
  if (!cast.data().contains("stacks")) return;
  const auto& roles = cast.data()["stacks"];
  const auto threads = [&](const char* who) -> const nlohmann::json& {
    return stacks()["roles"][roles[who].get<std::string>()];
  };
  Dice drawn = dice.fork("stacks");
  const bool json = drawn.chance(0.5);
  const auto pid = [&](Speaker who) { return std::stoll(fill(cast, "{pid}", {who}, drawn)); };
  const auto put = [&](const std::string& name, const Process& process) {
    const std::string host = cast.hosts[static_cast<std::size_t>(process.who.host)].name;
    files[fmt::format("stacks/{}/{}.{}", host, name, json ? "json" : "txt")] =
        json ? as_json(process) : as_text(cast, process, drawn);
  };
  for (const Speaker who : cast.speakers("ranks"))
    put(fmt::format("pyspy_rank_{}", who.rank),
        {who, pid(who), 0, threads(who == cast.guilty ? "guilty" : "others")});
  const std::int64_t worker = pid(cast.guilty) + 4211;
  put(fmt::format("pyspy_rank_{}_worker_{}", cast.guilty.rank, worker),
      {cast.guilty, worker, pid(cast.guilty), threads("worker")});
}

}  // namespace culprit::simulate
