#include "model/sort.hpp"

#include <algorithm>
#include <numeric>

namespace culprit {

std::vector<std::uint32_t> stable_order(std::size_t n, const void* context,
                                        bool (*before)(const void* context, std::size_t a,
                                                       std::size_t b)) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return before(context, a, b); });
  return order;
}

void sort_rows(std::vector<std::string>& texts) { std::sort(texts.begin(), texts.end()); }
void sort_rows(std::vector<Host>& hosts) { std::sort(hosts.begin(), hosts.end()); }
void sort_rows(std::vector<std::string_view>& texts) { std::sort(texts.begin(), texts.end()); }
void sort_rows(std::vector<std::int64_t>& numbers) { std::sort(numbers.begin(), numbers.end()); }
void sort_rows(std::vector<Rank>& ranks) { std::sort(ranks.begin(), ranks.end()); }
void sort_rows(std::vector<std::uint64_t>& numbers) { std::sort(numbers.begin(), numbers.end()); }
void sort_rows(std::vector<std::uint32_t>& numbers) { std::sort(numbers.begin(), numbers.end()); }
void sort_rows(std::vector<double>& numbers) { std::sort(numbers.begin(), numbers.end()); }

}  // namespace culprit
