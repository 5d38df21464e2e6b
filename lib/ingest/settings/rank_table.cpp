// A table that somebody wrote or a script printed of who runs where: "rank host local pid" in any
// order, under a heading, with blanks, commas or tabs between them; or a line a machine with its
// ranks, "ranks 8-15 gx-02".
#include <map>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/rank_range.hpp"
#include "ingest/engine/scan.hpp"
#include "line/header_layout.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

struct RankColumns {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t rank = kNone, host = kNone, local = kNone, pid = kNone, count = 0;
  bool known() const { return rank != kNone && host != kNone; }
};

// A column of numbers that were measured again and again: a table of those has a row for each time,
// and names hosts, too.
bool measured(std::string_view column) {
  static const re2::RE2 kMeasured(
      R"((?:it|iter|iteration|step|epoch|time|ts|timestamp|date|(?:.*[^a-z])?(?:wr|work_requests)(?:[^a-z].*)?)|.*_(?:ns|us|ms|s|sec|secs|seconds|bytes|[kmg]i?b|pct|percent|mhz|w|c))");
  const std::string_view name = rules::statistic_of(column).time;
  return re2::RE2::FullMatch({name.data(), name.size()}, kMeasured);
}

RankColumns rank_columns(std::string_view heading) {
  static const std::map<std::string, std::size_t RankColumns::*> kNames{
      {"rank", &RankColumns::rank},        {"global_rank", &RankColumns::rank},
      {"globalrank", &RankColumns::rank},  {"host", &RankColumns::host},
      {"hostname", &RankColumns::host},    {"node", &RankColumns::host},
      {"nodename", &RankColumns::host},    {"local", &RankColumns::local},
      {"local_rank", &RankColumns::local}, {"localrank", &RankColumns::local},
      {"pid", &RankColumns::pid}};
  RankColumns out;
  while (!heading.empty() && (heading.front() == '#' || heading.front() == ' '))
    heading.remove_prefix(1);
  const auto cells = cells_of(heading);
  for (const std::string_view cell : cells) {
    if (const auto it = kNames.find(lower(cell));
        it != kNames.end() && out.*(it->second) == RankColumns::kNone)
      out.*(it->second) = out.count;
    ++out.count;
  }
  if (out.known() && std::ranges::any_of(cells, [](auto cell) { return measured(lower(cell)); }))
    out.rank = RankColumns::kNone;
  return out;
}

std::optional<std::int64_t> rank_number(std::string_view text) {
  const auto value = whole_number<std::int64_t>(text);
  return value >= 0 && value <= 100'000'000 ? value : std::nullopt;
}

// Nothing for a row of something else.
std::optional<IdentityRow> rank_row(const RankColumns& columns, std::string_view line) {
  const auto cells = cells_of(line);
  if (cells.size() != columns.count) return std::nullopt;
  const auto rank = rank_number(cells[columns.rank]);
  const std::string_view host = cells[columns.host];
  if (!rank || host.size() > 253 || rank_number(host)) return std::nullopt;
  IdentityRow row{.source = "rank table", .host = Host(host), .rank = rank};
  if (columns.local != RankColumns::kNone)
    row.local_rank = maybe<LocalRank>(rank_number(cells[columns.local]));
  if (columns.pid != RankColumns::kNone) row.pid = rank_number(cells[columns.pid]);
  return row;
}

bool sniff_rank_table(const Head& head) {
  RankColumns columns;
  std::size_t lines = 0, rows = 0;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t offset) {
    const std::string_view text = trimmed(line);
    const bool cut = !head.whole && offset + line.size() + 1 >= head.bytes.size();
    if (text.empty() || cut) return true;
    if (columns.count == 0) {
      if (mentions(text, "rank")) columns = rank_columns(text);
      return columns.known();
    }
    ++lines;
    rows += rank_row(columns, text).has_value();
    return rows == lines;
  });
  return rows >= 2 && rows == lines;
}

std::string read_rank_table(std::string_view bytes, const MemberRow& member, Reading& reading) {
  RankColumns columns;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    const Place place = place_of_line(member.id, number, offset, line);
    if (columns.count == 0) {
      columns = rank_columns(text);
    } else if (auto row = rank_row(columns, text)) {
      row->place = place;
      reading.sink.put(*row);
    } else {
      reading.sink.put(RejectRow{place, "rank_table.no_rank", std::string(text.substr(0, 200))});
    }
  });
  return {};
}

}  // namespace

std::optional<RankRange> rank_range(std::string_view text) {
  static const re2::RE2 kRanksFirst(
      R"((?i)(?:ranks?[ :=]*)?(\d{1,6}) ?(?:-|\.\.|to) ?(\d{1,6})[ \t:,=>-]+(?:on |host |node )?([a-z][a-z0-9.-]*\d[a-z0-9.-]*))");
  static const re2::RE2 kHostFirst(
      R"((?i)(?:host |node )?([a-z][a-z0-9.-]*\d[a-z0-9.-]*)[ \t:,=>-]+(?:ranks?[ :=]*)?(\d{1,6}) ?(?:-|\.\.|to) ?(\d{1,6}))");
  // Most lines have a character that none of the patterns takes.
  const auto fits = [](unsigned char c) {
    return isalnum(c) || c >= 0x80 || contains(std::string_view(" \t:,=>.-"), static_cast<char>(c));
  };
  if (!std::ranges::all_of(text, fits)) return std::nullopt;
  RankRange out;
  if (const std::string_view first = text.substr(0, text.find_first_of(" \t"));
      first.size() < text.size() && shaped_like_address(first)) {
    out.address = first;
    text = trimmed(text.substr(first.size()));
  }
  const re2::StringPiece piece(text.data(), text.size());
  // A process a line: "task:5 gpu-f".
  static const re2::RE2 kOne(
      R"((?i)(?:rank|task|process)[ :=]*(\d{1,6})[ \t:,=>-]+(?:on |host |node )?([a-z][a-z0-9.]*[-\d][a-z0-9.-]*))");
  if (re2::RE2::FullMatch(piece, kOne, &out.first, &out.host))
    out.last = out.first;
  else if (!re2::RE2::FullMatch(piece, kRanksFirst, &out.first, &out.last, &out.host) &&
           !re2::RE2::FullMatch(piece, kHostFirst, &out.host, &out.first, &out.last))
    return std::nullopt;
  if (!line::may_name_machine(out.host) || !out.of_one_machine()) return std::nullopt;
  return out;
}

namespace {

bool sniff_rank_ranges(const Head& head) {
  // CPUs of NUMA nodes, layers of stages and documents of files are listed like that, too.
  if ((!head.mentions("rank") || !mentions(head.bytes.substr(0, 4096), "rank")) &&
      !mentions(head.base(), "rank"))
    return false;
  std::map<std::string, int> hosts;
  std::int64_t size = 0;
  return every_line_fits(head,
                         [&](std::string_view text) {
                           const auto range = rank_range(text);
                           if (!range || (size != 0 && range->size() != size)) return false;
                           size = range->size();
                           return ++hosts[range->host] == 1;
                         }) &&
         hosts.size() >= 2;
}

std::string read_rank_ranges(std::string_view bytes, const MemberRow& member, Reading& reading) {
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    if (text.empty()) return;
    const Place place = place_of_line(member.id, number, offset, line);
    const auto range = rank_range(text);
    if (!range) {
      reading.sink.put(RejectRow{place, "rank_table.no_range", std::string(text.substr(0, 200))});
      return;
    }
    put_rank_range(*range, place, reading);
  });
  return {};
}

}  // namespace

extern constinit const Document kRankRanges{"rank-ranges", "lists of machines and their ranks",
                                            16u << 20, sniff_rank_ranges, read_rank_ranges};

extern constinit const Document kRankTable{"rank-table",
                                           "tables of ranks and their hosts and processes",
                                           64u << 20, sniff_rank_table, read_rank_table};

}  // namespace culprit::ingest
