// What torch.distributed's own checks say of ranks:
//   monitored_barrier   [Rank 0]: Ranks 2, 5 failed to pass monitoredBarrier in 600000 ms
//                       Rank 3 successfully reached monitoredBarrier, but received errors while
//                       waiting for send/recv from rank 0.
//   debug level DETAIL  Detected mismatch between collectives on ranks. Rank 0 is running
//   collective:
//                       CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[64],
//                       TensorDtypes=Float, ...), but Rank 2 is running collective:
//                       CollectiveFingerPrint(SequenceNumber=7OpType=BROADCAST, ...)
//
// Both number ranks within the group. The launcher's or libtorch's prefix tells the rank in the
// job: where the two differ it is another group than all ranks', whose members nobody knows, and
// nothing is read.
#include <map>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/operation.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostRows = 4'096;  // of a member

re2::StringPiece check_piece(std::string_view text) { return {text.data(), text.size()}; }

GroupId of_all(Reading& reading) { return reading.sink.group({"0", "default_pg", {}, 0}); }

bool another_group(const TextLine& line, Rank speaker) {
  return line.line.prefix.rank && *line.line.prefix.rank != speaker;
}

FrontierRow frontier(const TextLine& line, CollectiveSource source, Rank rank, GroupId group) {
  FrontierRow row{
      .place = line.place, .time = line.line.prefix.time, .source = source, .rank = rank};
  row.group_rank = number_of(rank);  // of the group of all
  row.group = group;
  return row;
}

// Every rank prints what it knows, and most of them twice: one row a rank.
class Checks final : public Kept {
 public:
  void came(const TextLine& line, Rank rank, bool reached, Reading& reading) {
    if (!barrier_.emplace(rank, reached).second || barrier_.size() > kMostRows) return;
    FrontierRow row = frontier(line, CollectiveSource::barrier, rank, of_all(reading));
    row.operation = "barrier";
    row.enqueued = reached ? 1 : 0;
    row.completed = 0;
    reading.sink.put(row);
  }

  void runs(const TextLine& line, CollectiveRow row, Reading& reading) {
    if (!prints_.emplace(row.rank.value_or(kNoRank), row.sequence).second ||
        prints_.size() > kMostRows)
      return;
    row.place = line.place;
    row.time = line.line.prefix.time;
    row.source = CollectiveSource::fingerprint;
    row.state = "scheduled";
    row.group = of_all(reading);
    FrontierRow counted = frontier(line, row.source, row.rank.value_or(kNoRank), row.group);
    counted.enqueued = row.sequence;
    counted.completed = row.sequence - 1;
    reading.sink.put(counted);
    reading.sink.put(row);
  }

 private:
  std::map<Rank, bool> barrier_;
  std::set<std::pair<Rank, std::int64_t>> prints_;  // with the sequence number
};

Outcome read_barrier(const TextLine& line, Reading& reading) {
  static const re2::RE2 kFailed(
      R"(\bRank (\d{1,9})(?:\]:?| \[monitoredBarrier\]:?) Ranks? ([\d, ]{1,900}) failed to pass monitoredBarrier)");
  static const re2::RE2 kReached(R"(Rank (\d{1,9}) successfully reached monitoredBarrier, but)");
  static const re2::RE2 kRank(R"((\d{1,9}))");
  std::int64_t speaker = 0;
  std::string ranks;
  Checks& checks = reading.keep<Checks>();
  if (re2::RE2::PartialMatch(check_piece(line.line.message), kFailed, &speaker, &ranks)) {
    if (another_group(line, Rank(speaker))) return {};
    checks.came(line, Rank(speaker), true, reading);
    re2::StringPiece rest(ranks);
    std::int64_t rank = 0;
    while (re2::RE2::FindAndConsume(&rest, kRank, &rank))
      checks.came(line, Rank(rank), false, reading);
    return {true};
  }
  if (!re2::RE2::PartialMatch(check_piece(line.line.message), kReached, &speaker) ||
      another_group(line, Rank(speaker)))
    return {};
  checks.came(line, Rank(speaker), true, reading);
  return {true};
}

Outcome read_fingerprints(const TextLine& line, Reading& reading) {
  static const re2::RE2 kPrint(
      R"(Rank (\d{1,9}) is running collective: CollectiveFingerPrint\((?:SequenceNumber=(\d{1,18}))?,? ?OpType=(\w{1,64})(?:, TensorShape=\[([\d, ]{0,400})\])?(?:, TensorDtypes=(\w{1,40}))?)");
  struct Print {
    CollectiveRow row;
    bool numbered = false;
  };
  std::vector<Print> prints;
  re2::StringPiece rest = check_piece(line.line.message);
  std::int64_t rank = 0;
  std::string sequence, operation, shape, type;
  while (prints.size() < 2 &&
         re2::RE2::FindAndConsume(&rest, kPrint, &rank, &sequence, &operation, &shape, &type)) {
    Print p;
    p.row.rank = Rank(rank);
    p.row.operation = torch_operation(operation);
    p.row.sequence = 0;
    p.numbered = re2::RE2::FullMatch(sequence, R"((\d+))", &p.row.sequence);
    if (!shape.empty()) p.row.sizes = "[" + shape + "]";
    p.row.types = type;
    prints.push_back(std::move(p));
  }
  if (prints.size() < 2) return {false, nullptr, "fingerprint.torn"};
  if (another_group(line, *prints[0].row.rank)) return {};
  // One call too many or too few shows as equal calls of different number: they are told as what
  // stands at one place.
  if (const std::int64_t a = prints[0].row.sequence, b = prints[1].row.sequence; a != b)
    for (Print& p : prints) {
      if (p.numbered)
        p.row.sizes +=
            fmt::format("{}its call {}", p.row.sizes.empty() ? "" : ", ", p.row.sequence);
      p.row.sequence = std::min(a, b);
    }
  for (Print& p : prints) reading.keep<Checks>().runs(line, std::move(p.row), reading);
  return {true};
}

constexpr std::string_view kBarrierWords[] = {"failed to pass monitoredBarrier",
                                              "reached monitoredBarrier"};
constexpr std::string_view kPrintWords[] = {"Detected mismatch between collectives"};

}  // namespace

extern constinit const Recogniser kMonitoredBarrier{
    "monitored-barrier",
    "torch.distributed's monitored barrier: which ranks came to it and which did not",
    kBarrierWords,
    read_barrier,
    {},
    {},
    true};
extern constinit const Recogniser kFingerprints{
    "collective-fingerprints",
    "torch.distributed at debug level DETAIL: ranks that call different collectives",
    kPrintWords,
    read_fingerprints,
    {},
    {},
    true};

}  // namespace culprit::ingest
