// What PyTorch's debug server writes of the flight recorders of all ranks at once: tables, joined
// by torch's own analyser (fr_trace_20260401_192104.txt, torchcomms_fr_trace_...txt).
//
//   === TorchComms FR Trace ===
//   --- Memberships ---
//   group_id      global_rank
//   main_comm               0
//   --- Collectives ---
//     id  group_id    pass_check      collective_seq_id  ...  expected_ranks  ...  missing_ranks
//      4  main_comm   True                            4  ...  {0, 1}          ...  {1}
//
// (torch/distributed/debug, class DebugHandler; the columns are the fields of flight_recorder's
// types Group, Membership and Collective.) A cell may be empty: a column is known by where its
// heading begins or ends, whichever way it is aligned. Gloo's recorder and NCCL's may follow each
// other, with groups of one name that count by themselves. What stands above names the ranks that
// did not answer:
//
//   PARTIAL DATA: 3/4 workers responded
//     Rank 2: ConnectionError: ...
//
// The states of torchcomms are those that recorder_entries.cpp does not believe, and whether an
// operation is retired is not told here.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/name_moment.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/operation.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostRanksOfTable = 1'000'000, kMostCallsOfTable = 100'000;

struct TableCell {
  std::size_t begin = 0, end = 0;
  std::string_view text;
};

// What stands between two blanks and more.
std::vector<TableCell> table_cells(std::string_view line) {
  std::vector<TableCell> out;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    out.push_back({at, end, trimmed(line.substr(at, end - at))});
    at = line.find_first_not_of(' ', end);
  }
  return out;
}

// "{0, 1, 2}".
std::set<Rank> ranks_of_set(std::string_view text) {
  std::set<Rank> out;
  while (!text.empty() && out.size() < kMostRanksOfTable) {
    const std::size_t at = text.find_first_of("0123456789");
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    std::int64_t rank = 0;
    if (parse_whole(text.substr(at, end - at), rank)) out.insert(Rank(rank));
    text.remove_prefix(end);
  }
  return out;
}

class RecorderTables {
 public:
  RecorderTables(const MemberRow& member, Reading& reading) : member_(member), reading_(reading) {
    moment_of_name(member.path, time_);
  }

  std::string read(std::string_view bytes) {
    each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
      const std::string_view text = trimmed(line);
      if (text.starts_with("=== ") || text.starts_with("--- ")) {
        section_ = text.starts_with("--- ") ? text : std::string_view();
        columns_.clear();
        if (section_.empty()) begin_recorder(text);
        partial_ = false;
      } else if (text.starts_with("PARTIAL DATA: ")) {
        partial_ = true;
      } else if (partial_ && text.starts_with("Rank ")) {
        reading_.sink.put(
            RejectRow{{member_.id, number, offset, static_cast<std::uint32_t>(line.size())},
                      "recorder_tables.rank_without_answer",
                      std::string(text.substr(0, 200))});
      } else if (!text.empty() && !section_.empty()) {
        if (columns_.empty())
          columns_ = table_cells(line);
        else
          row(line, {member_.id, number, offset, static_cast<std::uint32_t>(line.size())});
      }
    });
    put();
    return groups_.empty() ? "recorder_tables.empty" : "";
  }

 private:
  // How far a rank has come on a group.
  struct Progress {
    std::int64_t enqueued = kNoSequence, completed = kNoSequence;
    Place place;
  };
  struct Told {
    GroupRow row;
    std::set<Rank> members;
    std::map<Rank, Progress> ranks;
    bool stateless = true;  // torchcomms without CUDA: all operations are scheduled for ever
  };
  struct Call {
    std::string group;
    CollectiveRow row;
    bool joined = false;                 // no rank is missing
    std::set<Rank> ranks;                // that made it
    std::map<Rank, std::string> others;  // what these called in its place
  };

  // "=== FR Trace NCCL ==="
  void begin_recorder(std::string_view title) {
    torchcomms_ = contains(title, "TorchComms");
    recorder_.clear();
    if (!groups_.empty())
      recorder_ = fmt::format(" ({})", trimmed(title.substr(4, title.rfind(' ') - 4)));
  }
  std::string group_of(std::string_view id) const { return std::string(id) + recorder_; }

  // A text begins where its heading does, a number ends there; what was edited stands under it.
  std::string_view cell(const std::vector<TableCell>& cells, std::string_view name) const {
    const auto head = std::ranges::find(columns_, name, &TableCell::text);
    if (head == columns_.end()) return {};
    for (const TableCell& one : cells)
      if (one.begin == head->begin || one.end == head->end) return one.text;
    for (const TableCell& one : cells)
      if (one.begin < head->end && one.end > head->begin && !fits_another(one)) return one.text;
    return {};
  }
  bool fits_another(const TableCell& one) const {
    return std::ranges::any_of(columns_, [&](const TableCell& head) {
      return one.begin == head.begin || one.end == head.end;
    });
  }

  void row(std::string_view line, const Place& place) {
    const std::vector<TableCell> cells = table_cells(line);
    if (section_ == "--- Groups ---") {
      Told& group = groups_[group_of(cell(cells, "id"))];
      group.row.description = cell(cells, "desc");
      parse_whole(cell(cells, "size"), group.row.size);
    } else if (section_ == "--- Memberships ---") {
      std::int64_t rank = 0;
      if (parse_whole(cell(cells, "global_rank"), rank) && rank >= 0)
        groups_[group_of(cell(cells, "group_id"))].members.insert(Rank(rank));
    } else if (section_ == "--- Collectives ---") {
      collective(cells, place);
    }
  }

  void collective(const std::vector<TableCell>& cells, const Place& place) {
    std::int64_t sequence = 0;
    const std::string_view id = cell(cells, "group_id"), called = cell(cells, "collective_name");
    if (id.empty() || called.empty() || !parse_whole(cell(cells, "collective_seq_id"), sequence))
      return reject(place);
    const std::string name = group_of(id);
    Told& group = groups_[name];
    std::set<Rank> ranks = ranks_of_set(cell(cells, "expected_ranks"));
    group.members.insert(ranks.begin(), ranks.end());
    const std::set<Rank> missing = ranks_of_set(cell(cells, "missing_ranks"));
    for (const Rank rank : missing) ranks.erase(rank);
    std::string_view state = cell(cells, "collective_state");
    if (torchcomms_ && !missing.empty() && state == "completed") state = "started";
    const bool completed = state == "completed";
    group.stateless = group.stateless && torchcomms_ && state == "scheduled";
    for (const Rank rank : ranks) {
      Progress& at = group.ranks[rank];
      if (sequence >= at.enqueued) at.enqueued = sequence, at.place = place;
      if (completed) at.completed = std::max(at.completed, sequence);
    }
    if ((completed && cell(cells, "pass_check") != "False") || calls_.size() >= kMostCallsOfTable)
      return;
    Call call;
    call.group = name;
    call.row.place = place;
    call.row.time = time_;
    call.row.source = CollectiveSource::recorder;
    call.row.sequence = sequence;
    const std::size_t colon = called.find(':');
    if (colon != std::string_view::npos) call.row.backend = called.substr(0, colon);
    call.row.operation = lower(colon == std::string_view::npos ? called : called.substr(colon + 1));
    call.row.state = state;
    if (const std::string_view in = cell(cells, "input_sizes"); !in.empty()) {
      call.row.sizes = "in " + std::string(in);
      if (const std::string_view out = cell(cells, "output_sizes"); !out.empty())
        call.row.sizes += " out " + std::string(out);
    }
    call.joined = missing.empty();
    call.ranks = std::move(ranks);
    call.others = mismatched(cell(cells, "mismatch_collectives"));
    calls_.push_back(std::move(call));
  }

  // "{3: Collective(id=4, ..., collective_name='nccl:broadcast', ...)}"
  static std::map<Rank, std::string> mismatched(std::string_view text) {
    static const re2::RE2 kOne(R"((\d{1,7}): Collective\(.*?collective_name='(?:\w+:)?([^']*)')");
    std::map<Rank, std::string> out;
    re2::StringPiece rest(text.data(), text.size());
    std::int64_t rank = 0;
    std::string name;
    while (out.size() < kMostRanksOfTable && re2::RE2::FindAndConsume(&rest, kOne, &rank, &name))
      out[Rank(rank)] = lower(name);
    return out;
  }

  // Without states, what all ranks have joined is over: there is nothing that says otherwise.
  void settle_stateless() {
    std::erase_if(calls_, [&](const Call& call) {
      Told& group = groups_[call.group];
      if (!group.stateless || !call.joined || !call.others.empty()) return false;
      for (const Rank rank : call.ranks) {
        std::int64_t& completed = group.ranks[rank].completed;
        completed = std::max(completed, call.row.sequence);
      }
      return true;
    });
  }

  void put() {
    settle_stateless();
    std::map<std::string, GroupId> ids;
    for (auto& [name, group] : groups_) {
      group.row.name = name;
      group.row.ranks.assign(group.members.begin(), group.members.end());
      if (group.row.size == 0) group.row.size = static_cast<std::int64_t>(group.members.size());
      ids[name] = reading_.sink.group(group.row);
      for (const Rank member : group.members) {
        const auto at = group.ranks.find(member);
        FrontierRow row;
        row.place = at == group.ranks.end() ? Place{member_.id, 1, 0, 0} : at->second.place;
        row.time = time_;
        row.source = CollectiveSource::recorder;
        row.rank = member;
        row.group = ids[name];
        row.enqueued = at == group.ranks.end() ? kNoSequence : at->second.enqueued;
        row.completed = at == group.ranks.end() ? kNoSequence : at->second.completed;
        reading_.sink.put(row);
      }
    }
    for (const Call& call : calls_)
      for (const Rank rank : call.ranks) {
        if (groups_[call.group].ranks[rank].enqueued != call.row.sequence) continue;
        CollectiveRow row = call.row;
        row.rank = rank;
        row.group = ids[call.group];
        if (const auto other = call.others.find(rank); other != call.others.end())
          row.operation = other->second;
        reading_.sink.put(row);
      }
  }

  void reject(const Place& place) {
    reading_.sink.put(RejectRow{place, "recorder_tables.row", {}});
  }

  const MemberRow& member_;
  Reading& reading_;
  Timestamp time_;
  std::string_view section_;
  std::string recorder_;  // " (FR Trace NCCL)": of the second one
  bool torchcomms_ = false;
  bool partial_ = false;  // ranks that did not answer follow
  std::vector<TableCell> columns_;
  std::map<std::string, Told> groups_;
  std::vector<Call> calls_;
};

bool sniff_recorder_tables(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos) return false;
  const std::string_view text = head.bytes.substr(at);
  return (text.starts_with("=== ") || text.starts_with("PARTIAL DATA: ")) && head.has("FR Trace") &&
         head.has("--- Groups ---");
}

std::string read_recorder_tables(std::string_view bytes, const MemberRow& member,
                                 Reading& reading) {
  return RecorderTables(member, reading).read(bytes);
}

}  // namespace

extern constinit const Document kRecorderTables{
    "recorder-tables", "flight recorders of all ranks as PyTorch's debug server joins them",
    512u << 20, sniff_recorder_tables, read_recorder_tables};

}  // namespace culprit::ingest
