#include "model/ranges.hpp"

#include <charconv>

#include "model/sort.hpp"

namespace culprit {

std::string to_ranges(const std::vector<std::int64_t>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j] < ranks[j + 1] && ranks[j + 1] - 1 == ranks[j]) ++j;
    if (!out.empty()) out += ',';
    out += std::to_string(ranks[i]);
    if (j > i) out += (j == i + 1 ? ',' : '-') + std::to_string(ranks[j]);
    i = j + 1;
  }
  return out;
}

std::string to_ranges(const std::vector<Rank>& ranks) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(ranks.size());
  for (const Rank r : ranks) numbers.push_back(number_of(r));
  return to_ranges(numbers);
}

std::vector<Rank> from_ranges(std::string_view text, std::size_t most) {
  std::vector<Rank> out;
  while (!text.empty() && (text.front() == '[' || text.front() == ' ')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ']' || text.back() == ' ')) text.remove_suffix(1);
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::int64_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 0) return false;
    at = next;
    return true;
  };
  while (at < end) {
    std::int64_t first = 0;
    if (!number(first)) return {};
    std::int64_t last = first;
    if (at < end && *at == '-') {
      ++at;
      if (!number(last)) return {};
    }
    if (last < first || static_cast<std::uint64_t>(last - first) >= most ||
        out.size() + static_cast<std::size_t>(last - first) >= most)
      return {};
    for (std::int64_t r = first; r != last; ++r) out.push_back(Rank(r));
    out.push_back(Rank(last));  // apart: behind the largest number there is none
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  sort_unique(out);
  return out;
}

}  // namespace culprit
