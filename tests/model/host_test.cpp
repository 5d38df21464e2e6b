// A text becomes the name of a machine only where somebody says so.
#include "model/host.hpp"

#include <map>
#include <set>
#include <type_traits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/hostlist.hpp"
#include "model/text.hpp"
#include "support/hosts.hpp"

namespace culprit {
namespace {

template <class From>
constexpr bool kBecomesHost =
    std::is_convertible_v<From, Host> || std::is_assignable_v<Host&, From> ||
    std::is_assignable_v<std::optional<Host>&, From> ||
    std::is_assignable_v<std::optional<Host>&, std::optional<From>>;
static_assert(kBecomesHost<Host>);
static_assert(!kBecomesHost<std::string> && !kBecomesHost<const char*>);
static_assert(!kBecomesHost<std::string_view>);
static_assert(std::is_convertible_v<Host, std::string_view>);
static_assert(std::is_nothrow_move_constructible_v<Host>);

TEST(Host, ReadsAsItsName) {
  const Host host("node-07");
  EXPECT_EQ(fmt::format("{:>8}", host), " node-07");
  EXPECT_EQ(nlohmann::json({{"host", host}, {"hosts", Hosts({"a", "b"})}}).dump(),
            R"({"host":"node-07","hosts":["a","b"]})");
  EXPECT_EQ(fold_hostlist(Hosts({"n2", "n1"})), "n[1-2]");
  EXPECT_EQ(say(Phrase{}, host), say(Phrase{}, std::string("node-07")));
  EXPECT_EQ(list(Hosts({"a"})), list(std::vector<std::string>{"a"}));
}

TEST(Host, IsFoundByItsName) {
  const std::map<Host, int, std::less<>> map{{Host("a"), 1}};
  EXPECT_EQ(map.count("a"), 1u);
  EXPECT_EQ(map.count(std::string_view("b")), 0u);
  EXPECT_EQ(std::hash<Host>{}(Host("a")), std::hash<std::string>{}("a"));
  EXPECT_EQ(name_of(std::optional(Host("a"))), "a");
  EXPECT_EQ(name_of(std::nullopt), "");
}

}  // namespace
}  // namespace culprit
