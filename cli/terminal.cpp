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
  winsize size{};
  if (answers_on_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 100;
}

}  // namespace culprit::cli
