// NCCL's RAS subsystem: what ncclras prints (text since 2.24, JSON since 2.28), and its monitor
// mode. RAS asks every process how many operations it has launched on each communicator: counters
// of ranks that no log need hold.
//
// Text: a table of communicators, in which #<group>-<comm> of the sections below are found again,
// and for every communicator whose counters differ how many ranks have which, naming the members of
// small sets only. Where just one set is not named and the numbers add up, its members are the
// ranks that no other set names.
//
// A rank of RAS is a rank in its communicator: group_rank, and the rank of an identity row with a
// communicator. The group is {commHash, "", size}, spelt like the commId of Init lines. One
// snapshot in which counters differ is normal: ranks are on their way. The same in two is not.
#include <algorithm>
#include <map>
#include <set>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/operation.hpp"
#include "line/timestamp.hpp"
#include "model/address.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"

namespace culprit::ingest {

namespace {

constexpr std::int64_t kRanks = 1'000'000;      // more is a broken number
constexpr std::size_t kRanksNamed = 2'000'000;  // of one member

void place_node(std::string_view node, std::optional<Host>& host,
                std::optional<std::string>& address) {
  if (const std::size_t port = node.find('<'); port != std::string_view::npos)
    node = node.substr(0, port);
  if (node.empty()) return;
  if (is_address(node))
    address = std::string(node);
  else
    host = Host(node);
}

// "3", "3,5-7": false when it is none of that, or too many.
bool read_ranks(std::string_view text, std::vector<std::int64_t>& ranks) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && (text[at] == ' ' || text[at] == ',')) ++at;
    if (at == text.size()) break;
    std::size_t used = 0;
    std::int64_t first = 0;
    if (!line::parse_digits(text.substr(at), used, first)) return false;
    at += used;
    std::int64_t last = first;
    if (at < text.size() && text[at] == '-') {
      if (!line::parse_digits(text.substr(at + 1), used, last)) return false;
      at += 1 + used;
    }
    if (last < first || last >= kRanks ||
        ranks.size() + static_cast<std::size_t>(last - first) >= static_cast<std::size_t>(kRanks))
      return false;
    for (std::int64_t r = first; r <= last; ++r) ranks.push_back(r);
  }
  return !ranks.empty();
}

struct Process {
  std::string node;
  std::int64_t pid = -1, device = -1;
};

// The counters of the communicator that the lines speak of, until the next one.
class Ras final : public Kept {
 public:
  void new_table() { close_snapshot_ = true; }

  void table(std::int64_t number, std::int64_t size, Reading& reading) {
    if (close_snapshot_) {
      flush(reading.sink);
      sizes_.clear();
      missing_.clear();
      close_snapshot_ = false;
    }
    if (sizes_.size() < 65'536) sizes_[number] = size;
  }

  void gpus(std::int64_t total) { gpus_ = total; }

  void communicator(std::int64_t group_number, std::string hash, Reading& reading) {
    const auto it = sizes_.find(group_number);
    const std::int64_t size = it == sizes_.end() ? 0 : it->second;
    flush(reading.sink);
    hash_ = std::move(hash);
    size_ = size;
    what_ = What::nothing;
  }

  void operation(std::string_view name, Reading& reading) {
    flush(reading.sink);
    operation_ = name == "collective" ? "" : nccl_operation(name);
    what_ = What::nothing;
  }

  void set(std::int64_t ranks, std::int64_t count, const TextLine& line) {
    if (hash_.empty() || sets_.size() >= 4'096) return;
    sets_.push_back({ranks, count, {}, line.place, line.line.prefix.time});
    what_ = What::counted;
  }

  // A line about one rank. count: the line says it itself.
  void rank(std::int64_t rank, std::optional<std::int64_t> count, const Process& process,
            const TextLine& line, Reading& reading) {
    if (count) set(1, *count, line);
    if (hash_.empty() || rank >= kRanks) return;
    if (what_ == What::counted && !sets_.empty() && named_ < kRanksNamed) {
      ++named_;
      sets_.back().members.push_back({rank, process, line.place});
      if (count) what_ = What::nothing;
    }
    if (what_ == What::missing) missing(rank, process, line, reading);
    identity(rank, process, line, reading);
  }

  void missing(std::int64_t rank, const Process& process, const TextLine& line, Reading& reading) {
    if (hash_.empty() || named_ >= kRanksNamed || !missing_[hash_].insert(rank).second) return;
    ++named_;
    FrontierRow frontier = row(line.place, line.line.prefix.time);
    frontier.group = reading.sink.group({hash_, "", {}, size_});
    frontier.group_rank = rank;
    fill(frontier, process);
    reading.sink.put(frontier);
    silent(rank, process, line, reading);
  }

  void silent(std::optional<std::int64_t> rank, const Process& process, const TextLine& line,
              Reading& reading) {
    RecorderRow recorder{.place = line.place,
                         .time = line.line.prefix.time,
                         .source = CollectiveSource::ras,
                         .encoding = "text",
                         .unresponsive = true};
    std::optional<std::string> address;
    place_node(process.node, recorder.host, address);
    if (process.pid >= 0) recorder.pid = process.pid;
    // Only of a communicator of all GPUs of the job is it known that its ranks are the job's.
    if (rank && size_ > 0 && size_ == gpus_) recorder.rank = Rank(*rank);
    reading.sink.put(recorder);
  }

  void process(const Process& process, const TextLine& line, Reading& reading) {
    if (what_ == What::missing || what_ == What::dead) silent(std::nullopt, process, line, reading);
    identity(std::nullopt, process, line, reading);
  }

  enum class What { nothing, counted, missing, dead };
  void now(What what) { what_ = what; }
  void job_level(Reading& reading) {
    flush(reading.sink);
    hash_.clear();
    size_ = 0;
  }
  bool knows_communicator() const { return !hash_.empty(); }

  void finish(Reading& reading) override { flush(reading.sink); }

 private:
  struct Member {
    std::int64_t rank;
    Process process;
    Place place;
  };
  struct Set {
    std::int64_t ranks = 0, count = 0;
    std::vector<Member> members;
    Place place;
    Timestamp time;
  };

  static FrontierRow row(const Place& place, const Timestamp& time) {
    return FrontierRow{.place = place, .time = time, .source = CollectiveSource::ras};
  }

  static void fill(FrontierRow& row, const Process& process) {
    std::optional<std::string> address;
    place_node(process.node, row.host, address);
    if (process.pid >= 0) row.pid = process.pid;
  }

  void identity(std::optional<std::int64_t> rank, const Process& process, const TextLine& line,
                Reading& reading) const {
    IdentityRow out{.place = line.place, .source = "nccl-ras"};
    place_node(process.node, out.host, out.address);
    if (process.pid < 0 || (!out.host && !out.address)) return;
    out.pid = process.pid;
    if (process.device >= 0) out.device = process.device;
    if (rank && !hash_.empty() &&
        size_ > *rank) {  // without the size a reader could take it for a rank of the job
      out.rank = rank;
      out.world_size = size_;
      out.communicator = hash_;
    }
    reading.sink.put(out);
  }

  void flush(Sink& sink) {
    if (!sets_.empty() && !hash_.empty()) {
      const GroupId group = sink.group({hash_, "", {}, size_});
      std::set<std::int64_t> named = missing_[hash_];
      std::int64_t sum = static_cast<std::int64_t>(named.size());
      std::size_t unnamed = 0;
      for (const Set& set : sets_) {
        sum += set.ranks;
        unnamed += set.members.empty();
        for (const Member& member : set.members) named.insert(member.rank);
      }
      for (const Set& set : sets_) {
        FrontierRow frontier = row(set.place, set.time);
        frontier.group = group;
        frontier.enqueued = set.count;
        frontier.operation = operation_;
        for (const Member& member : set.members) {
          FrontierRow one = frontier;
          one.place = member.place;
          one.group_rank = member.rank;
          fill(one, member.process);
          sink.put(one);
        }
        if (!set.members.empty()) continue;
        if (unnamed == 1 && size_ > 0 && sum == size_ &&
            static_cast<std::int64_t>(named.size()) + set.ranks == size_ &&
            named_ + static_cast<std::size_t>(set.ranks) <= kRanksNamed) {
          named_ += static_cast<std::size_t>(set.ranks);
          for (std::int64_t r = 0; r < size_; ++r) {
            if (named.contains(r)) continue;
            frontier.group_rank = r;
            sink.put(frontier);
          }
        } else {
          sink.put(frontier);  // some rank came this far
        }
      }
    }
    sets_.clear();
    operation_.clear();
  }

  std::map<std::int64_t, std::int64_t>
      sizes_;  // group number of the table -> ranks of a communicator
  bool close_snapshot_ = false;
  std::int64_t gpus_ = 0;
  std::string hash_, operation_;
  std::int64_t size_ = 0;
  std::vector<Set> sets_;
  std::map<std::string, std::set<std::int64_t>> missing_;  // of a snapshot, by communicator
  What what_ = What::nothing;
  std::size_t named_ = 0;
};

// Rows of a table: numbers or ranges, then words.
std::vector<std::string_view> columns(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t at = 0;
  while (at < text.size() && out.size() < 16) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::size_t used = 0;
  std::int64_t value = 0;
  if (!line::parse_digits(text, used, value) || used != text.size()) return std::nullopt;
  return value;
}

class GroupTable final : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    const auto cells = columns(line.line.message);
    if (cells.empty()) return rows_ > 0 ? Step::not_mine : Step::took;
    if (cells.front() == "#") return Step::took;  // the second line of the heading
    const auto group = number(cells.front());
    if (cells.size() < 8 || !group) return Step::not_mine;
    ++rows_;
    const std::int64_t size = number(cells[4]).value_or(0);
    reading.keep<Ras>().table(*group, size < kRanks ? size : 0, reading);
    return Step::took;
  }

 private:
  int rows_ = 0;
};

// "      4          8            1         32       32" below "Job summary": the last is the number
// of GPUs.
class RasSummary final : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    if (++lines_ > 8) return Step::not_mine;
    const auto cells = columns(line.line.message);
    if (cells.size() != 5) return Step::took;
    const auto total = number(cells.back());
    if (!total || !number(cells.front())) return Step::took;
    reading.keep<Ras>().gpus(*total);
    return Step::finished;
  }

 private:
  int lines_ = 0;
};

Outcome read_text(const TextLine& line, Reading& reading) {
  static const re2::RE2 kCommunicator(
      R"(^\s*#(\d{1,9})-(\d{1,9}) \((?:0x)?([0-9a-fA-F]{1,16})\) ([A-Z]+))");
  static const re2::RE2 kCounts(R"(ranks have different (\w+) operation counts)");
  static const re2::RE2 kSet(
      R"(^\s*(\d{1,9}) ranks? ha(?:ve|s) launched up to operation (\d{1,18}))");
  static const re2::RE2 kRank(
      R"(^\s*Rank (\d{1,9})(?: has launched up to operation (\d{1,18}))?(?: has status \S+)?.*? -- GPU (\d{1,4})?.*? managed by process (\d{1,12}) on node (\S+))");
  static const re2::RE2 kProcess(
      R"(^\s*Process (\d{1,12}) on node (\S+) managing GPUs? (\d{1,4})?)");
  static const re2::RE2 kMissing(R"(missing ranks?: ([\d, -]+))");
  const std::string& message = line.line.message;
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::string text, count, device, word;
  Process process;
  if (re2::RE2::PartialMatch(message, kCommunicator, &a, &b, &text, &word)) {
    Ras& ras = reading.keep<Ras>();
    ras.communicator(a, normal_hash(text), reading);
    if (word == "INCOMPLETE") ras.now(Ras::What::missing);
    return {true};
  }
  if (contains(message, "Status  Errors") && contains(message, "Comms")) {
    reading.keep<Ras>().new_table();
    return {true, std::make_unique<GroupTable>()};
  }
  if (message == "Job summary") return {true, std::make_unique<RasSummary>()};
  if (re2::RE2::PartialMatch(message, kCounts, &word)) {
    reading.keep<Ras>().operation(word, reading);
    return {true};
  }
  if (re2::RE2::PartialMatch(message, kSet, &a, &b)) {
    reading.keep<Ras>().set(a, b, line);
    return {true};
  }
  if (re2::RE2::PartialMatch(message, kRank, &a, &count, &device, &process.pid, &process.node)) {
    if (!device.empty()) process.device = number(device).value_or(-1);
    reading.keep<Ras>().rank(a, count.empty() ? std::nullopt : number(count), process, line,
                             reading);
    return {true};
  }
  if (re2::RE2::PartialMatch(message, kProcess, &process.pid, &process.node, &device)) {
    if (!device.empty()) process.device = number(device).value_or(-1);
    reading.keep<Ras>().process(process, line, reading);
    return {true};
  }
  if (contains(message, "ranks have different ") || contains(message, "ranks have status ")) {
    reading.keep<Ras>().now(
        Ras::What::nothing);  // the ranks below are told apart by something else
    return {true};
  }
  if (re2::RE2::PartialMatch(message, kMissing, &text)) {
    std::vector<std::int64_t> ranks;
    Ras& ras = reading.keep<Ras>();
    if (!ras.knows_communicator()) return {};
    if (!read_ranks(text, ranks)) return {false, nullptr, "nccl_ras.torn"};
    for (const std::int64_t rank : ranks) ras.missing(rank, {}, line, reading);
    return {true};
  }
  if (contains(message, "Missing communicator data from ")) {
    Ras& ras = reading.keep<Ras>();
    if (contains(message, "job process")) ras.job_level(reading);
    ras.now(Ras::What::missing);
    return {true};
  }
  if (contains(message, "considered dead") && contains(message, "RAS network")) {
    Ras& ras = reading.keep<Ras>();
    ras.job_level(reading);
    ras.now(Ras::What::dead);
    return {true};
  }
  if (contains(message, "launched up to operation") || contains(message, " managed by process "))
    return {false, nullptr, "nccl_ras.torn"};
  return {};
}

// Events of the monitor: "[2025-12-19 13:07:07] PEER_DEAD: Process 15 on node 10.0.0.7 managing GPU
// 1", or an object a line.
Outcome read_monitor(const TextLine& line, Reading& reading) {
  static const re2::RE2 kEvent(
      R"((PEER_[A-Z_]{2,32}): Process (\d{1,12}) on node (\S+)(?: managing GPUs? (\d{1,4}))?)");
  std::string event, device;
  Process process;
  Timestamp time = line.line.prefix.time;
  if (!re2::RE2::PartialMatch(line.line.message, kEvent, &event, &process.pid, &process.node,
                              &device)) {
    if (!contains(line.raw, "\"event\"")) return {};
    const nlohmann::json object = parse_json(line.raw.substr(line.raw.find('{')));
    if (!object.is_object()) return {false, nullptr, "nccl_ras.event_torn"};
    const auto kind = object.find("event");
    if (kind == object.end() || !kind->is_string()) return {};
    event = kind->get<std::string>();
    const auto peer = object.find("peer");
    const nlohmann::json& who = peer != object.end() && peer->is_object() ? *peer : object;
    for (const char* key : {"host", "node", "addr"})
      if (const auto it = who.find(key); it != who.end() && it->is_string() && process.node.empty())
        process.node = it->get<std::string>();
    if (const auto it = who.find("pid"); it != who.end() && it->is_number_unsigned())
      process.pid = it->get<std::int64_t>();
    if (const auto it = object.find("timestamp"); it != object.end() && it->is_string())
      line::parse_iso(it->get<std::string>(), time);
    if (process.pid < 0 || process.node.empty()) return {false, nullptr, "nccl_ras.event_torn"};
  }
  RecorderRow recorder{.place = line.place,
                       .time = time,
                       .source = CollectiveSource::ras,
                       .encoding = line.line.message.starts_with("{") ? "json" : "text"};
  IdentityRow identity{.place = line.place, .source = "nccl-ras"};
  place_node(process.node, identity.host, identity.address);
  identity.pid = recorder.pid = process.pid;
  recorder.host = identity.host;
  if (!device.empty()) identity.device = number(device);
  recorder.unresponsive =
      contains(event, "DEAD") || contains(event, "UNRESPONSIVE") || contains(event, "LOST");
  reading.sink.put(recorder);
  reading.sink.put(identity);
  return {true};
}

// -- JSON
// -------------------------------------------------------------------------------------------------

using nlohmann::json;

bool sniff_nccl_ras(const Head& head) {
  const std::size_t brace = head.bytes.find_first_not_of(" \r\n\t");
  if (brace == std::string_view::npos || head.bytes[brace] != '{') return false;
  return head.has("\"communicators\"") &&
         (head.has("\"nccl_version\"") || head.has("\"collective_counts\"") ||
          head.has("\"communicators_count\""));
}

std::int64_t integer(const json& object, const char* key, std::int64_t otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() && *it >= 0 && *it <= INT64_MAX / 2
             ? it->get<std::int64_t>()
             : otherwise;
}
bool truth(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

// Ranks are taken out of the document as they are parsed, so that it never stands in memory as a
// whole; the communicator's own fields may come before or after them.
class RasSnapshot {
 public:
  RasSnapshot(const MemberRow& member, std::size_t bytes, Reading& reading)
      : place_{member.id, 1, 0, static_cast<std::uint32_t>(std::min<std::size_t>(bytes, 1u << 30))},
        reading_(reading) {}

  std::string read(std::string_view bytes) {
    const auto take = [this](int, json::parse_event_t event, json& parsed) {
      return on(event, parsed);
    };
    const json document = parse_json(bytes, take);
    reading_.cut = truncated_ = document.is_discarded();
    if (truncated_ && !ranks_.empty()) communicator(hash_, size_);
    if (communicators_.empty() && truncated_) return "nccl_ras.not_json";
    emit();
    return {};
  }

 private:
  struct Answer {  // of a rank of the communicator
    std::int64_t rank = 0;
    Process process;
    bool missing = false, silent = false;
    std::vector<std::pair<std::string, std::int64_t>> counts;
  };
  struct Communicator {
    std::string hash;
    std::int64_t size = 0;
    std::vector<Answer> ranks;
  };

  bool on(json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key) {
      key_ = parsed.get<std::string>();
      if (key_ == "ranks") missing_ = false;
      if (key_ == "missing_ranks") missing_ = true;
    } else if (event == json::parse_event_t::value) {
      if (key_ == "hash" && parsed.is_string()) hash_ = parsed.get<std::string>();
      if (key_ == "size" && parsed.is_number_integer() && parsed >= 0 && parsed < kRanks)
        size_ = parsed.get<std::int64_t>();
      if (key_ == "nccl_version" && parsed.is_string())
        version_ = parsed.get<std::string>().substr(0, 64);
      if (key_ == "timestamp" && parsed.is_string())
        line::parse_iso(parsed.get<std::string>(), time_);
    } else if (event == json::parse_event_t::object_end && parsed.is_object()) {
      if (parsed.contains("rank") && (parsed.contains("pid") || parsed.contains("status") ||
                                      parsed.contains("collective_counts"))) {
        rank(parsed);
        return false;
      }
      if (parsed.contains("hash")) {
        communicator(hash_, size_);
        return false;
      }
    }
    return true;
  }

  void rank(const json& object) {
    Answer out;
    out.rank = integer(object, "rank", -1);
    if (out.rank < 0 || out.rank >= kRanks) return;
    if (const auto host = object.find("host"); host != object.end() && host->is_string())
      out.process.node = host->get<std::string>();
    out.process.pid = integer(object, "pid", -1);
    out.process.device = integer(object, "cuda_dev", -1);
    out.missing = missing_;
    out.silent = missing_;
    if (const auto status = object.find("status"); status != object.end() && status->is_object())
      out.silent =
          out.silent || truth(*status, "unresponsive") || truth(*status, "considered_dead");
    if (const auto counts = object.find("collective_counts");
        counts != object.end() && counts->is_object())
      for (const auto& [name, value] : counts->items())
        if (value.is_number_integer() && value >= 0 && out.counts.size() < 64)
          out.counts.emplace_back(nccl_operation(name), value.get<std::int64_t>());
    ranks_.push_back(std::move(out));
  }

  void communicator(const std::string& hash, std::int64_t size) {
    std::string_view digits = hash;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    if (!digits.empty() && digits.size() <= 16 &&
        digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos)
      communicators_.push_back({normal_hash(hash), size, std::move(ranks_)});
    ranks_.clear();
    hash_.clear();
    size_ = 0;
  }

  void emit() {
    // One row a process and device; the ranks of a communicator of all of them are those of the
    // job.
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, RecorderRow> processes;
    for (const Communicator& c : communicators_)
      for (const Answer& r : c.ranks)
        processes.try_emplace({r.process.node, r.process.pid, r.process.device});
    for (const Communicator& c : communicators_) {
      const GroupId group = reading_.sink.group({c.hash, "", {}, c.size});
      for (const Answer& r : c.ranks) {
        RecorderRow& recorder = processes[{r.process.node, r.process.pid, r.process.device}];
        recorder.entries += static_cast<std::int64_t>(r.counts.size());
        recorder.unresponsive = recorder.unresponsive || r.silent;
        if (c.size > 0 && static_cast<std::size_t>(c.size) == processes.size() && r.rank < c.size)
          recorder.rank = Rank(r.rank);
        IdentityRow identity{.place = place_, .source = "nccl-ras"};
        place_node(r.process.node, identity.host, identity.address);
        if (r.process.pid >= 0) identity.pid = r.process.pid;
        if (r.process.device >= 0) identity.device = r.process.device;
        identity.communicator = c.hash;
        if (c.size > r.rank) {
          identity.rank = r.rank;
          identity.world_size = c.size;
          reading_.sink.put(identity);
        }
        FrontierRow frontier{.place = place_,
                             .time = time_,
                             .source = CollectiveSource::ras,
                             .host = identity.host,
                             .pid = identity.pid,
                             .group_rank = r.rank,
                             .group = group};
        for (const auto& [operation, count] : r.counts) {
          frontier.operation = operation;
          frontier.enqueued = count;
          reading_.sink.put(frontier);
        }
        if (r.counts.empty()) reading_.sink.put(frontier);  // a member that told nothing
      }
    }
    for (auto& [key, recorder] : processes) {
      const auto& [node, pid, device] = key;
      recorder.place = place_;
      recorder.time = time_;
      recorder.source = CollectiveSource::ras;
      recorder.encoding = "json";
      recorder.library = version_;
      recorder.truncated = truncated_;
      std::optional<std::string> address;
      place_node(node, recorder.host, address);
      if (pid >= 0) recorder.pid = pid;
      reading_.sink.put(recorder);
    }
    if (!version_.empty()) {
      reading_.sink.put(ConfigRow{.place = place_, .name = "nccl_version", .value = version_});
    }
  }

  Place place_;
  Reading& reading_;
  std::string key_, hash_, version_;
  std::int64_t size_ = 0;
  bool missing_ = false, truncated_ = false;
  Timestamp time_;
  std::vector<Answer> ranks_;
  std::vector<Communicator> communicators_;
};

std::string read_nccl_ras_json(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return RasSnapshot(member, bytes.size(), reading).read(bytes);
}

constexpr std::string_view kTextWords[] = {") MISMATCH",
                                           ") INCOMPLETE",
                                           ") ERROR",
                                           ") NOCOMM",
                                           ") ABORT",
                                           "Status  Errors",
                                           "Job summary",
                                           " operation counts",
                                           "launched up to operation",
                                           " managed by process ",
                                           " managing GPU",
                                           "missing rank",
                                           "Missing communicator data from",
                                           "via the RAS network",
                                           "ranks have different ",
                                           "ranks have status "};
constexpr std::string_view kMonitorWords[] = {"PEER_DEAD", "PEER_UNRESPONSIVE", "PEER_LOST",
                                              "PEER_RECOVERED", "PEER_ALIVE"};

}  // namespace

extern constinit const Recogniser kRasText{
    "nccl-ras",
    "ncclras status: operations launched by the ranks of each "
    "communicator, ranks that do not answer",
    kTextWords, read_text};
extern constinit const Recogniser kRasMonitor{"nccl-ras-monitor",
                                              "ncclras monitor: peers that died or do not answer",
                                              kMonitorWords, read_monitor};
extern constinit const Document kRasJson{
    "nccl-ras-json", "ncclras JSON status: counters of every rank, ranks that do not answer",
    256u << 20, sniff_nccl_ras, read_nccl_ras_json};

}  // namespace culprit::ingest
