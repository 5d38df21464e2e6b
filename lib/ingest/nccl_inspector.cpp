// NCCL's Inspector plugin: one JSON object for every finished operation, in <host>-pid<pid>.log. Summed up for each rank of each
// communicator: the highest number, and the packed history with durations. The time of an operation includes waiting
// for the slowest, who has the shortest.
//
// Fields are looked for by name, in whatever order and release they come: the values that matter are numbers and short
// strings, and a key inside a string is escaped, so it is never met. A file has gigabytes; a tree for each line would cost
// ten times as much.
//
// header.rank counts within the communicator: group_rank. One process has one rank of a communicator, mostly; where a
// file has several, its history rows come in the order of its frontier rows. The records of a ring overwritten before they were
// dumped are missing: gaps are normal.
#include <algorithm>
#include <charconv>
#include <map>

#include "ingest/operation.hpp"
#include "ingest/recogniser.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kHistoryKept = 65'536;        // of each rank of a communicator: 2.6 MB
constexpr std::size_t kHistoryInAll = 2'000'000;    // of a member
constexpr std::size_t kRanksInAll = 65'536;

// What stands after "key": - a number, or what is between quotes.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at += key.size();
  while (at < text.size() && text[at] == ' ') ++at;
  if (at >= text.size()) return std::nullopt;
  if (text[at] != '"') return text.substr(at, std::min(text.find_first_of(",}] \r", at), text.size()) - at);
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size()) return std::nullopt;
  return text.substr(at + 1, end - at - 1);
}

template <class Number> std::optional<Number> number_of(std::string_view text, std::string_view key) {
  const auto value = value_of(text, key);
  if (!value) return std::nullopt;
  Number out{};
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), out);
  if (error != std::errc() || end != value->data() + value->size()) return std::nullopt;
  return out;
}

std::uint32_t hash_of(std::string_view text, std::int64_t number = 0) {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  for (int i = 0; i < 8; ++i) h = (h ^ (static_cast<std::uint64_t>(number) >> (8 * i) & 0xff)) * 0x100000001b3ULL;
  return static_cast<std::uint32_t>(h ^ h >> 32);
}

class Inspector final : public Kept {
 public:
  struct Key {
    std::string id, host;
    std::int64_t rank = 0, pid = 0;
    bool p2p = false;
    auto operator<=>(const Key&) const = default;
  };
  struct OneRank {
    Place first, place;
    Timestamp time;
    std::string name, version;
    std::int64_t size = 0, highest = kNoSequence, records = 0;
    std::vector<HistoryEntry> entries;   // grows, then turns
    std::size_t at = 0;
    bool turns = false;
  };

  // nullptr: too many.
  OneRank* find(const Key& key) {
    if (last_ != nullptr && last_->first == key) return &last_->second;
    auto it = ranks_.find(key);
    if (it == ranks_.end()) {
      if (ranks_.size() >= kRanksInAll) return nullptr;
      it = ranks_.emplace(key, OneRank{}).first;
    }
    last_ = &*it;
    return &it->second;
  }

  void add(OneRank& rank, const HistoryEntry& entry) {
    const bool grow = !rank.turns && rank.entries.size() < kHistoryKept && entries_ < kHistoryInAll;
    if (!grow && rank.entries.empty()) return;
    rank.turns = !grow;
    if (grow) { ++entries_; rank.entries.push_back(entry); }
    else rank.entries[rank.at++ % rank.entries.size()] = entry;
  }

  void finish(Reading& reading) override {
    struct Writer { Place place; Timestamp time; std::string version; std::int64_t records = 0; };
    std::map<std::pair<std::string, std::int64_t>, Writer> processes;
    for (auto& [key, rank] : ranks_) {
      const GroupId group = reading.sink.group({key.id, rank.name, {}, rank.size});
      FrontierRow frontier;
      frontier.place = rank.place;
      frontier.time = rank.time;
      frontier.source = "inspector";
      if (!key.host.empty()) frontier.host = key.host;
      if (key.pid >= 0) frontier.pid = key.pid;
      frontier.group_rank = key.rank;
      frontier.group = group;
      frontier.p2p = key.p2p;
      frontier.completed = rank.highest;
      reading.sink.put(frontier);
      HistoryRow history;
      history.member = rank.place.member;
      history.group = group;
      if (!rank.entries.empty()) std::rotate(rank.entries.begin(), rank.entries.begin() + static_cast<std::ptrdiff_t>(rank.at % rank.entries.size()), rank.entries.end());
      history.entries = std::move(rank.entries);
      if (!history.entries.empty()) reading.sink.put(history);
      Writer& writer = processes[{key.host, key.pid}];
      if (writer.records == 0 || rank.first.offset < writer.place.offset) writer.place = rank.first;
      if (rank.time.ns >= writer.time.ns) writer.time = rank.time;
      writer.version = rank.version;
      writer.records += rank.records;
      if (frontier.host && frontier.pid && rank.size > key.rank) {
        IdentityRow identity;
        identity.place = rank.first;
        identity.source = "nccl-inspector";
        identity.host = frontier.host;
        identity.pid = frontier.pid;
        identity.rank = key.rank;
        identity.world_size = rank.size;
        identity.communicator = key.id;
        reading.sink.put(identity);
      }
    }
    for (const auto& [who, writer] : processes) {
      RecorderRow recorder;
      recorder.place = writer.place;
      recorder.time = writer.time;
      recorder.source = "inspector";
      recorder.encoding = "json";
      recorder.version = writer.version;
      if (!who.first.empty()) recorder.host = who.first;
      if (who.second >= 0) recorder.pid = who.second;
      recorder.entries = writer.records;
      reading.sink.put(recorder);
    }
    ranks_.clear();
    last_ = nullptr;
  }

 private:
  std::map<Key, OneRank> ranks_;
  std::map<Key, OneRank>::value_type* last_ = nullptr;
  std::size_t entries_ = 0;
};

std::string plain(std::optional<std::string_view> text, std::size_t most) {
  return text ? std::string(text->substr(0, most)) : std::string{};
}

Outcome read(const TextLine& line, Reading& reading) {
  std::string_view text = line.line.message;
  const std::size_t header = text.find("\"header\"");
  if (header == std::string_view::npos || text.empty() || text.front() != '{') return {};
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const bool p2p = text.find("\"p2p_perf\"") != std::string_view::npos;
  const auto id = value_of(text, "\"id\":");
  const auto rank = number_of<std::int64_t>(text, "\"rank\":");
  const auto sequence = number_of<std::int64_t>(text, p2p ? "\"p2p_sn\":" : "\"coll_sn\":");
  const auto operation = value_of(text, p2p ? "\"p2p\":" : "\"coll\":");
  if (text.back() != '}' || !id || id->empty() || !rank || *rank < 0 || !sequence || *sequence < 0 || !operation) return {false, nullptr, "inspector.torn"};
  std::string_view digits = *id;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  if (digits.empty() || digits.size() > 16 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) return {false, nullptr, "inspector.torn"};
  Inspector::Key key{normal_hash(*id), plain(value_of(text, "\"hostname\":"), 255), *rank, number_of<std::int64_t>(text, "\"pid\":").value_or(-1), p2p};
  Inspector& inspector = reading.keep<Inspector>();
  Inspector::OneRank* one = inspector.find(key);
  if (one == nullptr) return {false, nullptr, "inspector.too_many_ranks"};
  if (one->records++ == 0) {
    one->first = line.place;
    one->name = plain(value_of(text, "\"comm_name\":"), 255);
    one->version = plain(value_of(text, "\"inspector_output_format_version\":"), 32);
    one->size = number_of<std::int64_t>(text, "\"n_ranks\":").value_or(0);
  }
  const auto dumped = number_of<std::int64_t>(text, "\"dump_timestamp_us\":");
  if (*sequence >= one->highest) {
    one->highest = *sequence;
    one->place = line.place;
    if (dumped && *dumped > 0 && *dumped < 9'000'000'000'000'000) one->time = {Clock::utc, *dumped * 1'000, 1'000};
  }
  HistoryEntry entry;
  entry.sequence = *sequence;
  const std::string name = nccl_operation(*operation);
  const auto bytes = number_of<std::int64_t>(text, p2p ? "\"p2p_msg_size_bytes\":" : "\"coll_msg_size_bytes\":");
  const auto took = number_of<double>(text, p2p ? "\"p2p_exec_time_us\":" : "\"coll_exec_time_us\":");
  if (took && *took >= 0 && *took < 1e15) entry.duration_ms = static_cast<float>(*took / 1e3);
  // Of the operation itself, where events were traced.
  const auto moment = [&](std::string_view name_of) -> Nanoseconds {
    const auto us = number_of<double>(text, name_of);
    return us && *us > 1e14 && *us < 9e15 ? static_cast<Nanoseconds>(*us) * 1'000 : 0;
  };
  if (text.find("\"event_trace_ts\"") != std::string_view::npos) {
    entry.created_ns = moment(p2p ? "\"p2p_start_ts\":" : "\"coll_start_ts\":");
    entry.completed_ns = moment(p2p ? "\"p2p_stop_ts\":" : "\"coll_stop_ts\":");
  }
  entry.signature = hash_of(name, bytes.value_or(-1));
  entry.operation = hash_of(name);
  entry.state = 2;
  entry.p2p = p2p;
  inspector.add(*one, entry);
  return {true, nullptr, {}};
}

constexpr std::string_view kWords[] = {"\"coll_perf\"", "\"p2p_perf\""};

}  // namespace

extern const Recogniser kInspector;
constinit const Recogniser kInspector{"nccl-inspector", "NCCL Inspector: operations each rank has finished, and how long they took", kWords, read};

}  // namespace culprit::ingest
