// Words of commands that people are to paste. Names come out of logs and paths, which anybody may
// have written.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

// As one word of a POSIX shell: as it stands when that is safe, else in single quotes.
std::string shell_quoted(std::string_view text);

}  // namespace culprit
