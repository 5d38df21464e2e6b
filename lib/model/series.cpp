#include "model/series.hpp"

#include <array>
#include <cmath>
#include <cstring>

namespace culprit {

namespace {

constexpr std::uint64_t kMostSamples = 1u << 20;  // of one chunk: what a damaged count may ask for
constexpr int kMostDecimals = 6;                  // after the point, of values kept as decimals
constexpr std::array<double, kMostDecimals + 1> kPower = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
constexpr std::array<std::int64_t, 10> kScale = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

enum Column : unsigned char { kSteps = 1, kTimes = 2, kLines = 4, kOffsets = 8, kDecimal = 16 };

// Columns are written through a pointer into room for the longest varints: a push_back each costs
// several times as much.
constexpr std::size_t kLongestVarint = 10;

char* put_varint(char* at, std::uint64_t v) {
  while (v >= 0x80) {
    *at++ = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  *at++ = static_cast<char>(v);
  return at;
}

// Lets `write` put up to `most` numbers behind what is there.
void put_varints(std::string& out, std::size_t most, auto write) {
  const std::size_t before = out.size();
  out.resize(before + most * kLongestVarint);
  const char* const end = write(out.data() + before);
  out.resize(static_cast<std::size_t>(end - out.data()));
}

bool get_varint(std::string_view& in, std::uint64_t& v) {
  v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in.empty()) return false;
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// Numbers of which many are zero: a zero is followed by how many more of them there are.
class NumberWriter {
 public:
  explicit NumberWriter(char* at) : at_(at) {}
  void put(std::uint64_t v) {
    if (v == 0) {
      ++zeros_;
      return;
    }
    end();
    at_ = put_varint(at_, v);
  }
  char* end() {
    if (zeros_ > 0) at_ = put_varint(put_varint(at_, 0), zeros_ - 1);
    zeros_ = 0;
    return at_;
  }

 private:
  char* at_;
  std::uint64_t zeros_ = 0;
};

class NumberReader {
 public:
  explicit NumberReader(std::string_view& in) : in_(in) {}
  bool get(std::uint64_t& v) {
    v = 0;
    if (zeros_ > 0) return --zeros_, true;
    return get_varint(in_, v) && (v != 0 || get_varint(in_, zeros_));
  }
  bool ended() const { return zeros_ == 0; }

 private:
  std::string_view& in_;
  std::uint64_t zeros_ = 0;
};

// Differences wrap around like unsigned numbers, so that any two of them add up again.
std::uint64_t zigzag(std::uint64_t v) { return (v << 1) ^ (0 - (v >> 63)); }
std::uint64_t unzigzag(std::uint64_t v) { return (v >> 1) ^ (0 - (v & 1)); }

void put_integers(std::string& out, const std::vector<std::int64_t>& column) {
  std::size_t scale = kScale.size() - 1;
  for (const std::int64_t v : column)
    while (scale > 0 && v % kScale[scale] != 0) --scale;
  out.push_back(static_cast<char>(scale));
  put_varints(out, column.size(), [&](char* at) {
    NumberWriter numbers(at);
    std::uint64_t last = 0, step = 0;
    for (const std::int64_t value : column) {
      const auto v = static_cast<std::uint64_t>(scale == 0 ? value : value / kScale[scale]);
      const std::uint64_t next = v - last;
      numbers.put(zigzag(next - step));
      step = next;
      last = v;
    }
    return numbers.end();
  });
}

bool get_integers(std::string_view& in, std::size_t n, std::vector<std::int64_t>& column) {
  if (in.empty() || static_cast<unsigned char>(in.front()) >= kScale.size()) return false;
  const auto scale = static_cast<std::uint64_t>(kScale[static_cast<unsigned char>(in.front())]);
  in.remove_prefix(1);
  std::uint64_t last = 0, step = 0;
  column.reserve(column.size() + n);
  NumberReader numbers(in);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t v = 0;
    if (!numbers.get(v)) return false;
    step += unzigzag(v);
    last += step;
    column.push_back(static_cast<std::int64_t>(last * scale));
  }
  return numbers.ended();
}

// The fewest digits after the point with which every value comes back bit by bit; -1: no number of
// digits does.
int decimal_digits(const std::vector<double>& values) {
  int digits = 0;
  for (const double v : values) {
    if (!(std::abs(v) < 1e9) || (v == 0 && std::signbit(v))) return -1;
    while (digits <= kMostDecimals && std::nearbyint(v * kPower[static_cast<std::size_t>(digits)]) /
                                              kPower[static_cast<std::size_t>(digits)] !=
                                          v)
      ++digits;
    if (digits > kMostDecimals) return -1;
  }
  return digits;
}

}  // namespace

std::string pack(const SeriesPoints& points) {
  std::string out;
  out.reserve(32 + points.size() * 16);
  put_varints(out, 1, [&](char* at) { return put_varint(at, points.size()); });
  const int digits = decimal_digits(points.values);
  unsigned char columns = 0;
  if (!points.steps.empty()) columns |= kSteps;
  if (!points.times.empty()) columns |= kTimes;
  if (!points.lines.empty()) columns |= kLines;
  if (!points.offsets.empty()) columns |= kOffsets;
  if (digits >= 0) columns |= kDecimal;
  out.push_back(static_cast<char>(columns));
  for (const auto* column : {&points.steps, &points.times, &points.lines, &points.offsets})
    if (!column->empty()) put_integers(out, *column);
  if (digits >= 0) {
    out.push_back(static_cast<char>(digits));
    put_varints(out, points.size(), [&](char* at) {
      NumberWriter numbers(at);
      std::uint64_t last = 0;
      for (const double v : points.values) {
        const auto scaled =
            static_cast<std::uint64_t>(std::llrint(v * kPower[static_cast<std::size_t>(digits)]));
        numbers.put(zigzag(scaled - last));
        last = scaled;
      }
      return numbers.end();
    });
  } else {
    for (const double v : points.values) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &v, sizeof bits);
      for (int i = 0; i < 64; i += 8) out.push_back(static_cast<char>(bits >> i));
    }
  }
  return out;
}

bool unpack(std::string_view in, SeriesPoints& points) {
  std::uint64_t n = 0;
  if (!get_varint(in, n) || n > kMostSamples || in.empty()) return false;
  const auto columns = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  SeriesPoints more;
  const std::array<std::pair<unsigned char, std::vector<std::int64_t>*>, 4> integers = {
      {{kSteps, &more.steps},
       {kTimes, &more.times},
       {kLines, &more.lines},
       {kOffsets, &more.offsets}}};
  for (const auto& [bit, column] : integers)
    if ((columns & bit) != 0 && !get_integers(in, n, *column)) return false;
  more.values.reserve(n);
  if ((columns & kDecimal) != 0) {
    if (in.empty() || static_cast<unsigned char>(in.front()) > kMostDecimals) return false;
    const double power = kPower[static_cast<unsigned char>(in.front())];
    in.remove_prefix(1);
    NumberReader numbers(in);
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t v = 0;
      if (!numbers.get(v)) return false;
      last += unzigzag(v);
      more.values.push_back(static_cast<double>(static_cast<std::int64_t>(last)) / power);
    }
    if (!numbers.ended()) return false;
  } else {
    if (in.size() != n * 8) return false;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t bits = 0;
      for (int b = 0; b < 8; ++b)
        bits |= static_cast<std::uint64_t>(
                    static_cast<unsigned char>(in[i * 8 + static_cast<std::size_t>(b)]))
                << (8 * b);
      double v = 0;
      std::memcpy(&v, &bits, sizeof v);
      more.values.push_back(v);
    }
    in.remove_prefix(in.size());
  }
  if (!in.empty()) return false;
  points = std::move(more);
  return true;
}

SeriesPoints along(const SeriesPoints& axis, SeriesPoints values) {
  values.steps = axis.steps;
  values.times = axis.times;
  values.lines = axis.lines;
  values.offsets = axis.offsets;
  return values;
}

void append(SeriesPoints& points, const SeriesPoints& more) {
  const std::size_t before = points.size();
  const auto add = [&](std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from,
                       std::int64_t none) {
    if (to.empty() && from.empty()) return;
    to.resize(before, none);
    to.insert(to.end(), from.begin(), from.end());
    to.resize(before + more.size(), none);
  };
  add(points.steps, more.steps, kNoValue);
  add(points.times, more.times, kNoValue);
  add(points.lines, more.lines, 0);
  add(points.offsets, more.offsets, 0);
  points.values.insert(points.values.end(), more.values.begin(), more.values.end());
}

}  // namespace culprit
