// How a training was cut into parallel dimensions, as frameworks print it when they start:
// Megatron-LM's and GPT-NeoX's block of arguments and the line above it, NeMo's lists of groups,
// torchtitan's device mesh, Lightning's members.
#include <charconv>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/job_setting.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

using std::string_view;

std::optional<std::int64_t> size_in(string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0 || value > 10'000'000) return std::nullopt;
  return std::max<std::int64_t>(value, 1);  // "0" switches a dimension off
}

class Statement {
 public:
  Statement(const TextLine& line, Reading& reading, string_view framework)
      : line_(line), reading_(reading), framework_(framework) {}

  void say(string_view name, std::string value) {
    if (!said_) put("parallel.framework", std::string(framework_));
    said_ = true;
    put(name, std::move(value));
  }
  void say(string_view name, std::int64_t value) { say(name, std::to_string(value)); }
  // The world also tells the resolution of names how many ranks to expect.
  void world(std::int64_t size) {
    say("world_size", size);
    reading_.sink.put(IdentityRow{.place = line_.place, .source = "arguments", .world_size = size});
  }
  Outcome outcome() const { return {said_}; }

 private:
  void put(string_view name, std::string value) {
    reading_.sink.put(ConfigRow{.place = line_.place,
                                .name = std::string(name),
                                .value = std::move(value),
                                .host = line_.line.prefix.host,
                                .rank = line_.line.prefix.rank});
  }
  const TextLine& line_;
  Reading& reading_;
  string_view framework_;
  bool said_ = false;
};

// using world size: 16, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel
// size: 2, ...
Outcome read_sizes(const TextLine& line, Reading& reading) {
  static const re2::RE2 kSize(
      R"((?:^|[ ,>])(world[ -]size|data-parallel[ -]size|context-parallel[ -]size|tensor-model-parallel[ -]size|pipeline-model-parallel[ -]size|expert-model-parallel[ -]size|expert-tensor-parallel[ -]size): (\d{1,8})\b)");
  static const re2::RE2 kInitialising(
      R"(> initializing (tensor|pipeline|context) model parallel with size (\d{1,8})\b)");
  static const re2::RE2 kMicroBatches(
      R"(setting number of micro-?batches to constant (\d{1,8})\b)");
  Statement out(line, reading, "megatron");
  const string_view message = line.line.message;
  std::string name, digits;
  if (re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), kMicroBatches,
                             &digits)) {
    reading.sink.put(
        ConfigRow{.place = line.place, .name = "job.num_microbatches", .value = digits});
    return {true};
  }
  if (re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), kInitialising, &name,
                             &digits)) {
    if (const auto size = size_in(digits))
      out.say(name == "tensor"     ? "parallel.tp"
              : name == "pipeline" ? "parallel.pp"
                                   : "parallel.cp",
              *size);
    return out.outcome();
  }
  const std::size_t begin = message.find("using world size: ");
  if (begin == string_view::npos) return {};
  const string_view text = message.substr(begin + 5);
  re2::StringPiece rest(text.data(), text.size());
  for (int i = 0; i < 16 && re2::RE2::FindAndConsume(&rest, kSize, &name, &digits); ++i) {
    const auto size = size_in(digits);
    if (!size) continue;
    if (name.starts_with("world"))
      out.world(*size);
    else
      out.say(name.starts_with("data")           ? "parallel.dp"
              : name.starts_with("context")      ? "parallel.cp"
              : name.starts_with("tensor")       ? "parallel.tp"
              : name.starts_with("pipeline")     ? "parallel.pp"
              : name.starts_with("expert-model") ? "parallel.ep"
                                                 : "parallel.etp",
              *size);
  }
  return out.outcome();
}

// "name ...... value"; nothing for a timer's line, which has a colon there.
struct Argument {
  string_view name, value;
};
std::optional<Argument> argument_in(string_view message) {
  message = line::trimmed(message);
  const auto of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
  };
  std::size_t end = 0;
  while (end < message.size() && of_name(message[end])) ++end;
  if (end == 0 || end > 100) return std::nullopt;
  const string_view dots = message.substr(end);
  if (!dots.starts_with(" ...")) return std::nullopt;
  const std::size_t value = dots.find_first_not_of('.', 1);
  if (value == string_view::npos || dots[value] != ' ') return std::nullopt;
  return Argument{message.substr(0, end), line::trimmed(dots.substr(value)).substr(0, 400)};
}

//   tensor_model_parallel_size ...................... 2
Outcome read_argument(const TextLine& line, Reading& reading) {
  struct Known {
    string_view argument, name;
    bool neox;
  };
  static constexpr Known kKnown[] = {
      {"tensor_model_parallel_size", "parallel.tp", false},
      {"pipeline_model_parallel_size", "parallel.pp", false},
      {"context_parallel_size", "parallel.cp", false},
      {"data_parallel_size", "parallel.dp", false},
      {"expert_model_parallel_size", "parallel.ep", false},
      {"expert_tensor_parallel_size", "parallel.etp", false},
      {"model_parallel_size", "parallel.tp", true},
      {"pipe_parallel_size", "parallel.pp", true},
  };
  if (line.raw.find("config.py") != string_view::npos)
    return {};  // DeepSpeed's engine: its world_size is that of data parallelism
  const auto said = argument_in(line.line.message);
  if (!said || said->value.empty()) return {};
  const auto& [name, value] = *said;
  const string_view first = value.substr(0, value.find(' '));
  if (const auto setting = job_setting(line.line.message))
    reading.sink.put(ConfigRow{.place = line.place,
                               .name = "job." + setting->name,
                               .value = setting->value,
                               .host = line.line.prefix.host,
                               .rank = line.line.prefix.rank});
  Statement out(line, reading, "megatron");
  if (name == "use_tp_pp_dp_mapping") {
    if (first == "True") out.say("parallel.order", "tp-cp-ep-pp-dp");
    return {true};
  }
  if (name == "world_size") {
    if (const auto size = size_in(first)) out.world(*size);
    return {true};
  }
  for (const Known& known : kKnown) {
    if (name != known.argument) continue;
    Statement sizes(line, reading, known.neox ? "gpt-neox" : "megatron");
    if (const auto size = size_in(first))
      sizes.say(known.name, *size);  // GPT-NeoX: "2updated"; "None" says nothing
    return {true};
  }
  return {true};
}

// All tensor model parallel group ranks: [[0, 1], [2, 3], ...
Outcome read_group_lists(const TextLine& line, Reading& reading) {
  static const re2::RE2 kList(
      R"(All (tensor model|pipeline model|data|context|expert model) parallel group ranks: \[\[([\d, ]+)\])");
  std::string name, ranks;
  const string_view message = string_view(line.line.message).substr(0, 1u << 16);
  if (!re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), kList, &name,
                              &ranks))
    return {};
  Statement out(line, reading, "nemo");
  out.say(name.starts_with("tensor")     ? "parallel.tp"
          : name.starts_with("pipeline") ? "parallel.pp"
          : name == "data"               ? "parallel.dp"
          : name == "context"            ? "parallel.cp"
                                         : "parallel.ep",
          static_cast<std::int64_t>(std::ranges::count(ranks, ',')) + 1);
  return out.outcome();
}

// Building 3-D device mesh with ['pp', 'dp_shard', 'tp'], [2, 4, 8]: slowest first.
// Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=8, ep=1, etp=1
Outcome read_mesh(const TextLine& line, Reading& reading) {
  static const re2::RE2 kLists(
      R"(Building \d+-D device mesh with [\[(]([^\])]*)[\])], [\[(]([^\])]*)[\])])");
  static const re2::RE2 kPairs(R"(device mesh with parallelism: ([\w=, -]+))");
  static const re2::RE2 kName(R"(([A-Za-z_]+))");
  static const re2::RE2 kNumber(R"((-?\d+))");
  static const re2::RE2 kPair(R"(([a-z_]+)=(-?\d+))");
  std::vector<std::pair<std::string, std::int64_t>> axes;
  std::string names, sizes;
  const string_view message = line.line.message;
  const re2::StringPiece text(message.data(), message.size());
  if (re2::RE2::PartialMatch(text, kLists, &names, &sizes)) {
    re2::StringPiece name_rest(names), size_rest(sizes);
    std::string name, size;
    while (axes.size() < 16 && re2::RE2::FindAndConsume(&name_rest, kName, &name) &&
           re2::RE2::FindAndConsume(&size_rest, kNumber, &size))
      axes.emplace_back(name, std::strtoll(size.c_str(), nullptr, 10));
  } else if (re2::RE2::PartialMatch(text, kPairs, &names)) {
    re2::StringPiece rest(names);
    std::string name, size;
    while (axes.size() < 16 && re2::RE2::FindAndConsume(&rest, kPair, &name, &size))
      axes.emplace_back(name, std::strtoll(size.c_str(), nullptr, 10));
  }
  if (axes.empty()) return {};
  std::int64_t dp = 1;
  bool experts = false;
  std::string order;
  Statement out(line, reading, "torchtitan");
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    const bool data = it->first.starts_with("dp");
    const std::string name = data ? "dp" : it->first;
    if (it->second < 1 || it->second > 10'000'000) return {};  // -1: "as many as there are"
    if (data) dp *= it->second;
    if (dp > 10'000'000) return {};
    if (name == "ep" || name == "etp") {  // made of the other axes
      if (it->second > 1) out.say("parallel." + name, it->second);
      experts = experts || (name == "ep" && it->second > 1);
      continue;
    }
    if (name != "tp" && name != "cp" && name != "pp" && name != "dp") continue;
    if (!data) out.say("parallel." + name, it->second);
    if (contains(order, name)) continue;
    if (data && experts) order += order.empty() ? "ep" : "-ep";
    order += (order.empty() ? "" : "-") + name;
  }
  out.say("parallel.dp", dp);
  if (!order.empty()) out.say("parallel.order", order);
  return out.outcome();
}

// Lightning: "initializing distributed: GLOBAL_RANK: 21, MEMBER: 22/32", one line a rank.
Outcome read_global_rank(const TextLine& line, Reading& reading) {
  static const re2::RE2 kMember(R"(GLOBAL_RANK: (\d{1,7}), MEMBER: (\d{1,7})/(\d{1,7}))");
  const string_view text = line.raw.substr(0, 4096);
  std::int64_t rank = 0, member = 0, world = 0;
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kMember, &rank, &member,
                              &world) ||
      member != rank + 1 || member > world)
    return {};
  reading.sink.put(
      IdentityRow{.place = line.place, .source = "arguments", .rank = rank, .world_size = world});
  return {true};
}

constexpr string_view kSizesWords[] = {"using world size: ", "model parallel with size ",
                                       "batches to constant "};
constexpr string_view kArgumentWords[] = {" .......", "parallel_size ...", "world_size ...",
                                          "use_tp_pp_dp_mapping ..."};
constexpr string_view kListWords[] = {"parallel group ranks: [["};
constexpr string_view kGlobalRankWords[] = {"GLOBAL_RANK: "};
constexpr string_view kMeshWords[] = {"-D device mesh with", "device mesh with parallelism: "};

}  // namespace

extern constinit const Recogniser kMegatronSizes{
    "megatron-sizes", "Megatron-LM's line of world and parallel sizes", kSizesWords, read_sizes};
extern constinit const Recogniser kMegatronArguments{
    "megatron-arguments",
    "Megatron-LM and GPT-NeoX arguments, with the sizes and order of the parallel dimensions",
    kArgumentWords, read_argument};
extern constinit const Recogniser kNemoGroups{"nemo-groups", "NeMo's lists of parallel groups",
                                              kListWords, read_group_lists};
extern constinit const Recogniser kGlobalRank{"lightning-ranks", "Lightning's rank and world size",
                                              kGlobalRankWords, read_global_rank};
extern constinit const Recogniser kDeviceMesh{"device-mesh", "torchtitan's device mesh", kMeshWords,
                                              read_mesh};

}  // namespace culprit::ingest
