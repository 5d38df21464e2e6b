// "rank 12 pid 8405 host node-03 local_rank 4": what many training scripts print when they start,
// in whatever order of words after the rank, or behind a label that says the rank. The plainest tie
// between a rank and its machine.
#include <algorithm>
#include <set>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/rank_range.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

// The rank in the job that the text names first; one on a machine is another.
bool names_rank(re2::StringPiece text, std::int64_t& rank) {
  static const re2::RE2 kRank(
      R"((?i)(?:^|[^a-z_])((?:local|node|group|role)[ _-]?)?(?:(?:global[ _])?rank|process[_ ](?:index|id))[ :=]+(\d{1,7})\b)");
  std::string of;
  while (re2::RE2::FindAndConsume(&text, kRank, &of, &rank))
    if (of.empty()) return true;
  return false;
}

Outcome read_rank_line(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHost(
      R"((?i)\b(?:host|hostname|node)[ :=]+([A-Za-z0-9][A-Za-z0-9.-]{0,252}))");
  static const re2::RE2 kPid(R"((?i)\bpid[ :=]+(\d{1,10})\b)");
  static const re2::RE2 kLocal(R"((?i)\blocal[ _]?rank[ :=]+(\d{1,5})\b)");
  const re2::StringPiece text(line.line.message.data(), line.line.message.size());
  std::int64_t rank = 0, pid = 0, local = 0;
  std::string host;
  const line::Prefix& speaker = line.line.prefix;
  const bool in_words = names_rank(text, rank);
  if (!in_words && speaker.rank) rank = number_of(*speaker.rank);
  if (text.size() > 400 || !(in_words || speaker.rank || speaker.task) ||
      !re2::RE2::PartialMatch(text, kHost, &host))
    return {};
  const bool has_pid = re2::RE2::PartialMatch(text, kPid, &pid);
  const bool has_local = re2::RE2::PartialMatch(text, kLocal, &local);
  // "node cx-07 rank 3 initialised" does; "rank 3 lost host ..." ties nothing.
  static const re2::RE2 kBegins(
      R"((?i)\b(?:initiali[sz]ed|started|starting|launched|ready|joined|online)\b)");
  // "process_index=6 process_count=8 host=nm-6": who prints keys describes itself, unless it names
  // another in an error.
  static const re2::RE2 kKeys(
      R"((?i)(?:^|[\s\[({,;])(?:global_)?(?:rank|process_(?:index|id))=\d+(?:[\s,;\])}]|$))");
  static const re2::RE2 kHostKey(R"((?i)(?:^|[\s\[({,;])(?:host|hostname|node)=)");
  static const re2::RE2 kOfAnother(
      R"((?i)\b(?:lost|fail\w*|error|dead|died|down|time\w*|unreach\w*|remote|peer|slow\w*|missing|kill\w*|evict\w*)\b)");
  const bool keyed = in_words && re2::RE2::PartialMatch(text, kKeys) &&
                     re2::RE2::PartialMatch(text, kHostKey) &&
                     !re2::RE2::PartialMatch(text, kOfAnother);
  if (!has_pid && !has_local && !keyed && !(in_words && re2::RE2::PartialMatch(text, kBegins)))
    return {};
  if (speaker.rank && *speaker.rank != Rank(rank)) return {};  // it speaks of another
  IdentityRow row{.place = line.place, .source = "rank line", .host = Host(host)};
  if (in_words || speaker.rank)
    row.rank = rank;
  else
    row.task = speaker.task;
  if (has_pid) row.pid = pid;
  if (has_local) row.local_rank = LocalRank(local);
  reading.sink.put(row);
  return {true};
}

// "launching on cx-07 node rank 4", "NODE_RANK=4 HOSTNAME=cx-07": a launcher's word or a script's
// echo.
Outcome read_node_rank(const TextLine& line, Reading& reading) {
  static const re2::RE2 kNumber(R"((?i)\bnode[ _-]?rank[ :=]+(\d{1,6})\b)");
  static const re2::RE2 kHost(
      R"((?i)\b(?:on(?: host| node)?|host(?:name)?|node)[ :=]+([A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9.-]{0,240})(?:[ ,;)]|$))");
  const re2::StringPiece text(line.line.message.data(), line.line.message.size());
  IdentityRow row;
  std::int64_t number = 0;
  std::string host;
  if (text.size() > 400 || !re2::RE2::PartialMatch(text, kNumber, &number) ||
      !re2::RE2::PartialMatch(text, kHost, &host))
    return {};
  row.place = line.place;
  row.source = "node rank";
  row.host = Host(host);
  row.node_rank = number;
  reading.sink.put(row);
  return {true};
}

// "ranks 8-15 -> n2", "host=n2 ranks=8-15", "rank map: 0-7=n1 8-15=n2": a start-up line that lists
// which machine has which ranks.
bool put_ranks(const RankRange& range, const Place& place, Reading& reading) {
  static const re2::RE2 kDevice(
      R"((?i)(?:gpu|cuda|mlx5|eth|ib|numa|stage|step|group|tp|pp|dp|ep|cp)[-_]?\d+)");
  if (!range.of_one_machine() || re2::RE2::FullMatch(range.host, kDevice)) return false;
  put_rank_range(range, place, reading);
  return true;
}

// "mira31=0-7 mira32=8-15": machines and their ranks, two of them at least, as many on each.
bool put_listed_ranks(re2::StringPiece text, const Place& place, Reading& reading) {
  static const re2::RE2 kListed(
      R"((?i)(?:^|[\s,;(])([a-z][a-z0-9-]*\d[a-z0-9.-]*)[=:](\d{1,6})(?:-|\.\.)(\d{1,6})(?:[\s,;)]|$))");
  std::vector<RankRange> all;
  RankRange range;
  // The blank behind one is the one before the next.
  while (re2::RE2::PartialMatch(text, kListed, &range.host, &range.first, &range.last)) {
    all.push_back(range);
    text.remove_prefix(static_cast<std::size_t>(
        text.find(range.host + (text.find(range.host + "=") == text.npos ? ":" : "=")) +
        range.host.size() + 1));
  }
  std::set<std::string> hosts;
  for (const RankRange& one : all) hosts.insert(one.host);
  if (all.size() < 2 || hosts.size() < all.size() ||
      !std::ranges::all_of(all, [&](const RankRange& one) {
        return one.size() == all.front().size() && one.size() > 1 && one.of_one_machine();
      }))
    return false;
  bool used = false;
  for (const RankRange& one : all) used = put_ranks(one, place, reading) || used;
  return used;
}

Outcome read_rank_map(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHostFirst(
      R"((?i)\b(?:host(?:name)?|node)[ =:]+([a-z][a-z0-9-]*\d[a-z0-9.-]*)\b.{0,30}?\branks?[ =:\[(]+(\d{1,6}) ?(?:-|\.\.|to) ?(\d{1,6})\b)");
  static const re2::RE2 kRanksFirst(
      R"((?i)\b(\d{1,6}) ?(?:-|\.\.|to) {0,2}(\d{1,6})[\])]?(?: ?(?:->|=>|=|:|@) ?| on (?:host |node )?| )([a-z][a-z0-9-]*\d[a-z0-9.-]*))");
  // What is cut by ranks, and lies on machines or in files called so.
  static const re2::RE2 kOther(
      R"((?i)replica|cop(?:y|ies)|checkpoint|ckpt|data|shard|expert|layer|stage|mixture|peer|back-?up|wait|time)");
  static const re2::RE2 kSaysSo(
      R"((?i)rank[ _]?map|\bon (?:host |node )?[a-z]|(?:host|node)s?[ =:])");
  re2::StringPiece text(line.line.message.data(), line.line.message.size());
  if (text.size() > 4000 || re2::RE2::PartialMatch(text, kOther)) return {};
  if (put_listed_ranks(text, line.place, reading)) return {true};
  if (!re2::RE2::PartialMatch(text, kSaysSo)) return {};
  RankRange range;
  if (re2::RE2::PartialMatch(text, kHostFirst, &range.host, &range.first, &range.last))
    return {put_ranks(range, line.place, reading)};
  bool used = false;
  while (re2::RE2::FindAndConsume(&text, kRanksFirst, &range.first, &range.last, &range.host))
    used = put_ranks(range, line.place, reading) || used;
  return {used};
}

constexpr std::string_view kRankMapWords[] = {
    "rank map", "rank_map", " ranks ", " ranks=", " ranks:", "(ranks ", "[ranks ", "ranks 0"};

constexpr std::string_view kNodeRankWords[] = {"node rank", "node_rank", "node-rank"};

constexpr std::string_view kRankLineWords[] = {" host ", " host=", " host:", "hostname",
                                               " node=", " node:", ": node "};

constexpr std::string_view kAlsoOfRankLines[] = {"rank", "process"};

}  // namespace

extern constinit const Recogniser kRankLine{"rank-line",
                                            "start-up lines that name rank, process and host",
                                            kRankLineWords,
                                            read_rank_line,
                                            {},
                                            kAlsoOfRankLines};

extern constinit const Recogniser kNodeRankLine{
    "node-rank",
    "lines that name a machine and its number in the job",
    kNodeRankWords,
    read_node_rank,
    {},
    {}};

extern constinit const Recogniser kRankMap{"rank-map",
                                           "start-up lines that list the ranks of each machine",
                                           kRankMapWords,
                                           read_rank_map,
                                           {},
                                           {}};

}  // namespace culprit::ingest
