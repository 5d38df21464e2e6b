#include "ingest/training/step_names.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

struct NameWord {
  std::string_view name;
  KeyRole role;
  int grade;
};

// Lower case; '-' and ' ' are '_'.
constexpr NameWord kStepNamesWords[] = {
    {"global_step", KeyRole::step, 4},
    {"train/global_step", KeyRole::step, 4},
    {"trainer/global_step", KeyRole::step, 4},
    {"iteration", KeyRole::step, 3},
    {"iter", KeyRole::step, 3},
    {"step", KeyRole::step, 3},
    {"train_step", KeyRole::step, 3},
    {"train_iter", KeyRole::step, 3},
    {"training_step", KeyRole::step, 3},
    {"steps", KeyRole::step, 2},
    {"it", KeyRole::step, 2},
    {"iters", KeyRole::step, 2},
    {"iterations", KeyRole::step, 2},
    {"train_iteration", KeyRole::step, 3},
    {"global_iteration", KeyRole::step, 4},
    {"current_step", KeyRole::step, 2},
    {"num_updates", KeyRole::step, 2},
    {"ba", KeyRole::step, 2},
    {"i", KeyRole::step, 1},
    {"_step", KeyRole::step, 1},
    {"timestamp", KeyRole::time, 3},
    {"_timestamp", KeyRole::time, 3},
    {"ts", KeyRole::time, 3},
    {"t", KeyRole::time, 1},
    {"@timestamp", KeyRole::time, 3},
    {"wall_time", KeyRole::time, 3},
    {"time", KeyRole::time, 2},
    {"rank", KeyRole::rank, 2},
    {"global_rank", KeyRole::rank, 3},
    {"rank_id", KeyRole::rank, 1},
    {"procid", KeyRole::rank, 1},
    {"process", KeyRole::rank, 1},
    {"process_id", KeyRole::rank, 1},
    {"process_index", KeyRole::rank, 1},
    {"dp_rank", KeyRole::rank, 1},
    {"local_rank", KeyRole::local_rank, 1},
    {"host", KeyRole::host, 3},
    {"hostname", KeyRole::host, 4},
    {"node_name", KeyRole::host, 2},
    {"nodename", KeyRole::host, 2},
    {"node", KeyRole::host, 2},
    {"pod", KeyRole::host, 1},
    {"instance", KeyRole::host, 1},
    {"node_ip", KeyRole::host, 1},
    {"host_ip", KeyRole::host, 1},
    {"ip", KeyRole::host, 1},
    {"pod_name", KeyRole::host, 1},
    {"gpu", KeyRole::gpu, 1},
    {"gpu_id", KeyRole::gpu, 2},
    {"local_gpu", KeyRole::gpu, 1},
    {"gpu_index", KeyRole::gpu, 2},
    {"gpu_uuid", KeyRole::gpu, 3},
    {"nic", KeyRole::nic, 3},
    {"hca", KeyRole::nic, 3},
    {"rdma_device", KeyRole::nic, 3},
    {"rdma_dev", KeyRole::nic, 3},
    {"ib_device", KeyRole::nic, 3},
    {"ibdev", KeyRole::nic, 3},
    {"interface", KeyRole::nic, 2},
    {"ifname", KeyRole::nic, 2},
    {"iface", KeyRole::nic, 2},
    {"netdev", KeyRole::nic, 2},
    {"port", KeyRole::port, 1},
    {"device", KeyRole::device, 1},
    {"dev", KeyRole::device, 1},
    {"device_id", KeyRole::device, 1},
    {"dev_name", KeyRole::device, 1},
    {"run", KeyRole::run, 2},
    {"run_id", KeyRole::run, 3},
    {"run_name", KeyRole::run, 2},
    {"switch", KeyRole::element, 1},
    {"switch_name", KeyRole::element, 1},
    {"spine", KeyRole::element, 1},
    {"leaf", KeyRole::element, 1},
    {"tor", KeyRole::element, 1},
    {"router", KeyRole::element, 1},
    {"uplink", KeyRole::element, 1},
    {"link", KeyRole::element, 1},
    {"target", KeyRole::element, 1},
    {"ost", KeyRole::element, 1},
    {"mdt", KeyRole::element, 1},
    {"osd", KeyRole::element, 1},
    {"pool", KeyRole::element, 1},
    {"bucket", KeyRole::element, 1},
    {"volume", KeyRole::element, 1},
    {"filesystem", KeyRole::element, 1},
    {"fs", KeyRole::element, 1},
    {"disk", KeyRole::element, 1},
    {"metric", KeyRole::metric, 3},
    {"metric_name", KeyRole::metric, 3},
    {"tag", KeyRole::metric, 2},
    {"name", KeyRole::metric, 1},
    {"value", KeyRole::amount, 1},
    {"op", KeyRole::operation, 2},
    {"operation", KeyRole::operation, 2},
    {"coll", KeyRole::operation, 1},
    {"collective", KeyRole::operation, 1},
    {"func", KeyRole::operation, 1},
    {"bytes", KeyRole::bytes, 2},
    {"nbytes", KeyRole::bytes, 2},
    {"size_bytes", KeyRole::bytes, 2},
    {"size", KeyRole::bytes, 1},
    {"comm", KeyRole::group, 2},
    {"communicator", KeyRole::group, 2},
    {"comm_id", KeyRole::group, 3},
    {"comm_hash", KeyRole::group, 3},
};

// In the order of how sure the name is.
constexpr std::string_view kLosses[] = {
    "lm_loss", "train_loss",      "training_loss", "reduced_train_loss",
    "loss",    "global_avg_loss", "total_loss"};
constexpr std::string_view kGradNorms[] = {"grad_norm", "gradient_norm", "global_grad_norm",
                                           "total_grad_norm"};
// A bare "step_ms" may be the optimizer's part of one: the lowest.
constexpr std::string_view kTimeNames[] = {"elapsed_time_per_iteration",
                                           "iteration_time",
                                           "iter_time",
                                           "step_time",
                                           "train_step_time",
                                           "training_step_time",
                                           "train_step_timing",
                                           "time_per_iteration",
                                           "time_per_iter",
                                           "time_per_step",
                                           "iteration_duration",
                                           "iter_duration",
                                           "step_duration",
                                           "batch_time"};
constexpr std::string_view kTimesWithUnit[] = {"iteration", "iter", "train_step", "step"};
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

int grade_in(const auto& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == std::end(names) ? 0 : static_cast<int>(std::end(names) - found);
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
  for (const NameWord& word : kStepNamesWords)
    if (word.name == name) return {word.role, word.grade};
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
        Unit{"seconds_per_iteration", 1e3}, Unit{"ms_per_step", 1.0}, Unit{"ms_per_iter", 1.0}})
    if (tail == name) return {Figure::iteration_time, 50, to_ms};
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
