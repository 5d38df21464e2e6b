// What /proc prints of one process.
#pragma once

#include <string_view>

#include "model/stack.hpp"

namespace culprit::ingest {

// "[<0>] fifo_open+0x2d9/0x330 [fs]" becomes the next frame of row.kernel_stack; false for any
// other line.
bool add_kernel_frame(ProcessRow& row, std::string_view line);

}  // namespace culprit::ingest
