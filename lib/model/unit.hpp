// What a bundle is divided by between machines: a file of a folder, or what the user named itself.
#pragma once

#include <cstdint>
#include <string>

namespace culprit {

// An archive, however large and whatever it holds, is one unit; so is a compressed file.
struct Unit {
  std::string path;        // as its member's; of an archive, of what its members' paths begin with
  std::uint64_t size = 0;  // bytes on disk; 0 of what is no file
  std::int64_t mtime_s = 0;
  bool operator==(const Unit&) const = default;
};

}  // namespace culprit
