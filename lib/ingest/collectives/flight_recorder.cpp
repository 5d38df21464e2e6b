// PyTorch's flight recorder: the last operations of one process on its process groups, as a pickle
// or as JSON. Both become one tree of values and are read by the same code: the JSON has strings
// where the pickle has numbers, 0 where it has None, and no frames.
//
// The rank stands in the file's name only. pg_config and the entries name groups by a name that all
// processes share, pg_status by a counter of the process; the two meet in the entries.
//
// The recorder of torchcomms (FlightRecorderHook; comm_lib_trace_rank_N, or
// TORCHCOMM_FR_DUMP_TEMP_FILE) writes the same keys with other meanings: see
// recorder_entries.cpp.
#include <algorithm>
#include "ingest/collectives/flight_recorder.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/line_numbers.hpp"
#include "ingest/collectives/pickle.hpp"
#include "ingest/collectives/recorder_rows.hpp"
#include "line/header_layout.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

// The parts of a dump.
struct DumpParts {
  Value entries = Value::nothing(), config = Value::nothing(), status = Value::nothing();
  std::string version, library;
};

// Nothing: it is no dump.
std::optional<DumpParts> parts_of(const Tree& tree) {
  DumpParts out;
  if (tree.root.is_list()) {  // the first versions had no more than the entries
    bool like = false;
    tree.each(tree.root, [&](const Value& v) {
      like = v.is_dict() && (tree.find(v, "profiling_name").kind != Value::Kind::none ||
                             tree.find(v, "record_id").kind != Value::Kind::none);
      return false;
    });
    out.entries = tree.root;
    return like ? std::optional(out) : std::nullopt;
  }
  bool known = false;
  tree.each_pair(tree.root, [&](const Value& key, const Value& v) {
    const std::string_view name = key.text();
    if (name == "entries" && v.is_list())
      out.entries = v, known = true;
    else if (name == "pg_config" && v.is_dict())
      out.config = v, known = true;
    else if (name == "pg_status" && v.is_dict())
      out.status = v, known = true;
    else if (name == "version")
      out.version = RecorderValues::spelt(v);
    else if (name == "nccl_version" || name == "comm_lib_version")
      out.library = RecorderValues::spelt(v);
    return true;
  });
  return known ? std::optional(out) : std::nullopt;
}

// A process belongs to every group of its pg_config: a number in a name that none of them holds is
// no global rank. given: by the page that it is a part of.
std::optional<Rank> decide_rank(const RecorderPart& part, const RecorderGroups& groups,
                                const std::optional<Rank>& given) {
  const std::optional<Rank> rank = given ? given : rank_in_name(part.member.path);
  const auto other = std::ranges::find_if(groups.all, [&](const RecorderGroup& group) {
    return rank && group.configured && !group.row.ranks.empty() &&
           !std::ranges::binary_search(group.row.ranks, *rank);
  });
  if (other == groups.all.end()) return rank;
  part.reject("recorder.rank_contradicted", 0,
              fmt::format("rank {} by the name of the {}, but group {} has other ranks", *rank,
                          given ? "part" : "file", other->row.name));
  return std::nullopt;
}

std::string read_dump(const RecorderPart& part, const std::optional<Rank>& given, bool& cut) {
  RecorderValues values(part.bytes.size());
  Tree& tree = values.tree;
  if (part.json)
    read_lenient_json(part.bytes, tree);
  else
    read_pickle(part.bytes, tree);
  cut = cut || tree.truncated;
  if (contains(tree.problem, ".refused_")) return tree.problem;
  const auto parts = parts_of(tree);
  if (!parts) return tree.problem.empty() ? "recorder.not_a_dump" : tree.problem;
  if (tree.truncated)
    part.reject(
        tree.problem, tree.problem_at,
        RecorderValues::clip(part.bytes.substr(std::min(tree.problem_at, part.bytes.size())), 200));
  const std::string& version = parts->version;
  if (!version.empty() &&
      !(version.starts_with("1.") || version.starts_with("2.") || version == "1" || version == "2"))
    part.reject("recorder.version", 0, version);
  RecorderGroups groups(values, part.member.path);
  groups.read_config(parts->config);
  const RecorderEntries entries = read_entries(part, values, parts->entries, parts->status, groups);
  if (std::string unnamed = groups.read_status(parts->status); !unnamed.empty())
    part.reject("recorder.status_unnamed", tree.nodes[parts->status.node].offset,
                std::move(unnamed));
  put_recorder_rows(
      part, values, groups, entries,
      {.version = version, .library = parts->library, .rank = decide_rank(part, groups, given)});
  return {};
}

constexpr std::string_view kTopKeys[] = {"version",        "pg_config",    "pg_status",
                                         "entries",        "nccl_version", "comm_lib_version",
                                         "nccl_comm_state"};
constexpr std::string_view kEntryKeys[] = {"record_id", "profiling_name", "collective_seq_id",
                                           "pg_id",     "frames",         "seq_id"};

bool names_two(std::string_view bytes) {
  return (contains(bytes, "pg_config") || contains(bytes, "pg_status") ||
          contains(bytes, "entries")) &&
         (contains(bytes, "version") || contains(bytes, "profiling_name") ||
          contains(bytes, "pg_status"));
}

bool sniff_pickle(const Head& head) {
  std::string_view bytes = head.bytes;
  if (bytes.size() < 4 || bytes[0] != '\x80' || static_cast<unsigned char>(bytes[1]) > 5)
    return false;
  bytes.remove_prefix(2);
  if (bytes[0] == '\x95' && bytes.size() > 9) bytes.remove_prefix(9);
  if (bytes.empty() || (bytes[0] != '}' && bytes[0] != ']')) return false;
  return bytes[0] == '}' ? names_two(bytes)
                         : contains(bytes, "profiling_name") && contains(bytes, "record_id");
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
  if (list) return contains(kEntryKeys, key) && contains(bytes, "\"profiling_name\"");
  return contains(kTopKeys, key) &&
         (contains(bytes, "\"pg_config\"") || contains(bytes, "\"pg_status\"") ||
          (contains(bytes, "\"entries\"") && contains(bytes, "\"profiling_name\"")));
}

std::string read_as_pickle(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return read_dump({bytes, member, reading.sink}, {}, reading.cut);
}
std::string read_as_json(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return read_dump({bytes, member, reading.sink, true}, {}, reading.cut);
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
         contains(head.bytes, kRankHeading) && contains(head.bytes, "/handler/") &&
         (contains(head.bytes, "\"pg_config\"") || contains(head.bytes, "\"profiling_name\""));
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
      reason = read_dump({bytes.substr(from, std::max(from, to) - from), member, reading.sink, true,
                          from, lines.of(from).number - 1},
                         Rank(number), reading.cut);
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
  constexpr std::string_view kDigits = "0123456789";
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
    const std::size_t end = std::min(base.find_first_not_of(kDigits, at), base.size());
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
    before = before.substr(0, before.find_last_not_of("_-") + 1);
    if (before.ends_with("local") || before.ends_with("node") || before.ends_with("group"))
      return std::nullopt;
    return rank;
  }
  // A device, a process or a machine counts on its own.
  const std::size_t at = base.find_last_not_of(kDigits) + 1;
  std::string_view before = base.substr(0, at);
  before = before.substr(0, before.find_last_not_of("_-.") + 1);
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
