// Names as archives store them become relative paths that lead nowhere else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace culprit::bundle {

struct SafeName {
  std::string name;  // relative, without empty, "." or ".." components; empty for "/" and the like
  bool changed = false;  // a ".." was there and is now "__"
};

// Leading "/" and "./" go silently: tar and zip programs do the same. All other bytes are kept.
SafeName safe_name(std::string_view stored);

// Paths up to most bytes stay; longer ones keep their head and get a hash of the whole.
std::string shorten(std::string_view path, std::size_t most);

std::string_view last_component(std::string_view path);

bool named_like_archive(std::string_view path);  // .zip .tar .tgz .gz ...: a zip inside is opened
bool named_like_tar_or_zip(std::string_view path);

}  // namespace culprit::bundle
