// UTF-8 (RFC 3629: no overlong forms, no surrogates), and which characters must not be sent to a
// terminal as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace culprit {

// Length of the sequence at text[at] and its character; 0 when the bytes are not UTF-8.
std::size_t decode_utf8(std::string_view text, std::size_t at, char32_t& character);

// What is not a character (a lone surrogate, or beyond the last one) becomes U+FFFD.
void append_utf8(std::string& out, char32_t character);

// C0 other than tab, DEL, C1, zero width, bidirectional controls, and what is not a character.
bool unseen(char32_t character);

// JSON text with such characters as \u escapes: the same values, and nothing that moves a cursor.
// Line feeds stay, which stand between values only.
std::string without_unseen(std::string json);

}  // namespace culprit
