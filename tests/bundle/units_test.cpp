// What a bundle is divided by, and how it is divided.
#include "bundle/units.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

namespace culprit::bundle {
namespace {

namespace fs = std::filesystem;

std::vector<Unit> units_of(const std::vector<std::pair<std::string, std::uint64_t>>& sizes) {
  std::vector<Unit> out;
  for (const auto& [path, size] : sizes) out.push_back({path, size, 0});
  return out;
}

TEST(Division, GivesTheLargestFirstToTheLeastLoaded) {
  // 8 -> 0, 7 -> 1, 6 -> 1 would be 13, so 2; 5 -> 2 (11), 4 -> 1 (11), 3 -> 0 (11): megabytes, so
  // that opening a file does not count.
  const auto units = units_of({{"a", 3'000'000},
                               {"b", 8'000'000},
                               {"c", 5'000'000},
                               {"d", 6'000'000},
                               {"e", 7'000'000},
                               {"f", 4'000'000}});
  EXPECT_EQ(divide(units, 3), (std::vector<std::uint32_t>{0, 0, 2, 2, 1, 1}));
}

TEST(Division, BreaksTiesByName) {
  EXPECT_EQ(divide(units_of({{"b", 9}, {"a", 9}, {"c", 9}}), 2),
            (std::vector<std::uint32_t>{1, 0, 0}));
}

// Otherwise all empty files would go to one shard.
TEST(Division, CountsTheOpeningOfAFile) {
  std::vector<Unit> units;
  for (int i = 0; i < 100; ++i) units.push_back({"f" + std::to_string(i), 0, 0});
  const auto readers = divide(units, 4);
  for (std::uint32_t shard = 0; shard < 4; ++shard)
    EXPECT_EQ(std::count(readers.begin(), readers.end(), shard), 25);
}

RC_GTEST_PROP(Division, IsTheSameForAnyOrderAndNoWorseThanGrahamsBound, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0u, 90000u));
  const auto shards = *rc::gen::inRange<std::uint32_t>(1, 70);
  std::vector<Unit> units;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    units.push_back({"p" + std::to_string(i), sizes[i], 0});
  std::map<std::string, std::uint32_t> reader;
  const auto readers = divide(units, shards);
  std::vector<std::uint64_t> load(shards);
  std::uint64_t total = 0, largest = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    RC_ASSERT(readers[i] < shards);
    reader[units[i].path] = readers[i];
    const std::uint64_t weight = units[i].size + (32 << 10);
    load[readers[i]] += weight;
    total += weight;
    largest = std::max(largest, weight);
  }
  // Of any list scheduling: total / shards + largest.
  RC_ASSERT(*std::max_element(load.begin(), load.end()) <= total / shards + largest + 1);
  std::reverse(units.begin(), units.end());
  const auto again = divide(units, shards);
  for (std::size_t i = 0; i < units.size(); ++i) RC_ASSERT(reader[units[i].path] == again[i]);
}

class Listed : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("culprit_units_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "a" / "deep");
    write("a/z.log", "12345");
    write("a/deep/x", "");
    write("b.tar.gz", "no archive");
    fs::create_symlink("b.tar.gz", folder_ / "c");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  fs::path folder_;
};

TEST_F(Listed, AreAllEntriesOfAFolderInTheOrderOfTheWalk) {
  const auto listing = list_units(folder_.string(), {});
  ASSERT_TRUE(listing);
  std::vector<std::pair<std::string, std::uint64_t>> got;
  for (const Unit& unit : listing->units) got.emplace_back(unit.path, unit.size);
  EXPECT_EQ(got, (std::vector<std::pair<std::string, std::uint64_t>>{
                     {"a/deep/x", 0}, {"a/z.log", 5}, {"b.tar.gz", 10}, {"c", 0}}));
  EXPECT_EQ(listing->entries, 6u);  // and two folders
  EXPECT_FALSE(listing->cut);
}

TEST_F(Listed, IsAFileByItself) {
  const auto listing = list_units((folder_ / "b.tar.gz").string(), {});
  ASSERT_TRUE(listing);
  ASSERT_EQ(listing->units.size(), 1u);
  EXPECT_EQ(listing->units[0].path, "b.tar.gz");
  EXPECT_EQ(listing->units[0].size, 10u);
}

TEST_F(Listed, SaysThatALimitIsHit) {
  Limits limits;
  limits.members = 3;
  const auto listing = list_units(folder_.string(), limits);
  ASSERT_TRUE(listing);
  EXPECT_TRUE(listing->cut);
}

}  // namespace
}  // namespace culprit::bundle
