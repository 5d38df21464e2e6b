#include "terminal.hpp"

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "answer.hpp"

namespace culprit::cli {

bool use_color(const Arguments& arguments) {
  const std::string when = arguments.get("color", "auto");
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const char* forced = std::getenv("CLICOLOR_FORCE");
  if (forced != nullptr && *forced != '\0' && std::string(forced) != "0" &&
      (no_color == nullptr || *no_color == '\0'))
    return true;
  return answers_on_terminal() && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string(term) != "dumb");
}

std::size_t terminal_width() {
  // A shell tells its width; what is set for a program counts in a pipe, too.
  if (const char* set = std::getenv("COLUMNS"); set != nullptr && !answers_on_terminal()) {
    char* end = nullptr;
    const unsigned long columns = std::strtoul(set, &end, 10);
    if (end != set && *end == '\0' && columns > 0 && columns < 10'000) return columns;
  }
  winsize size{};
  if (answers_on_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 100;
}

}  // namespace culprit::cli
