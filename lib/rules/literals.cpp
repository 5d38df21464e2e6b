#include "rules/literals.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::rules {

namespace {

using Words = std::vector<std::string>;
constexpr std::size_t kMaxWords = 16;
constexpr std::size_t kMaxLength = 96;
constexpr double kUsable = 6;  // bytes
constexpr std::size_t kMostLists = 4;

std::size_t shortest(const Words& words) {
  std::size_t least = words.empty() ? 0 : words[0].size();
  for (const auto& word : words) least = std::min(least, word.size());
  return least;
}

constexpr std::size_t kGrams = 1 << 15;

std::size_t gram_hash(const char* p) {
  std::uint32_t gram;
  std::memcpy(&gram, p, 4);
  return (gram * 0x9E3779B1u) >> 17;
}

// What is known of a piece of pattern: the complete list of its texts, or words that one of must
// appear.
struct Piece {
  std::optional<Words> exact;
  Words required;
  Words prefix{""};             // not exact: one of these is how it begins
  Words suffix{""};             // and ends
  std::vector<Words> all = {};  // not exact: lists of which each has a word that must appear
};

class Parser {
 public:
  Parser(std::string_view pattern, const OrdinaryText& ordinary)
      : text_(pattern), ordinary_(ordinary) {}

  // The best list first; of the others those with the rarest words.
  std::vector<Words> run() {
    const Piece piece = alternation(0);
    if (at_ != text_.size()) return {};
    std::vector<Words> out;
    const auto add = [&](Words words) {
      if (shortest(words) == 0) return;
      sort_unique(words);
      if (!contains(out, words)) out.push_back(std::move(words));
    };
    add(best_of(piece));
    std::vector<Words> others = all_of(piece);
    std::ranges::stable_sort(others,
                             [&](const Words& a, const Words& b) { return score(a) > score(b); });
    for (Words& words : others)
      if (out.size() < kMostLists) add(std::move(words));
    return out;
  }

 private:
  double score(const Words& words) const {
    if (words.empty() || shortest(words) == 0) return -1;
    const double length = static_cast<double>(std::min<std::size_t>(shortest(words), 14));
    // Words that are too short to search for are a last resort, common ones a poor choice and still
    // better than those.
    if (length < kUsable) return 0.001 * length;
    double common = 0;
    for (const auto& word : words) common += static_cast<double>(ordinary_.occurrences(word));
    return std::max(length - 0.15 * static_cast<double>(words.size()) - 4.0 * common,
                    0.1 + 0.001 * length);
  }

  const Words& better(const Words& a, const Words& b) const { return score(b) > score(a) ? b : a; }

  Words best_of(const Piece& piece) const {
    return piece.exact ? (shortest(*piece.exact) > 0 ? *piece.exact : Words{}) : piece.required;
  }

  std::vector<Words> all_of(const Piece& piece) const {
    return piece.exact ? std::vector<Words>{best_of(piece)} : piece.all;
  }

  static Piece anything() { return {}; }
  static Piece nothing_wide() { return {Words{""}, {}, {""}, {""}}; }  // anchors

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool more() const { return at_ < text_.size(); }

  static void tidy(Words& words) { sort_unique(words); }

  static const Words& head_of(const Piece& piece) {
    return piece.exact ? *piece.exact : piece.prefix;
  }
  static const Words& tail_of(const Piece& piece) {
    return piece.exact ? *piece.exact : piece.suffix;
  }

  // Every text of `left` followed by every text of `right`; empty when that is too much.
  static Words product(const Words& left, const Words& right) {
    Words out;
    if (left.size() * right.size() > kMaxWords) return out;
    for (const auto& a : left)
      for (const auto& b : right) {
        out.push_back(a + b);
        if (out.back().size() > kMaxLength) return {};
      }
    tidy(out);
    return out;
  }

  static Words united(const Words& a, const Words& b) {
    Words out = a;
    out.insert(out.end(), b.begin(), b.end());
    tidy(out);
    return out.size() <= kMaxWords ? out : Words{""};
  }

  Piece alternation(int depth) {
    Piece sum = concatenation(depth);
    while (more() && peek() == '|') {
      ++at_;
      const Piece next = concatenation(depth);
      const Words a = best_of(sum);
      const Words b = best_of(next);
      Piece merged;
      if (sum.exact && next.exact && sum.exact->size() + next.exact->size() <= kMaxWords) {
        merged.exact = sum.exact;
        merged.exact->insert(merged.exact->end(), next.exact->begin(), next.exact->end());
        tidy(*merged.exact);
      }
      if (!a.empty() && !b.empty() && a.size() + b.size() <= 12 * kMaxWords) {
        merged.required = a;
        merged.required.insert(merged.required.end(), b.begin(), b.end());
        tidy(merged.required);
        merged.all = {merged.required};
      }
      merged.prefix = united(head_of(sum), head_of(next));
      merged.suffix = united(tail_of(sum), tail_of(next));
      sum = std::move(merged);
    }
    return sum;
  }

  Piece concatenation(int depth) {
    Words run{""};  // the texts that can stand since the last piece of unknown text
    Words best;
    Words head;
    std::vector<Words> all;
    bool whole = true;
    const auto consider = [&](const Words& words) {
      if (shortest(words) == 0) return;
      best = better(best, words);
      all.push_back(words);
    };
    while (more() && peek() != '|' && peek() != ')') {
      const Piece piece = repetition(depth);
      if (broken_) return anything();
      if (piece.exact)
        if (Words longer = product(run, *piece.exact); !longer.empty()) {
          run = std::move(longer);
          continue;
        }
      // The run ends within this piece: as far as the piece's beginnings are known, they belong to
      // it.
      Words end = product(run, head_of(piece));
      if (end.empty()) end = run;
      consider(end);
      if (whole) head = end;
      whole = false;
      if (!piece.exact) {
        consider(piece.required);
        all.insert(all.end(), piece.all.begin(), piece.all.end());
      }
      run = tail_of(piece);
    }
    if (whole) return {run, {}, {""}, {""}};
    consider(run);
    return {std::nullopt, best, head, run, std::move(all)};
  }

  Piece repetition(int depth) {
    Piece piece = atom(depth);
    while (more()) {
      int least = 1;
      bool once = true;
      const char c = peek();
      if (c == '*') {
        least = 0;
        once = false;
        ++at_;
      } else if (c == '+') {
        once = false;
        ++at_;
      } else if (c == '?') {
        least = 0;
        ++at_;
      } else if (c == '{') {
        std::size_t p = at_ + 1;
        const std::size_t begin = p;
        while (p < text_.size() &&
               (isdigit(static_cast<unsigned char>(text_[p])) || text_[p] == ','))
          ++p;
        if (p >= text_.size() || text_[p] != '}' || p == begin) break;  // a literal brace
        const std::string_view inside = text_.substr(begin, p - begin);
        least = inside[0] == ',' ? 0 : std::atoi(std::string(inside).c_str());
        once = least == 1 && inside == "1";
        if (least == 0) once = false;
        at_ = p + 1;
      } else {
        break;
      }
      if (more() && peek() == '?') ++at_;  // lazy
      if (least == 0 && once) {            // x?
        if (piece.exact && piece.exact->size() < kMaxWords)
          piece.exact->push_back("");
        else
          piece = anything();
      } else if (least == 0) {
        piece = anything();
      } else if (!once) {
        Piece repeated{.required = best_of(piece),
                       .prefix = head_of(piece),
                       .suffix = tail_of(piece),
                       .all = all_of(piece)};
        piece = repeated;
      }
    }
    return piece;
  }

  Piece literal(char c) const { return {Words{fold(std::string(1, c))}, {}, {""}, {""}}; }

  Piece atom(int depth) {
    const char c = text_[at_++];
    switch (c) {
      case '.': return anything();
      case '^':
      case '$': return nothing_wide();
      case '[': return char_class();
      case '(': return group(depth);
      case '\\': return escape();
      default: return literal(c);
    }
  }

  Piece escape() {
    if (!more()) {
      broken_ = true;
      return anything();
    }
    const char c = text_[at_++];
    switch (c) {
      case 'b':
      case 'B':
      case 'A':
      case 'z': return nothing_wide();
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 's':
      case 'S':
      case 'C': return anything();
      case 'n': return literal('\n');
      case 't': return literal('\t');
      case 'r': return literal('\r');
      default: break;
    }
    if (isalnum(static_cast<unsigned char>(c))) {
      broken_ =
          isdigit(static_cast<unsigned char>(c)) || c == 'Q' || c == 'p' || c == 'P' || c == 'x';
      return anything();
    }  // octal takes more digits
    return literal(c);
  }

  Piece char_class() {
    std::string members;
    bool wide = false;
    if (peek() == '^') {
      wide = true;
      ++at_;
    }
    bool first = true;
    while (more() && (peek() != ']' || first)) {
      first = false;
      char c = text_[at_++];
      if (c == '[' && peek() == ':') {
        wide = true;
        const std::size_t close = text_.find(":]", at_);
        if (close == std::string_view::npos) {
          broken_ = true;
          return anything();
        }
        at_ = close + 2;
        continue;
      }
      if (c == '\\' && more()) {
        c = text_[at_++];
        if (isalnum(static_cast<unsigned char>(c))) {
          wide = true;
          continue;
        }
      }
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        wide = true;
        at_ += 2;
        if (text_[at_ - 1] == '\\' && more()) ++at_;
        continue;
      }
      members.push_back(c);
    }
    if (!more()) {
      broken_ = true;
      return anything();
    }
    ++at_;
    if (wide) return anything();
    Words words;
    for (const char c : members) {
      const std::string folded = fold(std::string(1, c));
      if (!contains(words, folded)) words.push_back(folded);
    }
    if (words.empty() || words.size() > 4) return anything();
    return {words, {}, {""}, {""}};
  }

  Piece group(int depth) {
    if (depth > 50) {
      broken_ = true;
      return anything();
    }
    if (peek() == '?') {
      ++at_;
      if (peek() == 'P' || peek() == '<') {
        const std::size_t close = text_.find('>', at_);
        if (close == std::string_view::npos) {
          broken_ = true;
          return anything();
        }
        at_ = close + 1;
      } else {
        while (more() && peek() != ':' && peek() != ')')
          ++at_;  // flags: folding makes (?i) harmless
        if (!more()) {
          broken_ = true;
          return anything();
        }
        if (text_[at_++] == ')') return nothing_wide();
      }
    }
    Piece inside = alternation(depth + 1);
    if (!more() || text_[at_] != ')') {
      broken_ = true;
      return anything();
    }
    ++at_;
    return inside;
  }

  std::string_view text_;
  const OrdinaryText& ordinary_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

}  // namespace

std::string fold(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(static_cast<unsigned char>(c) | 0x20);
  return out;
}

OrdinaryText::OrdinaryText(std::string_view text) : folded_(fold(text)), grams_(kGrams) {
  for (std::size_t i = 0; i + 4 <= folded_.size(); ++i)
    grams_[gram_hash(folded_.data() + i)] = true;
}

std::size_t OrdinaryText::occurrences(std::string_view word) const {
  for (std::size_t i = 0; i + 4 <= word.size(); ++i)
    if (!grams_[gram_hash(word.data() + i)]) return 0;
  std::size_t n = 0;
  for (std::size_t at = folded_.find(word); at != std::string::npos;
       at = folded_.find(word, at + 1))
    ++n;
  return n;
}

std::vector<std::vector<std::string>> required_lists(std::string_view pattern,
                                                     const OrdinaryText& ordinary) {
  return Parser(pattern, ordinary).run();
}

std::vector<std::string> required_words(std::string_view pattern, const OrdinaryText& ordinary) {
  std::vector<Words> lists = required_lists(pattern, ordinary);
  return lists.empty() ? Words{} : std::move(lists.front());
}

std::vector<std::string> required_words(std::string_view pattern, std::string_view ordinary) {
  return required_words(pattern, OrdinaryText(ordinary));
}

}  // namespace culprit::rules
