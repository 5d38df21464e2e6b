// One walk: what to open, what to tell, in which order. Used by bundle.cpp alone.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <string>
#include <string_view>

#include "bundle/archive_stream.hpp"
#include "bundle/bundle.hpp"
#include "bundle/byte_source.hpp"
#include "bundle/limits.hpp"
#include "bundle/shape.hpp"

namespace culprit::bundle {

// Where a stream stands.
struct Place {
  std::string path;  // as told
  std::string
      prefix;  // of its members if it is an archive: path + "/", or "" for what the user typed
  std::string container;
  std::int64_t mtime_s = 0;
  int depth = 0;  // archives and compressed files around it
  bool top = false;
  bool rooted = false;             // stored as "./...", here or around
  bool within_compressed = false;  // x.tar.gz is one archive, not an archive in a compressed file
  Layer* layer = nullptr;          // innermost one around it
};

class Walker {
 public:
  Walker(const Limits& limits, Visitor& visitor) : limits_(limits), teller_(limits, visitor) {}

  // Opens nothing that cannot hold this member.
  void only(const std::string& member);

  void folder(int fd, const std::string& prefix, int depth);  // closes fd
  void stream(ByteSource& source, const Place& place);
  void whole(ByteSource& source, const Place& place, std::uint64_t size);  // what the user named
  void counted() { teller_.counted(); }
  bool over() { return teller_.over(); }
  void taken(std::uint64_t bytes) { teller_.taken(bytes); }
  std::string& file_buffer() { return file_buffer_; }

 private:
  bool may_hold(std::string_view path) const;
  void folder_item(int folder_fd, const std::string& name, const std::string& path, int depth);
  void folder_file(int folder_fd, const std::string& name, const std::string& path,
                   struct stat info);
  void compressed(Peeked& source, Shape shape, const Place& place);
  void archive(ByteSource& source, Shape shape, const Place& place);
  // How often a path of an archive was told, by the hash of the path.
  using Names = std::unordered_map<std::size_t, std::uint32_t>;
  void entry(ArchiveReader& reader, const ArchiveEntry& entry, const Place& around, Layer& layer,
             Names& names);
  void plain(ByteSource& source, const Place& place);
  void sections(ByteSource& source, Shape shape, const Place& place);
  void unread(const Place& place, const Trouble& trouble);  // told, with no bytes
  bool goes_on(std::uint64_t bytes, const Place& place, const std::string& told_path,
               bool& complete);
  std::string path_for(std::string path);
  void unreadable(const std::string& path, const char* what, int error);

  const Limits& limits_;
  Teller teller_;
  std::string only_;
  std::string file_buffer_;      // one file is open at a time
  std::optional<dev_t> device_;  // of the folder that the user named
};

}  // namespace culprit::bundle
