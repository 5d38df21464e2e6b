#include "model/sort.hpp"

#include <algorithm>
#include <numeric>

namespace culprit {

std::vector<std::uint32_t> stable_order(std::size_t n, const void* context,
                                        bool (*before)(const void* context, std::size_t a,
                                                       std::size_t b)) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return before(context, a, b); });
  return order;
}

void sort_rows(std::vector<std::string>& texts) { std::ranges::sort(texts); }
void sort_rows(std::vector<Host>& hosts) { std::ranges::sort(hosts); }
void sort_rows(std::vector<std::string_view>& texts) { std::ranges::sort(texts); }
void sort_rows(std::vector<std::int64_t>& numbers) { std::ranges::sort(numbers); }
void sort_rows(std::vector<Rank>& ranks) { std::ranges::sort(ranks); }
void sort_rows(std::vector<std::uint64_t>& numbers) { std::ranges::sort(numbers); }
void sort_rows(std::vector<std::uint32_t>& numbers) { std::ranges::sort(numbers); }
void sort_rows(std::vector<double>& numbers) { std::ranges::sort(numbers); }

}  // namespace culprit
