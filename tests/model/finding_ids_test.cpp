#include "model/finding_ids.hpp"

#include <set>

#include <gtest/gtest.h>

namespace culprit {
namespace {

std::vector<std::string> ids_of(const std::vector<std::string>& given) {
  std::vector<Finding> findings(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) findings[i].id = given[i];
  make_ids_unique(findings);
  std::vector<std::string> out;
  for (const Finding& f : findings) out.push_back(f.id);
  return out;
}

using Ids = std::vector<std::string>;

TEST(FindingIds, StayWhereTheyAreUnique) {
  EXPECT_EQ(ids_of({"a/1", "a/2", "b"}), (Ids{"a/1", "a/2", "b"}));
}

TEST(FindingIds, AreCountedInOrderWhereTheyRepeat) {
  EXPECT_EQ(ids_of({"a", "b", "a", "a", "b"}), (Ids{"a", "b", "a+2", "a+3", "b+2"}));
}

TEST(FindingIds, DoNotTakeOneThatAnotherHas) {
  EXPECT_EQ(ids_of({"a", "a", "a+2"}), (Ids{"a", "a+3", "a+2"}));
  EXPECT_EQ(ids_of({"a+2", "a", "a", "a+2", "a"}), (Ids{"a+2", "a", "a+3", "a+2+2", "a+4"}));
}

TEST(FindingIds, AreUniqueForManyOfOneId) {
  const auto ids = ids_of(Ids(10'000, "x"));
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

}  // namespace
}  // namespace culprit
