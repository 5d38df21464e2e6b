// Tables of what a collective library counts for each rank of each communicator (Aegis, NSDI 2025,
// section 4.2.2): collective launches (CL), work requests handed to the network (WR), work requests
// that are over (WC). CSV, TSV, or JSON lines:
//   communicator,rank,CL,WR,WC,bytes,time
// `bytes` and `time` of a row are what work requests carried and how long they took (section 5.2).
// A column `peer` names the rank to which they go, `host` the machine. Of each rank, communicator
// and peer the last rows count: a table may be a history.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "ingest/engine/operation.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/series_book.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/csv_cursor.hpp"
#include "model/json_cursor.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

using line::trimmed;

constexpr std::size_t kLastRequests = 5;  // Aegis section 5.2: L = 5
constexpr std::size_t kCountersInAll = 400'000;
constexpr std::size_t kLongestWord = 255;
constexpr std::string_view kCounterBom = "\xEF\xBB\xBF";

enum class CounterColumn : unsigned char {
  none,
  communicator,
  rank,
  host,
  launches,
  requests,
  completions,
  bytes,
  took,
  moment,
  operation,
  peer,
  size,
  columns
};
constexpr std::size_t kCounterColumns = static_cast<std::size_t>(CounterColumn::columns);

struct CounterMeaning {
  CounterColumn column = CounterColumn::none;
  double to_ms = 1000;  // of `took`
  bool bare = false;    // `time` without a unit: a moment or a duration
};

// "Work_Requests" -> "workrequests"
std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kLongestWord))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      out.push_back(c);
    else if (c >= 'A' && c <= 'Z')
      out.push_back(static_cast<char>(c - 'A' + 'a'));
  return out;
}

CounterMeaning meaning_of_counter(std::string_view name) {
  static constexpr std::pair<CounterColumn, std::string_view> kNames[] = {
      {CounterColumn::communicator,
       "communicator communicatorid comm commid commhash group processgroup pg"},
      {CounterColumn::rank, "rank globalrank"},
      {CounterColumn::host, "host hostname node"},
      {CounterColumn::launches, "cl launches launchcount collectivelaunches collectivelaunchcount"},
      {CounterColumn::requests, "wr workrequests workrequestcount"},
      {CounterColumn::completions, "wc workcompletions workcompletioncount"},
      {CounterColumn::bytes, "bytes nbytes sizebytes"},
      {CounterColumn::moment, "timestamp ts datetime timeutc"},
      {CounterColumn::operation, "op operation collective"},
      {CounterColumn::peer, "peer peerrank destination dst dstrank"},
      {CounterColumn::size, "nranks size"},
  };
  const std::string word = letters_of(name);
  for (const auto& [column, names] : kNames)
    if (has_word(names, word)) return {column};
  for (const std::string_view stem : {"time", "duration", "took", "elapsed"}) {
    if (!word.starts_with(stem)) continue;
    const std::string_view unit = std::string_view(word).substr(stem.size());
    if (unit.empty()) return {CounterColumn::took, 1000, true};
    for (const auto& [known, to_ms] : {std::pair{"s", 1000.0},
                                       {"sec", 1000.0},
                                       {"seconds", 1000.0},
                                       {"ms", 1.0},
                                       {"us", 1e-3},
                                       {"ns", 1e-6}})
      if (unit == known) return {CounterColumn::took, to_ms};
  }
  return {};
}

// The columns without which a table is none of these.
bool counters_named(const std::set<CounterColumn>& columns) {
  for (const CounterColumn needed :
       {CounterColumn::communicator, CounterColumn::rank, CounterColumn::launches,
        CounterColumn::requests, CounterColumn::completions})
    if (columns.count(needed) == 0) return false;
  return true;
}

// Written, or counted from 1970 in s, ms, us or ns.
bool counter_moment(std::string_view text, Timestamp& time) {
  double value = 0;
  std::string_view rest;
  if (!metric_number(text, value, rest) || !rest.empty())
    return line::parse_iso(text, time) > 0 || line::parse_calendar(text, time) > 0;
  if (value < 1e8 || value > 4e18) return false;
  const double unit = value < 1e11 ? 1e9 : value < 1e14 ? 1e6 : value < 1e17 ? 1e3 : 1;
  time = {Clock::utc, static_cast<Nanoseconds>(value * unit), 0};
  return true;
}

char separator_of(std::string_view header) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char c : {',', '\t', ';'})
    if (const auto n = std::ranges::count(header, c); n > most) most = n, best = c;
  return best;
}

bool sniff_work_requests(const Head& head) {
  std::string_view rest = head.bytes;
  if (rest.starts_with(kCounterBom)) rest.remove_prefix(kCounterBom.size());
  std::string_view first;
  while (!rest.empty() && line::remark(first)) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    first = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::set<CounterColumn> seen;
  if (first.starts_with("{")) {
    JsonCursor cursor(first);
    cursor.object([&](std::string_view key, bool) {
      seen.insert(meaning_of_counter(key).column);
      return cursor.skip();
    });
    return counters_named(seen);
  }
  constexpr std::ptrdiff_t kFewest = 4;  // separators between the columns that are needed
  const char separator = separator_of(first);
  if (std::ranges::count(first, separator) < kFewest) return false;
  CsvCursor cells(first, separator);
  for (CsvCell cell; cells.more() && cells.next(cell);)
    seen.insert(meaning_of_counter(cell.text).column);
  return counters_named(seen);
}

class WorkRequests final : public RecordReader {
 public:
  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    return line(raw, place, reading, false);
  }
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return line(raw, place, reading, true);
  }

  void finish(Reading& reading) override {
    const bool clock = times_are_of_a_clock();
    std::map<std::string, std::set<Rank>> members;
    for (const auto& [key, counted] : counters_) members[key.communicator].insert(key.rank);
    std::map<std::string, GroupId> groups;
    for (const auto& [communicator, ranks] : members) {
      GroupRow group{communicator, "", {}, sizes_[communicator]};
      if (ranks.size() > 1) group.ranks.assign(ranks.begin(), ranks.end());
      groups[communicator] = reading.sink.group(group);
    }
    for (const auto& [rank, identity] : identities_) reading.sink.put(identity);
    for (const auto& [key, counted] : counters_) {
      FrontierRow row = counted.back().row;
      row.group = groups[key.communicator];
      for (const Counted& one : counted)
        if (one.took_ms > 0 && one.bytes > 0 && !clock) {
          row.recent_bytes += one.bytes;
          row.recent_ms += one.took_ms;
        }
      reading.sink.put(row);
    }
  }

 private:
  struct Key {
    std::string communicator;
    Rank rank{};
    std::string operation;
    Rank peer{};
    auto operator<=>(const Key&) const = default;
  };
  struct Counted {
    FrontierRow row;
    std::int64_t bytes = 0;
    double took_ms = 0;
    bool bare = false;
  };
  using Cells = std::array<std::string_view, kCounterColumns>;

  Outcome line(std::string_view raw, const Place& place, Reading& reading, bool cut) {
    if (place.line == 1 && raw.starts_with(kCounterBom)) raw.remove_prefix(kCounterBom.size());
    if (line::remark(raw)) return {};
    Cells cells{};
    const std::string_view text = trimmed(raw);
    if (text.starts_with("{")) {
      if (!object(text, cells)) return {false, nullptr, "work_requests.torn"};
    } else if (header_.empty()) {
      header_ = text;
      separator_ = separator_of(text);
      CsvCursor names(text, separator_);
      for (CsvCell cell; names.more() && names.next(cell);)
        layout_.push_back(meaning_of_counter(cell.text));
      return {true};
    } else if (text == header_) {
      return {};
    } else if (!delimited(text, cells) || cut) {
      return {false, nullptr, "work_requests.torn"};
    }
    return counted(cells, place, reading);
  }

  bool object(std::string_view text, Cells& cells) {
    JsonCursor cursor(text);
    return cursor.object([&](std::string_view key, bool) {
      const CounterMeaning meaning = meaning_of_counter(key);
      std::string_view value;
      bool escaped = false;
      if (cursor.peek() == '"') {
        if (!cursor.text(value, escaped)) return false;
      } else if (cursor.peek() == '{' || cursor.peek() == '[') {
        return cursor.skip();
      } else {
        value = cursor.word();
      }
      take(meaning, value, cells);
      return true;
    });
  }

  bool delimited(std::string_view text, Cells& cells) {
    CsvCursor cursor(text, separator_);
    std::size_t at = 0;
    for (CsvCell cell; cursor.more(); ++at) {
      if (!cursor.next(cell)) return false;
      if (at < layout_.size()) take(layout_[at], cell.text, cells);
    }
    return at == layout_.size();
  }

  // The first column of a meaning counts.
  void take(const CounterMeaning& meaning, std::string_view value, Cells& cells) {
    std::string_view& cell = cells[static_cast<std::size_t>(meaning.column)];
    if (meaning.column == CounterColumn::none || !cell.empty()) return;
    cell = trimmed(value).substr(0, kLongestWord);
    if (meaning.column == CounterColumn::took) took_ = meaning;
  }

  static std::optional<std::int64_t> count(std::string_view text) {
    double value = 0;
    std::string_view rest;
    if (!metric_number(text, value, rest) || !rest.empty() || !(value >= 0) || value > 9e15 ||
        value != std::floor(value))
      return std::nullopt;
    return static_cast<std::int64_t>(value);
  }

  Outcome counted(const Cells& cells, const Place& place, Reading& reading) {
    const auto cell = [&](CounterColumn c) { return cells[static_cast<std::size_t>(c)]; };
    const auto rank = count(cell(CounterColumn::rank));
    const auto launches = count(cell(CounterColumn::launches));
    if (cell(CounterColumn::communicator).empty() || !rank || *rank > 10'000'000)
      return {false, nullptr, "work_requests.whose"};
    if (!launches) return {false, nullptr, "work_requests.count"};
    Counted one;
    one.row.place = place;
    one.row.source = CollectiveSource::work_requests;
    one.row.rank = Rank(*rank);
    one.row.enqueued = *launches;
    one.row.requests = count(cell(CounterColumn::requests)).value_or(kUnknownSequence);
    one.row.completions = count(cell(CounterColumn::completions)).value_or(kUnknownSequence);
    if (const auto peer = count(cell(CounterColumn::peer)); peer && *peer <= 10'000'000)
      one.row.peer = Rank(*peer);
    one.row.operation = nccl_operation(cell(CounterColumn::operation));
    one.row.p2p = one.row.operation == "send" || one.row.operation == "recv";
    if (!cell(CounterColumn::host).empty()) one.row.host = Host(cell(CounterColumn::host));
    counter_moment(cell(CounterColumn::moment), one.row.time);
    one.bytes = count(cell(CounterColumn::bytes)).value_or(0);
    double took = 0;
    std::string_view rest;
    if (const std::string_view text = cell(CounterColumn::took);
        took_.bare && counter_moment(text, one.row.time))
      one.bare = false;
    else if (metric_number(text, took, rest) && rest.empty() && took > 0 && took < 1e8) {
      one.took_ms = took * took_.to_ms;
      one.bare = took_.bare;
    }
    return keep(cell(CounterColumn::communicator), count(cell(CounterColumn::size)).value_or(0),
                std::move(one), reading);
  }

  Outcome keep(std::string_view communicator, std::int64_t size, Counted one, Reading&) {
    const std::string name =
        communicator.starts_with("0x") ? normal_hash(communicator) : std::string(communicator);
    const Key key{name, *one.row.rank, one.row.operation, one.row.peer};
    auto at = counters_.find(key);
    if (at == counters_.end()) {
      if (counters_.size() >= kCountersInAll) return {false, nullptr, "work_requests.too_many"};
      at = counters_.emplace(key, std::vector<Counted>{}).first;
    }
    if (one.row.host && identities_.count(*one.row.rank) == 0) {
      IdentityRow identity{.place = one.row.place,
                           .source = "rank table",
                           .host = one.row.host,
                           .rank = number_of(*one.row.rank)};
      identities_.emplace(*one.row.rank, std::move(identity));
    }
    sizes_[name] = std::max(sizes_[name], std::min<std::int64_t>(size, 10'000'000));
    // Rows come in their order; where moments say otherwise, those do.
    std::vector<Counted>& rows = at->second;
    auto place = rows.end();
    while (place != rows.begin() && one.row.time.clock != Clock::none &&
           std::prev(place)->row.time.clock == one.row.time.clock &&
           std::prev(place)->row.time.ns > one.row.time.ns)
      --place;
    rows.insert(place, std::move(one));
    if (rows.size() > kLastRequests) rows.erase(rows.begin());
    return {true};
  }

  // A `time` without a unit that only grows, on every rank, counts from the start of something.
  bool times_are_of_a_clock() const {
    bool any = false;
    for (const auto& [key, rows] : counters_)
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].bare || rows.size() < 3) return false;
        if (i > 0 && rows[i].took_ms <= rows[i - 1].took_ms) return false;
        any = true;
      }
    return any;
  }

  std::string header_;
  char separator_ = ',';
  std::vector<CounterMeaning> layout_;
  CounterMeaning took_;
  std::map<Key, std::vector<Counted>> counters_;  // the last few rows of each
  std::map<std::string, std::int64_t> sizes_;
  std::map<Rank, IdentityRow> identities_;
};

std::unique_ptr<RecordReader> make_work_requests(const Head&) {
  return std::make_unique<WorkRequests>();
}

}  // namespace

extern constinit const RecordText kWorkRequests{
    "work-requests",
    "collective launches, work requests and completions of each rank of each communicator",
    sniff_work_requests, make_work_requests};

}  // namespace culprit::ingest
