// CRC-32C (Castagnoli), as TFRecord files carry it.
#pragma once

#include <cstdint>
#include <string_view>

namespace culprit::ingest {

std::uint32_t crc32c(std::string_view bytes);

// A checksum of bytes that hold checksums is weak, so TFRecord turns and shifts what it stores
// (TensorFlow, tsl/lib/hash/crc32c.h).
inline std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace culprit::ingest
