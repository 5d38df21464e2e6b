// Any bytes, as metrics that trainers write: the first byte chooses TensorBoard events ('t' as they
// are, 'T' with the checksums put right, so that the wire reader is met), JSON lines ('j'), a table
// ('c') or golden values ('g'). Nothing may crash, rows stay inside the bytes, and texts give the
// same rows wherever they are cut.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ingest/engine/crc32c.hpp"
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
  SeriesId series_met = 0;
  std::string log;
  static void check(const Place& p) {
    hold(p.member == 1 && p.offset <= bytes_there && p.offset + p.length <= bytes_there, "a place");
  }
  SeriesId series(const SeriesRow& row) override {
    hold(!row.rank || number_of(*row.rank) >= 0, "a rank");
    log += row.name + '\n' + row.unit + '\n' + row.labels + '\n';
    return ++series_met;
  }
  void put(const ChunkRow& row) override {
    check(row.place);
    SeriesPoints points;
    hold(row.series > 0 && row.series <= series_met && unpack(row.data, points) &&
             static_cast<std::int64_t>(points.size()) == row.samples && row.samples > 0,
         "a chunk");
    log += std::to_string(row.series) + row.data + '\n';
  }
  void put(const ProgressRow& row) override {
    check(row.place), hold(row.iteration.has_value() && !(row.loss && row.loss_nan), "progress"),
        log += std::to_string(*row.iteration) + '\n';
  }
  void put(const RejectRow& row) override {
    check(row.place), hold(!row.reason.empty(), "a reason"), log += row.reason + '\n';
  }
};

std::string little(std::uint32_t v) {
  std::string out;
  for (int i = 0; i < 32; i += 8) out.push_back(static_cast<char>(v >> i));
  return out;
}

// The bytes as records of up to 255 bytes, each behind its length, with sound checksums.
std::string with_checksums(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), bytes.size() - 1);
    const std::string head = std::string(1, static_cast<char>(length)) + std::string(7, '\0');
    const std::string_view data = bytes.substr(1, length);
    out += head + little(ingest::masked(ingest::crc32c(head))) + std::string(data) +
           little(ingest::masked(ingest::crc32c(data)));
    bytes.remove_prefix(1 + length);
  }
  return out;
}

const rules::RulePack& pack() {
  static const rules::RulePack the = [] {
    auto compiled = rules::RulePack::compile({});
    if (!compiled) std::exit(70);
    return std::move(compiled).value();
  }();
  return the;
}

void read_document(std::string_view name, const char* path, std::string_view bytes) {
  bytes_there = bytes.size();
  for (const ingest::Document* document : ingest::documents()) {
    document->sniff({path, bytes, true});
    if (document->name != name) continue;
    Judge sink;
    MemberRow member;
    member.id = 1;
    member.path = path;
    ingest::Reading reading{sink, pack(), "", "", "", path};
    document->read(bytes, member, reading);
    for (const auto& kept : reading.kept) kept->finish(reading);
  }
}

std::string read_text(const ingest::RecordText& text, const ingest::Head& head,
                      std::string_view bytes, std::size_t cut) {
  Judge sink;
  ingest::RecordTextReader reader(text.make(head),
                                  ingest::Reading{sink, pack(), "data", "", "", "x"}, 1);
  if (cut > 0) reader.block(bytes.substr(0, cut));
  reader.block(bytes.substr(cut));
  reader.finish();
  hold(reader.used() + reader.rejected() <= reader.lines(), "the ledger");
  return sink.log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 't':
      read_document("tensorboard-events", "events.out.tfevents.1795232510.node-07.4711.0", bytes);
      return 0;
    case 'T':
      read_document("tensorboard-events", "events.out.tfevents.1795232510.node-07.4711.0",
                    with_checksums(bytes));
      return 0;
    case 'g': read_document("megatron-golden", "golden_values_dev.json", bytes); return 0;
    default: break;
  }
  const std::string_view wanted = data[0] == 'c' ? "metrics-table" : "metrics-jsonl";
  const ingest::Head head{data[0] == 'c' ? "steps.csv" : "steps.jsonl", bytes, true};
  bytes_there = bytes.size();
  for (const ingest::RecordText* text : ingest::record_texts()) {
    text->sniff(head);
    if (text->name != wanted) continue;
    const std::string whole = read_text(*text, head, bytes, 0);
    hold(read_text(*text, head, bytes, bytes.size() / 2) == whole,
         "rows that do not depend on blocks");
    hold(read_text(*text, head, bytes, bytes.size() / 7) == whole,
         "rows that do not depend on blocks");
  }
  return 0;
}
