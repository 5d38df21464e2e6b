// What a terminal can show: text of logs and archives may hold bytes that would move the cursor or
// worse.
#pragma once

#include <string>
#include <string_view>

namespace culprit::report {

// Control bytes (also C1, bidirectional overrides and what is no character) as visible escapes,
// invalid UTF-8 as U+FFFD; tabs stay.
std::string visible(std::string_view text);

// Columns a terminal needs for the text: one for each character, none for combining ones.
std::size_t columns(std::string_view text);

// The text broken at spaces into lines of at most `width` columns; later lines begin with `indent`
// spaces. The first begins in column `begin`: what the caller has printed there already.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t begin = 0);
// That as a paragraph: `lead` in front, a line's end behind.
std::string paragraph(std::string_view lead, std::string_view text, std::size_t width,
                      std::size_t indent, std::size_t begin = 0);

// Text in colour and weight where it is `on`; codes are those of the terminal: "1", "31".
struct Ink {
  bool on = false;
  std::string paint(const char* code, const std::string& text) const;
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string dim(const std::string& text) const { return paint("2", text); }
};

}  // namespace culprit::report
