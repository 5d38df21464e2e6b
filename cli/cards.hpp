// Files of cards, as commands read them.
#pragma once

#include <string>

#include "fleet/card.hpp"

namespace culprit::cli {

unsigned reading_threads();
Result<std::string> card_text(const std::string& path);
Result<fleet::Cards> read_cards(const std::string& path);

}  // namespace culprit::cli
