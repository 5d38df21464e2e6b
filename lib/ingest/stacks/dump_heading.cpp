// Headings above dumps, as collectors' loops print them, tell the rank that py-spy and gdb do not
// know: "=== rank 9 (local 1) pid 60911", "### cx-07 local_rank 4", "# py-spy dump -p 53 (rank 3)".
#include "ingest/stacks/dump_heading.hpp"

#include <re2/re2.h>

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestHeading = 160;

// A line that begins as headings do, and not as a debugger's frames ("#3  0x00 in f (rank=1)").
bool like_heading(std::string_view text) {
  if (text.size() > kLongestHeading) return false;
  const std::size_t mark = text.find_first_not_of("=#-*>[");
  if (mark == std::string_view::npos) return false;
  if (mark == 0)
    return text.starts_with("rank") || text.starts_with("Rank") || text.starts_with("RANK");
  return text[mark] < '0' || text[mark] > '9';
}

Outcome read_dump_heading(const TextLine& line, Reading& reading) {
  static const re2::RE2 kLocal(R"((?i)\blocal(?:[ _-]?rank)?[ =:]+(\d{1,3})\b)");
  static const re2::RE2 kRank(R"((?i)(?:^|[^a-z_-])(?:global[ _-]?)?rank[ =:_-]*(\d{1,7})\b)");
  const std::string_view text = line.line.message;
  if (!like_heading(text)) return {};
  const re2::StringPiece piece(text.data(), text.size());
  std::int64_t rank = 0, local = 0;
  const bool has_local = re2::RE2::PartialMatch(piece, kLocal, &local);
  const bool has_rank = re2::RE2::PartialMatch(piece, kRank, &rank);
  if (!has_rank && !has_local) return {};
  DumpHeading& heading = reading.keep<DumpHeading>();
  heading.rank = has_rank ? std::optional(Rank(rank)) : std::nullopt;
  heading.local_rank = has_local ? std::optional(LocalRank(local)) : std::nullopt;
  return {true, nullptr, {}};
}

}  // namespace

extern const Recogniser kDumpHeading;
constinit const Recogniser kDumpHeading{"dump-heading",
                                        "headings above dumps of processes that name the rank",
                                        {},
                                        read_dump_heading,
                                        "stack"};

}  // namespace culprit::ingest
