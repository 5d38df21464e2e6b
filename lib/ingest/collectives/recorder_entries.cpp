// Entries of PyTorch's recorder and of torchcomms', which writes the same keys with other meanings.
#include "ingest/collectives/recorder_entries.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "ingest/engine/line_numbers.hpp"
#include "line/timestamp.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

RecorderOperation parse_operation(std::string_view text) {
  RecorderOperation out;
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
  out.hash = RecorderValues::hash(out.name);
  return out;
}

constexpr auto kRecorderKeys = list_of([] {
  return "record_id pg_id process_group thread_name thread_id collective_seq_id p2p_seq_id seq_id "
         "profiling_name time_created_ns input_sizes input_dtypes output_sizes output_dtypes state "
         "time_discovered_started_ns time_discovered_completed_ns duration_ms retired timeout_ms "
         "is_p2p frames";
});

// Where a key stands among these; behind all of them for any other.
constexpr std::size_t field_named(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kRecorderKeys, key) - kRecorderKeys.begin());
}

// The same of a key that is among them, or the build fails.
consteval std::size_t key(std::string_view name) {
  return field_named(name) < kRecorderKeys.size() ? field_named(name) : throw "no such key";
}

class EntryReader {
 public:
  EntryReader(const RecorderPart& part, RecorderValues& values, RecorderGroups& groups)
      : part_(part), values_(values), groups_(groups) {}

  RecorderEntries read(const Value& list, const Value& status) {
    const Tree& tree = values_.tree;
    LineNumbers numbers(part_.json ? part_.bytes : std::string_view{});
    std::size_t broken = 0;
    if (list.is_list())
      entries_.reserve(std::min<std::size_t>(tree.nodes[list.node].count, part_.bytes.size() / 32));
    tree.each(list, [&](const Value& v) {
      if (!values_.spend()) return false;
      if (v.is_dict() && tree.partial(v)) return true;
      RecorderEntry entry;
      if (!v.is_dict() || !read_entry(v, entry)) {
        ++broken;
        return true;
      }
      if (part_.json) entry.line = part_.lines + numbers.of(tree.nodes[v.node].offset).number;
      entries_.push_back(entry);
      return true;
    });
    if (broken != 0)
      part_.reject("recorder.entry", 0, fmt::format("{} entries without an operation", broken));
    if (!std::ranges::is_sorted(entries_, {}, &RecorderEntry::record))
      std::ranges::stable_sort(entries_, {}, &RecorderEntry::record);
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
      groups_.all[entries_[i].group].entries.push_back(i);
    if (of_torchcomms(status)) settle_torchcomms(list);
    settle_coalesced();
    return std::move(out_);
  }

 private:
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

  std::size_t field_at(std::size_t position, const Value& written) {
    if (written.kind != Value::Kind::text) return kRecorderKeys.size();
    if (position < expected_.size()) {
      auto& [text, field] = expected_[position];
      // Picklers write a key once; JSON writes it again and again, at the same position.
      if (text.size() == written.length && (text.data() == written.bytes || text == written.text()))
        return field;
      text = written.text();
      return field = field_named(text);
    }
    if (position > 64) return field_named(written.text());
    expected_.resize(position + 1);
    expected_[position] = {written.text(), field_named(written.text())};
    return expected_[position].second;
  }

  bool read_entry(const Value& dict, RecorderEntry& out) {
    std::array<Value, kRecorderKeys.size() + 1> fields;
    fields.fill(Value::nothing());
    std::size_t position = 0;
    values_.tree.each_pair(dict, [&](const Value& written, const Value& v) {
      fields[field_at(position++, written)] = v;
      return values_.spend();
    });
    const auto number = [&](std::size_t key) { return RecorderValues::integer(fields[key]); };
    const Value& name = fields[key("profiling_name")];
    if (name.kind != Value::Kind::text) return false;
    out.node = dict.node;
    out.operation = operation_of(name.text());
    const RecorderOperation& operation = operations_[out.operation];
    out.group = groups_.of(fields[key("process_group")], fields[key("pg_id")]);
    out.record = number(key("record_id")).value_or(kUnknownSequence);
    out.p2p = fields[key("is_p2p")].kind == Value::Kind::none
                  ? operation.p2p
                  : number(key("is_p2p")).value_or(0) != 0;
    const auto sequence = number(out.p2p ? key("p2p_seq_id") : key("collective_seq_id"));
    out.sequence = sequence ? *sequence : number(key("seq_id")).value_or(kUnknownSequence);
    out.timeout_ms = number(key("timeout_ms"));
    out.created = RecorderValues::moment(fields[key("time_created_ns")]);
    out.started = RecorderValues::moment(fields[key("time_discovered_started_ns")]);
    out.completed = RecorderValues::moment(fields[key("time_discovered_completed_ns")]);
    if (const Value& d = fields[key("duration_ms")];
        d.kind == Value::Kind::real && d.real >= 0 && d.real < 1e12)
      out.duration = d.real;
    else if (d.kind == Value::Kind::integer && d.integer >= 0)
      out.duration = static_cast<double>(d.integer);
    out.retired = number(key("retired")).value_or(0) != 0;
    out.state = fields[key("state")];
    const std::string_view state = out.state.text();
    if (state == "completed")
      out.progress = 2;
    else if (state == "started")
      out.progress = 1;
    else if (state.empty())
      out.progress = out.completed != 0 ? 2 : out.started != 0 ? 1 : 0;
    out.input_sizes = fields[key("input_sizes")];
    out.output_sizes = fields[key("output_sizes")];
    out.input_types = fields[key("input_dtypes")];
    out.output_types = fields[key("output_dtypes")];
    out.frames = fields[key("frames")];
    const Value& thread = fields[key("thread_name")];
    out.thread = thread.text().empty() ? fields[key("thread_id")] : thread;
    return true;
  }

  // torchcomms describes a group by the backend that it names each operation after, and keeps no
  // status of groups.
  bool of_torchcomms(const Value& status) const {
    return !entries_.empty() && (!status.is_dict() || values_.tree.nodes[status.node].count == 0) &&
           std::ranges::all_of(entries_, [&](const RecorderEntry& e) {
             const std::string& backend = operations_[e.operation].backend;
             return !backend.empty() && groups_.all[e.group].row.description == backend;
           });
  }

  // There an operation is over when it is retired. Its state asks two CUDA events, of which the
  // second is recorded at the end and counts as over before that; other devices have none. Sends
  // are not marked, and one counter counts the operations of all groups: where the dump has all of
  // them, each group and kind is counted by itself. Of a part, the counts of ranks that send do not
  // compare; those of others are alike while the ranks make the same calls.
  void settle_torchcomms(const Value& list) {
    bool all = true, sends = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      RecorderEntry& e = entries_[i];
      const RecorderOperation& operation = operations_[e.operation];
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
      part_.reject("recorder.counts_of_process", values_.tree.nodes[list.node].offset,
                   "sends are among the operations, and the first ones are gone");
  }

  // The operations of a coalesced launch have no events of their own and stay "scheduled" for ever;
  // the launch itself is an entry too, with the same sequence number, and it is the one that
  // completes.
  void settle_coalesced() {
    if (std::ranges::none_of(operations_, &RecorderOperation::coalesced)) return;
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

  const RecorderPart& part_;
  RecorderValues& values_;
  RecorderGroups& groups_;
  RecorderEntries out_;
  std::vector<RecorderOperation>& operations_ = out_.operations;
  std::vector<RecorderEntry>& entries_ = out_.all;
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
  std::vector<std::pair<std::string_view, std::size_t>> expected_;
  std::string_view last_text_;
  std::uint32_t last_operation_ = 0;
};

}  // namespace

RecorderEntries read_entries(const RecorderPart& part, RecorderValues& values, const Value& list,
                             const Value& status, RecorderGroups& groups) {
  return EntryReader(part, values, groups).read(list, status);
}

}  // namespace culprit::ingest
