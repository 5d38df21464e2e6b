// Tables of how checks came out: those that culprit plan checks, links and isolate and culprit
// replay ask for, with a column of the outcome and the hosts that took part.
#include "ingest/table/outcomes.hpp"

#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "model/contains.hpp"
#include "model/csv_cursor.hpp"
#include "model/hostlist.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostBytes = 64u << 20;
constexpr std::size_t kMostHosts = 1u << 16;  // of one row
constexpr std::size_t kMostWord = 255;
// Of tables without a column of tasks: all groups of a replay do the same, and so do all links.
constexpr std::string_view kReplay = "replay", kLink = "link", kTest = "test";

struct OutcomeColumns {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t task = kNone, group = kNone, hosts = kNone, from = kNone, to = kNone, outcome = kNone;
  char separator = ',';
  bool counts_passed = false;  // "7/8" are those that passed, and 1 is a pass
  bool known() const {
    return outcome != kNone && (hosts != kNone || (from != kNone && to != kNone)) &&
           (task != kNone || group != kNone || from != kNone);
  }
};

std::vector<std::string> outcome_cells(std::string_view line, char separator) {
  std::vector<std::string> out;
  CsvCursor cursor(line, separator);
  CsvCell cell;
  while (out.size() < 64 && cursor.more() && cursor.next(cell))
    out.emplace_back(trimmed(cell.doubled ? csv_undoubled(cell.text) : cell.text));
  return out;
}

OutcomeColumns outcome_columns(std::string_view heading) {
  using Known = std::initializer_list<std::string_view>;
  constexpr std::string_view kByteOrder = "\xEF\xBB\xBF";
  OutcomeColumns out;
  if (heading.starts_with(kByteOrder)) heading.remove_prefix(kByteOrder.size());
  for (const char separator : {'\t', ';', ','})
    if (contains(heading, separator)) out.separator = separator;
  const std::vector<std::string> cells = outcome_cells(heading, out.separator);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = lower(cells[i]);
    const auto take = [&](std::size_t& column, Known names) {
      if (column == OutcomeColumns::kNone && contains(names, std::string_view(name))) column = i;
    };
    take(out.task, {"task", "test", "check"});
    take(out.group, {"group", "name"});
    take(out.hosts, {"hosts", "host", "node", "nodes", "nodelist", "members"});
    take(out.from, {"from", "src", "source"});
    take(out.to, {"to", "dst", "target", "destination"});
    take(out.outcome, {"outcome", "passed", "result", "pass"});
    if (out.outcome == i) out.counts_passed = name.starts_with("pass");
  }
  return out;
}

// "2/5": so many of so many runs.
std::optional<std::pair<std::int64_t, std::int64_t>> share_of_runs(std::string_view word) {
  const std::size_t slash = word.find('/');
  std::int64_t some = 0, runs = 0;
  if (slash == std::string_view::npos || !parse_whole(word.substr(0, slash), some) ||
      !parse_whole(word.substr(slash + 1), runs) || some < 0 || runs < 1 || some > runs)
    return std::nullopt;
  return std::pair(some, runs);
}

// "7/8" in a column of passes is the other way round, and a bare number elsewhere may be an exit
// code.
std::optional<bool> passed_in(const OutcomeColumns& columns, const std::string& word) {
  if (columns.counts_passed)
    if (const auto share = share_of_runs(word)) return share->first == share->second;
  if (!columns.counts_passed && (word == "0" || word == "1")) return std::nullopt;
  return passed_by_word(word);
}

// The row of a line; nothing where a cell is missing, or no outcome or list of hosts.
std::optional<OutcomeRow> outcome_row(const OutcomeColumns& columns, std::string_view line) {
  const std::vector<std::string> cells = outcome_cells(line, columns.separator);
  const auto cell = [&](std::size_t column) {
    return column < cells.size() ? cells[column] : std::string();
  };
  const auto passed = passed_in(columns, cell(columns.outcome));
  if (!passed) return std::nullopt;
  OutcomeRow row{.passed = *passed};
  if (columns.hosts != OutcomeColumns::kNone)
    row.hosts = cell(columns.hosts);
  else if (!cell(columns.from).empty() && !cell(columns.to).empty())
    row.hosts = cell(columns.from) + "," + cell(columns.to);
  row.task = columns.task != OutcomeColumns::kNone ? cell(columns.task)
             : columns.hosts == OutcomeColumns::kNone
                 ? std::string(kLink)
                 : std::string(columns.group != OutcomeColumns::kNone ? kReplay : kTest);
  const Hostlist list = expand_hostlist(row.hosts, kMostHosts);
  if (row.task.empty() || row.task.size() > kMostWord || list.broken || list.capped ||
      list.hosts.empty() || std::ranges::any_of(list.hosts, [](const std::string& host) {
        return host.size() > kMostWord;
      }))
    return std::nullopt;
  return row;
}

// A table of another purpose has such columns, too: only a file that is called so is one, as those
// are that --outcomes gives.
bool called_outcomes(const Head& head) {
  return head.base().starts_with("outcomes") || contains(head.path, "outcomes/");
}

bool sniff_outcomes(const Head& head) {
  if (!called_outcomes(head)) return false;
  OutcomeColumns columns;
  bool looked = false, fits = false;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#') || fits) return;
    if (!looked)
      columns = outcome_columns(text);
    else
      fits = columns.known() && outcome_row(columns, text).has_value();
    looked = true;
  });
  return fits;
}

std::string read_outcomes(std::string_view bytes, const MemberRow& member, Reading& reading) {
  OutcomeColumns columns;
  bool looked = false;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) return;
    if (!looked) {
      looked = true;
      columns = outcome_columns(text);
      return;
    }
    const Place place = place_of_line(member.id, number, offset, line);
    if (auto row = outcome_row(columns, text)) {
      row->place = place;
      reading.sink.put(*row);
    } else {
      reading.sink.put(RejectRow{place, "outcomes.no_outcome", std::string(text.substr(0, 200))});
    }
  });
  return {};
}

}  // namespace

std::optional<bool> passed_by_word(std::string_view word) {
  using Words = std::initializer_list<std::string_view>;
  const std::string low = lower(trimmed(word));
  if (contains(Words{"pass", "passed", "ok", "true", "yes", "1", "success"}, low)) return true;
  if (contains(Words{"fail", "failed", "error", "false", "no", "0", "failure"}, low)) return false;
  const auto share = share_of_runs(low);
  return share ? std::optional(share->first == 0) : std::nullopt;
}

extern constinit const Document kOutcomes{"outcomes",
                                          "tables of checks, their hosts and how they came out",
                                          kMostBytes, sniff_outcomes, read_outcomes};

}  // namespace culprit::ingest
