// NCCL_DEBUG_SUBSYS=COLL: one line for every call of an operation, of every process. What matters
// is how far each process came on each communicator, and what it called last, so that a rank which
// called something else shows:
//   gpu-a:615:18953 [2] NCCL INFO AllReduce: opCount 139d sendbuff 0x78d0 recvbuff 0x78d0 count
//   7382 datatype 7 op 0 root 0 comm 0x78cf [nranks=128] stream 0x78d0
// and with RCCL "task 0 globalrank 2" behind it. opCount is hexadecimal and counts the calls on one
// communicator; it is printed when the call is made: enqueued, not finished. Sends and receives use
// the same counter, which then means little to another rank.
//
// A comm is a pointer of one process. The line "- Init START|COMPLETE" of that process ties it to
// the commId, which all ranks share (and to the rank in it):
//   known in this member      frontier, collective: group {commId, "", size}; history: {commId,
//   "0x78cf@gpu-a:615", size} not known                 all three:            group
//   {"0x78cf@gpu-a:615", "", size}
// Every Init line leaves the group {commId, "0x78cf@gpu-a:615", size}, so calls of a rotated log
// find theirs by looking the name up among the descriptions; the rank in it is in the identity row
// of the same host, pid and commId.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "ingest/collectives/nccl_calls.hpp"
#include "ingest/engine/operation.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kCallsKept =
    16;  // as rows, of each communicator: ranks run ahead of one another by a few calls
constexpr std::size_t kCallHistoryKept =
    16'384;  // packed, of each communicator: 0.7 MB, about a hundred iterations
constexpr std::size_t kCallHistoryInAll = 2'000'000;  // of a member: 80 MB
constexpr std::size_t kCommunicators = 65'536;        // of a member
constexpr std::int64_t kOutOfOrder =
    64;  // threads of one process print a little out of order; more is a new communicator

struct Hasher {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
  void add(std::string_view text) {
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h = (h ^ 0xff) * 0x100000001b3ULL;
  }
  void add(std::int64_t value) {
    for (int i = 0; i < 8; ++i)
      h = (h ^ (static_cast<std::uint64_t>(value) >> (8 * i) & 0xff)) * 0x100000001b3ULL;
  }
  std::uint32_t folded() const { return static_cast<std::uint32_t>(h ^ h >> 32); }
};

struct Call {
  std::string_view operation;  // as NCCL spells it
  std::int64_t sequence = 0, count = 0, type = 0, redop = 0, root = 0, nranks = 0;
  std::string_view comm;
  std::optional<Rank> global_rank;
};

// Reads the fields in the order in which every version prints them.
struct Fields {
  std::string_view rest;
  bool take(std::string_view key) {
    if (!rest.starts_with(key)) return false;
    rest.remove_prefix(key.size());
    return true;
  }
  std::string_view word() {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view out = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return out;
  }
  bool number(std::int64_t& value, int base = 10) { return parse_whole(word(), value, base); }
};

bool read_call(std::string_view message, Call& call) {
  const std::size_t at = message.find(": opCount ");
  if (at == std::string_view::npos) return false;
  std::size_t begin = at;
  while (begin > 0 && message[begin - 1] != ' ' && at - begin < 64) --begin;
  call.operation = message.substr(begin, at - begin);
  if (call.operation.empty() || !std::ranges::all_of(call.operation, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      }))
    return false;
  Fields f{message.substr(at + 10)};
  if (!f.number(call.sequence, 16) || call.sequence < 0) return false;
  if (!f.take("sendbuff ") || f.word().empty() || !f.take("recvbuff ") || f.word().empty())
    return false;
  if (!f.take("count ") || !f.number(call.count) || call.count < 0 || !f.take("datatype ") ||
      !f.number(call.type) || !f.take("op ") || !f.number(call.redop) || !f.take("root ") ||
      !f.number(call.root))
    return false;
  if (!f.take("comm ")) return false;
  call.comm = f.word();
  if (!(call.comm.starts_with("0x") && call.comm.size() > 2 && call.comm.size() <= 18) &&
      call.comm != "(nil)")
    return false;
  if (!f.take("[nranks=")) return false;
  const std::size_t close = f.rest.find(']');
  if (close > 12) return false;  // or there is none
  if (!parse_whole(f.rest.substr(0, close), call.nranks) || call.nranks < 1) return false;
  if (const std::size_t global = f.rest.find(" globalrank "); global != std::string_view::npos) {
    Fields tail{f.rest.substr(global + 12)};
    std::int64_t rank = 0;
    if (tail.number(rank) && rank >= 0) call.global_rank = Rank(rank);
  }
  return true;
}

std::string pointer_name(std::string_view comm, std::string_view host,
                         std::optional<std::int64_t> pid) {
  return fmt::format("{}@{}:{}", comm, host, pid.value_or(0));
}

// The calls of one process on one communicator.
struct Communicator {
  std::string host, pointer;
  std::optional<std::int64_t> pid;
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::int64_t nranks = 0;
  std::string id;  // commId, once an Init line told
  std::int64_t group_rank = kUnknownSequence;
  std::uint64_t calls = 0, p2p_calls = 0;
  std::int64_t last = kNoSequence;
  Place place;
  Timestamp time;
  struct Kept {
    std::string operation;
    std::int64_t sequence = 0, count = 0, type = 0, root = 0;
    Place place;
    Timestamp time;
  };
  std::vector<Kept> kept;             // a ring of kCallsKept; `calls` counts on
  std::vector<Kept> extra;            // from torn lines
  std::vector<HistoryEntry> history;  // grows, then turns
  std::size_t history_at = 0;
  bool history_turns = false;

  bool is(std::string_view h, std::optional<std::int64_t> p, std::string_view c) const {
    return pointer == c && pid == p && host == h;
  }
};

class Calls final : public Kept {
 public:
  // false: too many communicators.
  bool add(const Call& call, const TextLine& line, Reading& reading) {
    const line::Prefix& prefix = line.line.prefix;
    Communicator* c = find(prefix.host ? std::string_view(*prefix.host) : std::string_view{},
                           prefix.pid, call.comm, true);
    if (c == nullptr) return false;
    // A counter that falls far, or another size: the process made a new communicator at the same
    // place.
    if (c->calls > 0 &&
        (call.sequence + kOutOfOrder < c->last || (c->nranks != call.nranks && c->nranks != 0)))
      restart(*c, reading);
    if (c->nranks != call.nranks) {
      if (c->nranks != 0) {
        c->id.clear();
        c->group_rank = kUnknownSequence;
      }
      c->nranks = call.nranks;
    }
    if (call.global_rank)
      c->rank = call.global_rank;
    else if (prefix.rank)
      c->rank = prefix.rank;
    if (prefix.local_rank) c->local_rank = prefix.local_rank;
    keep(call, line, *c);
    return true;
  }

  void tie(std::string_view pointer, std::string_view id, std::int64_t rank, std::int64_t nranks,
           const TextLine& line, Reading& reading) {
    const line::Prefix& prefix = line.line.prefix;
    const std::string_view host = prefix.host ? std::string_view(*prefix.host) : std::string_view{};
    reading.sink.group({std::string(id), pointer_name(pointer, host, prefix.pid), {}, nranks});
    Communicator* c = find(host, prefix.pid, pointer, true);
    if (c == nullptr) return;
    // Another communicator was here before: what was called on it is told first.
    if (c->calls > 0 &&
        ((!c->id.empty() && c->id != id) || (c->nranks != 0 && c->nranks != nranks)))
      restart(*c, reading);
    c->id = std::string(id);
    c->group_rank = rank;
    c->nranks = nranks;
  }

  void finish(Reading& reading) override {
    join_torn();
    for (Communicator& c : all_) put(c, reading.sink);
    all_.clear();
    by_key_.clear();
  }

 private:
  // Among the last calls of its communicator, and in its history.
  void keep(const Call& call, const TextLine& line, Communicator& c) {
    const Timestamp& time = line.line.prefix.time;
    Communicator::Kept& kept =
        c.kept.size() < kCallsKept ? c.kept.emplace_back() : c.kept[c.calls % kCallsKept];
    if (call.operation != last_name_) {
      last_name_ = call.operation;
      last_operation_ = nccl_operation(call.operation);
    }
    kept.operation = last_operation_;
    kept.sequence = call.sequence;
    kept.count = call.count;
    kept.type = call.type;
    kept.root = call.root;
    kept.place = line.place;
    kept.time = time;
    const bool p2p = is_p2p(kept.operation);
    ++c.calls;
    c.p2p_calls += p2p;
    if (call.sequence >= c.last) {
      c.last = call.sequence;
      c.place = line.place;
      c.time = time;
    }
    // The last ones are kept; where memory is short, fewer of them.
    const bool grow =
        !c.history_turns && c.history.size() < kCallHistoryKept && history_ < kCallHistoryInAll;
    if (!grow && c.history.empty()) return;
    c.history_turns = !grow;
    HistoryEntry& entry = grow ? (++history_, c.history.emplace_back())
                               : c.history[c.history_at++ % c.history.size()];
    entry = history_entry(call, time, kept.operation, p2p);
  }

  static HistoryEntry history_entry(const Call& call, const Timestamp& time,
                                    const std::string& operation, bool p2p) {
    HistoryEntry entry = {};
    entry.sequence = call.sequence;
    if (time.clock != Clock::none) {
      entry.created_ns = time.ns;
      entry.clock =
          time.clock == Clock::utc ? std::uint8_t{0} : static_cast<std::uint8_t>(time.clock);
    }
    entry.size_class = size_class(call.count);
    Hasher name, signature;
    name.add(operation);
    signature.add(operation);
    signature.add(call.count);
    signature.add(call.type);
    signature.add(call.redop);
    if (!p2p) signature.add(call.root);  // of a send or receive it is the other end
    entry.operation = name.folded();
    entry.signature = signature.folded();
    entry.p2p = p2p;
    return entry;
  }

  Communicator* find(std::string_view host, std::optional<std::int64_t> pid,
                     std::string_view pointer, bool make) {
    if (last_found_ < all_.size() && all_[last_found_].is(host, pid, pointer))
      return &all_[last_found_];
    Hasher key;
    key.add(host);
    key.add(pid.value_or(-1));
    key.add(pointer);
    const auto [from, to] = by_key_.equal_range(key.h);
    for (auto it = from; it != to; ++it)
      if (all_[it->second].is(host, pid, pointer)) {
        last_found_ = it->second;
        return &all_[last_found_];
      }
    if (!make || all_.size() >= kCommunicators) return nullptr;
    last_found_ = all_.size();
    by_key_.emplace(key.h, last_found_);
    Communicator& c = all_.emplace_back();
    c.host = std::string(host);
    c.pid = pid;
    c.pointer = std::string(pointer);
    return &c;
  }

  void restart(Communicator& c, Reading& reading) {
    put(c, reading.sink);
    history_ -= c.history.size();
    Communicator fresh{.host = c.host,
                       .pointer = c.pointer,
                       .pid = c.pid,
                       .rank = c.rank,
                       .local_rank = c.local_rank,
                       .nranks = c.nranks};
    c = std::move(fresh);
  }

  // "busId 53gpu-a:615:615 [2] NCCL INFO AllReduce": where lines tore, a host begins with the end
  // of another field.
  void join_torn() {
    std::map<std::pair<std::int64_t, std::string>, std::vector<std::size_t>> same;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].calls > 0) same[{all_[i].pid.value_or(-1), all_[i].pointer}].push_back(i);
    for (const auto& [key, list] : same)
      for (const std::size_t torn : list)
        for (const std::size_t real : list) {
          Communicator& a = all_[torn];
          Communicator& b = all_[real];
          if (a.calls == 0 || b.calls <= a.calls || a.calls > 8 || a.host.size() <= b.host.size() ||
              b.host.empty() || !a.host.ends_with(b.host))
            continue;
          if (a.last > b.last && a.last <= b.last + kOutOfOrder) {
            b.last = a.last;
            b.place = a.place;
            b.time = a.time;
          }
          for (Communicator::Kept& kept : a.kept) b.extra.push_back(std::move(kept));
          a.calls = 0;
        }
  }

  static void put(Communicator& c, Sink& sink) {
    if (c.calls == 0) return;
    const std::string pointer = pointer_name(c.pointer, c.host, c.pid);
    const GroupId group = sink.group(c.id.empty() ? GroupRow{pointer, "", {}, c.nranks}
                                                  : GroupRow{c.id, "", {}, c.nranks});
    const std::optional<Host> host = c.host.empty() ? std::nullopt : std::optional(Host(c.host));
    sink.put(FrontierRow{.place = c.place,
                         .time = c.time,
                         .source = CollectiveSource::nccl_call,
                         .host = host,
                         .rank = c.rank,
                         .local_rank = c.local_rank,
                         .pid = c.pid,
                         .group_rank = c.group_rank,
                         .group = group,
                         .p2p = c.p2p_calls > 0,
                         .enqueued = c.last});
    std::vector<Communicator::Kept> kept;
    const std::size_t oldest = c.kept.size() < kCallsKept ? 0 : c.calls % kCallsKept;
    for (std::size_t i = 0; i < c.kept.size(); ++i)
      kept.push_back(std::move(c.kept[(oldest + i) % c.kept.size()]));
    for (Communicator::Kept& extra : c.extra) kept.push_back(std::move(extra));
    for (const Communicator::Kept& call : kept) {
      CollectiveRow row{.place = call.place,
                        .time = call.time,
                        .source = CollectiveSource::nccl_call,
                        .host = host,
                        .rank = c.rank,
                        .local_rank = c.local_rank,
                        .pid = c.pid,
                        .group = group,
                        .sequence = call.sequence,
                        .operation = call.operation,
                        .backend = "nccl",
                        .p2p = is_p2p(call.operation)};
      if (row.p2p) row.peer = Rank(call.root);
      row.state = "scheduled";
      row.sizes = fmt::format("count {}", call.count);
      const ElementType type = nccl_type(call.type);
      row.types = type.bytes > 0 ? std::string(type.name) : fmt::format("datatype {}", call.type);
      if (type.bytes > 0 && call.count <= INT64_MAX / 8) row.bytes = call.count * type.bytes;
      sink.put(row);
    }
    HistoryRow history{.member = c.place.member,
                       .rank = c.rank,
                       .group = c.id.empty() ? group : sink.group({c.id, pointer, {}, c.nranks})};
    std::rotate(c.history.begin(),
                c.history.begin() + static_cast<std::ptrdiff_t>(
                                        c.history.empty() ? 0 : c.history_at % c.history.size()),
                c.history.end());
    history.entries = std::move(c.history);
    if (!history.entries.empty()) sink.put(history);
  }

  std::vector<Communicator> all_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_key_;
  std::size_t last_found_ = 0;
  std::size_t history_ = 0;
  std::string last_name_, last_operation_;
};

Outcome read_nccl_calls(const TextLine& line, Reading& reading) {
  if (!contains(line.line.message, "NCCL ")) return {};
  Call call;
  if (!line.line.prefix.nccl || !read_call(line.line.message, call))
    return {false, nullptr, "nccl_call.torn"};
  if (!reading.keep<Calls>().add(call, line, reading))
    return {false, nullptr, "nccl_call.too_many_communicators"};
  return {true};
}

constexpr std::string_view kNcclCallsWords[] = {": opCount "};

}  // namespace

void tie_communicator(std::string_view pointer, std::string_view id, std::int64_t rank,
                      std::int64_t nranks, const TextLine& line, Reading& reading) {
  reading.keep<Calls>().tie(pointer, id, rank, nranks, line, reading);
}

extern constinit const Recogniser kNcclCalls{
    "nccl-calls",
    "NCCL_DEBUG_SUBSYS=COLL: last operation of each process on each communicator, and its history",
    kNcclCallsWords, read_nccl_calls};

}  // namespace culprit::ingest
