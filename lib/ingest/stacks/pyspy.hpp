// How py-spy writes a frame, for its text and for those who quote it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "model/stack.hpp"

namespace culprit::ingest {

inline constexpr std::array<std::string_view, 11> kNativeSources{
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".cuh", ".rs", ".S", ".pyx"};

// A file of Python source, or what stands for one: <frozen runpy>, <string>.
bool python_file(std::string_view file);
// "wait (threading.py:320)" · "ppoll (libc.so.6)"
std::optional<Frame> pyspy_frame(std::string_view text);

}  // namespace culprit::ingest
