#include "ingest/engine/events.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "line/timestamp.hpp"
#include "model/pci.hpp"
#include "model/sort.hpp"
#include "rules/nvlink5.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMessageBytes = 1024;
constexpr std::uint64_t kRowsBeforeFolding = 8;
constexpr std::size_t kOpenKinds = 20'000;
constexpr Nanoseconds kStormGap = 60 * kSecond;

std::string event_kind_of(const EventRow& row) {
  std::string key = row.rule + '\x1f' + row.event_class;
  if (row.rule.empty()) key += '\x1f' + row.detail;  // its shape
  const auto add = [&](const auto& value) {
    key += '\x1f';
    if (value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, std::string>)
        key += *value;
      else
        key += fmt::format("{}", *value);
    }
  };
  add(row.host);
  add(row.rank);
  add(row.local_rank);
  add(row.task);
  add(row.gpu);
  add(row.nic);
  add(row.peer);
  return key;
}

// A table whose last column is the moment, with its zone, behind two blanks or a tab. Behind one it
// is a word of a sentence: "is after 2026-01-05T03:31:10Z".
void take_last_column(std::string_view text, Timestamp& time) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t gap = text.find_last_of(" \t");
  if (gap == std::string_view::npos || (text[gap] == ' ' && (gap == 0 || text[gap - 1] != ' ')))
    return;
  text.remove_prefix(gap + 1);
  Timestamp stamp;
  if (line::parse_iso(text, stamp) == text.size() && !text.empty() && stamp.clock == Clock::utc)
    time = stamp;
}

}  // namespace

std::optional<std::int64_t> captured_number(const std::map<std::string, std::string>& captures,
                                            const char* key) {
  const auto it = captures.find(key);
  if (it == captures.end() || it->second.empty() || it->second.size() > 17) return std::nullopt;
  if (it->second.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::strtoll(it->second.c_str(), nullptr, 10);
}

// Another "name=value" of the detail.
static void add_detail(std::string& detail, std::string_view name, std::string_view value) {
  if (!detail.empty()) detail += '\n';
  detail += name;
  detail += '=';
  detail += value;
}

// Which program of the machine spoke, and of which cluster the machine is.
static void add_speaker(const line::Prefix& prefix, std::string_view cluster, std::string& detail) {
  constexpr std::size_t kLongest = 60;
  const std::string_view unit = prefix.kernel ? std::string_view("kernel") : prefix.unit;
  if (!unit.empty()) add_detail(detail, "unit", unit.substr(0, kLongest));
  if (!prefix.cluster.empty()) cluster = prefix.cluster;
  if (!cluster.empty()) add_detail(detail, "cluster", cluster.substr(0, kLongest));
}

EventRow make_event(const TextLine& line, const rules::Match& match, const Reading& reading) {
  EventRow row;
  row.place = line.place;
  row.time = line.line.prefix.time;
  row.boot = line.line.prefix.boot;
  row.rule = match.rule->id;
  row.event_class = match.event_class;
  row.severity = match.severity;
  row.role = match.role;
  row.scope = match.scope;
  row.code = match.code;
  row.host = reading.host_of(line.line.prefix);
  if (const auto& address = line.line.prefix.address; !row.host && address)
    row.host = Host(*address);
  row.rank = line.line.prefix.rank;
  row.local_rank = line.line.prefix.local_rank;
  row.pid = line.line.prefix.pid;
  row.task = line.line.prefix.task;
  const auto& captures = match.captures;
  const auto text = [&](const char* key) -> std::optional<std::string> {
    const auto it = captures.find(key);
    return it == captures.end() ? std::nullopt : std::optional(it->second);
  };
  if (const auto host = text("host")) row.host = Host(*host);
  if (const auto rank = captured_number(captures, "rank")) row.rank = Rank(*rank);
  if (const auto local = captured_number(captures, "local_rank"))
    row.local_rank = LocalRank(*local);
  if (const auto pid = captured_number(captures, "pid")) row.pid = pid;
  if (const auto pci = text("pci")) row.gpu = normal_pci(*pci);
  if (const auto gpu = text("gpu"); gpu && !row.gpu) row.gpu = normal_pci(*gpu).value_or(*gpu);
  if (!row.gpu && !reading.current_gpu.empty() && reading.text_kind == "nvidia-smi")
    row.gpu = reading.current_gpu;
  if (const auto nic = text("nic")) row.nic = *nic;
  if (!row.nic && !reading.current_nic.empty() && reading.text_kind == "rdma")
    row.nic = reading.current_nic;
  row.peer = text("peer");
  static constexpr std::string_view kOwnColumn[] = {"host", "pci", "rank", "local_rank",
                                                    "pid",  "nic", "peer", "code"};
  for (const auto& [key, value] : captures) {
    if (std::find(std::begin(kOwnColumn), std::end(kOwnColumn), key) != std::end(kOwnColumn))
      continue;
    add_detail(row.detail, key, value.substr(0, 200));
  }
  add_speaker(line.line.prefix, reading.current_cluster, row.detail);
  if (row.code && *row.code >= 144 && *row.code <= 150 &&
      match.event_class.rfind("gpu_xid/", 0) == 0)
    if (const auto decode = rules::decode_nvlink5(*row.code, line.line.message, {})) {
      add_detail(row.detail, "nvlink5_action", decode->action);
      add_detail(row.detail, "nvlink5_followup", decode->followup);
      add_detail(row.detail, "nvlink5_origin", decode->origin);
      add_detail(row.detail, "nvlink5_severity", decode->severity);
      add_detail(row.detail, "nvlink5_unit", decode->unit);
    }
  // syslog's own compression: the text in brackets came that many times.
  if (constexpr std::string_view kRepeated = "message repeated ";
      line.line.message.rfind(kRepeated, 0) == 0)
    if (const std::uint64_t times =
            std::strtoull(line.line.message.c_str() + kRepeated.size(), nullptr, 10);
        times > 0 && times < 1'000'000'000)
      row.count = times;
  // slurmstepd prints the moment inside the message, and so does Abseil's handler of signals.
  if (const std::size_t at = line.line.message.find("CANCELLED AT ");
      row.time.clock == Clock::none && at != std::string::npos)
    line::parse_iso(std::string_view(line.line.message).substr(at + 13), row.time);
  static const re2::RE2 kReceived(R"( received at time=(\d{10}) on cpu )");
  if (std::int64_t seconds = 0; row.time.clock == Clock::none &&
                                re2::RE2::PartialMatch(line.line.message, kReceived, &seconds))
    row.time = Timestamp{Clock::utc, seconds * kSecond, kSecond};
  if (row.time.clock == Clock::none) take_last_column(line.line.message, row.time);
  row.last_line = row.place.line;
  row.last_time = row.time;
  row.message = line.line.message.substr(0, kMessageBytes);
  return row;
}

bool put_said(const Place& place, const line::Line& said, std::string_view text_kind,
              Reading& reading, const std::optional<Timestamp>& until) {
  const auto match = reading.pack.match(said.message, text_kind);
  if (!match || !reading.pack.is_event(*match)) return false;
  EventRow row = make_event({place, said.message, said}, *match, reading);
  if (until) row.last_time = *until;
  reading.sink.put(std::move(row));
  return true;
}

bool put_said(const Place& place, const std::optional<Host>& host, std::string message,
              Reading& reading) {
  line::Line said;
  said.prefix.host = host;
  said.message = std::move(message);
  return put_said(place, said, reading.text_kind, reading);
}

void StormFolder::add(EventRow row, Sink& sink) {
  const std::string key = event_kind_of(row);
  newest_ = key;
  const auto it = open_.find(key);
  if (it == open_.end()) {
    if (open_.size() >= kOpenKinds) flush(sink);
    open_.emplace(key, Open{std::move(row), 1});
    return;
  }
  Open& open = it->second;
  const bool timed = row.time.clock != Clock::none && row.time.clock == open.row.last_time.clock;
  const Nanoseconds gap = timed ? row.time.ns - open.row.last_time.ns : 0;
  const bool together = !timed || (gap >= -kStormGap && gap <= kStormGap);
  // Without times there is no storm to speak of before it is long.
  if (open.rows < kRowsBeforeFolding || !together) {
    sink.put(open.row);
    open.row = std::move(row);
    ++open.rows;
    return;
  }
  open.row.count += row.count;
  open.row.last_line = std::max(open.row.last_line, row.last_line);
  // A message that was put together of several records comes behind lines that stand after it.
  if (row.place.line < open.row.place.line) {
    open.row.place = row.place;
    open.row.time = row.time;
    open.row.message = std::move(row.message);
  }
  // Lines without a time, and those that overtook each other on their way to the file, do not say
  // when the storm ended.
  if (row.time.clock == open.row.last_time.clock && row.time.ns > open.row.last_time.ns)
    open.row.last_time = row.time;
}

bool StormFolder::add_repeats(std::uint64_t times, std::string_view like, std::uint64_t line) {
  const auto count = [&](Open& open) {
    open.row.count += std::min<std::uint64_t>(times, 1'000'000'000);
    open.row.last_line = std::max(open.row.last_line, line);
    return true;
  };
  if (!like.empty()) {
    Open* nearest = nullptr;
    for (auto& [key, open] : open_)
      if (open.row.message.find(like) != std::string::npos &&
          (nearest == nullptr || open.row.last_line > nearest->row.last_line))
        nearest = &open;
    return nearest != nullptr && count(*nearest);
  }
  const auto it = open_.find(newest_);
  // The logger speaks of the line right before; anything older was another message.
  return it != open_.end() && it->second.row.last_line + 1 >= line && count(it->second);
}

void StormFolder::flush(Sink& sink) {
  std::vector<const EventRow*> rows;
  for (const auto& [key, open] : open_) rows.push_back(&open.row);
  sort_rows(rows, [](const EventRow* a, const EventRow* b) {
    return a->place.line != b->place.line       ? a->place.line < b->place.line
           : a->place.offset != b->place.offset ? a->place.offset < b->place.offset
                                                : a->event_class < b->event_class;
  });
  for (const EventRow* row : rows) sink.put(*row);
  open_.clear();
  newest_.clear();
}

}  // namespace culprit::ingest
