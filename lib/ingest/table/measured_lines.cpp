// Tests of machines and devices, a line for each, in nobody's format:
//   tn-011 GPU3 bf16 gemm 8192x8192x8192: 640.1 TFLOPS
//   tn-011: Triad: 371000.0 MB/s
//   [08:00:00] all_reduce_perf tn-011,tn-012: avg busbw 187.21 GB/s ok
//   === tn-011 ===   and below it   GPU 5: 380 TFLOPS  temp 65C
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/engine/rate_book.hpp"
#include "line/digit.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestTestLine = 1000;
constexpr std::size_t kFewestOfDevices = 4;  // rates on one line: one for each device of a machine

bool unit_of_rate(std::string_view word) {
  static constexpr std::array kUnits = std::to_array<std::string_view>(
      {"tflops", "tflop/s", "gflops", "gflop/s", "gb/s", "gib/s", "mb/s", "mib/s", "gb/sec",
       "mb/sec", "gbps", "gbit/s", "gbits/s", "mbps"});
  return word.size() >= 4 && word.size() <= 8 && contains(kUnits, std::string_view(lower(word)));
}

// Of the program's own steps, and what is no measurement of a test.
bool of_other_lines(std::string_view text) {
  const std::string small = lower(text);
  for (const std::string_view word :
       {"iter", "step", "loss", "epoch", "tokens", "samples", "checkpoint", "saved", "download",
        "upload", "copied", "sent ", "loaded", "replac", "before", "after", "rma", "repair"})
    if (contains(small, word)) return true;
  return false;
}

// What the words of a line say, from left to right.
class TestLine {
 public:
  explicit TestLine(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(" \t,|;=()[]"), text.size());
      if (end > 0) take(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  struct Rate {
    std::string label;
    double value = 0;
  };
  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::string& device() const { return device_; }
  const std::string& shape() const { return shape_; }
  const std::vector<Rate>& rates() const { return rates_; }

 private:
  void take(std::string_view word) {
    while (!word.empty() && contains(std::string_view(":."), word.back())) word.remove_suffix(1);
    if (word.empty() || take_pair(word)) return;
    double value = 0;
    std::string_view unit;
    if (unit_of_rate(word)) {
      pending_.clear();
      if (number_ > 0) measured(number_, word);
      return;
    }
    if (!pending_.empty()) add(std::exchange(pending_, {}));
    if (line::digit(word.front()) && metric_number(word, value, unit))
      return take_number(word, value, unit);
    number_ = 0;
    if (hosts_.size() < 2 && rates_.empty() && may_be_asked(word)) {
      hosts_.emplace_back(word);
      return add("@");
    }
    if (device_.empty() && take_device(word)) return;
    before_ = lower(word);
    label_ += label_.empty() ? before_ : " " + before_;
    add(before_);
  }

  // "tn-011<->tn-012"
  bool take_pair(std::string_view word) {
    for (const std::string_view mark : {"<->", "->", "+"})
      if (const std::size_t at = word.find(mark); at != word.npos && hosts_.empty())
        if (const std::string_view a = word.substr(0, at), b = word.substr(at + mark.size());
            may_be_asked(a) && may_be_asked(b)) {
          hosts_ = {std::string(a), std::string(b)};
          add("@@");
          return true;
        }
    return false;
  }

  bool take_device(std::string_view word) {
    const std::size_t digits = word.find_first_of("0123456789");
    if (digits == word.npos || digits == 0) return false;
    const std::string stem = lower(word.substr(0, digits));
    if (stem == "gpu" || stem == "cuda:" || stem == "device" || stem == "rank") {
      device_ = fmt::format("{} {}", stem == "rank" ? "rank" : "GPU", word.substr(digits));
    } else if (stem.starts_with("mlx") || stem == "ib" || stem == "ens" || stem == "eth" ||
               stem == "rdma" || stem == "bnxt_re" || stem == "nvme") {
      device_ = word;
    } else {
      return false;
    }
    add("&");
    return true;
  }

  void take_number(std::string_view word, double value, std::string_view unit) {
    const bool names_device = before_ == "gpu" || before_ == "device" || before_ == "rank" ||
                              before_ == "hca" || before_ == "nic" || before_ == "cuda";
    if (device_.empty() && names_device && unit.empty()) {
      device_ = fmt::format("{} {}", before_ == "rank" ? "rank" : "GPU", word);
      return add("&");
    }
    number_ = 0;
    if (unit_of_rate(unit)) return measured(value, unit);
    if (unit.empty() && label_.ends_with("per second")) return measured(value, "1/s");
    // How large it was, and on how many: only tests that were set up alike are compared.
    const bool clock = word.find_first_of(":-") != word.npos;
    const bool set_up = !clock && !contains(word, '.') && word.size() <= 24;
    pending_ = set_up ? word : "#";  // unless a unit follows that makes it a rate
    number_ = unit.empty() ? value : 0;
  }

  void measured(double value, std::string_view unit) {
    if (names_rate(label_ + " " + std::string(unit)) || unit == "1/s") {
      add(unit);
      rates_.push_back({label_, value});
    }
    label_.clear();
    number_ = 0;
  }

  // What stands behind a rate judges it.
  void add(std::string_view mark) {
    if (rates_.empty() || line::digit(mark.front())) shape_.append(mark).append(1, ' ');
  }

  std::vector<std::string> hosts_;
  std::vector<Rate> rates_;
  std::string device_, shape_, label_, before_;
  std::string pending_;  // how the number before is kept
  double number_ = 0;    // that no unit has followed yet
};

Outcome read_measured_line(const TextLine& line, Reading& reading) {
  if (reading.text_kind == "kernel" || line.raw.size() > kLongestTestLine ||
      of_other_lines(line.raw))
    return {};
  const TestLine said(line.raw);
  if (said.rates().empty() || !names_test(line.raw)) return {};
  std::vector<RatePart> parts;
  for (const std::string& host : said.hosts()) parts.push_back({RatePart::Kind::host, host, {}});
  if (parts.empty())
    if (const auto host = reading.host_of(line.line.prefix))
      parts.push_back({RatePart::Kind::host, std::string(*host), {}});
  if (parts.empty()) return {};
  if (!said.device().empty())
    for (std::size_t i = 0, hosts = parts.size(); i < hosts; ++i)
      parts.push_back({RatePart::Kind::device, parts[i].host, said.device()});
  RateBook& book = reading.keep<RateBook>();
  const auto& rates = said.rates();
  const bool of_each = rates.size() >= kFewestOfDevices && said.device().empty();
  for (std::size_t i = 0; i < rates.size(); ++i) {
    std::vector<RatePart> of = parts;
    if (of_each)
      of.push_back({RatePart::Kind::device, parts.front().host, fmt::format("GPU {}", i)});
    const std::string& label = rates[of_each ? 0 : i].label;
    book.add(label.empty() ? "rate" : label, {std::move(of), said.shape(), rates[i].value},
             line.place, false, line.line.prefix.time);
  }
  return {true};
}

// Words of five letters would slow the search down.
#define CULPRIT_BEHIND_DIGIT(word) \
  "0" word, "1" word, "2" word, "3" word, "4" word, "5" word, "6" word, "7" word, "8" word, "9" word
constexpr std::string_view kTestWords[] = {CULPRIT_BEHIND_DIGIT(" GB/s"),
                                           CULPRIT_BEHIND_DIGIT(" MB/s"),
                                           CULPRIT_BEHIND_DIGIT(" Gb/s"),
                                           CULPRIT_BEHIND_DIGIT(" Gbps"),
                                           " TFLOP",
                                           " tflop",
                                           " GFLOP",
                                           " GiB/s",
                                           " MiB/s",
                                           " Gbit/",
                                           "TFLOPS",
                                           "per second:",
                                           "Gflop/s"};
#undef CULPRIT_BEHIND_DIGIT

}  // namespace

extern constinit const Recogniser kMeasuredLines{
    "measured-lines", "tests of machines and devices: a line for each, with a rate", kTestWords,
    read_measured_line};

}  // namespace culprit::ingest
