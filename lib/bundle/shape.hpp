// What a stream is, by its first bytes.
#pragma once

#include <string_view>

namespace culprit::bundle {

enum class Shape { plain, gzip, zstd, xz, bzip2, lz4, tar, zip, empty_tar, bug_report, kubectl };

// path: a .pt, .whl or .docx is a zip, too, and stays a plain member; `top` (what the user typed)
// is opened all the same. libarchive is never asked to guess: with tar and raw both allowed it
// takes a stream that starts with NULs for an empty tar.
Shape recognise(std::string_view head, std::string_view path, bool top);

}  // namespace culprit::bundle
