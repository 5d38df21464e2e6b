// Any bytes, as a file of metrics: the first byte chooses the reader. Nothing may crash; a sample
// stands inside of the bytes, on a line that there is; the ledger adds up; and where the blocks are
// cut changes nothing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ingest/engine/document.hpp"
#include "ingest/engine/record_text.hpp"

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
  SeriesId count = 0;
  std::string log;
  static void check(const Place& p) {
    hold(p.member == 1 && p.offset <= bytes_there && p.offset + p.length <= bytes_there, "a place");
  }
  SeriesId series(const SeriesRow& row) override {
    hold(row.member == 1, "the member of a series");
    log += row.name + '{' + row.labels + '}' + row.gpu.value_or("") + row.nic.value_or("") +
           name_of(row.host) + '\n';
    return ++count;
  }
  void put(const RejectRow& row) override {
    check(row.place), hold(!row.reason.empty(), "a reason"), log += row.reason + '\n';
  }
  void put(const ChunkRow& row) override {
    check(row.place);
    hold(row.series > 0 && row.series <= count, "a series");
    SeriesPoints points;
    hold(unpack(row.data, points) && static_cast<std::int64_t>(points.size()) == row.samples &&
             row.samples > 0,
         "a chunk");
    for (const std::int64_t offset : points.offsets)
      hold(offset >= 0 && static_cast<std::size_t>(offset) <= bytes_there, "an offset");
    for (const std::int64_t line : points.lines)
      hold(line >= 0 && static_cast<std::size_t>(line) <= bytes_there + 1, "a line");
    log += row.data;
  }
};

std::string read_records(const ingest::RecordText& records, const ingest::Head& head,
                         std::size_t cut, const rules::RulePack& pack) {
  Judge sink;
  ingest::RecordTextReader reader(
      records.make(head), ingest::Reading{sink, pack, "data", {}, {}, std::string(head.path)}, 1);
  for (std::size_t at = 0; at < head.bytes.size(); at += cut)
    reader.block(head.bytes.substr(at, cut));
  reader.finish();
  hold(reader.used() + reader.rejected() <= reader.lines(), "the ledger");
  return sink.log;
}

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
  struct Choice {
    char letter;
    std::string_view format;
    std::string_view path;
  };
  static constexpr Choice kChoices[] = {
      {'p', "prometheus-text", "m.prom"},
      {'j', "prometheus-json", "q.json"},
      {'c', "nvidia-smi-csv", "smi.csv"},
      {'d', "nvidia-smi-dmon", "dmon.txt"},
      {'r', "rdma-statistic", "rdma.txt"},
      {'R', "rdma-statistic-json", "rdma.json"},
      {'s', "sys-counters", "ib.txt"},
      {'f', "sys-counter-file", "n1/infiniband/mlx5_0/ports/1/counters/link_downed"},
      {'e', "ethtool-statistics", "ethtool_-S_eth0"}};
  for (const Choice& choice : kChoices) {
    if (choice.letter != static_cast<char>(data[0])) continue;
    const ingest::Head head{choice.path, bytes, true};
    ingest::detect(head);
    for (const ingest::RecordText* records : ingest::record_texts())
      if (records->name == choice.format)
        hold(read_records(*records, head, bytes.size() + 1, pack) ==
                 read_records(*records, head, 7, pack),
             "the same rows however blocks are cut");
    for (const ingest::Document* document : ingest::documents()) {
      if (document->name != choice.format) continue;
      Judge sink;
      MemberRow member;
      member.id = 1;
      member.path = choice.path;
      ingest::Reading reading{sink, pack, "", {}, {}, member.path};
      document->read(bytes, member, reading);
      for (const auto& kept : reading.kept) kept->finish(reading);
    }
  }
  return 0;
}
