// TensorBoard's event files: TFRecords (length, its checksum, bytes, their checksum) of protobuf
// Events. A wire reader of our own for the few fields that matter: scalars, as simple_value or as a
// TensorProto without dimensions.
//
// Event { 1 wall_time double, 2 step int64, 3 file_version, 5 Summary { 1 Value { 1 tag, 2
// simple_value float, 8 TensorProto } } } TensorProto { 1 dtype, 2 shape { 2 dim }, 4
// tensor_content, 5 float_val, 6 double_val, 7 int_val, 10 int64_val, 13 half_val }
//
// A file ends within a record whenever its writer was killed: nothing to complain of. A checksum
// that does not fit ends the reading: nothing after it can be trusted to begin where it seems to.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "ingest/engine/crc32c.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/training/step_rows.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kHeader = 12;  // length and its checksum
constexpr std::size_t kMostEventBytes = 256u << 20;
constexpr std::size_t kLongestTag = 512;
constexpr std::string_view kName = "tfevents.";

template <class Word>
Word masked_word(std::string_view bytes, std::size_t at) {
  Word v = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i)
    v |= static_cast<Word>(static_cast<Word>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
  return v;
}

// The fields of one message. A field that does not fit ends them.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  bool next() {
    std::uint64_t key = 0;
    if (broken_ || rest_.empty()) return false;
    broken_ = true;
    if (!varint(key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) return false;
    field_ = static_cast<std::uint32_t>(key >> 3);
    bytes_ = {};
    number_ = 0;
    switch (key & 7) {
      case 0:
        wire_ = Wire::varint;
        if (!varint(number_)) return false;
        break;
      case 1:
        wire_ = Wire::fixed64;
        if (!fixed<std::uint64_t>()) return false;
        break;
      case 2: {
        std::uint64_t length = 0;
        wire_ = Wire::bytes;
        if (!varint(length) || length > rest_.size()) return false;
        bytes_ = rest_.substr(0, length);
        rest_.remove_prefix(length);
        break;
      }
      case 5:
        wire_ = Wire::fixed32;
        if (!fixed<std::uint32_t>()) return false;
        break;
      default: return false;
    }
    broken_ = false;
    return true;
  }
  bool broken() const { return broken_; }
  enum class Wire { varint, fixed64, bytes, fixed32 };
  bool is(std::uint32_t field, Wire wire) const { return field_ == field && wire_ == wire; }
  std::uint32_t field() const { return field_; }
  Wire wire() const { return wire_; }
  std::uint64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }

 private:
  bool varint(std::uint64_t& v) {
    v = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }
  template <class Word>
  bool fixed() {
    if (rest_.size() < sizeof(Word)) return false;
    number_ = masked_word<Word>(rest_, 0);
    rest_.remove_prefix(sizeof(Word));
    return true;
  }

  std::string_view rest_, bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  Wire wire_ = Wire::varint;
  bool broken_ = false;
};

double of_float(std::uint64_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}
double of_double(std::uint64_t bits) { return std::bit_cast<double>(bits); }
double of_bfloat16(std::uint64_t bits) { return of_float((bits & 0xffff) << 16); }
double of_half(std::uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto fraction = static_cast<double>(bits & 0x3ff);
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

// Base-128 digits of one number that are the whole of `packed`.
std::optional<std::uint64_t> single_varint(std::string_view packed) {
  std::uint64_t v = 0;
  std::size_t used = 0;
  for (; used < packed.size() && used < 10; ++used) {
    v |= static_cast<std::uint64_t>(static_cast<unsigned char>(packed[used]) & 0x7f) << (7 * used);
    if ((static_cast<unsigned char>(packed[used]) & 0x80) == 0) {
      ++used;
      break;
    }
  }
  return used == packed.size() ? std::optional(v) : std::nullopt;
}

// A TensorProto that holds one number, which is spelt as bytes or in a list.
struct OneNumber {
  std::uint64_t type = 0;
  std::string_view content;
  std::optional<std::uint64_t> listed;

  // Its bits, when the type has that many bytes.
  std::optional<std::uint64_t> bits(std::size_t size) const {
    if (content.empty()) return listed;
    if (content.size() != size) return std::nullopt;
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < size; ++i)
      out |= static_cast<std::uint64_t>(static_cast<unsigned char>(content[i])) << (8 * i);
    return out;
  }
};

// One number of a list of `field`, packed or not; more of them, or none, are no number.
std::optional<std::uint64_t> listed_number(std::uint64_t field, std::string_view packed) {
  constexpr std::uint64_t kFloats = 5, kDoubles = 6;  // the others are varints
  if (field == kFloats)
    return packed.size() == 4 ? std::optional<std::uint64_t>(masked_word<std::uint32_t>(packed, 0))
                              : std::nullopt;
  if (field == kDoubles)
    return packed.size() == 8 ? std::optional<std::uint64_t>(masked_word<std::uint64_t>(packed, 0))
                              : std::nullopt;
  return single_varint(packed);
}

std::optional<OneNumber> read_tensor(std::string_view tensor) {
  OneNumber out;
  std::size_t numbers = 0;
  Message m(tensor);
  while (m.next()) {
    if (m.is(1, Message::Wire::varint)) {
      out.type = m.number();
    } else if (m.is(2, Message::Wire::bytes)) {
      for (Message shape(m.bytes()); shape.next();)
        if (shape.is(2, Message::Wire::bytes)) return std::nullopt;  // a dimension
    } else if (m.is(4, Message::Wire::bytes)) {
      out.content = m.bytes();
    } else if (const auto f = m.field(); f == 5 || f == 6 || f == 7 || f == 10 || f == 13) {
      const bool packed = m.wire() == Message::Wire::bytes;
      if (packed && m.bytes().empty()) continue;
      ++numbers;
      out.listed = packed ? listed_number(f, m.bytes()) : std::optional(m.number());
      if (!out.listed) return std::nullopt;
    }
  }
  return m.broken() || numbers > 1 ? std::nullopt : std::optional(out);
}

// The one number of a TensorProto without dimensions.
std::optional<double> scalar_of(std::string_view tensor) {
  constexpr std::uint64_t kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9, kBfloat16 = 14,
                          kHalf = 19;  // tensorflow/core/framework/types.proto
  const auto one = read_tensor(tensor);
  if (!one) return std::nullopt;
  const auto as = [&](std::size_t size, double (*number)(std::uint64_t)) -> std::optional<double> {
    const auto bits = one->bits(size);
    return bits ? std::optional(number(*bits)) : std::nullopt;
  };
  switch (one->type) {
    case kFloat: return as(4, of_float);
    case kDouble: return as(8, of_double);
    case kInt32:
      return as(4, [](std::uint64_t bits) {
        return static_cast<double>(static_cast<std::int32_t>(bits));
      });
    case kInt64:
      return as(8, [](std::uint64_t bits) {
        return static_cast<double>(static_cast<std::int64_t>(bits));
      });
    case kBfloat16: return as(2, of_bfloat16);
    case kHalf: return as(2, of_half);
    default: return std::nullopt;
  }
}

// events.out.tfevents.<epoch>.<host>.<pid>.<n>; old writers end after the host, whose name may have
// dots.
std::optional<std::string> host_of(std::string_view path) {
  const std::string_view base = path.substr(path.rfind('/') + 1);
  const std::size_t at = base.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = base.substr(at + kName.size());
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos || !digits(rest.substr(0, dot))) return std::nullopt;
  rest.remove_prefix(dot + 1);
  for (const std::string_view ending : {".v2", ".profile-empty"})
    if (rest.ends_with(ending)) rest.remove_suffix(ending.size());
  const std::size_t last = rest.rfind('.');
  const std::size_t before = last == std::string_view::npos || last == 0
                                 ? std::string_view::npos
                                 : rest.rfind('.', last - 1);
  if (before != std::string_view::npos && digits(rest.substr(last + 1)) &&
      digits(rest.substr(before + 1, last - before - 1))) {
    const std::string_view host = rest.substr(0, before);
    if (host.find_first_not_of("0123456789.") != std::string_view::npos ||
        std::ranges::count(host, '.') == 3)
      rest = host;  // 10.0.0.7 is no host "10.0"
  }
  return rest.empty() ? std::nullopt : std::optional(std::string(rest.substr(0, 255)));
}

bool sniff_tensorboard(const Head& head) {
  if (head.bytes.size() < kHeader) return false;
  if (!contains(head.base(), kName)) {
    // Renamed: a first record with the version of the format.
    const auto length = masked_word<std::uint64_t>(head.bytes, 0);
    if (length > 64 || !contains(head.bytes.substr(kHeader, 64), "brain.Event:")) return false;
  }
  return masked(crc32c(head.bytes.substr(0, 8))) == masked_word<std::uint32_t>(head.bytes, 8);
}

class EventFile {
 public:
  EventFile(const MemberRow& member, Reading& reading) : member_(member), reading_(reading) {
    if (auto host = host_of(member.path)) row_.owner.host = Host(std::move(*host));
  }

  std::string read(std::string_view bytes) {
    std::size_t at = 0;
    while (at + kHeader <= bytes.size()) {
      if (masked(crc32c(bytes.substr(at, 8))) != masked_word<std::uint32_t>(bytes, at + 8))
        return stop("tfevents.bad_length_checksum", at, kHeader);
      const auto length = masked_word<std::uint64_t>(bytes, at);
      if (length > bytes.size() || bytes.size() - at - kHeader < length ||
          bytes.size() - at - kHeader - length < 4)
        break;  // the writer was killed within it
      const std::string_view data = bytes.substr(at + kHeader, length);
      if (masked(crc32c(data)) != masked_word<std::uint32_t>(bytes, at + kHeader + length))
        return stop("tfevents.bad_checksum", at, kHeader + data.size() + 4);
      place_ = {member_.id, 0, at, static_cast<std::uint32_t>(kHeader + length + 4)};
      if (!event(data)) return stop(problem_, at, place_.length);
      at += kHeader + length + 4;
    }
    return {};
  }

 private:
  // What was read so far is told; the reject says where it ended.
  std::string stop(std::string_view reason, std::size_t at, std::size_t length) {
    if (samples_ == 0) return std::string(reason);
    reading_.sink.put(RejectRow{
        {member_.id, 0, at, static_cast<std::uint32_t>(length)}, std::string(reason), {}});
    return {};
  }

  bool event(std::string_view data) {
    row_.step = 0;
    row_.time = {};
    row_.cells.clear();
    Message m(data);
    while (m.next()) {
      if (m.is(1, Message::Wire::fixed64)) {
        const double s = of_double(m.number());
        if (s > 0 && s < 4.1e9)
          row_.time = {Clock::utc, static_cast<Nanoseconds>(s * 1e6) * 1'000, 1'000};
      } else if (m.is(2, Message::Wire::varint)) {
        row_.step = static_cast<std::int64_t>(m.number());
      } else if (m.is(5, Message::Wire::bytes)) {
        for (Message summary(m.bytes()); summary.next();)
          if (summary.is(1, Message::Wire::bytes) && !value(summary.bytes())) return false;
      }
    }
    if (m.broken()) {
      problem_ = "tfevents.bad_event";
      return false;
    }
    if (row_.cells.empty()) return true;
    samples_ += row_.cells.size();
    if (rows_.put(row_, place_, reading_)) return true;
    problem_ = "series.too_many";
    return false;
  }

  bool value(std::string_view bytes) {
    std::string_view tag;
    std::optional<double> number;
    for (Message m(bytes); m.next();) {
      if (m.is(1, Message::Wire::bytes))
        tag = m.bytes();
      else if (m.is(2, Message::Wire::fixed32))
        number = of_float(m.number());
      else if (m.is(8, Message::Wire::bytes))
        number = scalar_of(m.bytes());
    }
    if (!number || tag.empty()) return true;  // a histogram, a text, an image
    const std::uint32_t slot = tag.size() > kLongestTag ? StepRows::kNoSlot : rows_.slot(tag);
    if (slot == StepRows::kNoSlot) {
      problem_ = "series.too_many";
      return false;
    }
    row_.cells.push_back({slot, *number});
    return true;
  }

  const MemberRow& member_;
  Reading& reading_;
  StepRows rows_{"tensorboard"};
  StepRow row_;
  Place place_;
  std::size_t samples_ = 0;
  std::string_view problem_;
};

std::string read_tensorboard(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return EventFile(member, reading).read(bytes);
}

}  // namespace

extern constinit const Document kTensorboard{"tensorboard-events",
                                             "TensorBoard event files: scalars", kMostEventBytes,
                                             sniff_tensorboard, read_tensorboard};

}  // namespace culprit::ingest
