// What must hold of every row that a reader of any format puts, whatever the bytes were.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/series.hpp"
#include "model/sink.hpp"

namespace culprit::test {

inline void hold(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Rows of member 1, whose bytes are `size`. `log` is what two readings must agree on.
class AnyRows final : public NullSink {
 public:
  explicit AnyRows(std::size_t size) : size_(size) {}

#define CULPRIT_PUT(Row, name) \
  void put(const Row& row) override { check(row), note(#name); }
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  void put(const Manifest& manifest, const Place& place) override {
    check(place);
    log += manifest.document;
  }
  GroupId group(const GroupRow&) override { return group_at(groups_++); }
  SeriesId series(const SeriesRow& row) override {
    hold(row.member == 1, "the member of a series");
    log += row.name + '{' + row.labels + "}\n";
    return ++series_;
  }

  std::string log;

 private:
  void note(std::string_view kind) {
    if (kind == "clocks") return;  // read where a text begins and ends, from its blocks there
    log += kind;
    log += '\n';
  }
  void check(const Place& place) const {
    hold(place.member == 1 && place.offset <= size_ && place.length <= size_ - place.offset,
         "a place within the member");
  }
  template <class Row>
  void check(const Row& row) {
    if constexpr (requires { row.place; }) check(row.place);
    if constexpr (requires { row.confidence; })
      hold(row.confidence >= 0 && row.confidence <= 1, "a confidence");
  }
  void check(const RejectRow& row) {
    check(row.place);
    hold(!row.reason.empty(), "the reason of a reject");
    log += row.reason;
  }
  void check(const ChunkRow& row) {
    check(row.place);
    hold(row.series > 0 && row.series <= series_, "a series");
    hold(!row.axis || (*row.axis > 0 && *row.axis < row.series), "an axis");
    SeriesPoints points;
    hold(unpack(row.data, points) && row.samples > 0 &&
             static_cast<std::int64_t>(points.size()) == row.samples,
         "a chunk of samples");
    for (const std::int64_t offset : points.offsets)
      hold(offset >= 0 && static_cast<std::size_t>(offset) <= size_, "an offset");
    log += row.data;
  }

  std::size_t size_;
  SeriesId series_ = 0;
  std::size_t groups_ = 0;
};

}  // namespace culprit::test
