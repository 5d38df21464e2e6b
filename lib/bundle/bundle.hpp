// A bundle is what somebody collected: a folder, an archive (tar, zip; plain or compressed;
// archives in archives), one file, or standard input. walk() turns it into a stream of members.
// Nothing is written to disk, no link or device is followed, and memory does not grow with the size
// of the bundle.
//
// What walk() promises:
//   * Databases and reports of this program that lie in a folder are left out.
//   * Every other entry of the bundle is told to the visitor exactly once: as begin/data*/end
//   (files) or as note()
//     (links, devices, sockets, empty archives). Folders themselves are not told.
//   * Folders are read in byte order of the path, component by component ("a/x" before "a.b": '/'
//   sorts first).
//     Archives are read in the order they are stored; a name that is stored again gets "~2".
//   * Compressed files are opened transparently by content (gzip with several members, zstd, xz,
//   bzip2, lz4); an
//     archive inside becomes members "outer.tar.gz/inner/path"; a compressed single file keeps its
//     own name.
//   * An nvidia-bug-report is split into its sections, a kubectl "START logs ... END logs" dump
//   into containers;
//     a section is a member "file#section" of its own whose origin_* fields say where it stands in
//     the enclosing file; a name that repeats gets "~2". Every byte of the file is in exactly one
//     section (sections.hpp).
//   * A limit that is hit, a damaged archive, an unreadable file: told as a Problem, and everything
//   else is read.
//   * Paths are relative, '/'-separated, without "." or ".."; bytes that are no UTF-8 are kept as
//   they are. The archive
//     or file that the user typed is not part of its members' paths; a plain file there has its
//     last component, standard input is "stdin".
//   * An archive without members is a note() of kind other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.hpp"
#include "model/unit.hpp"

namespace culprit::bundle {

struct Limits {
  // Entries in one walk. Each takes 1 to 1.5 kB until the end: so many stay below 2 GB.
  std::uint64_t members = 1 << 20;
  std::uint64_t member_bytes = 1ULL << 40;  // one member, decompressed
  std::uint64_t total_bytes = 1ULL << 42;   // all members, decompressed
  std::uint64_t expansion = 1'000;          // decompressed : compressed, per compressed layer ...
  std::uint64_t expansion_free_bytes =
      256ULL << 20;  // ... looked at only beyond this many decompressed bytes
  int depth = 6;     // archives within archives
  std::size_t path_bytes = 4'096;
};

enum class MemberKind { file, link, device, other };

struct MemberHead {
  std::string
      path;  // within the bundle; "dmesg.gz" stays "dmesg.gz" though its bytes come decompressed
  MemberKind kind = MemberKind::file;
  std::string link_target;          // kind == link: as stored, never resolved
  std::int64_t mtime_s = 0;         // seconds since the epoch; 0 = not known
  std::string container;            // path of the enclosing archive or file, "" at the top
  std::uint64_t origin_offset = 0;  // sections only: first byte and
  std::uint64_t origin_line = 0;    // number of lines before it in `container`
  bool section = false;
  bool rooted = false;  // an archive stores it as "./...": nothing is wrapped around the bundle
};

struct Problem {
  std::string path;    // member or archive, as in MemberHead::path
  std::string code;    // stable: bundle.unreadable bundle.damaged bundle.no_archive
                       // bundle.other_device bundle.too_many_members bundle.member_too_large
                       // bundle.total_too_large bundle.expansion bundle.depth bundle.path_too_long
                       // bundle.path_unsafe bundle.encrypted bundle.unsupported
  std::string reason;  // one sentence for a person, with what to do
  bool incomplete = true;  // some bytes of the input were not read
};

struct MemberEnd {
  std::uint64_t size = 0;  // bytes given to data()
  bool complete = true;    // false: a Problem was told for this path
};

class Visitor {
 public:
  virtual ~Visitor() = default;
  // false: the caller does not want the bytes; end() is told all the same, with size 0.
  virtual bool begin(const MemberHead& head) = 0;
  virtual void data(
      std::string_view bytes) = 0;  // any block size; the bytes live until the call returns
  virtual void end(const MemberEnd& end) = 0;
  virtual void note(const MemberHead& head) = 0;  // a link, device ... : recorded, not followed
  virtual void problem(const Problem& problem) = 0;
  // What this program wrote itself, by its path (own_files.hpp): it is no entry of the bundle, and
  // is told by this alone.
  virtual void own(const std::string&) {}
  // A file, link or device of a folder, or what the user named itself, before it is opened: false
  // leaves it alone, and it is told by this alone. Else unit_end() comes when all of it was told.
  // What is told outside of units is of the folders themselves.
  virtual bool unit(const Unit&) { return true; }
  virtual void unit_end() {}
  // At the end of the walk: how many entries count against Limits::members.
  virtual void counted(std::uint64_t) {}
  // So many bytes were taken from files on disk, or from standard input: of what the user named,
  // packed as it is.
  virtual void taken(std::uint64_t) {}
  virtual bool stop() { return false; }  // asked now and then; true ends the walk quietly (Ctrl-C)
};

// path: what the user typed; "-" is standard input. Fails only when the bundle as a whole cannot be
// opened (missing, no permission); everything smaller is a Problem. While it runs, this thread's
// LC_CTYPE is C.UTF-8.
Result<> walk(const std::string& path, const Limits& limits, Visitor& visitor);
// Whether walk() would get as far as opening it; nothing is read, a pipe is not waited for.
Result<> check_readable(const std::string& path);

// The bytes [offset, offset + length) of one member, for `show`: walks the bundle again and stops
// there. length is capped at 1 MiB.
Result<std::string> read_range(const std::string& path, const std::string& member,
                               std::uint64_t offset, std::uint64_t length, const Limits& limits);

}  // namespace culprit::bundle
