#include "rules/literals.hpp"

#include <re2/re2.h>

#include "kit.hpp"
#include "line/line.hpp"

namespace culprit::rules {
namespace {

using test::Random;

bool holds_one(const std::vector<std::string>& words, const std::string& text) {
  const std::string folded = fold(text);
  for (const auto& word : words)
    if (folded.find(word) != std::string::npos) return true;
  return false;
}

re2::RE2::Options latin1() {
  re2::RE2::Options o;
  o.set_log_errors(false);
  o.set_encoding(re2::RE2::Options::EncodingLatin1);
  return o;
}

// Texts that a pattern describes, one at random; what it does not know it writes as nothing, and
// the caller checks with RE2 whether the text matches.
class Generator {
 public:
  Generator(std::string_view pattern, Random& random) : p_(pattern), random_(random) {}
  std::string run() { return alternation(); }

 private:
  char peek() const { return at_ < p_.size() ? p_[at_] : '\0'; }
  std::string alternation() {
    std::vector<std::string> all{concatenation()};
    while (peek() == '|') {
      ++at_;
      all.push_back(concatenation());
    }
    return all[random_.below(all.size())];
  }
  std::string concatenation() {
    std::string out;
    while (at_ < p_.size() && peek() != '|' && peek() != ')') out += repetition();
    return out;
  }
  std::string repetition() {
    const std::size_t begin = at_;
    std::string text = atom();
    const std::size_t end = at_;
    std::size_t least = 1, most = 1;
    if (peek() == '*') {
      least = 0;
      most = 3;
      ++at_;
    } else if (peek() == '+') {
      most = 3;
      ++at_;
    } else if (peek() == '?') {
      least = 0;
      ++at_;
    } else if (const std::size_t close = p_.find('}', at_);
               peek() == '{' && close != std::string_view::npos &&
               isdigit(static_cast<unsigned char>(p_[at_ + 1]))) {
      const std::string inside(p_.substr(at_ + 1, close - at_ - 1));
      const std::size_t comma = inside.find(',');
      least = std::strtoul(inside.c_str(), nullptr, 10);
      most =
          comma == std::string::npos
              ? least
              : std::max<std::size_t>(
                    least, std::min<std::size_t>(
                               std::strtoul(inside.c_str() + comma + 1, nullptr, 10), least + 2));
      at_ = close + 1;
    }
    if (peek() == '?') ++at_;
    const std::size_t after = at_;
    const std::size_t times = least + random_.below(most - least + 1);
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
      if (i > 0) {
        at_ = begin;
        text = atom();
        (void)end;
      }
      out += text;
    }
    at_ = after;
    return out;
  }
  std::string any_of(std::string_view set) {
    return std::string(1, set[random_.below(set.size())]);
  }
  std::string escape() {
    const char c = p_[at_++];
    switch (c) {
      case 'd': return any_of("0123456789");
      case 'w': return any_of("abXY_09");
      case 's': return any_of(" \t");
      case 'S':
      case 'D':
      case 'W': return any_of("#/.-");
      case 'b':
      case 'B':
      case 'A':
      case 'z': return "";
      case 'n': return "\n";
      case 't': return "\t";
      default: return std::string(1, c);
    }
  }
  std::string char_class() {
    std::string set;
    bool negated = false;
    if (peek() == '^') {
      negated = true;
      ++at_;
    }
    for (bool first = true; at_ < p_.size() && (peek() != ']' || first); first = false) {
      if (p_.substr(at_, 2) == "[:") {
        at_ = p_.find(":]", at_) + 2;
        set += 'a';
        continue;
      }
      char c = p_[at_++];
      if (c == '\\') {
        const std::string one = escape();
        set += one;
        continue;
      }
      if (peek() == '-' && at_ + 1 < p_.size() && p_[at_ + 1] != ']') {
        const char last = p_[at_ + 1];
        at_ += 2;
        for (int x = c; x <= last; ++x) set.push_back(static_cast<char>(x));
        continue;
      }
      set.push_back(c);
    }
    ++at_;
    if (!negated) return any_of(set);
    for (const char c : std::string_view("qZ7#_ ,"))
      if (set.find(c) == std::string::npos) return std::string(1, c);
    return "";
  }
  std::string atom() {
    const char c = p_[at_++];
    if (c == '.') return any_of("aB3 :/");
    if (c == '^' || c == '$') return "";
    if (c == '\\') return escape();
    if (c == '[') return char_class();
    if (c != '(')
      return std::string(1, random_.below(4) == 0 && fold_ ? static_cast<char>(toupper(c)) : c);
    if (peek() == '?') {
      ++at_;
      if (peek() == 'P')
        at_ = p_.find('>', at_) + 1;
      else {
        while (peek() != ':' && peek() != ')') {
          fold_ = fold_ || peek() == 'i';
          ++at_;
        }
        if (p_[at_++] == ')') return "";
      }
    }
    std::string inside = alternation();
    ++at_;
    return inside;
  }

  std::string_view p_;
  Random& random_;
  std::size_t at_ = 0;
  bool fold_ = false;
};

TEST(RequiredWords, FindsTheLongest) {
  struct Case {
    const char* pattern;
    std::vector<std::string> words;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"GPU has fallen off the bus", {"gpu has fallen off the bus"}},
           {"hello (?:big|small) world", {"hello big world", "hello small world"}},
           {"(?i)Hello\\b.*\\d+ worlds", {" worlds"}},
           {"colou?r bar", {"color bar", "colour bar"}},
           {"abcdef|uvwxyz", {"abcdef", "uvwxyz"}},
           {"abcdef|", {}},
           {"(?:abcdef)*", {}},
           {"(?:abcdef)+x", {"abcdefx"}},
           {"abcdef{0}", {"abcde"}},
           {"a{2}bcdefg", {"abcdefg"}},
           {"[ab]cdefg", {"acdefg", "bcdefg"}},
           {"[^a]bcdefg", {"bcdefg"}},
           {"[[:alpha:]]bcdefg", {"bcdefg"}},
           {"[]a]bcdefg", {"abcdefg", "}bcdefg"}},
           {"(?P<x>\\d+)abcdef", {"abcdef"}},
           {"a\\.b\\(c\\)d", {"a.b(c)d"}},
           {"\\d+", {}},
           {".*", {}},
           {"", {}},
           {"abcdef{,3}", {"abcde"}},
           {"x{y}abc", {"x{y}abc"}},
           {"\\Qabcdef\\E", {}},
           {"\\012abcdef", {}},
           {"\\x41abcdef", {}},
           {"\\pLabcdef", {}}})
    EXPECT_EQ(required_words(c.pattern), c.words) << c.pattern;
  EXPECT_EQ(required_words("common words \\d+ rare phrase", "common words common words"),
            (std::vector<std::string>{" rare phrase"}));
}

TEST(Bigrams, SayNoOnlyWhereAWordIsNot) {
  const Bigrams text("gpu-01: [DataLoader] worker 3");
  for (const std::string_view word : {"dataloader", "{dat", "r 3", "", "x", "gpu-01"})
    EXPECT_TRUE(text.may_hold(word)) << word;
  for (const std::string_view word : {"loaded", "killed", "pgd "})
    EXPECT_FALSE(text.may_hold(word)) << word;
}

TEST(RequiredWords, AllOfThemAreNamed) {
  const OrdinaryText ordinary("");
  using Lists = std::vector<std::vector<std::string>>;
  EXPECT_EQ(
      required_lists("DataLoader worker .*is killed by signal: (?:Bus|Abort)", ordinary),
      (Lists{{"dataloader worker "}, {"is killed by signal: abort", "is killed by signal: bus"}}));
  EXPECT_EQ(required_lists("\\bPGD [0-9a-f]+ P4D", ordinary), (Lists{{"pgd "}, {" p4d"}}));
  EXPECT_EQ(required_lists("abc.*|def.*", ordinary), (Lists{{"abc", "def"}}));
  EXPECT_EQ(required_lists("(?:abc.*)?def", ordinary), (Lists{{"def"}}));
  EXPECT_EQ(required_lists(".*", ordinary), Lists{});
}

TEST(RequiredWords, AreInEveryMatch) {
  static constexpr const char* kPatterns[] = {
      "(?i)connection (?:reset|refused|timed out) by (?:peer|host)\\b",
      "a|b|cdefgh",
      "(?:ab|cd){2}efghij",
      "x?y?z?abcdefgh",
      "[abc][def][ghi]jklmnop",
      "(?:(?:a|b)(?:c|d)(?:e|f)(?:g|h)(?:i|j))klmn",
      "abc(?:def|)ghi",
      "(?:abc)?(?:def)?ghijkl",
      "^(?:one|two|three) .*(?:four|five)$",
      "\\[(?:ERROR|error)\\] [^:]+: failed",
      "(?i:ABCDEF)g",
      "abc.def{1,2}ghijkl",
      "(?:foo+bar)+baz",
      "a\\tbcdefgh",
      "[^\\]]abcdef",
      "[a\\]b]cdefgh",
      "(?:a(?:b(?:c|d)|e)|f)ghijkl",
      "(?:|abcdef)ghijkl",
      "abcdefghijkl??mnop",
      "[[:digit:]a]bcdefg",
      "Xid \\((?:PCI:)?(?P<pci>[0-9a-f:.]+)\\): (?P<code>\\d+)"};
  std::vector<std::string> patterns(std::begin(kPatterns), std::end(kPatterns));
  const std::size_t own = patterns.size();
  for (const Rule& rule : test::embedded().rules())
    patterns.insert(patterns.end(), rule.match.begin(), rule.match.end());
  Random random;
  const OrdinaryText ordinary(ordinary_lines());
  std::size_t tried = 0, matched = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const re2::RE2 expression(patterns[i], latin1());
    ASSERT_TRUE(expression.ok()) << patterns[i];
    const auto lists = required_lists(patterns[i], ordinary);
    for (int n = 0; n < (i < own ? 2000 : 60); ++n, ++tried) {
      const std::string text = Generator(patterns[i], random).run();
      if (!re2::RE2::PartialMatch(text, expression)) continue;
      ++matched;
      for (const auto& words : lists)
        ASSERT_TRUE(holds_one(words, text)) << patterns[i] << "\nmatches: " << text;
    }
  }
  EXPECT_GT(matched * 10, tried * 8) << "the generator writes too few texts that match";
}

TEST(RequiredWords, AreInEverySampleOfThePack) {
  const OrdinaryText ordinary(ordinary_lines());
  for (const Rule& rule : test::embedded().rules())
    for (const std::string& sample : rule.fires) {
      const std::string message = line::peel(sample).message;
      for (const std::string& pattern : rule.match)
        if (re2::RE2::PartialMatch(message, re2::RE2(pattern, latin1()))) {
          for (const auto& words : required_lists(pattern, ordinary))
            EXPECT_TRUE(holds_one(words, message)) << rule.id << ": " << pattern << "\n" << message;
        }
    }
}

TEST(RequiredWords, SurviveAnyPattern) {
  static constexpr std::string_view kParts[] = {
      "(",    ")",   "[",  "]",   "{",   "}",   "|",   "*",  "+",  "?",
      "\\",   "^",   "$",  ".",   "a",   "bc",  "-",   ":",  "(?", "(?P<x>",
      "(?i)", "[[:", ":]", "1,2", "\\d", "\\Q", "\\x", "]]", "[^"};
  Random random;
  for (int i = 0; i < 100'000; ++i) {
    std::string pattern;
    for (std::size_t n = random.below(12); n > 0; --n)
      pattern += kParts[random.below(std::size(kParts))];
    (void)required_words(pattern);
  }
  EXPECT_EQ(required_words(std::string(10'000, '(')), std::vector<std::string>{});
}

}  // namespace
}  // namespace culprit::rules
