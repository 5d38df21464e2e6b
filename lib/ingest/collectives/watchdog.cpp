// What the watchdog of torch.distributed prints when a collective takes too long: which operation
// of which group, and how far this rank had come. Generations (ProcessGroupNCCL.cpp):
//   1.8   [Rank 2] Caught collective operation timeout: WorkNCCL(OpType=BROADCAST, TensorShape=[4],
//   Timeout(ms)=1800000) ran for ... 2.0   [Rank 0] Watchdog caught collective operation timeout:
//   WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for ... 2.2   the same with
//   NumelIn and NumelOut; [Rank 0] Timeout at NCCL work: 7, last enqueued NCCL work: 9, last
//   completed NCCL work: 6. 2.3   [PG 1 Rank 0] Timeout at NCCL work: ... 2.4   [PG 1 Rank 0] or
//   [PG 1 (dp) Rank 0] Exception (either an error or timeout) detected by watchdog at work: ... 2.5
//   [PG ID 1 PG GUID 13(dp) Rank 0] Exception ... 2.6   [PG ID 1 PG GUID 13(dp) Rank 0] failure
//   detected by watchdog at work sequence id: 7 PG status: last enqueued work: 9, last completed
//   work: 6
//
// [Rank n] in the message is the rank in the group; the global rank is the launcher's or libtorch's
// prefix [rankN]:. The line that names the operation prints no group; a line further down of the
// same process, group rank and number does, so the row waits for it until the end of the member.
//
// Which group? A GUID, or an id with a description, is the group's name in the whole job. A bare id
// ("PG 1") is a name in some releases and counts the groups of one process in others; then [2,3] is
// "PG 1" of rank 2 as [0,1] is of rank 0. Ids merge across ranks only where that cannot go wrong:
// id 0 (the default group), and groups in which the rank has the number that it has in the job,
// because two different groups of the same kind do not both have such ranks. Nothing printed at
// all: "default_pg?" where the numbers agree with that and the process has one such timeout only.
#include <map>
#include <set>
#include <tuple>

#include <re2/re2.h>

#include "ingest/engine/operation.hpp"
#include "ingest/engine/recogniser.hpp"
#include "model/ascii.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kPendingAtOnce = 4'096;
constexpr std::size_t kSeenAtOnce = 16'384;
constexpr std::size_t kDesyncRows = 4'096;

re2::StringPiece watchdog_piece(std::string_view text) { return {text.data(), text.size()}; }

// What a line says of the process that printed it, as far as that tells it from others.
std::string process_of(const line::Prefix& prefix) {
  if (prefix.rank) return "rank " + std::to_string(number_of(*prefix.rank));
  std::string out;
  if (prefix.host)
    out += *prefix.host + " ";
  else if (prefix.address)
    out += *prefix.address + " ";
  if (prefix.pid)
    out += "pid " + std::to_string(*prefix.pid);
  else if (prefix.local_rank)
    out += "local rank " + std::to_string(number_of(*prefix.local_rank)) +
           (prefix.task ? " of task " + std::to_string(*prefix.task) : "");
  else if (prefix.task)
    out += "task " + std::to_string(*prefix.task);
  else
    return {};
  return out;
}

struct Tag {
  bool group = false;  // names one: id or guid is set
  std::string id;      // process-local
  std::string guid, description;
  std::int64_t rank = kUnknownSequence;
};

// The last tag before `end`, or the first with a group: "[PG 3 Rank 5] ... exception: [Rank 5]
// Watchdog caught".
Tag tag_of(std::string_view message, std::size_t end) {
  static const re2::RE2 kTag(
      R"(\[(?:PG (?:ID (\d{1,18}) PG GUID ([^\s()\[\]]+)|([^\s()\[\]]+))(?: ?\(([^()\[\]]*)\))? )?Rank (\d{1,9})\])");
  Tag tag;
  re2::StringPiece rest = watchdog_piece(message.substr(0, std::min<std::size_t>(end, 4'096)));
  std::string id, guid, plain, description;
  std::int64_t rank = 0;
  for (int n = 0;
       n < 8 && re2::RE2::FindAndConsume(&rest, kTag, &id, &guid, &plain, &description, &rank);
       ++n) {
    if (tag.group && tag.rank != rank) continue;
    tag.rank = rank;
    if (tag.group || (guid.empty() && plain.empty())) continue;
    tag.group = true;
    tag.description = description == "undefined" ? "" : description;
    if (!guid.empty()) {
      tag.id = id;
      tag.guid = guid;
    } else if (!description.empty())
      tag.guid = plain;
    else
      tag.id = plain;
  }
  return tag;
}

// file: of the bundle, as its number is known only where rows are written.
GroupRow group_of(const Tag& tag, std::optional<Rank> rank, const std::string& process,
                  const std::string& file) {
  if (tag.guid == "0" || (tag.guid.empty() && tag.id == "0"))
    return {"0", tag.description.empty() ? "default_pg" : tag.description, {}, 0};
  if (!tag.guid.empty()) return {tag.guid, tag.description, {}, 0};
  const std::string name = "pg " + tag.id;
  if (rank && number_of(*rank) == tag.rank) return {name, "ranks as in the job", {}, 0};
  if (!process.empty())
    return {name, "as " + process + (rank ? "" : " in file " + file) + " counts its groups", {}, 0};
  return {
      name,
      "as one process counts its groups: file " + file + ", group rank " + std::to_string(tag.rank),
      {},
      0};
}

void fill(auto& row, const TextLine& line) {
  const line::Prefix& prefix = line.line.prefix;
  row.place = line.place;
  row.time = prefix.time;
  row.host = prefix.host;
  row.rank = prefix.rank;
  row.local_rank = prefix.local_rank;
  row.pid = prefix.pid;
}

class Watchdog final : public Kept {
 public:
  // An operation that timed out. The group is known, or waits.
  void timeout(CollectiveRow row, const Tag& tag, const std::string& process, Reading& reading) {
    const std::string what =
        std::to_string(tag.rank) + " #" + std::to_string(row.sequence) + " " + row.operation;
    // The exception that stops the process repeats the line, often without a prefix.
    const bool told =
        seen_.contains(process + "|" + what) || (process.empty() && seen_.contains("|" + what));
    if (tag.group) settle(tag, process, row.sequence, reading);
    if (told) return;
    if (seen_.size() < kSeenAtOnce) {
      seen_.insert(process + "|" + what);
      seen_.insert("|" + what);
    }
    if (tag.group) {
      row.group = reading.sink.group(group_of(tag, row.rank, process, reading.path));
      reading.sink.put(row);
      return;
    }
    if (pending_.size() >= kPendingAtOnce) finish(reading);
    pending_.push_back({std::move(row), tag.rank, process});
  }

  // A line that names its group speaks of the operation `sequence` of this process.
  void settle(const Tag& tag, const std::string& process, std::int64_t sequence, Reading& reading) {
    std::size_t found = pending_.size();
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Pending& p = pending_[i];
      if (p.group_rank != tag.rank || p.row.sequence != sequence ||
          (!process.empty() && p.process != process))
        continue;
      if (found < pending_.size())
        return;  // two groups at the same number: which is which is not said
      found = i;
    }
    if (found == pending_.size()) return;
    Pending& p = pending_[found];
    p.row.group = reading.sink.group(group_of(tag, p.row.rank, p.process, reading.path));
    reading.sink.put(p.row);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(found));
  }

  void finish(Reading& reading) override {
    // A process that has several such timeouts has several groups, or one group several times:
    // nobody can tell.
    std::map<std::pair<std::string, std::int64_t>, int> of_process;
    for (const Pending& p : pending_) ++of_process[{p.process, p.group_rank}];
    for (Pending& p : pending_) {
      GroupRow group;
      const bool possible = !p.row.rank || number_of(*p.row.rank) == p.group_rank;
      if (p.group_rank != kUnknownSequence && possible &&
          of_process[{p.process, p.group_rank}] == 1)
        group.description = "default_pg?";
      else
        group.description =
            "a group of " +
            (p.process.empty() ? "[Rank " + std::to_string(p.group_rank) + "]" : p.process) +
            (p.row.rank ? "" : " in file " + reading.path) + " that timed out at line " +
            std::to_string(p.row.place.line);
      p.row.group = reading.sink.group(group);
      reading.sink.put(p.row);
    }
    pending_.clear();
    for (const auto& [key, row] : desync_) reading.sink.put(row);
    desync_.clear();
  }

  // The group that the desync report below a timeout speaks of: the report is part of the same
  // message.
  void last(const TextLine& line, const Tag& tag, const std::string& process) {
    last_ = tag;
    last_line_ = line.place.line;
    last_process_ = process;
    last_rank_ = line.line.prefix.rank;
  }

  void desync(const std::string& ranks, std::int64_t sequence, bool started, bool may_have_more,
              const TextLine& line, Reading& reading, const std::string& operation = {}) {
    const bool below =
        last_line_ > 0 && line.place.line > last_line_ && line.place.line - last_line_ <= 64;
    GroupRow group;
    if (below && last_.group)
      group = group_of(last_, last_rank_, last_process_, reading.path);
    else if (below && last_.rank != kUnknownSequence &&
             (!last_rank_ || number_of(*last_rank_) == last_.rank))
      group.description = "default_pg?";
    else
      group.description = "a group of the desync report at file " + reading.path;
    const GroupId id = reading.sink.group(group);
    static const re2::RE2 kRank(R"((\d{1,9}))");
    re2::StringPiece rest(ranks);
    std::int64_t rank = 0;
    while (re2::RE2::FindAndConsume(&rest, kRank, &rank)) {
      if (desync_.size() >= kDesyncRows) return;
      FrontierRow row{.place = line.place,
                      .time = line.line.prefix.time,
                      .source = CollectiveSource::desync,
                      .group_rank = rank,
                      .group = id,
                      .enqueued = may_have_more ? kUnknownSequence : sequence,
                      .started = sequence,
                      .completed = started ? sequence - 1 : sequence};
      if (started && !operation.empty())
        in_flight(id, group, rank, sequence, operation, line, reading);
      // Every rank prints the same report: one row per group and rank, of the furthest that was
      // seen.
      const auto [at, fresh] = desync_.try_emplace({id, rank}, row);
      if (fresh) continue;
      FrontierRow& old = at->second;
      if (row.started > old.started ||
          (row.started == old.started && row.completed > old.completed))
        old = row;
      else if (row.started == old.started && row.completed == old.completed &&
               old.enqueued == kUnknownSequence)
        old.enqueued = row.enqueued;
    }
  }

 private:
  // What a rank has started, where its rank in the group is its rank in the job.
  void in_flight(GroupId id, const GroupRow& group, std::int64_t rank, std::int64_t sequence,
                 const std::string& operation, const TextLine& line, Reading& reading) {
    if (group.description.rfind("default_pg", 0) != 0 ||
        !started_.insert({id, rank, sequence}).second || started_.size() > kDesyncRows)
      return;
    reading.sink.put(CollectiveRow{.place = line.place,
                                   .time = line.line.prefix.time,
                                   .source = CollectiveSource::desync,
                                   .rank = Rank(rank),
                                   .group = id,
                                   .sequence = sequence,
                                   .operation = operation,
                                   .state = "timeout"});
  }

  struct Pending {
    CollectiveRow row;
    std::int64_t group_rank = kUnknownSequence;
    std::string process;
  };
  std::vector<Pending> pending_;
  std::set<std::string> seen_;
  std::map<std::pair<GroupId, std::int64_t>, FrontierRow> desync_;
  std::set<std::tuple<GroupId, std::int64_t, std::int64_t>> started_;
  Tag last_;
  std::uint64_t last_line_ = 0;
  std::string last_process_;
  std::optional<Rank> last_rank_;
};

Outcome read_timeout(const TextLine& line, Reading& reading) {
  static const re2::RE2 kWork(
      R"(([Cc]aught collective operation timeout: )Work(\w{2,12})\(([^()]*(?:\(ms\)=\d+)?[^()]*)\)(?: ran for (\d{1,15}) milliseconds)?)");
  static const re2::RE2 kSequence(R"((?:^|[ ,])SeqNum=(\d{1,18}))");
  static const re2::RE2 kOperation(R"((?:^|[ ,])OpType=(\w{1,64}))");
  static const re2::RE2 kNumel(R"(NumelIn=(\d{1,18}), NumelOut=(\d{1,18}))");
  static const re2::RE2 kShape(R"(TensorShape=\[([\d, ]{0,200})\])");
  static const re2::RE2 kTimeout(R"(Timeout\(ms\)=(\d{1,15}))");
  const std::string_view message = line.line.message;
  re2::StringPiece parts[5];
  if (!kWork.Match(watchdog_piece(message), 0, message.size(), re2::RE2::UNANCHORED, parts, 5))
    return {false, nullptr, "watchdog.torn"};
  CollectiveRow row;
  fill(row, line);
  row.source = CollectiveSource::watchdog;
  row.state = "timeout";
  row.backend = std::string(parts[2].data(), parts[2].size());
  row.backend = lower(row.backend);
  std::string operation;
  if (!re2::RE2::PartialMatch(parts[3], kOperation, &operation))
    return {false, nullptr, "watchdog.torn"};
  row.operation = torch_operation(operation);
  row.p2p = is_p2p(row.operation);
  re2::RE2::PartialMatch(parts[3], kSequence, &row.sequence);
  std::string in, out;
  if (re2::RE2::PartialMatch(parts[3], kNumel, &in, &out))
    row.sizes = "numel in " + in + " out " + out;
  else if (re2::RE2::PartialMatch(parts[3], kShape, &in))
    row.sizes = "in [[" + in + "]]";
  std::int64_t number = 0;
  if (re2::RE2::PartialMatch(parts[3], kTimeout, &number)) row.timeout_ms = number;
  if (!parts[4].empty() && re2::RE2::FullMatch(parts[4], R"((\d+))", &number))
    row.duration_ms = static_cast<double>(number);
  const Tag tag = tag_of(message, static_cast<std::size_t>(parts[1].data() - message.data()));
  const std::string process = process_of(line.line.prefix);
  Watchdog& watchdog = reading.keep<Watchdog>();
  watchdog.last(line, tag, process);
  watchdog.timeout(std::move(row), tag, process, reading);
  return {true};
}

// "... at work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579." in all its
// sentences.
Outcome read_frontier(const TextLine& line, Reading& reading) {
  static const re2::RE2 kCounters(
      R"([Ll]ast enqueued (?:\w{2,12} )?work: (-?\d{1,18}), last completed (?:\w{2,12} )?work: (-?\d{1,18}))");
  static const re2::RE2 kAt(R"((?:at (?:\w{2,12} )?work|work sequence id): ?(\d{1,18}))");
  const std::string_view message = line.line.message;
  re2::StringPiece parts[3];
  FrontierRow row;
  fill(row, line);
  row.source = CollectiveSource::watchdog;
  if (!kCounters.Match(watchdog_piece(message), 0, message.size(), re2::RE2::UNANCHORED, parts,
                       3) ||
      !re2::RE2::FullMatch(parts[1], R"((-?\d+))", &row.enqueued) ||
      !re2::RE2::FullMatch(parts[2], R"((-?\d+))", &row.completed) || row.enqueued < kNoSequence ||
      row.completed < kNoSequence)
    return {false, nullptr, "watchdog.torn"};
  const Tag tag = tag_of(message, static_cast<std::size_t>(parts[0].data() - message.data()));
  const std::string process = process_of(line.line.prefix);
  row.group_rank = tag.rank;
  Watchdog& watchdog = reading.keep<Watchdog>();
  watchdog.last(line, tag, process);
  std::int64_t at = 0;
  if (tag.group && re2::RE2::PartialMatch(watchdog_piece(message), kAt, &at))
    watchdog.settle(tag, process, at, reading);
  if (tag.group) {
    row.group = reading.sink.group(group_of(tag, row.rank, process, reading.path));
  } else {
    // 2.2 prints no group at all, for any of them.
    GroupRow group;
    if (tag.rank != kUnknownSequence && (!row.rank || number_of(*row.rank) == tag.rank))
      group.description = "default_pg?";
    else
      group.description = "a group of " +
                          (process.empty() ? "[Rank " + std::to_string(tag.rank) + "]" : process) +
                          (row.rank ? "" : " in file " + reading.path) +
                          " that timed out at line " + std::to_string(row.place.line);
    row.group = reading.sink.group(group);
  }
  reading.sink.put(row);
  return {true};
}

// The states of all ranks, below the head "#118 started ranks:".
class WatchdogSnapshot final : public Assembler {
 public:
  WatchdogSnapshot(std::int64_t sequence, bool started) : sequence_(sequence), started_(started) {}
  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kRanksOfPhase(R"(^\s*\[([\d, ]+)\] (?:started|finished) (\w{1,64}))");
    std::string ranks, operation;
    if (!re2::RE2::PartialMatch(line.line.message, kRanksOfPhase, &ranks, &operation))
      return Step::not_mine;
    reading.keep<Watchdog>().desync(ranks, sequence_, started_, true, line, reading,
                                    torch_operation(operation));
    return Step::took;
  }

 private:
  std::int64_t sequence_;
  bool started_;
};

Outcome read_desync(const TextLine& line, Reading& reading) {
  static const re2::RE2 kStarted(
      R"(\[([\d, ]+)\] joined but didn't finish collective #(\d{1,18}))");
  static const re2::RE2 kFinished(
      R"(\[([\d, ]+)\] finished collective #(\d{1,18}), but didn't join)");
  static const re2::RE2 kHead(R"(#(\d{1,18}) (started|finished) ranks:)");
  std::string ranks, what;
  std::int64_t sequence = 0;
  Watchdog& watchdog = reading.keep<Watchdog>();
  if (re2::RE2::PartialMatch(line.line.message, kStarted, &ranks, &sequence))
    watchdog.desync(ranks, sequence, true, true, line, reading);
  else if (re2::RE2::PartialMatch(line.line.message, kFinished, &ranks, &sequence))
    watchdog.desync(ranks, sequence, false, false, line, reading);
  else if (re2::RE2::PartialMatch(line.line.message, kHead, &sequence, &what))
    return {true, std::make_unique<WatchdogSnapshot>(sequence, what == "started")};
  else
    return {};
  return {true};
}

constexpr std::string_view kTimeoutWords[] = {"caught collective operation timeout"};
constexpr std::string_view kFrontierWords[] = {"last enqueued NCCL work",
                                               "last enqueued work:", "last enqueued XCCL work"};
constexpr std::string_view kDesyncWords[] = {"didn't finish collective #",
                                             "didn't join collective #",
                                             " started ranks:", " finished ranks:"};

}  // namespace

extern constinit const Recogniser kWatchdogTimeout{
    "watchdog-timeout",
    "torch.distributed's watchdog: the operation that timed out, its group and number",
    kTimeoutWords, read_timeout};
extern constinit const Recogniser kWatchdogFrontier{
    "watchdog-frontier",
    "torch.distributed's watchdog: last enqueued and last completed operation of a rank",
    kFrontierWords, read_frontier};
extern constinit const Recogniser kDesync{
    "desync-report",
    "torch.distributed's desynchronisation report: which collective "
    "each rank started or finished last",
    kDesyncWords, read_desync};

}  // namespace culprit::ingest
