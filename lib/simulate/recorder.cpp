// Flight recorder dumps of PyTorch, as JSON or as the pickle that torch writes (protocol 2).
#include <bit>

#include <fmt/format.h>

#include "simulate/bundle.hpp"
#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kEntries = 6;  // of the ring buffer, per rank

// A JSON document as pickle. What torch writes as a tuple is an array in "process_group".
class Pickler {
 public:
  std::string pickled(const Json& document) {
    out_ = "\x80\x02";
    put(document);
    return std::move(out_ += '.');
  }

 private:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void text(const std::string& value) {
    out_ += 'X';
    number(value.size(), 4);
    out_ += value;
  }
  void integer(std::int64_t value) {
    const bool small = value >= INT32_MIN && value <= INT32_MAX;
    out_ += small ? "J" : "\x8a\x08";
    number(static_cast<std::uint64_t>(value), small ? 4 : 8);
  }
  void put(const Json& value, bool tuple = false) {
    if (value.is_object()) {
      out_ += "}(";
      for (const auto& [key, item] : value.items()) {
        text(key);
        put(item, key == "process_group");
      }
      out_ += 'u';
    } else if (value.is_array()) {
      out_ += tuple ? "" : "](";
      for (const Json& item : value) put(item);
      out_ += tuple ? '\x86' : 'e';
    } else if (value.is_string()) {
      text(value.get<std::string>());
    } else if (value.is_boolean()) {
      out_ += value.get<bool>() ? '\x88' : '\x89';
    } else if (value.is_number_float()) {
      out_ += 'G';
      const auto bits = std::bit_cast<std::uint64_t>(value.get<double>());
      for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
    } else if (value.is_number()) {
      integer(value.get<std::int64_t>());
    } else {
      out_ += 'N';
    }
  }

  std::string out_;
};

struct Rank {
  int rank = 0;
  bool behind = false;  // never entered the collective that the others wait in
  bool other = false;   // called another operation
};

Json entry(const Cast& cast, const Rank& of, std::int64_t sequence, bool last, Nanoseconds time,
           bool pickle) {
  const bool gather = of.other && last;
  const std::int64_t in = gather ? 1 : 67108864, out = gather ? cast.world() : 67108864;
  Json one{{"record_id", sequence + of.rank % 7},
           {"pg_id", 0},
           {"process_group", {"0", "default_pg"}},
           {"collective_seq_id", sequence},
           {"p2p_seq_id", 0},
           {"op_id", sequence},
           {"profiling_name", gather ? "nccl:_all_gather_base" : "nccl:all_reduce"},
           {"time_created_ns", time},
           {"input_sizes", {{in}}},
           {"input_dtypes", {gather ? "Long" : "BFloat16"}},
           {"output_sizes", {{out}}},
           {"output_dtypes", {gather ? "Long" : "BFloat16"}},
           {"state", last ? "scheduled" : "completed"},
           {"time_discovered_started_ns", nullptr},
           {"time_discovered_completed_ns", nullptr},
           {"retired", !last},
           {"timeout_ms", 600000},
           {"is_p2p", false}};
  const Nanoseconds done = last ? 0 : time + 900'000'000;
  if (!pickle || !last) one["time_discovered_completed_ns"] = done;
  if (!pickle) one["time_discovered_started_ns"] = 0;
  return one;
}

Json dump_of(const Cast& cast, const Rank& of, std::int64_t stuck, bool pickle, Dice dice) {
  const std::int64_t enqueued = of.behind ? stuck - 1 : stuck;
  const auto status = [&](std::int64_t n) { return pickle ? Json(n) : Json(std::to_string(n)); };
  std::string ranks = "[";
  for (int rank = 0; rank < cast.world(); ++rank)
    ranks += fmt::format("{}{}", rank == 0 ? "" : ", ", rank);
  Json out{{"version", "2.5"},
           {"nccl_version", "2.21.5"},
           {"pg_config", {{"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", ranks + "]"}}}}},
           {"pg_status",
            {{"0",
              {{"last_enqueued_collective", status(enqueued)},
               {"last_started_collective", status(-1)},
               {"last_completed_collective", status(stuck - 1)}}}}},
           {"entries", Json::array()}};
  for (std::int64_t sequence = stuck - kEntries; sequence <= enqueued; ++sequence) {
    const auto ago =
        static_cast<Nanoseconds>(static_cast<double>(stuck - sequence) * cast.step_s * 1e9);
    out["entries"].push_back(entry(cast, of, sequence, sequence == stuck,
                                   cast.onset - ago + dice.between(0, 40'000'000), pickle));
  }
  return out;
}

}  // namespace

void dump_recorders(const Cast& cast, const Dice& dice, Files& files) {
  if (!cast.data().contains("recorder")) return;
  Dice drawn = dice.fork("recorder");
  if (!drawn.chance(cast.data()["dumps"].get<double>())) return;
  const bool pickle = drawn.chance(0.5), mismatch = cast.data()["recorder"] == "other-call";
  const std::int64_t stuck = std::stoll(cast.words.at("seq"));
  for (int rank = 0; rank < cast.world(); ++rank) {
    const Rank of{rank, !mismatch && rank == cast.guilty.rank, mismatch && rank % 2 == 1};
    const Json dump = dump_of(cast, of, stuck, pickle, dice.fork(fmt::format("dump {}", rank)));
    files[fmt::format("flight_recorder/nccl_trace_rank_{}{}", rank, pickle ? "" : ".json")] =
        pickle ? Pickler().pickled(dump) : json_text(dump, -1);
  }
}

}  // namespace culprit::simulate
