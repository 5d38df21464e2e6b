// One text with the output of a tool on several machines: what each of them printed, as if it stood
// in a file of its own. Lines are a machine's by what stands before them (pdsh, clush) or above
// them (dshbak, headings with a command).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/scan.hpp"

namespace culprit::ingest {

struct MachineSection {
  // Where a line stands in the text, and where what follows the machine's name begins in it.
  struct Line {
    std::uint64_t number = 0, offset = 0;
    std::size_t begin = 0;  // in `text`
  };
  std::string host;
  std::string text;
  std::vector<Line> lines;
};

// In the order of the text; none where it is of one machine, or nobody says of which. commands: it
// is known to have headings.
std::vector<MachineSection> machine_sections(std::string_view bytes, bool commands);

// Reads those that are in a format in which a file tells of one machine.
void read_machine_sections(std::string_view bytes, const MemberRow& member, Sink& sink,
                           const Scanner& scanner);

}  // namespace culprit::ingest
