#include "plan/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/ascii.hpp"
#include "model/median.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"
#include "plan/group_command.hpp"

namespace culprit::plan {

namespace {

constexpr double kNormal = 1.4826;  // of a median deviation, to be that of a normal distribution

struct Repeats {
  double sum = 0, shortest = 0, longest = 0;
  std::size_t count = 0;
};

// A word that needs no quotes in a shell.
bool plain_word(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return alnum(c) || c == '_'; });
}

Result<> check(const std::vector<std::string>& hosts, const GemmParams& p) {
  if (hosts.empty()) return usage_error("there are no hosts to test");
  CULPRIT_CHECK(check_hosts(hosts));
  for (const std::string& type : p.types)
    if (!plain_word(type))
      return usage_error(fmt::format("'{}' is not a number format", type))
          .hint("such as fp8e4m3, fp16, bf16 or fp32");
  return {};
}

}  // namespace

Result<std::vector<GemmRun>> plan_gemm(const std::vector<std::string>& hosts, const GemmParams& p) {
  CULPRIT_CHECK(check(hosts, p));
  std::vector<GemmRun> out;
  for (const std::string& type : p.types) {
    CULPRIT_TRY(kernel, fill_words(p.command, {{"type", type},
                                               {"m", std::to_string(p.m)},
                                               {"n", std::to_string(p.n)},
                                               {"k", std::to_string(p.k)}}));
    for (const std::string& host : hosts) {
      // All GPUs of the host at the same time; a repeat begins when the last one is done.
      const std::string row = fmt::format(
          "for r in $(seq {}); do for g in $(seq 0 {}); do printf \"%s\\t%s\\t{}\\t%s\\n\" {} $g "
          "\"$(CUDA_VISIBLE_DEVICES=$g {})\" & done; wait; done",
          p.repeats, p.gpus_per_host - 1, type, shell_quoted(host), kernel);
      CULPRIT_TRY(via, fill_words(p.via, {{"host", shell_quoted(host)}}));
      out.push_back({type, host, via + " " + shell_quoted(row)});
    }
  }
  return out;
}

GemmTimes compare_gemm_times(std::span<const GemmTime> times, const GemmTimeParams& params) {
  GemmTimes out;
  std::map<std::size_t, std::map<std::size_t, Repeats>> tests;
  for (const GemmTime& t : times) {
    if (!(t.time > 0) || !std::isfinite(t.time)) {
      ++out.unusable;
      continue;
    }
    Repeats& r = tests[t.test][t.gpu];
    r.sum += t.time;
    r.shortest = r.count == 0 ? t.time : std::min(r.shortest, t.time);
    r.longest = std::max(r.longest, t.time);
    ++r.count;
  }
  // Each GPU against the median of its test.
  std::map<std::size_t, std::map<std::size_t, double>> factors;  // of GPU and test
  std::vector<double> deviations;
  for (const auto& [test, gpus] : tests) {
    if (gpus.size() < params.least) {
      out.few.push_back(test);
      continue;
    }
    std::vector<double> means;
    for (const auto& [gpu, r] : gpus) means.push_back(r.sum / static_cast<double>(r.count));
    const double middle = median_of(means);
    std::size_t at = 0;
    for (const auto& [gpu, r] : gpus) {
      factors[gpu][test] = means[at] / middle;
      deviations.push_back(std::abs(std::log(means[at++] / middle)));
      if (r.longest > params.unsteady * r.shortest)
        out.unsteady.push_back({gpu, test, r.longest / r.shortest});
    }
  }
  if (deviations.empty()) return out;
  out.spread = kNormal * median_of(deviations);
  const double limit = std::max(params.factor, std::exp(params.threshold * out.spread));
  for (const auto& [gpu, of_test] : factors) {
    SlowGpu one{gpu, 1, {}, {}};
    std::vector<double> slow;
    for (const auto& [test, factor] : of_test) {
      (factor > limit ? one.slow : one.usual).push_back(test);
      if (factor > limit) slow.push_back(factor);
    }
    if (slow.empty()) continue;
    one.factor = median_of(slow);
    out.slow.push_back(std::move(one));
  }
  sort_by(out.slow, [](const SlowGpu& a) { return std::pair(-a.factor, a.gpu); });
  return out;
}

}  // namespace culprit::plan
