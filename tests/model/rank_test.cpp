// What a rank refuses to be taken for is refused by the compiler.
#include "model/rank.hpp"

#include <type_traits>

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "model/ranges.hpp"
#include "model/text.hpp"
#include "support/ranks.hpp"

namespace culprit {
namespace {

template <class To, class From>
constexpr bool kTakes = std::is_convertible_v<From, To> || std::is_assignable_v<To&, From> ||
                        std::is_assignable_v<std::optional<To>&, From> ||
                        std::is_assignable_v<std::optional<To>&, std::optional<From>>;
static_assert(kTakes<Rank, Rank> && kTakes<LocalRank, LocalRank>);
static_assert(!kTakes<Rank, LocalRank> && !kTakes<LocalRank, Rank>);
static_assert(!kTakes<Rank, std::int64_t> && !kTakes<LocalRank, std::int64_t>);
static_assert(!kTakes<std::int64_t, Rank> && !kTakes<std::int64_t, LocalRank>);

template <class A, class B>
constexpr bool kCompares = requires(A a, B b) {
  a == b;
}
|| requires(A a, B b) { a < b; };
static_assert(kCompares<Rank, Rank>);
static_assert(!kCompares<Rank, LocalRank> && !kCompares<Rank, std::int64_t>);
template <class T>
constexpr bool kCounts = requires(T a) {
  a + 1;
};
static_assert(!kCounts<Rank> && !kCounts<LocalRank>);

TEST(Rank, IsPrintedAsItsNumber) {
  EXPECT_EQ(fmt::format("{} {:>3}", Rank(12), LocalRank(4)), "12   4");
  EXPECT_EQ(fmt::format("{}", fmt::join(Ranks({3, 1}), ",")), "3,1");
  EXPECT_EQ(nlohmann::json({{"rank", Rank(12)}, {"of", Ranks({0, 7})}}).dump(),
            R"({"of":[0,7],"rank":12})");
  EXPECT_EQ(to_ranges(Ranks({0, 1, 2, 6})), "0-2,6");
  EXPECT_EQ(from_ranges("0-2,6"), Ranks({0, 1, 2, 6}));
  // A damaged line may hold the largest number there is.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(from_ranges("9223372036854775806-9223372036854775807"), Ranks({kMost - 1, kMost}));
  EXPECT_EQ(to_ranges(std::vector<std::int64_t>{-kMost - 1, 4, kMost - 1, kMost, kMost}),
            "-9223372036854775808,4,9223372036854775806,9223372036854775807,9223372036854775807");
  EXPECT_EQ(say(Phrase{}, Rank(5)), say(Phrase{}, 5));
}

TEST(Rank, OfAJobIsFromZeroToItsSize) {
  EXPECT_TRUE(is_rank_of(8, Rank(0)) && is_rank_of(8, Rank(7)));
  EXPECT_FALSE(is_rank_of(8, Rank(8)) || is_rank_of(8, kNoRank));
  EXPECT_EQ(maybe<Rank>(std::nullopt), std::nullopt);
  EXPECT_EQ(maybe<Rank>(3), Rank(3));
  EXPECT_EQ(number_of(std::optional(LocalRank(3))), 3);
}

}  // namespace
}  // namespace culprit
