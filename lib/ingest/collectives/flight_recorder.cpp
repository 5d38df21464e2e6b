// PyTorch's flight recorder: the last operations of one process on its process groups, as a pickle
// or as JSON. Both become one tree of values and are read by the same code: the JSON has strings
// where the pickle has numbers, 0 where it has None, and no frames.
//
// The rank stands in the file's name only. pg_config and the entries name groups by a name that all
// processes share, pg_status by a counter of the process; the two meet in the entries.
//
// The recorder of torchcomms (FlightRecorderHook; comm_lib_trace_rank_N, or
// TORCHCOMM_FR_DUMP_TEMP_FILE) writes the same keys with other meanings: see settle_torchcomms.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/collectives/flight_recorder.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/line_numbers.hpp"
#include "ingest/engine/name_moment.hpp"
#include "ingest/collectives/pickle.hpp"
#include "line/header_layout.hpp"
#include "line/timestamp.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostRecorderKeys =
    64;  // of one group's status or configuration; torch writes three

using RecorderKind = Value::Kind;

constexpr std::size_t kLastCompleted = 4;  // of each group: what went well, to compare with
constexpr std::size_t kMostFrames = 256;

std::string clip(std::string_view text, std::size_t most) {
  return std::string(text.substr(0, most));
}

std::optional<std::int64_t> integer(const Value& v) {
  switch (v.kind) {
    case RecorderKind::boolean:
    case RecorderKind::integer: return v.integer;
    case RecorderKind::real:
      if (std::abs(v.real) < 9e15 && v.real == std::floor(v.real))
        return static_cast<std::int64_t>(v.real);
      return std::nullopt;
    case RecorderKind::text: return whole_number<std::int64_t>(v.text());
    default: return std::nullopt;
  }
}

// A time: None and 0 say that there is none.
std::optional<Nanoseconds> recorder_moment(const Value& v) {
  const auto n = integer(v);
  return n && *n > 0 ? n : std::nullopt;
}

std::string spelt(const Value& v) {
  switch (v.kind) {
    case RecorderKind::text: return clip(v.text(), 64);
    case RecorderKind::integer: return std::to_string(v.integer);
    case RecorderKind::real: return fmt::format("{}", v.real);
    default: return {};
  }
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = text.size();
  while (!text.empty()) {
    std::uint64_t eight = 0;
    const std::size_t now = std::min<std::size_t>(text.size(), 8);
    for (std::size_t i = 0; i < now; ++i)
      eight |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    hash = mix(hash, eight);
    text.remove_prefix(now);
  }
  return hash;
}

std::uint32_t fold32(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32)); }

std::size_t bytes_of_type(std::string_view type) {
  struct Size {
    std::string_view name;
    std::size_t bytes;
  };
  static constexpr Size kSizes[] = {
      {"Byte", 1},   {"Char", 1},        {"Bool", 1},         {"Short", 2},
      {"UInt16", 2}, {"Half", 2},        {"BFloat16", 2},     {"Int", 4},
      {"UInt32", 4}, {"Float", 4},       {"Long", 8},         {"UInt64", 8},
      {"Double", 8}, {"ComplexHalf", 4}, {"ComplexFloat", 8}, {"ComplexDouble", 16},
      {"QInt8", 1},  {"QUInt8", 1},      {"QInt32", 4},
  };
  for (const Size& size : kSizes)
    if (size.name == type) return size.bytes;
  return type.starts_with("Float8") ? 1 : 0;
}

// "nccl:send 0->3", taken apart once for each name that stands in a dump.
struct Operation {
  std::string name, backend;
  std::uint32_t hash = 0;
  std::int64_t peer = kUnknownSequence;  // within the group
  bool p2p = false, coalesced = false;
};

Operation parse_operation(std::string_view text) {
  Operation out;
  text = text.substr(0, 256);
  std::size_t colon = 0;
  while (colon < text.size() &&
         (isalnum(static_cast<unsigned char>(text[colon])) || text[colon] == '_'))
    ++colon;
  if (colon > 0 && colon < text.size() && text[colon] == ':') {
    out.backend = std::string(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  const std::size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  for (const char c : word) out.name.push_back(lower(c));
  out.p2p = out.name == "send" || out.name == "recv" || out.name == "isend" || out.name == "irecv";
  out.coalesced = out.name.ends_with("coalesced");
  if (out.p2p && space != std::string_view::npos) {
    // "0->3" sends to 3, "1<-0" receives from 0.
    const std::string_view ends = text.substr(space + 1);
    const std::size_t arrow = ends.find(out.name.ends_with("send") ? "->" : "<-");
    if (arrow != std::string_view::npos) {
      std::size_t used = 0;
      std::int64_t peer = 0;
      if (line::parse_digits(ends.substr(arrow + 2), used, peer)) out.peer = peer;
    }
  }
  out.hash = fold32(hash_text(out.name));
  return out;
}

enum class RecorderField : std::uint8_t {
  other,
  record_id,
  pg_id,
  process_group,
  thread_name,
  thread_id,
  collective_seq,
  p2p_seq,
  seq,
  profiling_name,
  created,
  input_sizes,
  input_types,
  output_sizes,
  output_types,
  state,
  started,
  completed,
  duration,
  retired,
  timeout,
  is_p2p,
  frames,
  count_
};

// Of the fields behind the first, in their order.
constexpr auto kRecorderKeys = list_of([] {
  return "record_id pg_id process_group thread_name thread_id collective_seq_id p2p_seq_id seq_id "
         "profiling_name time_created_ns input_sizes input_dtypes output_sizes output_dtypes state "
         "time_discovered_started_ns time_discovered_completed_ns duration_ms retired timeout_ms "
         "is_p2p frames";
});
static_assert(kRecorderKeys.size() + 1 == static_cast<std::size_t>(RecorderField::count_));

RecorderField field_named(std::string_view key) {
  const auto* at = std::ranges::find(kRecorderKeys, key);
  return at == kRecorderKeys.end() ? RecorderField::other
                                   : static_cast<RecorderField>(at - kRecorderKeys.begin() + 1);
}

struct RecorderEntry {
  std::int64_t record = kUnknownSequence, sequence = kUnknownSequence;
  std::uint32_t group = 0, operation = 0;
  std::uint32_t node = 0;
  std::uint64_t line = 0;
  std::optional<std::int64_t> timeout_ms;
  Nanoseconds created = 0, started = 0, completed = 0;
  double duration = -1;
  Value state, input_sizes, output_sizes, input_types, output_types, frames, thread;
  std::uint8_t progress = 0;  // 0 scheduled 1 started 2 completed
  bool p2p = false, retired = false, borrowed = false;
};

struct Status {
  std::string id;
  std::int64_t enqueued = kUnknownSequence, started = kUnknownSequence,
               completed = kUnknownSequence;
  std::uint32_t node = 0;
  std::int64_t group = -1;  // index; -1 = nothing names it
};

struct Group {
  GroupRow row;
  GroupId id = GroupId::none;
  bool configured = false;
  bool ambiguous = false;  // no name: entries of one process only
  std::string local;       // key of pg_status, as an entry tells it
  std::size_t status = std::string::npos;
  std::vector<std::uint32_t> entries;  // in order of launch
};

class RecorderDump {
 public:
  RecorderDump(std::string_view bytes, const MemberRow& member, Reading& reading, bool json)
      : bytes_(bytes),
        member_(member),
        reading_(reading),
        sink_(reading.sink),
        json_(json),
        budget_(bytes.size() * 64 + (1 << 20)) {}

  // A part of a page that says whose it is: of its lines, so many stand before it.
  RecorderDump(std::string_view page, std::size_t begin, std::size_t end, std::uint64_t lines,
               Rank rank, const MemberRow& member, Reading& reading)
      : RecorderDump(page.substr(begin, end - begin), member, reading, true) {
    offset_ = begin;
    lines_ = lines;
    given_rank_ = rank;
  }

  std::string read() {
    if (json_)
      read_lenient_json(bytes_, tree_);
    else
      read_pickle(bytes_, tree_);
    reading_.cut = reading_.cut || tree_.truncated;
    if (contains(tree_.problem, ".refused_")) return tree_.problem;
    if (!top_level()) return tree_.problem.empty() ? "recorder.not_a_dump" : tree_.problem;
    if (tree_.truncated)
      reject(tree_.problem, tree_.problem_at,
             clip(bytes_.substr(std::min(tree_.problem_at, bytes_.size())), 200));
    if (!version_.empty() && !(version_.starts_with("1.") || version_.starts_with("2.") ||
                               version_ == "1" || version_ == "2"))
      reject("recorder.version", 0, version_);
    read_groups();
    read_entries();
    if (of_torchcomms()) settle_torchcomms();
    settle_coalesced();
    read_status();
    name_status();
    decide_rank();
    tell();
    return {};
  }

 private:
  bool top_level() {
    if (tree_.root.is_list()) {  // the first versions had no more than the entries
      bool like = false;
      tree_.each(tree_.root, [&](const Value& v) {
        like = v.is_dict() && (tree_.find(v, "profiling_name").kind != RecorderKind::none ||
                               tree_.find(v, "record_id").kind != RecorderKind::none);
        return false;
      });
      entries_value_ = tree_.root;
      return like;
    }
    if (!tree_.root.is_dict()) return false;
    bool known = false;
    tree_.each_pair(tree_.root, [&](const Value& key, const Value& v) {
      const std::string_view name = key.text();
      if (name == "entries" && v.is_list())
        entries_value_ = v, known = true;
      else if (name == "pg_config" && v.is_dict())
        config_value_ = v, known = true;
      else if (name == "pg_status" && v.is_dict())
        status_value_ = v, known = true;
      else if (name == "version")
        version_ = spelt(v);
      else if (name == "nccl_version" || name == "comm_lib_version")
        library_ = spelt(v);
      return true;
    });
    return known;
  }

  std::uint32_t new_group(std::string name, std::string_view description) {
    Group group;
    group.row.name = std::move(name);
    group.row.description = clip(description, 256);
    groups_.push_back(std::move(group));
    return static_cast<std::uint32_t>(groups_.size() - 1);
  }

  std::vector<Rank> ranks(const Value& v) {
    std::vector<Rank> out;
    if (v.kind == RecorderKind::text) {
      const std::string_view text = v.text();
      for (std::size_t at = 0; at < text.size();) {
        std::int64_t rank = 0;
        if (isdigit(static_cast<unsigned char>(text[at]))) {
          std::size_t used = 0;
          if (!line::parse_digits(text.substr(at), used, rank)) return {};
          at += used;
          out.push_back(Rank(rank));
        } else if (contains(std::string_view("[](){}, \t"), text[at])) {
          ++at;
        } else {
          return {};
        }
      }
    } else {
      bool good = true;
      tree_.each(v, [&](const Value& item) {
        const auto rank = integer(item);
        good = good && rank && *rank >= 0 && spend();
        if (good) out.push_back(Rank(*rank));
        return good;
      });
      if (!good) return {};
    }
    sort_unique(out);
    return out;
  }

  void read_groups() {
    tree_.each_pair(config_value_, [&](const Value& key, const Value& v) {
      if (!spend()) return false;
      if (tree_.partial(v)) return true;
      if (v.is_dict() && tree_.nodes[v.node].count > kMostRecorderKeys) return true;
      std::string name = v.is_dict() ? spelt(tree_.find(v, "name")) : "";
      if (name.empty()) name = spelt(key);
      if (name.empty() || by_name_.contains(name)) return true;
      const std::uint32_t at =
          new_group(name, v.is_dict() ? tree_.find(v, "desc").text() : std::string_view{});
      Group& group = groups_[at];
      group.configured = true;
      group.row.ranks = ranks(v.is_dict() ? tree_.find(v, "ranks") : v);
      group.row.size = static_cast<std::int64_t>(group.row.ranks.size());
      by_name_.emplace(std::move(name), at);
      return true;
    });
  }

  std::uint32_t group_of(const Value& process_group, const Value& pg_id) {
    std::array<Value, 2> pair{Value::nothing(), Value::nothing()};
    if (process_group.is_list()) {
      std::size_t i = 0;
      tree_.each(process_group, [&](const Value& v) {
        pair[i++] = v;
        return i < pair.size();
      });
    } else {
      pair[0] = process_group;
    }
    for (auto& [known, group] :
         recent_names_)  // written once, then by its number: the same place in the input
      if (pair[0].kind == RecorderKind::text && known.data() == pair[0].bytes &&
          known.size() == pair[0].length)
        return group;
    const std::string local = spelt(pg_id);
    if (pair[0].kind == RecorderKind::none) {
      // Before process_group came, entries knew the process's own counter only: such a group must
      // not meet another's.
      std::string alone = fmt::format("pg_id {} of {}", local, member_.path);
      auto found = by_name_.find(alone);
      if (found == by_name_.end()) {
        found = by_name_.emplace(alone, new_group("", alone)).first;
        groups_[found->second].ambiguous = true;
        groups_[found->second].local = local;
      }
      return found->second;
    }
    const std::string name = spelt(pair[0]);
    auto found = by_name_.find(name);
    if (found == by_name_.end())
      found = by_name_.emplace(name, new_group(name, pair[1].text())).first;
    Group& group = groups_[found->second];
    if (group.row.description.empty()) group.row.description = clip(pair[1].text(), 256);
    if (group.local.empty()) group.local = local;
    if (pair[0].kind == RecorderKind::text)
      recent_names_[next_recent_++ % recent_names_.size()] = {pair[0].text(), found->second};
    return found->second;
  }

  std::uint32_t operation_of(std::string_view text) {
    if (text.data() == last_text_.data() && text.size() == last_text_.size() &&
        !operations_.empty())
      return last_operation_;
    auto found = by_text_.find(text);
    if (found == by_text_.end()) {
      found = by_text_.emplace(text, static_cast<std::uint32_t>(operations_.size())).first;
      operations_.push_back(parse_operation(text));
    }
    last_text_ = text;
    return last_operation_ = found->second;
  }

  RecorderField field_at(std::size_t position, const Value& key) {
    if (key.kind != RecorderKind::text) return RecorderField::other;
    if (position < expected_.size()) {
      auto& [text, field] = expected_[position];
      // Picklers write a key once; JSON writes it again and again, at the same position.
      if (text.size() == key.length && (text.data() == key.bytes || text == key.text()))
        return field;
      text = key.text();
      return field = field_named(text);
    }
    if (position > 64) return field_named(key.text());
    expected_.resize(position + 1);
    expected_[position] = {key.text(), field_named(key.text())};
    return expected_[position].second;
  }

  void read_entries() {
    std::uint64_t line = lines_ + 1;
    std::size_t counted = 0;
    std::size_t broken = 0;
    if (entries_value_.is_list())
      entries_.reserve(
          std::min<std::size_t>(tree_.nodes[entries_value_.node].count, bytes_.size() / 32));
    tree_.each(entries_value_, [&](const Value& v) {
      if (!spend()) return false;
      if (!v.is_dict() || tree_.partial(v)) {
        broken += !v.is_dict();
        return true;
      }
      RecorderEntry entry;
      if (!read_entry(v, entry)) {
        ++broken;
        return true;
      }
      if (json_) {
        for (const std::size_t offset = tree_.nodes[v.node].offset; counted < offset; ++counted) {
          const void* newline = std::memchr(bytes_.data() + counted, '\n', offset - counted);
          if (newline == nullptr) {
            counted = offset;
            break;
          }
          ++line;
          counted = static_cast<std::size_t>(static_cast<const char*>(newline) - bytes_.data());
        }
        entry.line = line;
      }
      entries_.push_back(entry);
      return true;
    });
    if (broken != 0)
      reject("recorder.entry", 0, fmt::format("{} entries without an operation", broken));
    const auto later = [](const RecorderEntry& a, const RecorderEntry& b) {
      return a.record < b.record;
    };
    if (!std::ranges::is_sorted(entries_, later)) std::ranges::stable_sort(entries_, later);
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
      groups_[entries_[i].group].entries.push_back(i);
  }

  bool read_entry(const Value& dict, RecorderEntry& out) {
    std::array<Value, static_cast<std::size_t>(RecorderField::count_)> f;
    f.fill(Value::nothing());
    std::size_t position = 0;
    tree_.each_pair(dict, [&](const Value& key, const Value& v) {
      f[static_cast<std::size_t>(field_at(position++, key))] = v;
      return spend();
    });
    const auto of = [&](RecorderField field) -> const Value& {
      return f[static_cast<std::size_t>(field)];
    };
    const Value& name = of(RecorderField::profiling_name);
    if (name.kind != RecorderKind::text) return false;
    out.node = dict.node;
    out.operation = operation_of(name.text());
    const Operation& operation = operations_[out.operation];
    out.group = group_of(of(RecorderField::process_group), of(RecorderField::pg_id));
    out.record = integer(of(RecorderField::record_id)).value_or(kUnknownSequence);
    out.p2p = of(RecorderField::is_p2p).kind == RecorderKind::none
                  ? operation.p2p
                  : integer(of(RecorderField::is_p2p)).value_or(0) != 0;
    auto sequence = integer(of(out.p2p ? RecorderField::p2p_seq : RecorderField::collective_seq));
    if (!sequence) sequence = integer(of(RecorderField::seq));
    out.sequence = sequence.value_or(kUnknownSequence);
    out.timeout_ms = integer(of(RecorderField::timeout));
    out.created = recorder_moment(of(RecorderField::created)).value_or(0);
    out.started = recorder_moment(of(RecorderField::started)).value_or(0);
    out.completed = recorder_moment(of(RecorderField::completed)).value_or(0);
    if (const Value& d = of(RecorderField::duration);
        d.kind == RecorderKind::real && d.real >= 0 && d.real < 1e12)
      out.duration = d.real;
    else if (d.kind == RecorderKind::integer && d.integer >= 0)
      out.duration = static_cast<double>(d.integer);
    out.retired = integer(of(RecorderField::retired)).value_or(0) != 0;
    out.state = of(RecorderField::state);
    const std::string_view state = out.state.text();
    if (state == "completed")
      out.progress = 2;
    else if (state == "started")
      out.progress = 1;
    else if (state.empty())
      out.progress = out.completed != 0 ? 2 : out.started != 0 ? 1 : 0;
    out.input_sizes = of(RecorderField::input_sizes);
    out.output_sizes = of(RecorderField::output_sizes);
    out.input_types = of(RecorderField::input_types);
    out.output_types = of(RecorderField::output_types);
    out.frames = of(RecorderField::frames);
    out.thread = of(RecorderField::thread_name).text().empty() ? of(RecorderField::thread_id)
                                                               : of(RecorderField::thread_name);
    return true;
  }

  // torchcomms describes a group by the backend that it names each operation after, and keeps no
  // status of groups.
  bool of_torchcomms() const {
    return !entries_.empty() &&
           (!status_value_.is_dict() || tree_.nodes[status_value_.node].count == 0) &&
           std::ranges::all_of(entries_, [&](const RecorderEntry& e) {
             const std::string& backend = operations_[e.operation].backend;
             return !backend.empty() && groups_[e.group].row.description == backend;
           });
  }

  // There an operation is over when it is retired. Its state asks two CUDA events, of which the
  // second is recorded at the end and counts as over before that; other devices have none. Sends
  // are not marked, and one counter counts the operations of all groups: where the dump has all of
  // them, each group and kind is counted by itself. Of a part, the counts of ranks that send do not
  // compare; those of others are alike while the ranks make the same calls.
  void settle_torchcomms() {
    bool all = true, sends = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      RecorderEntry& e = entries_[i];
      const Operation& operation = operations_[e.operation];
      all = all && e.record == static_cast<std::int64_t>(i) && e.sequence == e.record;
      e.p2p = operation.p2p || operation.name == "batch_op_issue";
      sends = sends || e.p2p;
      if (!e.retired) e.completed = 0;
      e.progress = e.retired ? 2 : e.started != 0 ? 1 : 0;
      e.state = Value::nothing();
    }
    if (!all && !sends) return;
    std::map<std::pair<std::uint32_t, bool>, std::int64_t> counts;
    for (RecorderEntry& e : entries_)
      e.sequence = all ? counts[{e.group, e.p2p}]++ : kUnknownSequence;
    if (!all)
      reject("recorder.counts_of_process", tree_.nodes[entries_value_.node].offset,
             "sends are among the operations, and the first ones are gone");
  }

  // The operations of a coalesced launch have no events of their own and stay "scheduled" for ever;
  // the launch itself is an entry too, with the same sequence number, and it is the one that
  // completes.
  void settle_coalesced() {
    if (std::ranges::none_of(operations_, &Operation::coalesced)) return;
    std::map<std::tuple<std::uint32_t, bool, std::int64_t>, std::uint32_t> launches;
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
      if (const RecorderEntry& e = entries_[i]; operations_[e.operation].coalesced)
        launches[{e.group, e.p2p, e.sequence}] = i;
    for (RecorderEntry& e : entries_) {
      if (e.progress != 0 || e.started != 0 || e.retired || operations_[e.operation].coalesced)
        continue;
      const auto launch = launches.find({e.group, e.p2p, e.sequence});
      if (launch == launches.end()) continue;
      const RecorderEntry& whole = entries_[launch->second];
      e.progress = whole.progress;
      e.started = whole.started;
      e.completed = whole.completed;
      e.retired = whole.retired;
      e.borrowed = true;
    }
  }

  void read_status() {
    tree_.each_pair(status_value_, [&](const Value& key, const Value& v) {
      if (!spend()) return false;
      if (!v.is_dict() || tree_.partial(v) || tree_.nodes[v.node].count > kMostRecorderKeys)
        return true;
      Status status{.id = spelt(key), .node = v.node};
      const auto number = [&](std::string_view name) {
        return std::max(integer(tree_.find(v, name)).value_or(kUnknownSequence), kUnknownSequence);
      };
      status.enqueued = number("last_enqueued_collective");
      status.started = number("last_started_collective");
      status.completed = number("last_completed_collective");
      // Without timing, nobody notes the start.
      if (status.started < status.completed) status.started = kUnknownSequence;
      if (status.started == kNoSequence && status.enqueued > kNoSequence)
        status.started = kUnknownSequence;
      status_.push_back(std::move(status));
      return true;
    });
  }

  static std::optional<std::int64_t> decimal(const std::string& text) {
    const auto n = whole_number<std::int64_t>(text);
    return n >= 0 ? n : std::nullopt;
  }

  // Entries tell which counter is which name. Where they do not: a name that is a number is a
  // counter as well, of the same creations, so both rise together; with as many of the one as of
  // the other, and no entry that contradicts, the n-th is the n-th. And what is left over on both
  // sides, when it is one each, belongs together.
  void name_status() {
    std::map<std::string, std::size_t> by_id;
    for (std::size_t i = 0; i < status_.size(); ++i) by_id.emplace(status_[i].id, i);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto found = by_id.find(groups_[g].local);
      if (groups_[g].entries.empty() || groups_[g].local.empty() || found == by_id.end() ||
          status_[found->second].group >= 0)
        continue;
      join(found->second, g);
    }
    std::vector<std::pair<std::int64_t, std::size_t>> names, ids;
    bool whole = !tree_.truncated && by_id.size() == status_.size();
    for (std::size_t g = 0; g < groups_.size() && whole; ++g) {
      const auto n = groups_[g].configured ? decimal(groups_[g].row.name) : std::nullopt;
      if (n)
        names.emplace_back(*n, g);
      else
        whole = false;
    }
    for (std::size_t i = 0; i < status_.size() && whole; ++i) {
      const auto n = decimal(status_[i].id);
      if (n)
        ids.emplace_back(*n, i);
      else
        whole = false;
    }
    if (whole && names.size() == ids.size() && !names.empty()) {
      std::ranges::sort(names);
      std::ranges::sort(ids);
      // The default group is the first in both.
      bool agree = names[0].first == 0 && ids[0].first == 0;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const Status& status = status_[ids[i].second];
        const Group& group = groups_[names[i].second];
        agree = agree &&
                (status.group < 0 || static_cast<std::size_t>(status.group) == names[i].second) &&
                (group.status == std::string::npos || group.status == ids[i].second);
      }
      if (agree)
        for (std::size_t i = 0; i < names.size(); ++i)
          if (status_[ids[i].second].group < 0) join(ids[i].second, names[i].second);
    }
    std::string unnamed;
    std::vector<std::size_t> left_status, left_groups;
    for (std::size_t i = 0; i < status_.size(); ++i)
      if (status_[i].group < 0) left_status.push_back(i);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].configured && groups_[g].status == std::string::npos) left_groups.push_back(g);
    if (!tree_.truncated && left_status.size() == 1 && left_groups.size() == 1 &&
        status_.size() > 1) {
      join(left_status[0], left_groups[0]);
      left_status.clear();
    }
    for (const std::size_t i : left_status)
      if (unnamed.size() < 150) unnamed += (unnamed.empty() ? "" : ", ") + status_[i].id;
    if (!left_status.empty())
      reject("recorder.status_unnamed", tree_.nodes[status_value_.node].offset,
             fmt::format("{} of {}: pg_id {}", left_status.size(), status_.size(), unnamed));
  }

  void join(std::size_t status, std::size_t group) {
    status_[status].group = static_cast<std::int64_t>(group);
    groups_[group].status = status;
  }

  // A process belongs to every group of its pg_config: a number in a name that none of them holds
  // is no global rank.
  void decide_rank() {
    rank_ = given_rank_ ? given_rank_ : rank_in_name(member_.path);
    if (!rank_) return;
    for (const Group& group : groups_) {
      if (!group.configured || group.row.ranks.empty() ||
          std::ranges::binary_search(group.row.ranks, *rank_))
        continue;
      reject("recorder.rank_contradicted", 0,
             fmt::format("rank {} by the name of the {}, but group {} has other ranks", *rank_,
                         given_rank_ ? "part" : "file", group.row.name));
      rank_.reset();
      return;
    }
  }

  void tell() {
    RecorderRow row{
        .place = {member_.id, json_ ? lines_ + 1 : 0, offset_,
                  static_cast<std::uint32_t>(std::min<std::size_t>(bytes_.size(), 1u << 30))},
        .source = CollectiveSource::recorder,
        .encoding = json_ ? "json" : "pickle",
        .version = version_,
        .library = library_,
        .rank = rank_,
        .entries = static_cast<std::int64_t>(entries_.size())};
    row.pending =
        std::ranges::count_if(entries_, [](const RecorderEntry& e) { return e.progress != 2; });
    row.has_status = !status_.empty();
    // Something completed, says the status or the count, and nothing of it is here.
    const bool past =
        std::ranges::any_of(status_, [](const Status& s) { return s.completed >= 0; }) ||
        (!entries_.empty() && entries_.front().record > 0);
    row.only_active = row.pending == row.entries && past && !tree_.truncated;
    row.truncated = tree_.truncated;
    // A dump does not say when it was made; a collector's name for it may.
    if (Timestamp made; moment_of_name(member_.path, made)) row.time = made;
    sink_.put(row);
    // The two encodings list groups in different orders.
    std::vector<Group*> order;
    for (Group& group : groups_) order.push_back(&group);
    std::ranges::sort(order, {}, [](const Group* a) { return a->row; });
    for (Group* group : order) group->id = sink_.group(group->row);
    for (const Group* group : order) tell_frontier(*group);
    std::vector<char> wanted(entries_.size(), 0);
    for (const Group& group : groups_) {
      std::size_t completed = 0;
      for (auto i = group.entries.rbegin(); i != group.entries.rend(); ++i)
        wanted[*i] = entries_[*i].progress != 2 || completed++ < kLastCompleted;
    }
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (wanted[i]) tell_collective(entries_[i]);
    for (const Group* group : order) tell_history(*group);
    if (budget_ == 0) reject("recorder.too_much", 0, "values refer to each other without end");
  }

  Place place_of(std::uint32_t node, std::uint64_t line) const {
    const Tree::Node& n = tree_.nodes[node];
    return {member_.id, line, offset_ + n.offset, n.length};
  }

  struct Reach {
    bool any = false;
    std::int64_t seen = kUnknownSequence, started = kUnknownSequence, completed = kUnknownSequence,
                 pending = -1;
    std::uint32_t last = 0;
  };

  Reach reach(const Group& group, bool p2p) const {
    Reach out;
    for (const std::uint32_t i : group.entries) {
      const RecorderEntry& e = entries_[i];
      if (e.p2p != p2p || e.sequence < 0) continue;
      out.any = true;
      out.last = i;
      out.seen = std::max(out.seen, e.sequence);
      if (e.progress == 2)
        out.completed = std::max(out.completed, e.sequence);
      else if (out.pending < 0 || e.sequence < out.pending)
        out.pending = e.sequence;
      if (e.progress == 1 || e.started != 0) out.started = std::max(out.started, e.sequence);
    }
    if (out.any && out.pending >= 0) {
      // Completed counts up to what still runs; a ring, or a dump of active operations, need not
      // hold the one before it.
      out.completed = kUnknownSequence;
      for (const std::uint32_t i : group.entries)
        if (const RecorderEntry& e = entries_[i];
            e.p2p == p2p && e.progress == 2 && e.sequence < out.pending)
          out.completed = std::max(out.completed, e.sequence);
      if (out.completed == kUnknownSequence)
        out.completed = out.pending <= 1 ? kNoSequence : out.pending - 1;
    }
    if (out.started != kUnknownSequence) out.started = std::max(out.started, out.completed);
    return out;
  }

  void tell_frontier(const Group& group) {
    const Reach collective = reach(group, false);
    const Reach p2p = reach(group, true);
    const Status* status = group.status == std::string::npos ? nullptr : &status_[group.status];
    // The status counts whatever was launched last: where a group is used for send and recv, their
    // number.
    bool status_is_p2p = false;
    if (status != nullptr && p2p.any)
      status_is_p2p = !collective.any
                          ? status->enqueued >= p2p.seen
                          : entries_[group.entries.back()].p2p && status->enqueued == p2p.seen &&
                                status->enqueued != collective.seen;
    // No entry tells, as in a dump of active operations: stages of a pipeline send and receive, and
    // to take that for collectives would accuse every stage but the one with the highest count.
    if (status != nullptr && group.entries.empty())
      status_is_p2p = of_pipeline(group.row.description);
    const auto put = [&](bool of_p2p, const Reach& seen) {
      const Status* told =
          status != nullptr && status_is_p2p == of_p2p && (of_p2p || collective.any || !p2p.any)
              ? status
              : nullptr;
      if (told == nullptr && (!seen.any || tree_.truncated))
        return;  // what is cut off would look like not launched
      FrontierRow row{
          .source = CollectiveSource::recorder, .rank = rank_, .group = group.id, .p2p = of_p2p};
      if (told != nullptr) {
        row.place = place_of(told->node, json_ ? lines_ + 1 : 0);
        row.enqueued = std::max(told->enqueued, seen.any ? seen.seen : kUnknownSequence);
        row.started = told->started;
        row.completed = told->completed;
        // In a group with both kinds the last that completed may be of the other kind.
        if (seen.any && p2p.any &&
            (collective.any || told->completed > row.enqueued ||
             (seen.pending >= 0 && told->completed >= seen.pending)))
          row.completed = seen.completed;
        if (row.started != kUnknownSequence && row.started < row.completed)
          row.started = kUnknownSequence;
      } else {
        row.place = place_of(entries_[seen.last].node, entries_[seen.last].line);
        row.enqueued = seen.seen;
        row.started = seen.started;
        row.completed = seen.completed;
      }
      sink_.put(row);
    };
    put(false, collective);
    if (p2p.any || status_is_p2p) put(true, p2p);
  }

  static bool of_pipeline(std::string_view description) {
    return description.starts_with("PIPELINE_") || description == "pp" ||
           description == "pipeline" || description.ends_with("_pp");
  }

  void put_shape(const Value& shape, std::string& out, int depth) {
    if (!shape.is_list()) {
      out += spelt(shape);
      return;
    }
    out += '[';
    bool first = true;
    tree_.each(shape, [&](const Value& v) {
      if (!first) out += ", ";
      first = false;
      if (out.size() > 1000) {
        out += "...";
        return false;
      }
      if (depth > 0) put_shape(v, out, depth - 1);
      return spend();
    });
    out += ']';
  }

  // The elements of each tensor of a list of shapes.
  std::vector<std::int64_t> elements(const Value& shapes) {
    std::vector<std::int64_t> out;
    tree_.each(shapes, [&](const Value& shape) {
      if (!shape.is_list()) {
        out.clear();
        return false;
      }
      std::int64_t n = 1;
      tree_.each(shape, [&](const Value& v) {
        const auto size = integer(v);
        if (!size || *size < 0 || __builtin_mul_overflow(n, *size, &n)) n = -1;
        return n >= 0 && spend();
      });
      if (n < 0 || out.size() >= 100'000) {
        out.clear();
        return false;
      }
      out.push_back(n);
      return spend();
    });
    return out;
  }

  std::vector<std::string_view> types(const Value& v) {
    std::vector<std::string_view> out;
    if (v.kind == RecorderKind::text) {
      // "Float", or several in one string.
      std::string_view text = v.text().substr(0, 4096);
      while (!text.empty()) {
        const std::size_t at = text.find_first_not_of("[]'\", ");
        if (at == std::string_view::npos) break;
        const std::size_t end = std::min(text.find_first_of("[]'\", ", at), text.size());
        out.push_back(text.substr(at, end - at));
        text.remove_prefix(end);
      }
    }
    tree_.each(v, [&](const Value& item) {
      if (item.kind == RecorderKind::text) out.push_back(item.text());
      return spend() && out.size() < 100'000;
    });
    return out;
  }

  static std::string spelt_types(const std::vector<std::string_view>& types) {
    std::string out;
    if (types.empty()) return out;
    if (std::ranges::all_of(types, [&](std::string_view t) { return t == types[0]; }))
      return clip(types[0], 40);
    for (const std::string_view type : types) {
      if (out.size() > 200) return out + ",...";
      out += (out.empty() ? "" : ",") + clip(type, 40);
    }
    return out;
  }

  // How much a call sends; nothing where its types or shapes do not tell.
  static std::optional<std::int64_t> bytes_of_inputs(const std::vector<std::int64_t>& counts,
                                                     const std::vector<std::string_view>& types) {
    if (counts.empty() || types.empty() || (types.size() != 1 && types.size() != counts.size()))
      return std::nullopt;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto each = static_cast<std::int64_t>(bytes_of_type(types[types.size() == 1 ? 0 : i]));
      std::int64_t more = 0;
      if (each == 0 || __builtin_mul_overflow(counts[i], each, &more) ||
          __builtin_add_overflow(bytes, more, &bytes) || bytes < 0)
        return std::nullopt;
    }
    return bytes;
  }

  Frame frame_of(const Value& v) {
    Frame frame;
    if (v.kind == RecorderKind::text) frame.function = clip(v.text(), 500);
    tree_.each_pair(v, [&](const Value& key, const Value& part) {
      const std::string_view name = key.text();
      if (name == "name")
        frame.function = clip(part.text(), 500);
      else if (name == "filename")
        frame.file = clip(part.text(), 1000);
      else if (name == "line")
        frame.line = std::max<std::int64_t>(0, integer(part).value_or(0));
      return spend();
    });
    if (frame.function.empty()) frame.function = "?";
    frame.native = !frame.file.ends_with(".py") &&
                   (contains(frame.function, "::") || frame.file.ends_with(".cpp") ||
                    frame.file.ends_with(".cc") || frame.file.ends_with(".h") ||
                    contains(frame.file, ".so") || frame.file == "??");
    return frame;
  }

  void tell_collective(const RecorderEntry& e) {
    const Operation& operation = operations_[e.operation];
    const Group& group = groups_[e.group];
    CollectiveRow row;
    row.place = place_of(e.node, e.line);
    if (e.created != 0) row.time = {Clock::utc, e.created, 1};
    row.source = CollectiveSource::recorder;
    row.rank = rank_;
    row.group = group.id;
    row.record = e.record;
    row.sequence = e.sequence;
    row.operation = operation.name;
    row.backend = operation.backend;
    row.p2p = e.p2p;
    // Printed within the group: without its members, only the group of all ranks says who that is.
    row.peer = group.row.description == "default_pg" ? Rank(operation.peer) : kUnknownRank;
    if (operation.peer >= 0 && !group.row.ranks.empty())
      row.peer = operation.peer < static_cast<std::int64_t>(group.row.ranks.size())
                     ? group.row.ranks[static_cast<std::size_t>(operation.peer)]
                     : kUnknownRank;
    static constexpr std::string_view kStates[] = {"scheduled", "started", "completed"};
    row.state = e.progress != 0 || e.borrowed || e.state.text().empty()
                    ? std::string(kStates[e.progress])
                    : clip(e.state.text(), 32);
    row.retired = e.retired;
    const auto shapes = [&](std::string_view name, const Value& v) {
      if (!v.is_list() || (tree_.nodes[v.node].count == 0)) return;
      if (!row.sizes.empty()) row.sizes += ' ';
      row.sizes += name;
      row.sizes += ' ';
      std::string text;
      put_shape(v, text, 2);
      row.sizes += text;
    };
    shapes("in", e.input_sizes);
    shapes("out", e.output_sizes);
    const auto in = types(e.input_types);
    const auto out = types(e.output_types);
    if (!in.empty() || !out.empty()) row.types = spelt_types(in) + " -> " + spelt_types(out);
    row.bytes = bytes_of_inputs(elements(e.input_sizes), in);
    if (e.started != 0) row.started_ns = e.started;
    if (e.completed != 0) row.completed_ns = e.completed;
    if (e.duration >= 0) row.duration_ms = e.duration;
    row.timeout_ms = e.timeout_ms;
    row.thread = spelt(e.thread);
    tree_.each(e.frames, [&](const Value& v) {
      row.frames.push_back(frame_of(v));
      return spend() && row.frames.size() < kMostFrames;
    });
    sink_.put(row);
  }

  std::uint64_t hash_of(const Value& v, std::uint64_t hash, int depth) {
    switch (v.kind) {
      case RecorderKind::text: return mix(hash, hash_text(v.text()));
      case RecorderKind::integer:
      case RecorderKind::boolean: return mix(hash, static_cast<std::uint64_t>(v.integer) + 1);
      case RecorderKind::list:
        hash = mix(hash, 0x10000001);
        if (depth > 0)
          tree_.each(v, [&](const Value& item) {
            hash = hash_of(item, hash, depth - 1);
            return spend();
          });
        return mix(hash, 0x10000002);
      default: return mix(hash, 0);
    }
  }

  void tell_history(const Group& group) {
    if (group.entries.empty()) return;
    HistoryRow row{.member = member_.id, .rank = rank_, .group = group.id};
    row.entries.reserve(group.entries.size());
    for (const std::uint32_t i : group.entries) {
      const RecorderEntry& e = entries_[i];
      HistoryEntry h{.sequence = e.sequence,
                     .created_ns = e.created,
                     .completed_ns = e.completed,
                     .duration_ms = static_cast<float>(e.duration),
                     .operation = operations_[e.operation].hash};
      std::uint64_t hash = h.operation;
      for (const Value* v : {&e.input_sizes, &e.output_sizes, &e.input_types, &e.output_types})
        hash = hash_of(*v, hash, 3);
      h.signature = fold32(hash);
      h.state = e.progress;
      h.p2p = e.p2p;
      row.entries.push_back(h);
    }
    sink_.put(row);
  }

  void reject(std::string reason, std::size_t offset, std::string excerpt) {
    const std::size_t at = std::min(offset, bytes_.size());
    sink_.put(
        RejectRow{{member_.id, 0, offset_ + at,
                   static_cast<std::uint32_t>(std::min<std::size_t>(bytes_.size() - at, 200))},
                  std::move(reason),
                  std::move(excerpt)});
  }

  // Every value that is looked at costs; a small file may refer to one large list a million times.
  bool spend() {
    if (budget_ == 0) return false;
    --budget_;
    return true;
  }

  std::string_view bytes_;
  const MemberRow& member_;
  Reading& reading_;
  Sink& sink_;
  bool json_;
  std::size_t budget_;
  std::uint64_t offset_ = 0, lines_ = 0;  // of a page: before this part
  std::optional<Rank> given_rank_;
  Tree tree_;
  std::string version_, library_;
  Value entries_value_ = Value::nothing(), config_value_ = Value::nothing(),
        status_value_ = Value::nothing();
  std::optional<Rank> rank_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<Operation> operations_;
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
  std::vector<RecorderEntry> entries_;
  std::vector<Status> status_;
  std::vector<std::pair<std::string_view, RecorderField>> expected_;
  std::array<std::pair<std::string_view, std::uint32_t>, 8> recent_names_{};
  std::size_t next_recent_ = 0;
  std::string_view last_text_;
  std::uint32_t last_operation_ = 0;
};

constexpr std::string_view kTopKeys[] = {"version",        "pg_config",    "pg_status",
                                         "entries",        "nccl_version", "comm_lib_version",
                                         "nccl_comm_state"};
constexpr std::string_view kEntryKeys[] = {"record_id", "profiling_name", "collective_seq_id",
                                           "pg_id",     "frames",         "seq_id"};

bool bytes_have(std::string_view bytes, std::string_view word) { return contains(bytes, word); }

bool names_two(std::string_view bytes) {
  return (bytes_have(bytes, "pg_config") || bytes_have(bytes, "pg_status") ||
          bytes_have(bytes, "entries")) &&
         (bytes_have(bytes, "version") || bytes_have(bytes, "profiling_name") ||
          bytes_have(bytes, "pg_status"));
}

bool sniff_pickle(const Head& head) {
  std::string_view bytes = head.bytes;
  if (bytes.size() < 4 || bytes[0] != '\x80' || static_cast<unsigned char>(bytes[1]) > 5)
    return false;
  bytes.remove_prefix(2);
  if (bytes[0] == '\x95' && bytes.size() > 9) bytes.remove_prefix(9);
  if (bytes.empty() || (bytes[0] != '}' && bytes[0] != ']')) return false;
  return bytes[0] == '}' ? names_two(bytes)
                         : bytes_have(bytes, "profiling_name") && bytes_have(bytes, "record_id");
}

bool sniff_recorder_json(const Head& head) {
  std::string_view bytes = head.bytes;
  const auto skip = [&](std::string_view chars) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(chars), bytes.size()));
  };
  skip(" \r\n\t\xEF\xBB\xBF");
  if (bytes.empty() || (bytes[0] != '{' && bytes[0] != '[')) return false;
  const bool list = bytes[0] == '[';
  skip(list ? " \r\n\t[{" : " \r\n\t{");
  if (bytes.empty() || bytes[0] != '"') return false;
  const std::string_view key = bytes.substr(1, std::min<std::size_t>(bytes.find('"', 1), 64) - 1);
  if (list) return contains(kEntryKeys, key) && bytes_have(bytes, "\"profiling_name\"");
  return contains(kTopKeys, key) &&
         (bytes_have(bytes, "\"pg_config\"") || bytes_have(bytes, "\"pg_status\"") ||
          (bytes_have(bytes, "\"entries\"") && bytes_have(bytes, "\"profiling_name\"")));
}

std::string read_as_pickle(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return RecorderDump(bytes, member, reading, false).read();
}
std::string read_as_json(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return RecorderDump(bytes, member, reading, true).read();
}

// A page of PyTorch's debug server (/fr_trace_json, /fr_trace_nccl_json,
// /torchcomms_fr_trace_json): the dumps of all ranks, each below whom it asked.
//
//   <h2>Rank 0: http://node-04:64509/handler/dump_nccl_trace_json?onlyactive=true</h2>
//   <pre>{ ... }</pre>
//
// A rank that did not answer has a paragraph that says so instead.
constexpr std::string_view kRankHeading = "<h2>Rank ", kBegin = "<pre>", kEnd = "</pre>";

bool sniff_page(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && head.bytes[at] == '<' &&
         bytes_have(head.bytes, kRankHeading) && bytes_have(head.bytes, "/handler/") &&
         (bytes_have(head.bytes, "\"pg_config\"") || bytes_have(head.bytes, "\"profiling_name\""));
}

std::string read_page(std::string_view bytes, const MemberRow& member, Reading& reading) {
  static const re2::RE2 kAsked(R"((\d{1,7}): http://([\w.-]+):\d+/handler/)");
  LineNumbers lines(bytes);
  std::size_t parts = 0;
  for (std::size_t at = bytes.find(kRankHeading); at < bytes.size();) {
    const std::size_t next = std::min(bytes.find(kRankHeading, at + 1), bytes.size());
    const std::string_view part = bytes.substr(at, next - at);
    const std::string_view heading = part.substr(0, part.find('\n'));
    const Place place{member.id, lines.of(at).number, at,
                      static_cast<std::uint32_t>(std::min<std::size_t>(heading.size(), 4096))};
    std::int64_t number = 0;
    std::string host;
    const std::string_view said = heading.substr(kRankHeading.size());
    const std::size_t begin = part.find(kBegin), end = part.rfind(kEnd);
    const bool asked =
        re2::RE2::PartialMatch(re2::StringPiece(said.data(), said.size()), kAsked, &number, &host);
    if (asked && line::may_name_machine(host))
      reading.sink.put(IdentityRow{
          .place = place, .source = "dump heading", .host = Host(host), .rank = number});
    std::string reason = "recorder.rank_without_answer";
    if (asked && begin != std::string_view::npos &&
        !contains(part.substr(0, begin), "Failed to fetch")) {
      const std::size_t from = at + begin + kBegin.size();
      const std::size_t to = end == std::string_view::npos || end < begin ? next : at + end;
      reason = RecorderDump(bytes, from, std::max(from, to), lines.of(from).number - 1,
                            Rank(number), member, reading)
                   .read();
      ++parts;
    }
    if (!reason.empty())
      reading.sink.put(RejectRow{place, reason, std::string(heading.substr(0, 200))});
    at = next;
  }
  return parts == 0 ? "recorder.not_a_dump" : "";
}

}  // namespace

std::optional<Rank> rank_in_name(std::string_view path) {
  std::string_view base = path.substr(path.rfind('/') + 1);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : {".json", ".pickle", ".pkl", ".pt", ".bin", ".dump",
                                          ".trace", ".txt", ".log", ".gz", ".zst", ".xz", ".bz2"})
      if (base.size() > ending.size() && base.ends_with(ending)) {
        base.remove_suffix(ending.size());
        again = true;
      }
  }
  const auto digits_at = [&](std::size_t at) -> std::optional<std::int64_t> {
    std::size_t end = at;
    while (end < base.size() && isdigit(static_cast<unsigned char>(base[end]))) ++end;
    if (end == at || end - at > 7) return std::nullopt;  // a date or a process id
    return whole_number<std::int64_t>(base.substr(at, end - at));
  };
  // "rank" before the number says it; of a local or a node's rank it says the contrary.
  for (std::size_t at = base.rfind("rank"); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : base.rfind("rank", at - 1)) {
    std::size_t number = at + 4;
    if (number < base.size() &&
        (base[number] == '_' || base[number] == '-' || base[number] == '.' || base[number] == '='))
      ++number;
    const auto rank = maybe<Rank>(digits_at(number));
    if (!rank) continue;
    std::string_view before = base.substr(0, at);
    while (!before.empty() && (before.back() == '_' || before.back() == '-'))
      before.remove_suffix(1);
    if (before.ends_with("local") || before.ends_with("node") || before.ends_with("group"))
      return std::nullopt;
    return rank;
  }
  // A device, a process or a machine counts on its own.
  std::size_t at = base.size();
  while (at > 0 && isdigit(static_cast<unsigned char>(base[at - 1]))) --at;
  std::string_view before = base.substr(0, at);
  while (!before.empty() && (before.back() == '_' || before.back() == '-' || before.back() == '.'))
    before.remove_suffix(1);
  for (const std::string_view word : {"gpu", "dev", "device", "cuda", "local", "pid", "node",
                                      "host", "worker", "server", "machine"})
    if (before.ends_with(word)) return std::nullopt;
  return maybe<Rank>(digits_at(at));
}

extern constinit const Document kFlightRecorder{
    "flight-recorder",
    "PyTorch flight-recorder dumps: operations of one rank on its process groups", 256u << 20,
    sniff_pickle, read_as_pickle};
extern constinit const Document kFlightRecorderJson{"flight-recorder-json",
                                                    "PyTorch flight-recorder dumps as JSON",
                                                    512u << 20, sniff_recorder_json, read_as_json};
extern constinit const Document kRecorderPage{
    "flight-recorder-page", "PyTorch flight recorders of all ranks, as a page of its debug server",
    1u << 30, sniff_page, read_page};

}  // namespace culprit::ingest
