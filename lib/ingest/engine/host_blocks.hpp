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

// "gpu-a07", of letters and digits as machines are called; no word of a program.
bool may_be_asked(std::string_view name);

// Walks the lines of such a text: dshbak's headings, which take three lines, and those above. Below
// a heading in unknown words nobody says whose a line is.
class BlockHeadings {
 public:
  bool take(std::string_view raw);  // whether the line is a heading, or a part of one
  const std::string& host() const { return host_; }  // whose the lines below it are; "" not known

 private:
  bool ruled_ = false;  // a rule was the line before
  bool named_ = false;  // a name between two rules was
  bool bare_ = false;   // commands behind prompts follow
  std::string host_;
};

// "$ uptime", "# df -h".
bool prompted(std::string_view raw);

}  // namespace culprit::ingest
