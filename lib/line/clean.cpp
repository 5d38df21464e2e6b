// Colours, NULs and progress bars: bytes of terminals around the text of a line.
#include <algorithm>

#include "line/prefix_forms.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

// Characters other than `stop` and a newline, at most 400 of them, and then `stop`: where that
// ends, or npos. Bars are drawn with characters of several bytes; a torn one belongs to no bar.
std::size_t up_to(std::string_view text, std::size_t at, char stop) {
  for (int n = 0; at < text.size(); ++n) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (text[at] == stop) return at + 1;
    if (text[at] == '\n' || n == 400) break;
    std::size_t more = 0;
    if (lead >= 0x80) {
      if (lead < 0xC2 || lead > 0xF4) break;
      more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    }
    for (++at; more > 0; --more, ++at)
      if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80)
        return std::string_view::npos;
  }
  return std::string_view::npos;
}

// The rest of a bar, after its per cent sign.
std::size_t bar_after(std::string_view text, std::size_t at) {
  const auto count = [](char c) {
    return digit(c) || c == '.' || c == ',' || c == 'k' || c == 'M' || c == 'G';
  };
  Cursor c{text, at};
  if (c.take("|") && (c.at = up_to(text, c.at, '|')) == std::string_view::npos) return c.at;
  c.spaces();
  if (c.word(count).empty() || !c.take("/")) return std::string_view::npos;
  const std::size_t total = c.at;
  while (!c.done() && (count(c.peek()) || c.peek() == '?')) ++c.at;
  if (c.at == total || !c.take(" [")) return std::string_view::npos;
  return up_to(text, c.at, ']');
}

}  // namespace

std::size_t bar_end(std::string_view text) {
  // 3%|###   | 12/345 [00:07<06:50,  1.23s/it]   or, when the tool had no room for the bar,   50%
  // 1/2 [00:49<00:49, 49.97s/it]
  std::size_t end = 0;
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    if (at == end || !digit(text[at - 1])) continue;
    const std::size_t found = bar_after(text, at + 1);
    if (found != std::string_view::npos) {
      end = found;
      at = found - 1;
    }
  }
  return end;
}

std::string_view without_returns(std::string_view raw) {
  while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
  return raw;
}

// No early exit: the loops are such that compilers turn them into vector code. '#' begins frames of
// debuggers, and comments; only "#033[" is a control byte.
bool is_clean(std::string_view raw) {
  unsigned char suspicious = 0;
  for (const char c : raw)
    suspicious = static_cast<unsigned char>(suspicious | (c == '\0') | (c == '\x1b') | (c == '^') |
                                            (c == '\\'));
  for (std::size_t i = 0; i + 5 <= raw.size(); ++i)
    suspicious = static_cast<unsigned char>(
        suspicious | ((raw[i] == '#') & (raw[i + 1] == '0') & (raw[i + 2] == '3')));
  return suspicious == 0;
}

bool needs_cleaning(std::string_view raw) { return contains(raw, '\0') || contains(raw, '\x1b'); }

std::string clean(std::string_view raw) {
  if (is_clean(raw)) return std::string(without_returns(raw));
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (c == '\0') {
      ++i;
      continue;
    }
    std::size_t sequence = 0;  // bytes that stand for ESC
    if (c == '\x1b')
      sequence = 1;
    else if (c == '^' && raw.substr(i, 3) == "^[[")
      sequence = 2;
    else if (c == '\\') {  // as JSON, Python and shells write it
      for (const std::string_view spelt : {"\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"})
        if (raw.substr(i, spelt.size()) == spelt && raw.substr(i + spelt.size(), 1) == "[")
          sequence = spelt.size();
    } else if (c == '#' && raw.substr(i, 5) == "#033[")
      sequence = 4;  // rsyslog writes control bytes in octal
    if (sequence > 0) {
      std::size_t p = i + sequence;
      if (p < raw.size() && raw[p] == '[') {
        ++p;
        while (p < raw.size() && (digit(raw[p]) || raw[p] == ';' || raw[p] == ':' || raw[p] == '?'))
          ++p;
        i = p < raw.size() && alpha(raw[p]) ? p + 1 : p;
        continue;
      }
      if (c == '\x1b' && p < raw.size() && raw[p] == ']') {
        std::size_t end = p + 1;
        while (end < raw.size() && raw[end] != '\a' && raw[end] != '\x1b') ++end;
        i = end < raw.size() && raw[end] == '\a' ? end + 1 : std::min(end + 2, raw.size());
        continue;
      }
      if (c == '\x1b') {
        i = std::min(p + 1, raw.size());
        continue;
      }
    }
    out.push_back(c);
    ++i;
  }
  while (!out.empty() && out.back() == '\r') out.pop_back();
  return out;
}

}  // namespace culprit::line
