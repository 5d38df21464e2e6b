// Any bytes, as a flight-recorder dump: the first byte chooses pickle or JSON. Nothing may crash,
// and nothing may be told of a place outside of the bytes or of a rank that the name does not give.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ingest/engine/document.hpp"

namespace {

using namespace culprit;

std::size_t bytes_there = 0;

void hold(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

struct Judge final : NullSink {
  using NullSink::put;
  std::size_t groups = 0;
  static void check(const Place& p) {
    hold(p.member == 1 && p.offset <= bytes_there && p.offset + p.length <= bytes_there, "a place");
  }
  static void check(const std::optional<Rank>& rank) { hold(!rank || *rank == Rank(3), "a rank"); }
  void check(GroupId group) const { hold(index_of(group) < groups, "a group"); }
  GroupId group(const GroupRow& row) override {
    hold(row.size == static_cast<std::int64_t>(row.ranks.size()), "the size of a group");
    return group_at(groups++);
  }
  void put(const RejectRow& row) override {
    check(row.place), hold(!row.reason.empty(), "a reason");
  }
  void put(const RecorderRow& row) override {
    check(row.place), check(row.rank), hold(row.pending <= row.entries, "pending entries");
  }
  void put(const FrontierRow& row) override {
    check(row.place), check(row.rank), check(row.group),
        hold(row.enqueued >= kUnknownSequence && row.completed >= kUnknownSequence, "a frontier");
  }
  void put(const CollectiveRow& row) override {
    check(row.place), check(row.rank), check(row.group),
        hold(row.frames.size() <= 256 && row.sizes.size() < 10'000, "a collective");
  }
  void put(const HistoryRow& row) override {
    check(row.rank), check(row.group), hold(!row.entries.empty(), "a history");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rules::RulePack pack = [] {
    auto compiled = rules::RulePack::compile({});
    if (!compiled) std::exit(70);
    return std::move(compiled).value();
  }();
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  bytes_there = bytes.size();
  const std::string_view wanted = data[0] == 'j' ? "flight-recorder-json" : "flight-recorder";
  for (const ingest::Document* document : ingest::documents()) {
    document->sniff({"nccl_trace_rank_3", bytes, true});
    if (document->name != wanted) continue;
    Judge sink;
    MemberRow member;
    member.id = 1;
    member.path = "nccl_trace_rank_3";
    ingest::Reading reading{sink, pack, "", "", ""};
    document->read(bytes, member, reading);
  }
  return 0;
}
