// Communication calls of one rank as training frameworks make them, with known iteration times:
// layouts of parallelism times disturbances of the log. Written from what the frameworks do, for
// tests and benchmarks of analyze/call_period.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analyze/pace/call_period.hpp"

namespace culprit::analyze::simulated {

enum Operation : std::uint32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kSend,
  kRecv,
  kAllToAll,
  kBarrier
};
enum Communicator : std::uint64_t {
  kWorld = 100,
  kData,
  kTensor,
  kPipeForward,
  kPipeBackward,
  kModel,
  kExpert,
  kExpertData,
  kEmbedding,
  kContext,
  kOther
};

inline constexpr const char* kLayouts[] = {"ddp",
                                           "ddp-equal-buckets",
                                           "ddp-accumulation",
                                           "fsdp",
                                           "fsdp-accumulation-no-sync",
                                           "fsdp-accumulation",
                                           "zero1",
                                           "zero3",
                                           "megatron-tp-dp",
                                           "megatron-tp",
                                           "megatron-1f1b",
                                           "megatron-interleaved",
                                           "megatron-distributed-optimizer",
                                           "moe",
                                           "dlrm",
                                           "context-parallel",
                                           "hsdp",
                                           "one-operation",
                                           "contrastive",
                                           "pipeline-only"};
inline constexpr const char* kDisturbances[] = {
    "none",        "warm-up",      "evaluation",    "logging-10",         "lost-1%",
    "lost-bursts", "fail-slow",    "begins-midway", "other-communicator", "checkpoint",
    "reordered",   "coarse-clock", "noisy-times",   "variable-batch",     "short",
    "all-together"};

struct CallLog {
  std::vector<Call> calls;
  double truth_ns = 0;  // median time of a step
  std::size_t steps = 0;
};

class Job {
 public:
  Job(std::string layout, std::string disturbance, std::uint64_t seed)
      : layout_(std::move(layout)),
        how_(std::move(disturbance)),
        random_(seed * 7919 + digest(layout_ + how_)) {
    layers_ = between(4, 40);
    if (layout_ == "megatron-distributed-optimizer" || (layout_ == "fsdp" && chance(0.3)))
      layers_ = between(48, 96);
    hidden_ = 1024 * between(1, 8);
    tokens_ = 1024 * between(2, 8);
    micro_ = 1u << between(1, 4);
    if (chance(0.25)) micro_ = between(3, 12);
    stages_ = between(2, 8);
    stage_ = between(0, stages_ - 1);
    buckets_ = between(3, 40);
    layer_us_ = static_cast<double>(between(1000, 8000));
    grows_ = chance(0.5);
    all_ = how_ == "all-together";
    for (std::uint64_t b = 0; b < buckets_; ++b)
      sizes_.push_back(6'000'000 + between(0, 2'000'000));
    sizes_.back() = between(10'000, 4'000'000);
    for (std::uint64_t l = 0; l < 3; ++l) modules_.push_back(hidden_ * hidden_ * (1 + l));
  }

  CallLog run() {
    const std::uint64_t per_step = estimate();
    std::uint64_t steps = std::clamp<std::uint64_t>(30'000 / std::max<std::uint64_t>(per_step, 1),
                                                    24, between(60, 240));
    if (how_ == "short") steps = between(8, 14);
    constexpr std::uint64_t kEvery[] = {10, 16, 20, 24, 25, 32, 40, 50};
    const std::uint64_t eval_every = kEvery[between(0, 5)], eval_batches = between(4, 12),
                        checkpoint_every = kEvery[between(2, 7)];
    const std::uint64_t slow_from = steps * between(30, 60) / 100,
                        slow_for = steps * between(15, 30) / 100;
    std::vector<double> times;
    if (how_ == "warm-up" || all_) start_up();
    for (std::uint64_t s = 0; s < steps; ++s) {
      pace_ = noise(how_ == "noisy-times" ? 0.10 : 0.01);
      if (how_ == "variable-batch") pace_ *= 0.7 + 0.6 * unit();
      if ((how_ == "warm-up" || all_) && s < 5) pace_ *= 6.0 / static_cast<double>(1 + s);
      if (how_ == "fail-slow" && s >= slow_from && s < slow_from + slow_for) pace_ *= 1.4;
      const double begin = now_;
      step();
      if ((how_ == "logging-10" || all_) && (s + 1) % 10 == 0) op(kAllReduce, kWorld, 2, 50);
      times.push_back(now_ - begin);
      if ((how_ == "evaluation" || all_) && (s + 1) % eval_every == 0) evaluate(eval_batches);
      if ((how_ == "checkpoint" || all_) && (s + 1) % checkpoint_every == 0) {
        wait(3e6);
        op(kBarrier, kWorld, 1, 10);
        wait(5e6);
        op(kBarrier, kWorld, 1, 10);
      }
    }
    std::sort(times.begin(), times.end());
    CallLog log;
    log.truth_ns = times.size() % 2 ? times[times.size() / 2]
                                    : (times[times.size() / 2 - 1] + times[times.size() / 2]) / 2;
    log.steps = times.size();
    disturb();
    log.calls = std::move(calls_);
    return log;
  }

 private:
  static std::uint64_t digest(const std::string& text) {  // FNV-1a: the same everywhere
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return h;
  }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + random_() % (high - low + 1);
  }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  double noise(double sigma) {  // about log-normal: sum of uniforms
    double z = -6;
    for (int i = 0; i < 12; ++i) z += unit();
    return std::exp(sigma * z);
  }
  void wait(double us) { now_ += us * 1000 * pace_ * noise(0.05); }
  void op(Operation operation, Communicator on, std::uint64_t elements, double after_us) {
    wait(after_us);
    calls_.push_back({static_cast<Nanoseconds>(now_), operation, on, elements});
  }

  std::uint64_t estimate() const {
    const std::uint64_t m = micro_, l = layers_;
    if (layout_ == "ddp" || layout_ == "ddp-equal-buckets" || layout_ == "contrastive")
      return buckets_ + 3;
    if (layout_ == "ddp-accumulation") return buckets_ * m;
    if (layout_ == "one-operation") return 1;
    if (layout_ == "fsdp" || layout_ == "zero3" || layout_ == "hsdp") return 4 * l;
    if (layout_ == "dlrm") return buckets_ + 4;
    if (layout_ == "context-parallel") return 20 * l;
    if (layout_ == "pipeline-only") return 4 * m;
    return 4 * l * m;
  }

  void all_gather_layers(std::uint64_t each, double scale) {
    for (std::uint64_t l = 0; l < layers_; ++l) op(kAllGather, kData, each, layer_us_ * scale);
  }

  // Forward of one micro-batch; `batch` is its number of tokens.
  void forward(std::uint64_t tokens) {
    const std::uint64_t activation = tokens * hidden_, layer = 12 * hidden_ * hidden_;
    if (layout_ == "fsdp" || layout_ == "fsdp-accumulation" ||
        layout_ == "fsdp-accumulation-no-sync" || layout_ == "hsdp") {
      op(kAllGather, kData, 3 * layer, 20);  // embedding and head: the root module
      all_gather_layers(layer, 1);
    } else if (layout_ == "zero3") {
      for (std::uint64_t l = 0; l < layers_; ++l)
        for (const std::uint64_t m : modules_) op(kAllGather, kData, m, layer_us_ / 3);
    } else if (layout_.starts_with("megatron")) {
      const std::uint64_t mine = layout_ == "megatron-1f1b" || layout_ == "megatron-interleaved"
                                     ? std::max<std::uint64_t>(1, layers_ / stages_)
                                     : layers_;
      for (std::uint64_t l = 0; l < 2 * mine; ++l)
        op(kAllReduce, kTensor, activation, layer_us_ / 2);
    } else if (layout_ == "moe") {
      for (std::uint64_t l = 0; l < layers_; ++l) {
        op(kAllToAll, kExpert, activation / 2 + between(0, activation), layer_us_ / 2);
        op(kAllToAll, kExpert, activation / 2 + between(0, activation), layer_us_ / 2);
      }
    } else if (layout_ == "dlrm") {
      op(kAllToAll, kWorld, tokens * 13, 100);
      op(kAllToAll, kWorld, tokens * 128 + between(0, tokens * 64), layer_us_);
    } else if (layout_ == "context-parallel") {
      for (std::uint64_t l = 0; l < layers_; ++l) {
        op(kAllGather, kData, layer, layer_us_ / 4);
        for (int ring = 0; ring < 3; ++ring) {
          op(kSend, kContext, activation / 4, layer_us_ / 8);
          op(kRecv, kContext, activation / 4, 5);
        }
      }
    } else if (layout_ == "contrastive") {
      wait(layer_us_ * static_cast<double>(layers_));
      op(kAllGather, kWorld, tokens * 4, 20);
      op(kAllGather, kWorld, tokens * 4, 20);
    } else {
      if (layout_ == "ddp" && grows_) op(kBroadcast, kWorld, 4096, 10);  // buffers of batch norm
      wait(layer_us_ * static_cast<double>(layers_));
    }
  }

  void backward(std::uint64_t tokens, bool last) {
    const std::uint64_t activation = tokens * hidden_, layer = 12 * hidden_ * hidden_;
    if (layout_ == "fsdp" || layout_ == "fsdp-accumulation" ||
        layout_ == "fsdp-accumulation-no-sync" || layout_ == "hsdp") {
      for (std::uint64_t l = 0; l < layers_; ++l) {
        op(kAllGather, kData, layer, layer_us_);
        if (layout_ == "fsdp-accumulation-no-sync" && !last) continue;
        op(kReduceScatter, kData, layer, layer_us_);
        if (layout_ == "hsdp") op(kAllReduce, kOther, layer / 8, 10);
      }
      if (layout_ != "fsdp-accumulation-no-sync" || last)
        op(kReduceScatter, kData, 3 * layer, layer_us_);
    } else if (layout_ == "zero3") {
      for (std::uint64_t l = 0; l < layers_; ++l)
        for (const std::uint64_t m : modules_) {
          op(kAllGather, kData, m, layer_us_ / 2);
          op(kReduceScatter, kData, m, layer_us_ / 2);
        }
    } else if (layout_.starts_with("megatron")) {
      const std::uint64_t mine = layout_ == "megatron-1f1b" || layout_ == "megatron-interleaved"
                                     ? std::max<std::uint64_t>(1, layers_ / stages_)
                                     : layers_;
      for (std::uint64_t l = 0; l < 2 * mine; ++l) op(kAllReduce, kTensor, activation, layer_us_);
    } else if (layout_ == "moe") {
      for (std::uint64_t l = 0; l < 2 * layers_; ++l)
        op(kAllToAll, kExpert, activation / 2 + between(0, activation), layer_us_);
    } else if (layout_ == "dlrm") {
      op(kAllToAll, kWorld, tokens * 128 + between(0, tokens * 64), layer_us_);
      for (const std::uint64_t b : sizes_) op(kAllReduce, kWorld, b / 64, layer_us_ / 8);
    } else if (layout_ == "context-parallel") {
      for (std::uint64_t l = 0; l < layers_; ++l) {
        op(kAllGather, kData, layer, layer_us_ / 4);
        for (int ring = 0; ring < 3; ++ring) {
          op(kSend, kContext, activation / 4, layer_us_ / 4);
          op(kRecv, kContext, activation / 4, 5);
        }
        op(kReduceScatter, kData, layer, layer_us_ / 4);
      }
    } else if (layout_ == "contrastive") {
      op(kReduceScatter, kWorld, tokens * 4, layer_us_);
      for (const std::uint64_t b : sizes_) op(kAllReduce, kWorld, b, layer_us_);
    } else if (layout_ == "one-operation") {
      wait(5 * (20'000 + layer_us_ * static_cast<double>(layers_)));
      op(kAllReduce, kWorld, 25'000'000, 100);
    } else if (layout_ == "ddp-equal-buckets") {
      for (std::uint64_t b = 0; b + 1 < buckets_; ++b) op(kAllReduce, kWorld, 6'553'600, layer_us_);
      op(kAllReduce, kWorld, sizes_.back(), layer_us_);
    } else {
      for (const std::uint64_t b : sizes_) op(kAllReduce, kWorld, b, layer_us_);
    }
  }

  // One-forward-one-backward of one stage, with the sends and receives of its neighbours; `chunks`
  // model parts a device.
  void pipeline(std::uint64_t chunks, bool tensor) {
    const std::uint64_t activation = tokens_ * hidden_, total = micro_ * chunks;
    const std::uint64_t warm =
        std::min(total, (stages_ - 1 - stage_) * (chunks > 1 ? 2 : 1) + (chunks - 1) * stages_);
    const auto ahead = [&](std::uint64_t) {
      if (stage_ > 0 || chunks > 1) op(kRecv, kPipeForward, activation, 30);
      if (tensor)
        forward(tokens_);
      else
        wait(layer_us_ * 3);
      if (stage_ + 1 < stages_ || chunks > 1) op(kSend, kPipeForward, activation, 30);
    };
    const auto back = [&](std::uint64_t i) {
      if (stage_ + 1 < stages_ || chunks > 1) op(kRecv, kPipeBackward, activation, 30);
      if (tensor)
        backward(tokens_, i + 1 == total);
      else
        wait(layer_us_ * 6);
      if (stage_ > 0 || chunks > 1) op(kSend, kPipeBackward, activation, 30);
    };
    for (std::uint64_t i = 0; i < warm; ++i) ahead(i);
    for (std::uint64_t i = warm; i < total; ++i) {
      ahead(i);
      back(i - warm);
    }
    for (std::uint64_t i = total - warm; i < total; ++i) back(i);
  }

  void step() {
    const std::uint64_t weights = 12 * hidden_ * hidden_;
    const bool accumulates = layout_ == "ddp-accumulation" ||
                             layout_.starts_with("fsdp-accumulation") ||
                             layout_.starts_with("megatron") || layout_ == "moe";
    if (layout_ == "megatron-1f1b")
      pipeline(1, true);
    else if (layout_ == "megatron-interleaved")
      pipeline(2, true);
    else if (layout_ == "pipeline-only")
      pipeline(1, false);
    else
      for (std::uint64_t m = 0; m < (accumulates ? micro_ : 1); ++m) {
        forward(tokens_);
        backward(tokens_, m + 1 == micro_ || !accumulates);
      }
    if (layout_ == "ddp-accumulation") {
      op(kAllReduce, kWorld, 1, 30);  // mean loss
    } else if (layout_ == "zero1") {
      for (std::uint64_t b = 0; b < buckets_ / 4; ++b) op(kReduceScatter, kData, 50'000'000, 200);
      op(kAllReduce, kWorld, 1, 30);  // overflow
      op(kAllReduce, kWorld, 1, 30);  // norm
      for (std::uint64_t b = 0; b < buckets_ / 4; ++b) op(kAllGather, kData, 50'000'000, 200);
    } else if (layout_ == "zero3") {
      op(kAllReduce, kWorld, 1, 30);
      op(kAllReduce, kData, 1, 30);
    } else if (layout_ == "fsdp" || layout_ == "hsdp" || layout_.starts_with("fsdp-accumulation") ||
               layout_ == "context-parallel") {
      op(kAllReduce, kData, 1, 30);
    } else if (layout_ == "megatron-distributed-optimizer") {
      for (std::uint64_t b = 0; b < buckets_; ++b) op(kReduceScatter, kData, 40'000'000, 100);
      op(kAllReduce, kModel, 1, 30);
      for (std::uint64_t b = 0; b < buckets_; ++b) op(kAllGather, kData, 40'000'000, 100);
    } else if (layout_ == "moe") {
      for (std::uint64_t b = 0; b < buckets_ / 3 + 1; ++b) op(kAllReduce, kData, 40'000'000, 100);
      op(kAllReduce, kExpertData, weights * 8, 100);
      op(kAllReduce, kModel, 1, 30);
    } else if (layout_ == "megatron-tp" || layout_ == "pipeline-only") {
      op(kAllReduce, kModel, 1, 30);
    } else if (layout_.starts_with("megatron")) {
      op(kAllReduce, kData, weights * layers_ / 8, 200);
      if (stage_ == 0 || stage_ + 1 == stages_) op(kAllReduce, kEmbedding, hidden_ * 6400, 50);
      op(kAllReduce, kModel, 1, 30);
      op(kAllReduce, kModel, 1, 30);
    }
    wait(layer_us_ * static_cast<double>(layers_) * 0.2);  // optimizer, data
  }

  void evaluate(std::uint64_t batches) {
    const double before = pace_;
    for (std::uint64_t b = 0; b < batches; ++b) forward(tokens_ * (chance_of_layout() ? 2 : 1));
    op(kAllReduce, kWorld, 3, 50);
    pace_ = before;
  }
  bool chance_of_layout() const { return grows_; }  // half of the jobs evaluate with larger batches

  void start_up() {
    for (int i = 0; i < 6; ++i) {
      op(kBarrier, kWorld, 1, 2e5);
      op(kBroadcast, kWorld, 1000 + between(0, 100'000), 3e4);
    }
    for (std::uint64_t l = 0; l < layers_; ++l)
      op(kBroadcast, kWorld, hidden_ * hidden_ * between(1, 12), 2e3);
    op(kAllGather, kWorld, 128, 1e5);
    wait(2e7);
  }

  void disturb() {
    const auto drop = [this](auto&& lost) {
      std::vector<Call> kept;
      for (std::size_t i = 0; i < calls_.size(); ++i)
        if (!lost(i)) kept.push_back(calls_[i]);
      calls_ = std::move(kept);
    };
    if (how_ == "lost-1%" || all_)
      drop([this](std::size_t) { return chance(all_ ? 0.005 : 0.01); });
    if (how_ == "lost-bursts") {
      std::vector<char> gone(calls_.size(), 0);
      for (int b = 0; b < 8; ++b)
        for (std::size_t i = between(0, calls_.size()), n = i + calls_.size() / 100;
             i < std::min(n, calls_.size()); ++i)
          gone[i] = 1;
      drop([&](std::size_t i) { return gone[i] != 0; });
    }
    if (how_ == "begins-midway")
      calls_.erase(calls_.begin(),
                   calls_.begin() + static_cast<std::ptrdiff_t>(calls_.size() / 7 + 3));
    if (how_ == "other-communicator" &&
        !calls_.empty()) {  // a monitor's heartbeat with a clock of its own
      const double every = (now_ - static_cast<double>(calls_.front().time)) /
                           static_cast<double>(calls_.size()) *
                           static_cast<double>(between(15, 60));
      std::vector<Call> mixed;
      double at = static_cast<double>(calls_.front().time);
      for (const Call& c : calls_) {
        for (; at < static_cast<double>(c.time); at += every * noise(0.05))
          mixed.push_back({static_cast<Nanoseconds>(at), kAllGather, 999, 16});
        mixed.push_back(c);
      }
      calls_ = std::move(mixed);
    }
    if (how_ == "reordered")  // two streams race
      for (std::size_t i = 1; i < calls_.size(); ++i)
        if (calls_[i].communicator != calls_[i - 1].communicator && chance(0.2)) {
          std::swap(calls_[i], calls_[i - 1]);
          std::swap(calls_[i].time, calls_[i - 1].time);
          ++i;
        }
    if (how_ == "coarse-clock")
      for (Call& c : calls_) c.time = c.time / 1'000'000 * 1'000'000;
  }

  std::string layout_, how_;
  std::mt19937_64 random_;
  std::vector<Call> calls_;
  std::vector<std::uint64_t> sizes_, modules_;
  double now_ = 1e18, pace_ = 1, layer_us_ = 0;
  std::uint64_t layers_ = 0, hidden_ = 0, tokens_ = 0, micro_ = 0, stages_ = 0, stage_ = 0,
                buckets_ = 0;
  bool grows_ = false, all_ = false;
};

inline CallLog make_log(const std::string& layout, const std::string& disturbance,
                        std::uint64_t seed) {
  return Job(layout, disturbance, seed).run();
}

}  // namespace culprit::analyze::simulated
