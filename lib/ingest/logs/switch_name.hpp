// Which switch a text is of: by its prompt or heading, or by the file's name.
#pragma once

#include <optional>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// "leaf-2", "tor-b07", "sw1".
bool names_switch(std::string_view text);

// Nothing where the text is of a machine that is no switch: it tells of its own cards.
std::optional<Host> switch_of(const Reading& reading);

}  // namespace culprit::ingest
