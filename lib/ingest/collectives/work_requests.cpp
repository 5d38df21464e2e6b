// Tables of what a collective library counts for each rank of each communicator (Aegis, NSDI 2025,
// section 4.2.2): collective launches (CL), work requests handed to the network (WR), work requests
// that are over (WC). CSV, TSV, or JSON lines:
//   communicator,rank,CL,WR,WC,bytes,time
// `bytes` and `time` of a row are what work requests carried and how long they took (section 5.2).
// A column `peer` names the rank to which they go, `host` the machine. Of each rank, communicator
// and peer the last rows count: a table may be a history.
//
// A wide table has several counters of a kind in a row: `dp0_CL`, `AllReduce_WR`, `rank3_WC` or,
// in JSON, as objects. What stands beside the counter's name is a rank or a
// communicator. Without the name of a communicator counters are sums over several.
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
#include "model/ascii.hpp"
#include "model/csv_cursor.hpp"
#include "model/json_cursor.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

using line::trimmed;

constexpr std::size_t kLastRequests = 5;  // Aegis section 5.2: L = 5
constexpr std::size_t kCountersInAll = 400'000;
constexpr std::size_t kLongestWord = 255;
constexpr std::string_view kOperations =
    "all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter send recv";
constexpr std::int64_t kMostRank = 10'000'000;
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
  // Of a wide table: whose counter it is.
  Rank rank = kNoRank;
  std::string label = {};
  bool wide() const { return rank != kNoRank || !label.empty(); }
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

// "rank12", "r12" or "12" -> 12
std::optional<Rank> rank_named(std::string_view word) {
  for (const std::string_view lead : {"rank", "r"})
    if (word.size() > lead.size() && word.starts_with(lead)) {
      word.remove_prefix(lead.size());
      break;
    }
  std::int64_t rank = 0;
  if (word.empty() || word.size() > 8) return std::nullopt;
  for (const char c : word) {
    if (c < '0' || c > '9') return std::nullopt;
    rank = rank * 10 + (c - '0');
  }
  return rank <= kMostRank ? std::optional(Rank(rank)) : std::nullopt;
}

// "rank0_CL", "dp0.WR", "CL[3]", "AllReduce WC": one word is the counter, the others say whose.
CounterMeaning meaning_of_wide(std::string_view name) {
  static constexpr std::pair<CounterColumn, std::string_view> kCounters[] = {
      {CounterColumn::launches, "cl launches"},
      {CounterColumn::requests, "wr requests"},
      {CounterColumn::completions, "wc completions"},
      {CounterColumn::bytes, "bytes"},
  };
  static constexpr std::string_view kKeys =
      "communicator communicators comm comms group groups rank ranks work collective count";
  CounterMeaning out;
  std::string_view rest = name.substr(0, kLongestWord);
  while (!rest.empty()) {
    const auto size =
        static_cast<std::size_t>(std::ranges::find_if_not(rest, alnum) - rest.begin());
    const std::string_view word = rest.substr(0, size);
    rest.remove_prefix(std::min(size + 1, rest.size()));
    const std::string small = letters_of(word);
    const auto counter = std::ranges::find_if(
        kCounters, [&](const auto& one) { return has_word(one.second, small); });
    if (counter != std::end(kCounters) && out.column == CounterColumn::none)
      out.column = counter->first;
    else if (const auto rank = rank_named(small); rank && out.rank == kNoRank)
      out.rank = *rank;
    else if (!word.empty() && !has_word(kKeys, small))
      out.label += (out.label.empty() ? "" : "_") + std::string(word);
  }
  return out.column != CounterColumn::none && out.wide() ? out : CounterMeaning{};
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
  return meaning_of_wide(name);
}

// The columns without which a table is none of these.
struct NamedColumns {
  std::set<CounterColumn> columns;
  bool ranks = false;
  void add(const CounterMeaning& meaning) {
    columns.insert(meaning.column);
    ranks = ranks || meaning.column == CounterColumn::rank || meaning.rank != kNoRank;
  }
  bool enough() const {
    return ranks && columns.count(CounterColumn::launches) != 0 &&
           columns.count(CounterColumn::requests) != 0 &&
           columns.count(CounterColumn::completions) != 0;
  }
};

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

// The members of a JSON object with their values, those of objects within it by all their keys,
// with blanks between them. Lists are passed over.
bool walk_counters(JsonCursor& cursor, const std::string& path, std::size_t depth, auto&& take) {
  constexpr std::size_t kDeepest = 4;
  if (depth > kDeepest || path.size() > kLongestWord) return cursor.skip();
  if (cursor.peek() == '{')
    return cursor.object([&](std::string_view key, bool) {
      return walk_counters(cursor,
                           path.empty() ? std::string(key) : fmt::format("{} {}", path, key),
                           depth + 1, take);
    });
  std::string_view value;
  bool escaped = false;
  if (cursor.peek() == '[') return cursor.skip();
  if (cursor.peek() != '"')
    value = cursor.word();
  else if (!cursor.text(value, escaped))
    return false;
  take(path, value);
  return true;
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
  NamedColumns seen;
  if (first.starts_with("{")) {
    JsonCursor cursor(first);
    walk_counters(cursor, "", 0, [&](const std::string& key, std::string_view) {
      seen.add(meaning_of_counter(key));
    });
    return seen.enough();
  }
  constexpr std::ptrdiff_t kFewest = 3;  // separators between the columns that are needed
  const char separator = separator_of(first);
  if (std::ranges::count(first, separator) < kFewest) return false;
  CsvCursor cells(first, separator);
  for (CsvCell cell; cells.more() && cells.next(cell);) seen.add(meaning_of_counter(cell.text));
  return seen.enough();
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
      GroupRow group{communicator,
                     comparable(communicator) ? "" : std::string(kSumOfCommunicators),
                     {},
                     sizes_[communicator]};
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
  // Of a wide table: the counters of one rank or communicator.
  struct WideCells {
    Rank rank = kNoRank;
    std::string label;
    Cells cells{};
    std::uint64_t line = 0;  // of these cells
  };

  Outcome line(std::string_view raw, const Place& place, Reading& reading, bool cut) {
    if (place.line == 1 && raw.starts_with(kCounterBom)) raw.remove_prefix(kCounterBom.size());
    if (line::remark(raw)) return {};
    Cells cells{};
    ++line_;
    filled_.clear();
    if (wide_.size() > kCountersInAll) wide_.clear(), wide_at_.clear();
    const std::string_view text = trimmed(raw);
    if (text.starts_with("{")) {
      JsonCursor cursor(text);
      if (!walk_counters(cursor, "", 0, [&](const std::string& key, std::string_view value) {
            take(meaning_of_counter(key), value, cells);
          }))
        return {false, nullptr, "work_requests.torn"};
    } else if (header_.empty()) {
      header_ = text;
      separator_ = separator_of(text);
      CsvCursor names(text, separator_);
      for (CsvCell cell; names.more() && names.next(cell);)
        layout_.push_back(meaning_of_counter(cell.text));
      named_communicators_ = std::ranges::any_of(layout_, [](const CounterMeaning& one) {
        return one.column == CounterColumn::communicator;
      });
      return {true};
    } else if (text == header_) {
      return {};
    } else if (!delimited(text, cells) || cut) {
      return {false, nullptr, "work_requests.torn"};
    }
    return row(cells, place, reading);
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
  void take(const CounterMeaning& meaning, std::string_view value, Cells& row) {
    Cells& cells = meaning.wide() ? cells_of(meaning) : row;
    std::string_view& cell = cells[static_cast<std::size_t>(meaning.column)];
    if (meaning.column == CounterColumn::none || !cell.empty() ||
        has_word("- null None NaN nan", trimmed(value)))
      return;
    cell = trimmed(value).substr(0, kLongestWord);
    if (meaning.column == CounterColumn::took) took_ = meaning;
  }

  Cells& cells_of(const CounterMeaning& meaning) {
    const auto [at, fresh] = wide_at_.try_emplace({meaning.rank, meaning.label}, wide_.size());
    if (fresh) wide_.push_back({meaning.rank, meaning.label});
    WideCells& one = wide_[at->second];
    if (one.line != line_) {
      one.cells = {};
      one.line = line_;
      filled_.push_back(at->second);
    }
    return one.cells;
  }

  // One row of counters, or those of a wide one: all of them or none.
  Outcome row(const Cells& cells, const Place& place, Reading& reading) {
    if (cell_of(cells, CounterColumn::launches).empty() && !filled_.empty()) {
      std::vector<std::pair<Key, Counted>> all;
      for (const std::size_t at : filled_) {
        const WideCells& one = wide_[at];
        const auto set = [](std::string_view cell) { return !cell.empty(); };
        if (std::ranges::none_of(one.cells, set)) continue;  // no member of it
        Cells own = cells;
        for (std::size_t i = 0; i < own.size(); ++i)
          if (!one.cells[i].empty()) own[i] = one.cells[i];
        all.emplace_back();
        // Beside a column of ranks a number is that of a communicator.
        const bool ranked = !cell_of(own, CounterColumn::rank).empty() && one.rank != kNoRank;
        const std::string label =
            ranked ? fmt::format("{}{}", one.label, number_of(one.rank)) : one.label;
        if (const auto why = counted(own, ranked ? kNoRank : one.rank, label, place, all.back());
            !why.empty())
          return {false, nullptr, why};
      }
      return keep(cells, std::move(all), reading);
    }
    std::vector<std::pair<Key, Counted>> one(1);
    if (const auto why = counted(cells, kNoRank, "", place, one[0]); !why.empty())
      return {false, nullptr, why};
    return keep(cells, std::move(one), reading);
  }

  static std::optional<std::int64_t> count(std::string_view text) {
    double value = 0;
    std::string_view rest;
    if (!metric_number(text, value, rest) || !rest.empty() || !(value >= 0) || value > 9e15 ||
        value != std::floor(value))
      return std::nullopt;
    return static_cast<std::int64_t>(value);
  }

  // Whose the counters are, and what they say; else why not.
  static std::string_view cell_of(const Cells& cells, CounterColumn c) {
    return cells[static_cast<std::size_t>(c)];
  }
  std::string_view counted(const Cells& cells, Rank known, std::string_view label,
                           const Place& place, std::pair<Key, Counted>& out) {
    const auto cell = [&](CounterColumn c) { return cell_of(cells, c); };
    const auto rank =
        known != kNoRank ? std::optional(number_of(known)) : count(cell(CounterColumn::rank));
    const auto launches = count(cell(CounterColumn::launches));
    const std::string_view communicator = cell(CounterColumn::communicator);
    if (!rank || *rank > kMostRank) return "work_requests.whose";
    if (named_communicators_ && communicator.empty() && label.empty()) return "work_requests.whose";
    if (!launches) return "work_requests.count";
    named_communicators_ = named_communicators_ || !communicator.empty();
    auto& [key, one] = out;
    one.row.place = place;
    one.row.source = CollectiveSource::work_requests;
    one.row.rank = Rank(*rank);
    one.row.enqueued = *launches;
    one.row.requests = count(cell(CounterColumn::requests)).value_or(kUnknownSequence);
    one.row.completions = count(cell(CounterColumn::completions)).value_or(kUnknownSequence);
    if (const auto peer = count(cell(CounterColumn::peer)); peer && *peer <= kMostRank)
      one.row.peer = Rank(*peer);
    const std::string beside = nccl_operation(label);  // a communicator, where none is named
    one.row.operation = !cell(CounterColumn::operation).empty()
                            ? nccl_operation(cell(CounterColumn::operation))
                        : !communicator.empty() || has_word(kOperations, beside) ? beside
                                                                                 : "";
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
    std::string name(!communicator.empty() ? communicator : label);
    const bool sum = std::ranges::none_of(name, digit) && communicator.empty();
    if (name.starts_with("0x")) name = normal_hash(name);
    if (name.empty()) name = "of the job";
    if (sum) sums_.insert(name);
    key = {std::move(name), *one.row.rank, one.row.operation, one.row.peer};
    return {};
  }

  Outcome keep(const Cells& cells, std::vector<std::pair<Key, Counted>> all, Reading&) {
    const auto size = count(cell_of(cells, CounterColumn::size)).value_or(0);
    for (auto& [key, one] : all) {
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
      sizes_[key.communicator] =
          std::max(sizes_[key.communicator], std::min<std::int64_t>(size, kMostRank));
      append(at->second, key, std::move(one));
    }
    return {!all.empty()};
  }

  // Rows come in their order; where moments say otherwise, those do.
  void append(std::vector<Counted>& rows, const Key& key, Counted one) {
    auto place = rows.end();
    while (place != rows.begin() && one.row.time.clock != Clock::none &&
           std::prev(place)->row.time.clock == one.row.time.clock &&
           std::prev(place)->row.time.ns > one.row.time.ns)
      --place;
    if (place == rows.end() && !rows.empty() && rows.back().row.enqueued != one.row.enqueued)
      before_[key] = rows.back().row.enqueued;
    rows.insert(place, std::move(one));
    if (rows.size() > kLastRequests) rows.erase(rows.begin());
  }

  // Launches of one communicator compare between its ranks. Sums over several do where all ranks
  // had launched as many before the last change: they take part in the same ones.
  bool comparable(const std::string& communicator) const {
    if (sums_.count(communicator) == 0) return true;
    std::map<std::string, std::int64_t> level;  // by operation
    for (const auto& [key, rows] : counters_) {
      if (key.communicator != communicator) continue;
      const auto was = before_.find(key);
      if (was == before_.end() || was->second <= 0) return false;
      if (level.try_emplace(key.operation, was->second).first->second != was->second) return false;
    }
    return true;
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
  bool named_communicators_ = false;  // a table with such a column has them in every row
  char separator_ = ',';
  std::vector<CounterMeaning> layout_;
  CounterMeaning took_;
  std::map<Key, std::vector<Counted>> counters_;  // the last few rows of each
  std::map<Key, std::int64_t> before_;            // launches before they changed last
  std::vector<WideCells> wide_;
  std::vector<std::size_t> filled_;  // of these, by the line that is read
  std::uint64_t line_ = 0;
  std::map<std::pair<Rank, std::string>, std::size_t> wide_at_;
  std::set<std::string> sums_;  // over communicators that the table does not name
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
