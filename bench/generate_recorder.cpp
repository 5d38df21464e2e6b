// generate_recorder FOLDER [RANKS] [ENTRIES]: flight-recorder dumps FOLDER/nccl_trace_rank_N of a
// job with tensor, data and pipeline groups, as PyTorch's pickler writes them: protocol 2, every
// text and every frame once, then by its number. 256 ranks of 2,000 entries (the defaults) are 71
// MB. The same arguments give the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace {

class Pickler {
 public:
  std::string out = std::string("\x80\x02", 2);

  void op(char c) { out += c; }
  void text(std::string_view s) {
    if (const auto known = memo_.find(s); known != memo_.end()) return get(known->second);
    out += 'X';
    raw(static_cast<std::uint32_t>(s.size()));
    out += s;
    memo_.emplace(std::string(s), put());
  }
  void number(std::int64_t n) {
    if (n >= 0 && n < 256)
      out += 'K', out += static_cast<char>(n);
    else if (n >= 0 && n < 65536)
      out += 'M', raw(static_cast<std::uint16_t>(n));
    else if (n >= INT32_MIN && n <= INT32_MAX)
      out += 'J', raw(static_cast<std::int32_t>(n));
    else
      out += "\x8a\x08", raw(n);
  }
  std::uint32_t put() {
    if (next_ < 256)
      out += 'q', out += static_cast<char>(next_);
    else
      out += 'r', raw(next_);
    return next_++;
  }
  void get(std::uint32_t at) {
    if (at < 256)
      out += 'h', out += static_cast<char>(at);
    else
      out += 'j', raw(at);
  }
  template <class Number>
  void raw(Number n) {
    char bytes[sizeof n];
    std::memcpy(bytes, &n, sizeof n);
    out.append(bytes, sizeof n);
  }

 private:
  std::map<std::string, std::uint32_t, std::less<>> memo_;
  std::uint32_t next_ = 0;
};

struct Group {
  std::string name, description;
  int first, step, size;
  std::int64_t launched = 0;
};

std::string dump(int rank, int ranks, int entries) {
  const int tensor = rank / 8, stages = ranks / 64 == 0 ? 1 : ranks / 64,
            stage_ranks = ranks / stages;
  Group groups[] = {
      {"0", "default_pg", 0, 1, ranks},
      {std::to_string(1 + tensor), "TENSOR_MODEL_PARALLEL_GROUP", tensor * 8, 1,
       std::min(8, ranks)},
      {std::to_string(1000 + rank / stage_ranks * 8 + rank % 8), "DATA_PARALLEL_GROUP_WITH_CP",
       rank / stage_ranks * stage_ranks + rank % 8, 8, std::max(1, stage_ranks / 8)},
      {std::to_string(2000 + rank % stage_ranks), "PIPELINE_MODEL_PARALLEL_GROUP",
       rank % stage_ranks, stage_ranks, stages},
  };
  Pickler p;
  p.op('}'), p.op('(');
  p.text("version"), p.text("2.9");
  p.text("pg_config"), p.op('}'), p.op('(');
  for (const Group& g : groups) {
    std::string members;
    for (int i = 0; i < g.size; ++i)
      members += fmt::format("{}{}", i == 0 ? "[" : ", ", g.first + i * g.step);
    p.text(g.name), p.op('}'), p.op('('), p.text("name"), p.text(g.name), p.text("desc"),
        p.text(g.description), p.text("ranks"), p.text(members + "]"), p.op('u');
  }
  p.op('u');
  p.text("nccl_version"), p.text("2.27.3");
  const int per_group[] = {1, 12, 4, 3};  // of twenty
  int turn[20], at = 0;
  for (int g = 0; g < 4; ++g)
    for (int i = 0; i < per_group[g]; ++i) turn[(at++ * 7) % 20] = g;
  p.text("pg_status"), p.op('}'), p.op('(');
  for (int g = 0; g < 4; ++g) {
    std::int64_t count = 40'000;
    for (int i = 0; i < entries; ++i) count += turn[i % 20] == g;
    groups[g].launched = 40'000;
    p.text(std::to_string(g)), p.op('}'), p.op('(');
    p.text("last_enqueued_collective"), p.number(count), p.text("last_started_collective"),
        p.number(-1), p.text("last_completed_collective"), p.number(count - 1), p.op('u');
  }
  p.op('u');
  p.text("entries"), p.op(']'), p.op('(');
  constexpr int kFrames = 400;
  std::uint32_t frames[kFrames] = {};
  bool told[kFrames] = {};
  std::int64_t now = 1'795'231'961'000'000'000 + rank * 1017;
  for (int i = 0; i < entries; ++i) {
    Group& g = groups[turn[i % 20]];
    const bool p2p = g.description[0] == 'P';
    const bool done = i + 4 < entries;
    ++g.launched;
    now += 2'000'000 + (i * 7919 + rank * 104'729) % 900'000;
    p.op('}'), p.op('(');
    p.text("frames"), p.op(']'), p.op('(');
    for (int f = 0; f < 3; ++f) {
      const int which = (turn[i % 20] * 37 + f * 11 + i % 3) % kFrames;
      if (told[which]) {
        p.get(frames[which]);
        continue;
      }
      told[which] = true;
      p.op('}');
      frames[which] = p.put();
      p.op('('), p.text("name"), p.text(fmt::format("function_{}", which)), p.text("filename"),
          p.text(fmt::format("/opt/megatron/core/module_{}.py", which / 8)), p.text("line"),
          p.number(which * 3 + 10), p.op('u');
    }
    p.op('e');
    p.text("record_id"), p.number(90'000 + i);
    p.text("pg_id"), p.number(turn[i % 20]);
    p.text("process_group"), p.text(g.name), p.text(g.description), p.op('\x86');
    p.text("collective_seq_id"), p.number(p2p ? 26 : g.launched);
    p.text("p2p_seq_id"), p.number(p2p ? g.launched : 0);
    p.text("op_id"), p.number(g.launched);
    p.text("profiling_name"), p.text(p2p ? (i % 2 != 0 ? "nccl:send 0->1" : "nccl:recv 0<-1")
                                     : i % 3 == 0 ? "nccl:_all_gather_base"
                                     : i % 3 == 1 ? "nccl:_reduce_scatter_base"
                                                  : "nccl:all_reduce");
    p.text("time_created_ns"), p.number(now);
    p.text("input_sizes"), p.op(']'), p.op(']'), p.op('('), p.number(4096), p.number(1),
        p.number(5120), p.op('e'), p.op('a');
    p.text("input_dtypes"), p.op(']'), p.text("BFloat16"), p.op('a');
    p.text("output_sizes"), p.op(']'), p.op(']'), p.op('('), p.number(8192), p.number(1),
        p.number(5120), p.op('e'), p.op('a');
    p.text("output_dtypes"), p.op(']'), p.text("BFloat16"), p.op('a');
    p.text("state"), p.text(done ? "completed" : "scheduled");
    p.text("time_discovered_started_ns"), p.op('N');
    p.text("time_discovered_completed_ns");
    if (done)
      p.number(now + 90'000'000);
    else
      p.op('N');
    p.text("retired"), p.op(done ? '\x88' : '\x89');
    p.text("timeout_ms"), p.number(600'000);
    p.text("is_p2p"), p.op(p2p ? '\x88' : '\x89');
    p.op('u');
  }
  p.op('e'), p.op('u'), p.op('.');
  return std::move(p.out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: generate_recorder FOLDER [RANKS] [ENTRIES]\n");
    return 2;
  }
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 256;
  const int entries = argc > 3 ? std::atoi(argv[3]) : 2000;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string bytes = dump(rank, ranks, entries);
    std::FILE* file = std::fopen(fmt::format("{}/nccl_trace_rank_{}", argv[1], rank).c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        std::fclose(file) != 0)
      return std::perror(argv[1]), 1;
  }
  return 0;
}
