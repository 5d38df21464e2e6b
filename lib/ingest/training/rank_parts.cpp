// What each rank says of the parts of its steps, in nobody's format: a line for each rank or
// machine, or all ranks on one line.
//   [per-rank @ 100] rank  3 node-02 data_time 0.046 fwd_bwd 0.624 allreduce_wait 2.743
//   ranks 16-23 (node-14): data=1.49s forward=0.42s wait_allreduce=0.05s
//   StepTimer(avg of 1000) ms  rank: fwd_bwd/wait_allreduce  0:246/29 1:256/19 2:245/30 3:244/31
//   compute_ms per rank: [812.1, 813.0, 1440.2, 811.7]
//   timers gx-07: fwd_bwd=9.54 wait_allreduce=0.44 data=0.1
//   gx-07 h2d offload per gpu (s): 1.67 1.64 1.61 1.62 1.64 1.68 1.67 1.66
//   rank-wise forward ms (mean of 10):        and below it        rank  0 gx-07 1028.0 wait 2526.9
#include "ingest/training/rank_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/training/loop_figures.hpp"
#include "ingest/training/rank_heading.hpp"
#include "line/digit.hpp"
#include "line/header_layout.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLeastListed = 4;  // ranks on one line
constexpr std::size_t kLeastParts = 2;   // of a rank on a line of its own
constexpr std::int64_t kMostOfMachine = 72;
constexpr std::size_t kLongestList = 64 * 1024;

struct Speaker {
  std::int64_t first = 0, last = 0;
  std::string host;
  std::string_view rest;  // what is said
};

std::optional<Speaker> speaker_of(std::string_view text) {
  static const re2::RE2 kSpeaker(
      R"((?i)(?:^|[^a-z_])(?:global[ _]?)?ran[kg]s?[ =:#]*\[?[ ]*(\d{1,6})(?:[ ]*(?:-|\.\.)[ ]*(\d{1,6}))?\]?(?:[ ,]*(?:[(@]|host[ =:]|on )?[ ]*([a-z][a-z0-9.-]*\d[a-z0-9-]*)\)?([ :,|]))?)");
  Speaker out;
  std::string last, behind;
  re2::StringPiece rest(text.data(), text.size());
  if (!re2::RE2::FindAndConsume(&rest, kSpeaker, &out.first, &last, &out.host, &behind))
    return std::nullopt;
  if (!line::may_name_machine(out.host)) out.host.clear();
  out.last = last.empty() ? out.first : std::strtoll(last.c_str(), nullptr, 10);
  if (out.last < out.first || out.last - out.first >= kMostOfMachine) return std::nullopt;
  out.rest = {rest.data(), rest.size()};
  return out;
}

// Whose the rows are: one rank's, all of a machine's, or each rank's of several.
void put_parts(const Speaker& who, const std::vector<PartFigure>& parts, const TextLine& line,
               std::string_view unit, Reading& reading) {
  LineFigures& figures = reading.keep<LineFigures>();
  const bool machine = who.last > who.first && !who.host.empty();
  for (std::int64_t rank = who.first; rank <= (machine ? who.first : who.last); ++rank) {
    figures.begin(line, std::nullopt);
    if (machine)
      figures.host(Host(who.host));
    else
      figures.rank(Rank(rank));
    add_part_figures(parts, unit, figures);
    figures.end(line, reading);
  }
  if (who.host.empty()) return;
  for (std::int64_t rank = who.first; rank <= who.last; ++rank)
    reading.sink.put(IdentityRow{
        .place = line.place,
        .source = "rank map",
        .host = Host(who.host),
        .local_rank = machine ? std::optional(LocalRank(rank - who.first)) : std::nullopt,
        .rank = rank});
}

std::string_view unit_in(std::string_view text) {
  static const re2::RE2 kUnit(R"((?:^|[\s(\[_/])(ms|us|s|sec|seconds)(?:[\s)\]:,]|$))");
  re2::StringPiece unit;
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kUnit, &unit)
             ? std::string_view(unit.data(), unit.size())
             : std::string_view();
}

// Names of the values behind a heading: the word with as many parts between its strokes,
// "fwd/wait", or the one word of a part of a step.
std::vector<std::string> names_of(std::string_view heading, std::size_t values) {
  std::vector<std::string> out;
  while (!heading.empty()) {
    const std::size_t end = heading.find_last_not_of(" \t:=([{,");
    if (end == std::string_view::npos) break;
    const std::string_view head = heading.substr(0, end + 1);
    const std::size_t begin = head.find_last_of(" \t:=([{,") + 1;
    const std::string_view word = head.substr(begin);
    heading = heading.substr(0, begin);
    std::string_view left = word;
    while (!left.empty()) {
      const std::size_t cut = std::min(left.find('/'), left.size());
      out.emplace_back(left.substr(0, cut));
      left.remove_prefix(std::min(cut + 1, left.size()));
    }
    const bool parts = std::ranges::any_of(
        out, [](const std::string& name) { return rules::part_name(name).of_step(); });
    if (parts && out.size() == values) return out;
    out.clear();
  }
  return out;
}

struct Listed {
  std::int64_t rank;
  std::vector<double> values;
};

// "0:246/29 1:256/19", "{0: 1.2, 1: 1.3}"; `heading`: what stands before.
std::vector<Listed> listed_by_rank(std::string_view text, std::string_view& heading) {
  static const re2::RE2 kOne(
      R"((?:^|[\s,{(])(\d{1,6})[:=] ?(\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?){0,3})(?:ms|s)?\b)");
  std::vector<Listed> out;
  re2::StringPiece rest(text.data(), text.size());
  std::int64_t rank = 0;
  std::string numbers;
  while (re2::RE2::FindAndConsume(&rest, kOne, &rank, &numbers)) {
    if (!out.empty() && rank <= out.back().rank) return {};
    Listed one{rank, {}};
    for (const char* at = numbers.c_str(); *at != '\0';) {
      char* end = nullptr;
      one.values.push_back(std::strtod(at, &end));
      at = *end == '/' ? end + 1 : end;
    }
    if (out.empty())
      heading = text.substr(0, text.size() - rest.size() - numbers.size());
    else if (one.values.size() != out.front().values.size())
      return {};
    out.push_back(std::move(one));
  }
  return out;
}

// "[812.1, 813.0, ...]": the place in the list is the rank.
std::vector<Listed> listed_in_order(std::string_view text, std::string_view& heading) {
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || !contains(text.substr(0, open), "rank")) return {};
  heading = text.substr(0, open);
  std::vector<Listed> out;
  const std::string inside(text.substr(open + 1));
  for (const char* at = inside.c_str();;) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at) return {};
    out.push_back({static_cast<std::int64_t>(out.size()), {value}});
    at = end + std::strspn(end, " ,");
    if (*at == ']') return out;
  }
}

bool put_listed(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  std::string_view heading;
  std::vector<Listed> all = listed_by_rank(text, heading);
  if (all.size() < kLeastListed) all = listed_in_order(text, heading);
  if (all.size() < kLeastListed) return false;
  const std::vector<std::string> names = names_of(heading, all.front().values.size());
  if (names.empty()) return false;
  const std::string_view unit = unit_in(heading);
  LineFigures& figures = reading.keep<LineFigures>();
  for (const Listed& one : all) {
    figures.begin(line, std::nullopt);
    figures.rank(Rank(one.rank));
    for (std::size_t i = 0; i < names.size(); ++i) figures.add(names[i], unit, {}, one.values[i]);
    figures.end(line, reading);
  }
  return true;
}

// "gx-07: ...", "timers gx-07 | ...": the machine that a line begins with, and what is said of it.
bool named_machine(std::string_view text, std::string& host, std::string_view& said) {
  static const re2::RE2 kMachine(
      R"(^\s*(?:[a-z]{3,12} )?\[?([A-Za-z][\w.-]*\d[\w-]*)\]?(?:\s*[:|]|\s))");
  re2::StringPiece rest(text.data(), text.size());
  if (!re2::RE2::Consume(&rest, kMachine, &host) || !line::may_name_machine(host)) return false;
  said = {rest.data(), rest.size()};
  return true;
}

// One part of the step on each device of a machine.
bool put_devices(const std::string& host, std::string_view said, const TextLine& line,
                 Reading& reading) {
  static const re2::RE2 kDevices(
      R"(^\s*([A-Za-z][\w/+ -]{1,40}?) per (?:gpu|device|local rank)s?\s*(?:\((ms|s)\))?\s*[:=]\s*([\d. ,]+)\s*$)");
  std::string name, unit, values;
  if (!re2::RE2::PartialMatch(re2::StringPiece(said.data(), said.size()), kDevices, &name, &unit,
                              &values) ||
      !rules::part_name(name).of_step())
    return false;
  LineFigures& figures = reading.keep<LineFigures>();
  std::int64_t device = 0;
  for (const char* at = values.c_str();;) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at) return device > 0;
    figures.begin(line, std::nullopt);
    figures.host(Host(host));
    figures.local_rank(LocalRank(device++));
    figures.add(name, unit, {}, value);
    figures.end(line, reading);
    at = end + std::strspn(end, " ,");
  }
}

bool put_machine(const TextLine& line, Reading& reading) {
  std::string host;
  std::string_view said;
  if (!named_machine(line.line.message, host, said)) return false;
  if (put_devices(host, said, line, reading)) return true;
  const std::vector<PartFigure> parts = part_figures(said);
  if (parts.size() < kLeastParts) return false;
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, std::nullopt);
  figures.host(Host(host));
  add_part_figures(parts, {}, figures);
  figures.end(line, reading);
  return true;
}

// Lines that told nothing, but for their digits: a loader prints a million of a kind.
class IdleShapes final : public Kept {
 public:
  static std::uint64_t of(std::string_view text) {
    std::uint64_t hash = 14'695'981'039'346'656'037u;  // FNV-1a
    for (const char c : text)
      if (c < '0' || c > '9') hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
    return hash;
  }
  bool known(std::uint64_t shape) const { return shapes_[shape % kMost] == shape; }
  void add(std::uint64_t shape) { shapes_[shape % kMost] = shape; }

 private:
  static constexpr std::size_t kMost = 1024;
  std::array<std::uint64_t, kMost> shapes_{};
};

// Rows of ranks below a heading that names their first value.
class RowsOfRanks final : public Assembler {
 public:
  RowsOfRanks(std::string name, std::string_view unit) : name_(std::move(name)), unit_(unit) {}

  Step feed(const TextLine& line, Reading& reading) override {
    std::optional<Speaker> who = speaker_of(line.line.message);
    if (!who) return Step::not_mine;
    const std::size_t value = who->rest.find_first_not_of(" :=|");
    if (value == std::string_view::npos || !line::digit(who->rest[value])) return Step::not_mine;
    const std::string named = name_ + "=" + std::string(who->rest.substr(value));
    put_parts(*who, part_figures(named), line, unit_, reading);
    return Step::took;
  }

 private:
  std::string name_, unit_;
};

std::unique_ptr<Assembler> rows_below(std::string_view text) {
  if (!text.ends_with(':') || !contains(text, "rank")) return nullptr;
  const std::vector<std::string> names = names_of(text, 1);
  return names.empty() ? nullptr : std::make_unique<RowsOfRanks>(names.front(), unit_in(text));
}

Outcome read_parts_of(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  if (text.size() > kLongestList || contains(text, "time (ms) |") ||
      rules::tells_of_other_work(text.substr(0, 200)))
    return {};
  if (put_listed(line, reading)) return {true};
  if (auto rows = rows_below(line::trimmed(text))) return {true, std::move(rows)};
  if (auto rows = rows_below_heading(line, reading)) return {true, std::move(rows)};
  std::optional<Speaker> who = speaker_of(text);
  if (!who && line.line.prefix.rank) {
    const std::int64_t rank = number_of(*line.line.prefix.rank);
    who = Speaker{rank, rank, {}, text};
  }
  if (!who) return {put_machine(line, reading)};
  const std::vector<PartFigure> parts = part_figures(who->rest);
  if (parts.size() < kLeastParts) return {};
  put_parts(*who, parts, line, unit_in(text.substr(0, text.size() - who->rest.size())), reading);
  return {true};
}

Outcome read_rank_parts(const TextLine& line, Reading& reading) {
  IdleShapes& idle = reading.keep<IdleShapes>();
  const std::uint64_t shape = IdleShapes::of(line.line.message);
  if (idle.known(shape)) return {};
  Outcome out = read_parts_of(line, reading);
  if (!out.used) idle.add(shape);
  return out;
}

constexpr std::string_view kRankPartWords[] = {
    "per-rank",  "per_rank",  "per rank", "by rank",  "data_time", "data_s=",   "data_ms",
    "data_wait", "data_load", "dataload", " data=",   " data:",    "fwd_bwd",   "fwd+bwd",
    "fwd_ms",    "fwd_time",  "forward",  "backward", "compute",   "allreduce", "all_reduce",
    "_wait=",    "_wait ",    "_wait:",   " wait=",   " wait:",    "wait_ms",   " comm=",
    " comm:",    "offload",   " | fwd ",  "| fwd=",   "| fwd:",    "| bwd ",    "fwd/bwd"};

constexpr std::string_view kAlsoOfRanks[] = {"ran",        "timers ", "per gpu",
                                             "per device", "host",    "node"};

}  // namespace

bool tells_of_rank(std::string_view text) { return speaker_of(text).has_value(); }

extern constinit const Recogniser kRankParts{
    "rank-parts",
    "parts of a step by rank or machine, in lines of home-made loops",
    kRankPartWords,
    read_rank_parts,
    {},
    kAlsoOfRanks};

}  // namespace culprit::ingest
