#include "ingest/training/step_names.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "line/timestamp.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

struct StepWords {
  KeyMeaning meaning;  // and how sure the names are
  std::string_view names;
};

// Lower case; '-' and ' ' are '_'.
constexpr StepWords kStepNames[] = {
    {{KeyRole::step, 4}, "global_step train/global_step trainer/global_step global_iteration"},
    {{KeyRole::step, 3}, "iteration iter step train_step train_iter training_step train_iteration"},
    {{KeyRole::step, 2}, "steps it iters iterations current_step num_updates ba"},
    {{KeyRole::step, 1}, "i _step"},
    {{KeyRole::time, 3}, "timestamp _timestamp ts @timestamp wall_time"},
    {{KeyRole::time, 1}, "t"},
    {{KeyRole::time, 2}, "time"},
    {{KeyRole::rank, 2}, "rank"},
    {{KeyRole::rank, 3}, "global_rank"},
    {{KeyRole::rank, 1}, "rank_id procid process process_id process_index dp_rank"},
    {{KeyRole::local_rank, 1}, "local_rank"},
    {{KeyRole::host, 3}, "host"},
    {{KeyRole::host, 4}, "hostname"},
    {{KeyRole::host, 2}, "node_name nodename node"},
    {{KeyRole::host, 1}, "pod instance node_ip host_ip ip pod_name"},
    {{KeyRole::gpu, 1}, "gpu local_gpu"},
    {{KeyRole::gpu, 2}, "gpu_id gpu_index"},
    {{KeyRole::gpu, 3}, "gpu_uuid"},
    {{KeyRole::nic, 3}, "nic hca rdma_device rdma_dev ib_device ibdev"},
    {{KeyRole::nic, 2}, "interface ifname iface netdev"},
    {{KeyRole::port, 1}, "port"},
    {{KeyRole::device, 1}, "device dev device_id dev_name"},
    {{KeyRole::run, 2}, "run run_name"},
    {{KeyRole::run, 3}, "run_id"},
    {{KeyRole::element, 1},
     "switch switch_name spine leaf tor router uplink link target ost mdt osd pool "
     "bucket volume filesystem fs disk"},
    {{KeyRole::metric, 3}, "metric metric_name"},
    {{KeyRole::metric, 2}, "tag"},
    {{KeyRole::metric, 1}, "name"},
    {{KeyRole::amount, 1}, "value"},
    {{KeyRole::operation, 2}, "op operation"},
    {{KeyRole::operation, 1}, "coll collective func"},
    {{KeyRole::bytes, 2}, "bytes nbytes size_bytes"},
    {{KeyRole::bytes, 1}, "size"},
    {{KeyRole::group, 2}, "comm communicator"},
    {{KeyRole::group, 3}, "comm_id comm_hash"},
};

// In the order of how sure the name is.
constexpr std::string_view kLosses =
    "lm_loss train_loss training_loss reduced_train_loss loss global_avg_loss total_loss";
constexpr std::string_view kGradNorms = "grad_norm gradient_norm global_grad_norm total_grad_norm";
// A bare "step_ms" may be the optimizer's part of one: the lowest.
constexpr std::string_view kTimeNames =
    "elapsed_time_per_iteration iteration_time iter_time step_time train_step_time "
    "training_step_time train_step_timing time_per_iteration time_per_iter time_per_step "
    "iteration_duration iter_duration step_duration batch_time t_step t_iter";
constexpr std::string_view kTimesWithUnit = "iteration iter train_step step";
struct Unit {
  std::string_view ending;
  double to_ms;
};
constexpr Unit kUnits[] = {{"_(ms)", 1},      {"(ms)", 1},          {"_in_ms", 1}, {"_ms", 1},
                           {"_msec", 1},      {"_milliseconds", 1}, {"_(s)", 1e3}, {"(s)", 1e3},
                           {"_in_s", 1e3},    {"_s", 1e3},          {"_sec", 1e3}, {"_secs", 1e3},
                           {"_seconds", 1e3}, {"_us", 1e-3},        {"_ns", 1e-6}};

constexpr std::size_t kLongestStepName = 128;

std::string normal(std::string_view key) {
  std::string out(key.substr(0, kLongestStepName));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    else if (c == '-' || c == ' ')
      c = '_';
  }
  return out;
}

// 1 of the last, more of those before it; 0 of any other.
int grade_in(std::string_view names, std::string_view name) {
  while (!names.empty())
    if (take_word(names) == name)
      return 1 + static_cast<int>(std::ranges::count(names, ' ')) + !names.empty();
  return 0;
}

bool of_evaluation(std::string_view path) {
  for (const std::string_view word : {"eval", "val", "test", "dev_"})
    for (std::size_t at = path.find(word); at != std::string_view::npos;
         at = path.find(word, at + 1))
      if (at == 0 || path[at - 1] == '/' || path[at - 1] == '_' || path[at - 1] == '.') return true;
  return false;
}

}  // namespace

KeyMeaning meaning_of(std::string_view key) {
  if (key.size() > kLongestStepName) return {};
  const std::string name = normal(key);
  for (const StepWords& words : kStepNames)
    if (has_word(words.names, name)) return words.meaning;
  if (line::names_moment(key)) return {KeyRole::time, 2};
  return {};
}

FigureMeaning figure_of(std::string_view key) {
  if (key.size() > kLongestStepName) return {};
  const std::string whole = normal(key);
  std::string_view tail = whole;
  std::size_t cut = tail.rfind('/');
  if (cut == std::string_view::npos) cut = tail.rfind('.');
  if (cut != std::string_view::npos) tail.remove_prefix(cut + 1);
  if (of_evaluation(std::string_view(whole).substr(0, whole.size() - tail.size()))) return {};
  if (const int grade = grade_in(kLosses, tail)) return {Figure::loss, grade, 0};
  if (const int grade = grade_in(kGradNorms, tail)) return {Figure::grad_norm, grade, 0};
  // Megatron-LM's name for wandb and TensorBoard, in seconds (its log prints milliseconds).
  if (key == "iteration-time") return {Figure::iteration_time, 100, 1e3};
  if (whole == "time_metrics/end_to_end(s)")
    return {Figure::iteration_time, 100, 1e3};  // torchtitan
  for (const auto& [name, to_ms] :
       {Unit{"seconds_per_step", 1e3}, Unit{"sec_per_step", 1e3},
        Unit{"seconds_per_iteration", 1e3}, Unit{"ms_per_step", 1.0}, Unit{"ms_per_iter", 1.0},
        Unit{"ms/step", 1.0}, Unit{"ms/it", 1.0}, Unit{"s/step", 1e3}, Unit{"s/it", 1e3},
        Unit{"sec/step", 1e3}, Unit{"s/iter", 1e3}})
    if (tail == name || whole == name) return {Figure::iteration_time, 50, to_ms};
  for (const Unit& unit : kUnits)
    if (tail.size() > unit.ending.size() && tail.ends_with(unit.ending)) {
      const std::string_view stem = tail.substr(0, tail.size() - unit.ending.size());
      if (const int grade = grade_in(kTimeNames, stem))
        return {Figure::iteration_time, 30 + grade, unit.to_ms};
      if (const int grade = grade_in(kTimesWithUnit, stem))
        return {Figure::iteration_time, 20 + grade, unit.to_ms};
    }
  if (const int grade = grade_in(kTimeNames, tail)) return {Figure::iteration_time, grade, 0};
  return {};
}

bool of_gpu(std::string_view device) {
  if (!device.empty() && device.find_first_not_of("0123456789") == std::string_view::npos)
    return device.size() <= 2;
  for (const std::string_view start : {"GPU", "gpu", "cuda:", "nvidia", "MIG-"})
    if (device.starts_with(start)) return true;
  return false;
}

bool moment(std::string_view text, Timestamp& time) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.size() >= 19 && (text[4] == '-' || text[4] == '/') && text[16] == ':') {
    Timestamp read;
    if (line::parse_iso(text, read) != text.size()) return false;
    time = read;
    return true;
  }
  if (Timestamp read; line::parse_sheet(text, read) == text.size() && !text.empty()) {
    time = read;
    return true;
  }
  if (Timestamp read; !text.empty() && line::parse_time_of_day(text, read) == text.size()) {
    time = read;
    return true;
  }
  if (text.size() == 5 && text[2] == ':') {  // "09:03"
    const std::string whole = std::string(text) + ":00";
    if (Timestamp read; line::parse_time_of_day(whole, read) == whole.size()) {
      time = {read.clock, read.ns, kMinute};
      return true;
    }
  }
  const char* const end = text.data() + text.size();
  if (const std::size_t exponent = text.find_first_of("eE");
      exponent != std::string_view::npos) {  // 1.79523251077e+09; with fewer digits it is too
                                             // coarse to be a time
    double value = 0;
    const auto read = std::from_chars(text.data(), end, value);
    const std::size_t point = text.find('.');
    if (read.ec != std::errc() || read.ptr != end || point > exponent || exponent - point < 10 ||
        !(value >= 1e9 && value < 4.1e9))
      return false;
    time = {Clock::utc, static_cast<Nanoseconds>(value * 1e6) * 1'000,
            exponent - point > 12 ? 1'000'000 : kSecond};
    return true;
  }
  // Digits are taken as they stand: a double has no room for nanoseconds since 1970.
  std::int64_t whole = 0;
  const auto [at, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc()) return false;
  std::int64_t unit = kSecond;
  for (std::int64_t size = 1'000'000'000;; unit /= 1'000, size *= 1'000) {
    if (whole >= size && whole / 41 < size / 10) break;  // 2001 to 2100
    if (unit == 1) return false;
  }
  std::int64_t fraction = 0, precision = unit;
  const char* p = at;
  if (p != end && *p == '.')
    for (++p; p != end && *p >= '0' && *p <= '9'; ++p)
      if (precision > 1) {
        precision /= 10;
        fraction += (*p - '0') * precision;
      }
  if (p != end) return false;
  time = {Clock::utc, whole * unit + fraction, precision};
  return true;
}

bool odd_number(std::string_view word, double& value) {
  const bool negative = !word.empty() && word.front() == '-';
  if (negative || (!word.empty() && word.front() == '+')) word.remove_prefix(1);
  if (word == "NaN" || word == "nan" || word == "NAN") {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  for (const std::string_view odd : {"Infinity", "infinity", "inf", "Inf", "INF"})
    if (word == odd) {
      value = negative ? -std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::infinity();
      return true;
    }
  return false;
}

}  // namespace culprit::ingest
