#include "ingest/training/step_object.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "line/digit.hpp"
#include "line/instance.hpp"
#include "model/contains.hpp"
#include "model/json_cursor.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestStepKey = 512;
constexpr std::size_t kLongestText = 255;  // of a host, a run, an operation
constexpr std::size_t kMostStepKeys = 200'000;

// Records of loggers and services. Objects with these are for the rules, or for other readers.
constexpr std::string_view kLogKeys[] = {
    "message",    "msg",         "log",         "MESSAGE",  "@message",
    "level",      "levelname",   "log_level",   "severity", "error",
    "exception",  "exc_info",    "traceback",   "stack",    "stream",
    "logger",     "textPayload", "jsonPayload", "body",     "text",
    "apiVersion", "header",      "coll_perf",   "p2p_perf", "__REALTIME_TIMESTAMP",
    "PRIORITY",   "traceEvents", "py_callstack"};
constexpr std::string_view kEventKeys[] = {"event",  "event_type", "eventType", "kind",
                                           "Action", "source",     "metadata",  "ph"};

using line::digit;

// Tells `to` of every string and number of an object and of the objects in it. False when the text
// ends or breaks first.
template <class To>
class ObjectScanner {
 public:
  ObjectScanner(std::string_view text, To& to) : in_(text), to_(to) {}

  bool object() { return members({}, true); }
  bool at_end() {
    in_.blanks();
    return in_.done();
  }

 private:
  bool members(std::string_view parent, bool outer) {
    return in_.object([&](std::string_view key, bool) {
      const char c = in_.peek();
      if (c == '"') {
        std::string_view text;
        bool escaped = false;
        if (!in_.text(text, escaped)) return false;
        to_.string(parent, key, text);
        return true;
      }
      if (c == '{' && outer) {
        to_.open();
        if (!members(key, false)) return false;
        to_.close();
        return true;
      }
      return c == '{' || c == '[' ? in_.skip() : word(parent, key);
    });
  }
  bool word(std::string_view parent, std::string_view key) {
    const std::string_view text = in_.word();
    if (text.empty() || in_.done()) return false;
    double odd = 0;
    if (digit(text[0]) || (text[0] == '-' && text.size() > 1 && digit(text[1])) ||
        odd_number(text, odd)) {
      to_.number(parent, key, text);
      return true;
    }
    if (text == "null") to_.null(parent, key);
    return text == "null" || text == "true" || text == "false";
  }

  JsonCursor in_;
  To& to_;
};

bool number_of(std::string_view text, double& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = contains(text, "e-") || contains(text, "E-")
                ? 0
                : std::numeric_limits<double>::infinity() * (text[0] == '-' ? -1 : 1);
    return true;
  }
  if (error == std::errc()) return at == text.data() + text.size();
  return odd_number(text, value);
}

// 120 · 120.0 · 1.2e2
bool whole_of(std::string_view text, std::int64_t& value) {
  if (parse_whole(text, value)) return value != kNoValue;
  double real = 0;
  if (!number_of(text, real) || !(real > -9e15 && real < 9e15)) return false;
  value = static_cast<std::int64_t>(real);
  return static_cast<double>(value) == real;
}

struct Glancer {
  ObjectGlance& out;
  void key(std::string_view parent, std::string_view name) {
    if (!parent.empty()) return;
    out.log = out.log || contains(kLogKeys, name);
    out.event = out.event || contains(kEventKeys, name);
  }
  void number(std::string_view parent, std::string_view name, std::string_view text) {
    key(parent, name);
    const KeyRole role = parent.empty() ? meaning_of(name).role : KeyRole::value;
    Timestamp time;
    std::int64_t whole = 0;
    if (role == KeyRole::step && whole_of(text, whole))
      out.step = true;
    else if (role == KeyRole::time && moment(text, time))
      out.time = true;
    else if (role == KeyRole::value || role == KeyRole::amount || role == KeyRole::bytes) {
      ++out.numbers;
      out.figure = out.figure || figure_of(name).figure != Figure::none;
    }
  }
  void string(std::string_view parent, std::string_view name, std::string_view text) {
    key(parent, name);
    Timestamp time;
    double odd = 0;
    if (parent.empty() && meaning_of(name).role == KeyRole::time)
      out.time = out.time || moment(text, time);
    else if (odd_number(text, odd))
      number(parent, name, text);
  }
  void null(std::string_view, std::string_view) {}
  void open() { key({}, {}); }
  void close() {}
};

}  // namespace

ObjectGlance glance(std::string_view text) {
  ObjectGlance out;
  Glancer to{out};
  ObjectScanner scanner(text, to);
  out.complete = scanner.object() && scanner.at_end();
  return out;
}

StepObjects::Key* StepObjects::find(std::string_view parent, std::string_view key) {
  if (at_ < keys_.size()) {
    const std::size_t next = keys_[at_].next;
    if (next < keys_.size() && keys_[next].key == key && keys_[next].parent == parent) {
      at_ = next;
      return &keys_[at_];
    }
  }
  if (key.size() + parent.size() > kLongestStepKey) {
    problem_ = "jsonl.key_too_long";
    return nullptr;
  }
  std::string path(parent);
  if (!parent.empty()) path += '/';
  path += key;
  auto found = key_of_.find(path + '\0' + std::to_string(parent.size()));
  if (found == key_of_.end()) {
    if (keys_.size() >= kMostStepKeys) {
      problem_ = "series.too_many";
      return nullptr;
    }
    found = key_of_.emplace(path + '\0' + std::to_string(parent.size()), keys_.size()).first;
    keys_.push_back({std::string(parent), std::string(key),
                     parent.empty() ? meaning_of(key) : KeyMeaning{}, rows_.slot(path),
                     static_cast<std::size_t>(-1)});
  }
  if (at_ < keys_.size()) keys_[at_].next = found->second;
  at_ = found->second;
  return &keys_[at_];
}

void StepObjects::keep(Key& key, double value) {
  if (key.slot == StepRows::kNoSlot)
    problem_ = "series.too_many";
  else
    row_.cells.push_back({key.slot, value}), ++key.numbers;
}

void StepObjects::number(std::string_view parent, std::string_view name, std::string_view text) {
  Key* const key = find(parent, name);
  if (key == nullptr) return;
  const int grade = key->meaning.grade;
  std::int64_t whole = 0;
  Timestamp time;
  switch (key->meaning.role) {
    case KeyRole::value: break;
    case KeyRole::step:
      if (!whole_of(text, whole)) break;
      if (grade > step_grade_) step_grade_ = grade, row_.step = whole;
      return;
    case KeyRole::time:
      if (!moment(text, time)) break;
      if (grade > time_grade_) time_grade_ = grade, row_.time = time;
      return;
    case KeyRole::rank:
    case KeyRole::local_rank: {
      if (!whole_of(text, whole) || whole < 0 || whole > 10'000'000) break;
      if (key->meaning.role == KeyRole::local_rank)
        row_.owner.local_rank = LocalRank(whole);
      else if (grade > rank_grade_)
        rank_grade_ = grade, row_.owner.rank = Rank(whole);
      return;
    }
    case KeyRole::gpu:  // an index; a larger number may be the load of one
      if (!whole_of(text, whole) || whole < 0 || whole > 63) break;
      if (grade > gpu_grade_) gpu_grade_ = grade, row_.owner.gpu = std::to_string(whole);
      return;
    case KeyRole::run:
      if (grade > run_grade_)
        run_grade_ = grade,
        run_ = std::string(name) + "=" + std::string(text.substr(0, kLongestText));
      return;
    case KeyRole::amount: amount_ = key->slot; break;
    case KeyRole::bytes: bytes_ = key->slot; break;
    case KeyRole::group:
      group_ = std::string(name) + "=" + std::string(text.substr(0, kLongestText));
      return;
    case KeyRole::port: devices_.port = text.substr(0, kLongestText); return;
    case KeyRole::device: devices_.device = text.substr(0, kLongestText); return;
    case KeyRole::element:
    case KeyRole::nic:
    case KeyRole::host:
    case KeyRole::metric:
    case KeyRole::operation: break;
  }
  double value = 0;
  if (number_of(text, value))
    keep(*key, value);
  else
    problem_ = "jsonl.torn";
}

void StepObjects::string(std::string_view parent, std::string_view name, std::string_view text) {
  if (!parent.empty() && name == "_type") typed_ = true;
  Key* const key = find(parent, name);
  if (key == nullptr) return;
  const int grade = key->meaning.grade;
  const std::string_view kept = text.substr(0, kLongestText);
  std::int64_t whole = 0;
  Timestamp time;
  switch (key->meaning.role) {
    case KeyRole::time:
      if (moment(text, time) && grade > time_grade_) time_grade_ = grade, row_.time = time;
      return;
    case KeyRole::rank:
    case KeyRole::local_rank:
      if (text.empty() || !whole_of(text, whole) || whole < 0 || whole > 10'000'000) return;
      if (key->meaning.role == KeyRole::local_rank)
        row_.owner.local_rank = LocalRank(whole);
      else if (grade > rank_grade_)
        rank_grade_ = grade, row_.owner.rank = Rank(whole);
      return;
    case KeyRole::host:
      if (const std::string_view host = line::without_port(kept);
          grade > host_grade_ && !host.empty())
        host_grade_ = grade, row_.owner.host = Host(host);
      return;
    case KeyRole::gpu:
      if (grade > gpu_grade_ && !text.empty())
        gpu_grade_ = grade, row_.owner.gpu = std::string(kept);
      return;
    case KeyRole::run:
      if (grade > run_grade_)
        run_grade_ = grade, run_ = std::string(name) + "=" + std::string(kept);
      return;
    case KeyRole::element:
      run_ += (run_.empty() ? "" : ",") + std::string(name) + "=" + std::string(kept);
      return;
    case KeyRole::nic: devices_.nic = kept; return;
    case KeyRole::port: devices_.port = kept; return;
    case KeyRole::device: devices_.device = kept; return;
    case KeyRole::metric:
      if (grade > metric_grade_) metric_grade_ = grade, metric_ = kept;
      return;
    case KeyRole::operation: operation_ = kept; return;
    case KeyRole::group: group_ = std::string(name) + "=" + std::string(kept); return;
    default: break;
  }
  double value = 0;
  if (odd_number(text, value)) {
    if (key->meaning.role == KeyRole::amount) amount_ = key->slot;
    keep(*key, value);
  }
}

// JSON has no NaN: loggers write null for a loss that is none. Others write it for what they do not
// log at each step; those have done so before.
void StepObjects::null(std::string_view parent, std::string_view name) {
  constexpr std::uint32_t kAlwaysNumbers = 20;
  if (!parent.empty()) return;
  Key* const key = find(parent, name);
  if (key == nullptr || figure_of(name).figure != Figure::loss) return;
  key->left_out = key->left_out || key->numbers < kAlwaysNumbers;
  if (!key->left_out) none_ = key->slot;
}

Outcome StepObjects::read(std::string_view text, const Place& place, Reading& reading,
                          const Timestamp& printed) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  if (text[first] != '{') return {false, nullptr, "jsonl.not_object"};
  row_.step = kNoValue;
  row_.time = {};
  row_.owner = {};
  row_.cells.clear();
  devices_.clear();
  step_grade_ = time_grade_ = rank_grade_ = host_grade_ = gpu_grade_ = run_grade_ = metric_grade_ =
      0;
  for (std::string* one : {&metric_, &operation_, &group_, &run_}) one->clear();
  amount_ = bytes_ = none_ = StepRows::kNoSlot;
  problem_ = {};
  // The first key follows the last one of the record before.
  ObjectScanner scanner(text, *this);
  if (!scanner.object() || !scanner.at_end()) return {false, nullptr, "jsonl.torn"};
  if (!problem_.empty()) return {false, nullptr, problem_};
  surest_step_ = std::max(surest_step_, step_grade_);
  if (step_grade_ < surest_step_) row_.step = kNoValue;
  // A row of an evaluation has no loss of the training.
  if (none_ != StepRows::kNoSlot && std::ranges::none_of(row_.cells, [&](const auto& cell) {
        const std::string_view name = rows_.name(cell.slot);
        return name.starts_with("eval") || name.starts_with("val") || name.starts_with("test");
      }))
    row_.cells.push_back({none_, std::numeric_limits<double>::quiet_NaN()});
  if (row_.cells.empty()) return {};
  devices_.name(row_.owner);
  if (!operation_.empty() &&
      bytes_ != StepRows::kNoSlot) {  // a call: its numbers belong to the operation
    if (!group_.empty()) row_.owner.labels = group_;
    for (StepRow::Cell& cell : row_.cells) {
      const std::uint32_t slot =
          rows_.slot(cell.slot == bytes_ ? operation_ : operation_ + "/" + rows_.name(cell.slot));
      if (slot == StepRows::kNoSlot) return {false, nullptr, "series.too_many"};
      cell.slot = slot;
    }
  } else if (!metric_.empty() && amount_ != StepRows::kNoSlot) {
    const std::uint32_t slot = rows_.slot(metric_);
    if (slot == StepRows::kNoSlot) return {false, nullptr, "series.too_many"};
    for (StepRow::Cell& cell : row_.cells)
      if (cell.slot == amount_) cell.slot = slot;
  }
  if (time_grade_ == 0) row_.time = printed;
  if (!run_.empty()) row_.owner.labels += (row_.owner.labels.empty() ? "" : ",") + run_;
  if (!rows_.put(row_, place, reading)) return {false, nullptr, "series.too_many"};
  return {true};
}

}  // namespace culprit::ingest
