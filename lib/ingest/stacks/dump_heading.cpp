// Headings above dumps, as collectors' loops print them, tell the rank that py-spy and gdb do not
// know: "=== rank 9 (local 1) pid 60911", "### cx-07 local_rank 4", "# py-spy dump -p 53 (rank 3)".
#include "ingest/stacks/dump_heading.hpp"

#include <re2/re2.h>

#include "line/header_layout.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestHeading = 160, kLongestBare = 32;

// A line that begins as headings do, and not as a debugger's frames ("#3  0x00 in f (rank=1)").
bool like_heading(std::string_view text) {
  if (text.size() > kLongestHeading) return false;
  const std::size_t mark = text.find_first_not_of("=#-*>[ ");
  if (mark == std::string_view::npos) return false;
  if (mark == 0) return text.size() <= kLongestBare && (text[0] == 'r' || text[0] == 'R');
  return text[0] != ' ' && (text[mark] < '0' || text[mark] > '9');
}

// The rank in the job, where the heading is about it: first, behind a host or in brackets. Ranks of
// nodes and of parallel groups count something else.
std::optional<Rank> rank_of_heading(const re2::StringPiece& text) {
  static const re2::RE2 kGlobal(R"((?i)\bglobal[ _-]?rank[ =:]*(\d{1,7})\b)");
  static const re2::RE2 kFirst(R"((?i)^[=#*>\[ -]*(?:([\w.-]+)[ ,:]+)?rank[ =:_-]*(\d{1,7})\b)");
  static const re2::RE2 kBrackets(R"((?i)\(rank[ =:]*(\d{1,7})\))");
  static const re2::RE2 kOfGroup(
      R"((?i)(?:node|local|group|role|[tpdce]p|mp|tensor|pipeline|data|expert))");
  std::int64_t rank = 0;
  std::string before;
  if (re2::RE2::PartialMatch(text, kGlobal, &rank)) return Rank(rank);
  if (re2::RE2::PartialMatch(text, kFirst, &before, &rank) &&
      !re2::RE2::FullMatch(before, kOfGroup))
    return Rank(rank);
  if (re2::RE2::PartialMatch(text, kBrackets, &rank)) return Rank(rank);
  return std::nullopt;
}

Outcome read_dump_heading(const TextLine& line, Reading& reading) {
  static const re2::RE2 kLocal(R"((?i)\blocal(?:[ _-]?rank)?[ =:]+(\d{1,3})\b)");
  const std::string_view text = line.line.message;
  if (!like_heading(text)) return {};
  const re2::StringPiece piece(text.data(), text.size());
  DumpHeading& heading = reading.keep<DumpHeading>();
  heading.begin_heading();
  std::int64_t local = 0;
  heading.rank = rank_of_heading(piece);
  if (re2::RE2::PartialMatch(piece, kLocal, &local)) heading.local_rank = LocalRank(local);
  // PyTorch's debug server prints whom it asked: "=== Rank 1: http://node-04:64509/handler/...
  // ===".
  static const re2::RE2 kAsked(R"(\bhttp://([\w.-]+):\d+/handler/)");
  // "### rank 6 on ga002 at 08:35:01", "=== rank 6 (ga002)", "# ga002 rank 6".
  static const re2::RE2 kOn(
      R"((?i)\brank[ =:_-]*\d{1,7}[ ,]*(?:on |@ ?|host[ =:]|\()([a-z][\w.-]*\d[\w.-]*)(?:[ ,):]|$))"),
      kBefore(R"((?i)^[=#*>\[ -]+([a-z][\w.-]*\d[\w.-]*)[ ,:]+rank[ =:_-]*\d)");
  std::string host;
  if (heading.rank && (re2::RE2::PartialMatch(piece, kAsked, &host) ||
                       ((re2::RE2::PartialMatch(piece, kOn, &host) ||
                         re2::RE2::PartialMatch(piece, kBefore, &host)) &&
                        line::may_name_machine(host))))
    reading.sink.put(IdentityRow{.place = line.place,
                                 .source = "dump heading",
                                 .host = Host(host),
                                 .rank = number_of(*heading.rank)});
  return {heading.rank || heading.local_rank};
}

}  // namespace

extern constinit const Recogniser kDumpHeading{
    "dump-heading",
    "headings above dumps of processes that name the rank",
    {},
    read_dump_heading,
    "stack"};

}  // namespace culprit::ingest
