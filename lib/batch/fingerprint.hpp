// Whether a bundle is still the one that was read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit::batch {

// XXH3-128 as 32 hexadecimal digits.
std::string digest(std::string_view bytes);
// Of a file's bytes; "" when it cannot be read.
std::string digest_of_file(const std::string& path);

struct Fingerprint {
  std::string digest;
  std::uint64_t bytes = 0;  // of all files, as they lie there
};

// Of all files below: path, size and time of the last change; with `contents` their bytes in place
// of that time. Links are not followed. The same tree gives the same digest; a tree that cannot be
// read has one, too.
Fingerprint fingerprint(const std::string& path, bool contents);

}  // namespace culprit::batch
