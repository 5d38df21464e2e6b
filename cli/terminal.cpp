#include "terminal.hpp"

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace culprit::cli {

bool use_color(const Arguments& arguments) {
  const std::string when = arguments.get("color", "auto");
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string(term) != "dumb");
}

std::size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 100;
}

}  // namespace culprit::cli
