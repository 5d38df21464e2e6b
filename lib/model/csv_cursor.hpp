// The one way in which delimited text is taken apart: a cursor over a line, or over a text of
// records (RFC 4180 and what people make of it). It allocates nothing; cells are views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace culprit {

struct CsvCell {
  std::string_view text;  // without its quotes; blanks around it are the reader's affair
  bool quoted = false;
  bool doubled = false;     // "" stand in it for one quote: csv_undoubled() makes it so
  std::uint64_t lines = 0;  // line feeds within its quotes
};

class CsvCursor {
 public:
  // longest: bytes of a quoted cell; a quote that is not closed within them was none.
  CsvCursor(std::string_view text, char separator,
            std::size_t longest = static_cast<std::size_t>(-1))
      : text_(text), separator_(separator), longest_(longest) {}

  std::size_t offset() const { return at_; }
  void seek(std::size_t offset) {
    at_ = offset;
    open_ = true;
  }
  bool done() const { return at_ >= text_.size(); }
  // Whether the record goes on: a separator at the end of a line opens an empty cell.
  bool more() const { return open_; }
  // The next record begins here.
  void next_record() { open_ = true; }

  // The next cell of the record. False, and nothing is passed: a quote that is not closed. What
  // stands between a closing quote and the separator is passed over.
  bool next(CsvCell& cell) {
    if (line_end_ < at_ || !known_) {
      line_end_ = find('\n', at_, text_.size());
      known_ = true;
    }
    std::size_t from = at_;
    while (from < line_end_ && (text_[from] == ' ' || text_[from] == '\t') &&
           text_[from] != separator_)
      ++from;
    cell = {};
    std::size_t end = at_;
    if (from < line_end_ && text_[from] == '"') {
      const std::size_t close = closing(from, cell);
      if (close == text_.size()) return false;
      cell.text = text_.substr(from + 1, close - from - 1);
      cell.quoted = true;
      if (cell.lines > 0) line_end_ = find('\n', close, text_.size());
      end = find(separator_, close, line_end_);
    } else {
      end = find(separator_, at_, line_end_);
      cell.text = text_.substr(at_, end - at_);
    }
    open_ = end < line_end_;
    at_ = end < text_.size() ? end + 1 : end;
    return true;
  }

 private:
  std::size_t find(char c, std::size_t from, std::size_t to) const {
    if (from >= to) return to;
    const void* found = std::memchr(text_.data() + from, c, to - from);
    return found == nullptr
               ? to
               : static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
  }

  std::size_t closing(std::size_t quote, CsvCell& cell) const {
    std::size_t lines = 0;
    for (std::size_t at = quote + 1; at < text_.size() && at - quote - 1 <= longest_; ++at) {
      if (text_[at] == '\n') ++lines;
      if (text_[at] != '"') continue;
      if (at + 1 < text_.size() && text_[at + 1] == '"') {
        cell.doubled = true;
        ++at;
        continue;
      }
      cell.lines = lines;
      return at;
    }
    return text_.size();
  }

  std::string_view text_;
  char separator_;
  std::size_t longest_;
  std::size_t at_ = 0, line_end_ = 0;
  bool known_ = false, open_ = true;
};

inline std::string csv_undoubled(std::string_view cell) {
  std::string out;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    out.push_back(cell[i]);
    if (cell[i] == '"') ++i;
  }
  return out;
}

}  // namespace culprit
