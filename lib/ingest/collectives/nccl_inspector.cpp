// NCCL's Inspector plugin: one JSON object for every finished operation, in <host>-pid<pid>.log.
// Summed up for each rank of each communicator: the highest number, and the packed history with
// durations. The time of an operation includes waiting for the slowest, who has the shortest.
//
// One pass over a line picks the scalars that matter by their keys, in whatever order and release
// they come: a file may have gigabytes, and a tree for each line would cost several times as much.
//
// header.rank counts within the communicator: group_rank. One process has one rank of a
// communicator, mostly; where a file has several, its history rows come in the order of its
// frontier rows. The records of a ring overwritten before they were dumped are missing: gaps are
// normal.
#include <algorithm>
#include <map>

#include "ingest/engine/operation.hpp"
#include "ingest/engine/recogniser.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kInspectorHistoryKept = 65'536;      // of each rank of a communicator: 2.6 MB
constexpr std::size_t kInspectorHistoryInAll = 2'000'000;  // of a member
constexpr std::size_t kRanksInAll = 65'536;

// The scalars of a line by key, the first of each: numbers as they stand, strings without their
// quotes.
class InspectorRecord {
 public:
  enum Field {
    id,
    rank,
    n_ranks,
    comm_name,
    version,
    dumped,
    hostname,
    pid,
    operation,
    sequence,
    bytes,
    took,
    started,
    stopped,
    fields
  };

  explicit InspectorRecord(std::string_view text) {
    std::size_t at = 0;
    while ((at = text.find('"', at)) != std::string_view::npos) {
      const std::size_t end = string_end(text, at);
      if (end == std::string_view::npos) return;
      const std::string_view name = text.substr(at + 1, end - at - 1);
      at = end + 1;
      while (at < text.size() && text[at] == ' ') ++at;
      if (at >= text.size() || text[at] != ':') continue;  // a value in a list
      do ++at;
      while (at < text.size() && text[at] == ' ');
      if (at >= text.size()) return;
      std::string_view value;
      if (text[at] == '"') {
        const std::size_t close = string_end(text, at);
        if (close == std::string_view::npos) return;
        value = text.substr(at + 1, close - at - 1);
        at = close + 1;
      } else if (text[at] == '{' || text[at] == '[') {
        if (name == "header") header_ = true;
        if (name == "p2p_perf") p2p_ = true;
        if (name == "event_trace_ts") traced_ = true;
        continue;
      } else {
        const std::size_t close = std::min(text.find_first_of(",}] \r", at), text.size());
        value = text.substr(at, close - at);
        at = close;
      }
      if (const Field field = named(name); field != fields && !values_[field])
        values_[field] = value;
    }
  }

  bool header() const { return header_; }
  bool p2p() const { return p2p_; }
  bool traced() const { return traced_; }
  std::optional<std::string_view> text(Field field) const { return values_[field]; }
  template <class Number>
  std::optional<Number> number(Field field) const {
    const auto& value = values_[field];
    return value ? whole_number<Number>(*value) : std::nullopt;
  }

 private:
  static std::size_t string_end(std::string_view text, std::size_t open) {
    std::size_t at = open + 1;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return at < text.size() ? at : std::string_view::npos;
  }

  static Field named(std::string_view name) {
    static constexpr std::pair<std::string_view, Field> kNames[] = {
        {"id", id},
        {"rank", rank},
        {"n_ranks", n_ranks},
        {"comm_name", comm_name},
        {"inspector_output_format_version", version},
        {"dump_timestamp_us", dumped},
        {"hostname", hostname},
        {"pid", pid},
        {"coll", operation},
        {"coll_sn", sequence},
        {"coll_msg_size_bytes", bytes},
        {"coll_exec_time_us", took},
        {"coll_start_ts", started},
        {"coll_stop_ts", stopped},
        {"p2p", operation},
        {"p2p_sn", sequence},
        {"p2p_msg_size_bytes", bytes},
        {"p2p_exec_time_us", took},
        {"p2p_start_ts", started},
        {"p2p_stop_ts", stopped}};
    for (const auto& [known, field] : kNames)
      if (known == name) return field;
    return fields;
  }

  std::optional<std::string_view> values_[fields];
  bool header_ = false, p2p_ = false, traced_ = false;
};

std::uint32_t hash_of(std::string_view text, std::int64_t number = 0) {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  for (int i = 0; i < 8; ++i)
    h = (h ^ (static_cast<std::uint64_t>(number) >> (8 * i) & 0xff)) * 0x100000001b3ULL;
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
    std::vector<HistoryEntry> entries;  // grows, then turns
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
    const bool grow = !rank.turns && rank.entries.size() < kInspectorHistoryKept &&
                      entries_ < kInspectorHistoryInAll;
    if (!grow && rank.entries.empty()) return;
    rank.turns = !grow;
    if (grow) {
      ++entries_;
      rank.entries.push_back(entry);
    } else
      rank.entries[rank.at++ % rank.entries.size()] = entry;
  }

  void finish(Reading& reading) override {
    struct Writer {
      Place place;
      Timestamp time;
      std::string version;
      std::int64_t records = 0;
    };
    std::map<std::pair<std::string, std::int64_t>, Writer> processes;
    for (auto& [key, rank] : ranks_) {
      const GroupId group = reading.sink.group({key.id, rank.name, {}, rank.size});
      FrontierRow frontier{
          .place = rank.place, .time = rank.time, .source = CollectiveSource::inspector};
      if (!key.host.empty()) frontier.host = Host(key.host);
      if (key.pid >= 0) frontier.pid = key.pid;
      frontier.group_rank = key.rank;
      frontier.group = group;
      frontier.p2p = key.p2p;
      frontier.completed = rank.highest;
      reading.sink.put(frontier);
      HistoryRow history{.member = rank.place.member, .group = group};
      if (!rank.entries.empty())
        std::rotate(
            rank.entries.begin(),
            rank.entries.begin() + static_cast<std::ptrdiff_t>(rank.at % rank.entries.size()),
            rank.entries.end());
      history.entries = std::move(rank.entries);
      if (!history.entries.empty()) reading.sink.put(history);
      Writer& writer = processes[{key.host, key.pid}];
      if (writer.records == 0 || rank.first.offset < writer.place.offset) writer.place = rank.first;
      if (rank.time.ns >= writer.time.ns) writer.time = rank.time;
      writer.version = rank.version;
      writer.records += rank.records;
      if (frontier.host && frontier.pid && rank.size > key.rank) {
        reading.sink.put(IdentityRow{.place = rank.first,
                                     .source = "nccl-inspector",
                                     .host = frontier.host,
                                     .pid = frontier.pid,
                                     .rank = key.rank,
                                     .world_size = rank.size,
                                     .communicator = key.id});
      }
    }
    for (const auto& [who, writer] : processes) {
      RecorderRow recorder{.place = writer.place,
                           .time = writer.time,
                           .source = CollectiveSource::inspector,
                           .encoding = "json",
                           .version = writer.version};
      if (!who.first.empty()) recorder.host = Host(who.first);
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

std::string plain_text(std::optional<std::string_view> text, std::size_t most) {
  return text ? std::string(text->substr(0, most)) : std::string{};
}

Outcome read_nccl_inspector(const TextLine& line, Reading& reading) {
  std::string_view text = line.line.message;
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  if (text.empty() || text.front() != '{') return {};
  const InspectorRecord record(text);
  if (!record.header()) return {};
  const bool p2p = record.p2p();
  const auto id = record.text(InspectorRecord::id);
  const auto rank = record.number<std::int64_t>(InspectorRecord::rank);
  const auto sequence = record.number<std::int64_t>(InspectorRecord::sequence);
  const auto operation = record.text(InspectorRecord::operation);
  if (text.back() != '}' || !id || !rank || *rank < 0 || !sequence || *sequence < 0 || !operation)
    return {false, nullptr, "inspector.torn"};
  std::string_view digits = *id;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  if (digits.empty() || digits.size() > 16 ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return {false, nullptr, "inspector.torn"};
  Inspector::Key key{normal_hash(*id), plain_text(record.text(InspectorRecord::hostname), 255),
                     *rank, record.number<std::int64_t>(InspectorRecord::pid).value_or(-1), p2p};
  Inspector& inspector = reading.keep<Inspector>();
  Inspector::OneRank* one = inspector.find(key);
  if (one == nullptr) return {false, nullptr, "inspector.too_many_ranks"};
  if (one->records++ == 0) {
    one->first = line.place;
    one->name = plain_text(record.text(InspectorRecord::comm_name), 255);
    one->version = plain_text(record.text(InspectorRecord::version), 32);
    one->size = record.number<std::int64_t>(InspectorRecord::n_ranks).value_or(0);
  }
  if (*sequence >= one->highest) {
    one->highest = *sequence;
    one->place = line.place;
    const auto dumped = record.number<std::int64_t>(InspectorRecord::dumped);
    if (dumped && *dumped > 0 && *dumped < 9'000'000'000'000'000)
      one->time = {Clock::utc, *dumped * 1'000, 1'000};
  }
  HistoryEntry entry;
  entry.sequence = *sequence;
  const std::string name = nccl_operation(*operation);
  const auto took = record.number<double>(InspectorRecord::took);
  if (took && *took >= 0 && *took < 1e15) entry.duration_ms = static_cast<float>(*took / 1e3);
  // Of the operation itself, where events were traced.
  const auto moment = [&](InspectorRecord::Field field) -> Nanoseconds {
    const auto us = record.traced() ? record.number<double>(field) : std::nullopt;
    return us && *us > 1e14 && *us < 9e15 ? static_cast<Nanoseconds>(*us) * 1'000 : 0;
  };
  entry.created_ns = moment(InspectorRecord::started);
  entry.completed_ns = moment(InspectorRecord::stopped);
  entry.signature = hash_of(name, record.number<std::int64_t>(InspectorRecord::bytes).value_or(-1));
  entry.operation = hash_of(name);
  entry.size_class = size_class(record.number<std::int64_t>(InspectorRecord::bytes).value_or(0));
  entry.state = 2;
  entry.p2p = p2p;
  inspector.add(*one, entry);
  return {true};
}

constexpr std::string_view kNcclInspectorWords[] = {"\"coll_perf\"", "\"p2p_perf\""};

}  // namespace

extern constinit const Recogniser kInspector{
    "nccl-inspector", "NCCL Inspector: operations each rank has finished, and how long they took",
    kNcclInspectorWords, read_nccl_inspector};

}  // namespace culprit::ingest
