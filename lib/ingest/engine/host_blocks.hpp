// Headings of people who ran commands on several machines and put all output into one text.
#pragma once

#include <string>
#include <string_view>

namespace culprit::ingest {

// "### gx-07: nvidia-smi -q", "$ ssh gx-07 'ip a'": whose output follows. A name alone is bare, and
// a heading only where the next line is a command behind a prompt, or where it is a machine's by
// its form and behind a mark as sections have: "===== gx-07  06:13". No host: no heading.
struct CommandHeading {
  std::string host;
  bool bare = false;
  bool section = false;
};
CommandHeading command_heading(std::string_view raw);

// "$ uptime", "# df -h".
bool prompted(std::string_view raw);

}  // namespace culprit::ingest
