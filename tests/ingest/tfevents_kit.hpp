// Makes TensorBoard event files byte by byte.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/engine/crc32c.hpp"

namespace culprit::ingest::test {

inline std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
  return out;
}
template <class Word>
std::string little(Word v) {
  std::string out;
  for (std::size_t i = 0; i < sizeof(Word); ++i) out.push_back(static_cast<char>(v >> (8 * i)));
  return out;
}
inline std::string field(unsigned number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string field(unsigned number, std::uint64_t v) {
  return varint(number << 3) + varint(v);
}
inline std::string field(unsigned number, double v) {
  return varint(number << 3 | 1) + little(std::bit_cast<std::uint64_t>(v));
}
inline std::string field(unsigned number, float v) {
  return varint(number << 3 | 5) + little(std::bit_cast<std::uint32_t>(v));
}

inline std::string record(std::string_view data) {
  const std::string length = little<std::uint64_t>(data.size());
  return length + little(masked(crc32c(length))) + std::string(data) + little(masked(crc32c(data)));
}
inline std::string version() {
  return record(field(1, 1795232510.0) + field(3, std::string_view("brain.Event:2")));
}
inline std::string value(std::string_view tag, std::string_view what) {
  return field(1, field(1, tag) + std::string(what));
}
inline std::string event(double time, std::int64_t step, std::string_view values) {
  return record(field(1, time) + (step == 0 ? "" : field(2, static_cast<std::uint64_t>(step))) +
                field(5, values));
}
inline std::string scalar(double time, std::int64_t step, std::string_view tag, float v) {
  return event(time, step, value(tag, field(2, v)));
}

}  // namespace culprit::ingest::test
