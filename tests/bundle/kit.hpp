// What the tests of this room share: a temporary folder, archives made by libarchive's writer, a
// visitor that remembers and checks the order of the calls.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"

namespace culprit::bundle::test {

class Folder {
 public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "culprit-bundle-XXXXXX").string();
    if (!mkdtemp(pattern.data())) std::abort();
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return at(name);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Item {
  std::string name;
  std::string bytes;
  unsigned type = AE_IFREG;
  std::string target = {};  // of a link
  bool hard = false;
};

inline la_ssize_t append_to(archive*, void* to, const void* bytes, std::size_t size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

// format: ustar, gnutar, pax, zip, raw; filter: an ARCHIVE_FILTER_ code; options as libarchive
// knows them.
inline std::string pack(const std::vector<Item>& items, const std::string& format = "ustar",
                        int filter = ARCHIVE_FILTER_NONE, const char* options = nullptr) {
  std::string result;
  archive* handle = archive_write_new();
  EXPECT_EQ(archive_write_set_format_by_name(handle, format.c_str()), ARCHIVE_OK);
  EXPECT_EQ(archive_write_add_filter(handle, filter), ARCHIVE_OK);
  if (options) { EXPECT_EQ(archive_write_set_options(handle, options), ARCHIVE_OK); }
  archive_write_set_bytes_in_last_block(handle, 1);
  archive_write_open2(handle, &result, nullptr, append_to, nullptr, nullptr);
  for (const Item& item : items) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, item.name.c_str());
    archive_entry_set_mtime(entry, 1'700'000'000, 0);
    archive_entry_set_mode(entry, item.type | 0644);
    if (!item.hard) archive_entry_set_filetype(entry, item.type);
    if (!item.target.empty() && item.hard) archive_entry_set_hardlink(entry, item.target.c_str());
    if (!item.target.empty() && !item.hard) archive_entry_set_symlink(entry, item.target.c_str());
    if (item.type == AE_IFREG && !item.hard)
      archive_entry_set_size(entry, static_cast<la_int64_t>(item.bytes.size()));
    EXPECT_GE(archive_write_header(handle, entry), ARCHIVE_WARN) << archive_error_string(handle);
    if (!item.bytes.empty()) archive_write_data(handle, item.bytes.data(), item.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(handle);
  archive_write_free(handle);
  return result;
}

inline std::string squeeze(std::string bytes, int filter = ARCHIVE_FILTER_GZIP) {
  return pack({{"x", std::move(bytes)}}, "raw", filter);
}

struct Told {
  MemberHead head;
  std::string bytes;
  std::uint64_t size = 0;
  bool complete = false;
  bool noted = false;
};

class Memory : public Visitor {
 public:
  std::vector<Told> all;
  std::vector<Problem> problems;
  std::size_t keep = SIZE_MAX;  // bytes to remember of a member
  bool want = true;
  std::size_t stop_after = SIZE_MAX;

  bool begin(const MemberHead& head) override {
    EXPECT_FALSE(open_) << head.path;
    open_ = true;
    all.push_back({head, {}, 0, false, false});
    return want;
  }
  void data(std::string_view bytes) override {
    EXPECT_TRUE(open_ && want);
    EXPECT_FALSE(bytes.empty());
    Told& last = all.back();
    last.size += bytes.size();
    if (last.bytes.size() < keep) last.bytes.append(bytes.substr(0, keep - last.bytes.size()));
  }
  void end(const MemberEnd& end) override {
    EXPECT_TRUE(open_);
    open_ = false;
    all.back().complete = end.complete;
    EXPECT_EQ(all.back().size, end.size);
  }
  void note(const MemberHead& head) override {
    EXPECT_FALSE(open_);
    all.push_back({head, {}, 0, true, true});
  }
  void problem(const Problem& problem) override {
    EXPECT_FALSE(problem.code.empty() || problem.reason.empty());
    problems.push_back(problem);
  }
  bool stop() override { return all.size() >= stop_after; }

  bool closed() const { return !open_; }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result;
    for (const Told& told : all)
      if (!told.noted && !result.emplace(told.head.path, told.bytes).second)
        ADD_FAILURE() << "twice: " << told.head.path;
    return result;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> result;
    for (const Told& told : all) result.push_back(told.head.path);
    return result;
  }
  const Told* find(const std::string& path) const {
    for (const Told& told : all)
      if (told.head.path == path) return &told;
    return nullptr;
  }
  std::string codes() const {  // "code path|code path"
    std::string result;
    for (const Problem& one : problems)
      result += (result.empty() ? "" : "|") + one.code + " " + one.path;
    return result;
  }

 private:
  bool open_ = false;
};

inline Memory walked(const std::string& path, const Limits& limits = {}, Memory memory = {}) {
  const Result<> result = walk(path, limits, memory);
  EXPECT_TRUE(result.has_value());
  EXPECT_TRUE(memory.closed());
  return memory;
}

}  // namespace culprit::bundle::test
