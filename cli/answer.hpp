// Where the answer goes: standard output, or the file that --output names, which is there whole or
// not at all.
#pragma once

#include <string>

#include "model/result.hpp"

namespace culprit::cli {

// From now on `print` writes into this file. Nothing is made before something is printed, so that a
// file within the bundle is no part of it; a folder that cannot be written is told at once.
Result<> answer_into(const std::string& path);
// True when the answer is shown on a terminal.
bool answers_on_terminal();
// The end of the answer. An error (input) when not all of it could be written or read; the file of
// --output is put in its place when `keep`, and removed otherwise.
Result<> finish_answer(bool keep);
// Removes a file of --output that is not finished. May be called in a signal handler.
void drop_answer() noexcept;

}  // namespace culprit::cli
