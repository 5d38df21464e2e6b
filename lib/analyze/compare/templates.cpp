#include "analyze/compare/templates.hpp"

#include <cctype>
#include <tuple>

#include "model/ascii.hpp"
#include "model/contains.hpp"

namespace culprit::analyze {

namespace {

// Words kept by the level of coarseness; 0: all.
constexpr std::array<std::size_t, 5> kWords{0, 12, 6, 3, 1};
constexpr std::size_t kMostWords =
    64;  // of a line; what follows seldom tells one kind of line from another
constexpr std::size_t kHexWord = 6;  // letters and digits: from here on an address or a digest

bool in_word(char c) { return alnum(c) || c == '_' || c == '.' || c == '-'; }

// A number ends here: joined with the one before it when only a separator stands between them
// (dates, versions, lists).
void put_number(std::string& out) {
  const auto sign = [&](std::size_t at) {
    return (out[at] == '-' || out[at] == '+') &&
           (at == 0 || out[at - 1] == ' ' || out[at - 1] == '=' || out[at - 1] == '(' ||
            out[at - 1] == '[' || out[at - 1] == ':');
  };
  if (!out.empty() && sign(out.size() - 1)) out.pop_back();
  const std::size_t n = out.size();
  if (n >= 1 && out[n - 1] == '#') return;
  static constexpr std::string_view kOne = ".-:,/ _xeETZ";
  if (n >= 2 && out[n - 2] == '#' && contains(kOne, out[n - 1])) {
    out.resize(n - 1);
    return;
  }
  if (n >= 3 && out[n - 3] == '#') {
    const char first = out[n - 2], second = out[n - 1];
    if (((first == ',' || first == '/') && second == ' ') ||
        ((first == 'e' || first == 'E') && (second == '-' || second == '+'))) {
      out.resize(n - 2);
      return;
    }
  }
  out += '#';
}

void put_segment(std::string& out, std::string_view word) {
  const bool has_digit = std::ranges::any_of(word, digit);
  if (!has_digit) {
    out += word;
    return;
  }
  const bool hex = word.size() >= kHexWord && std::ranges::all_of(word, [](char c) {
                     return std::isxdigit(static_cast<unsigned char>(c)) != 0;
                   });
  if (hex || word.starts_with("0x")) {
    put_number(out);
    return;
  }
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (!digit(word[i]))
      out += word[i];
    else if (i == 0 || !digit(word[i - 1]))
      put_number(out);
  }
}

std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size() && out.size() < kMostWords;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string TemplateMiner::mask(std::string_view message) const {
  std::string out;
  mask(message, out);
  return out;
}

void TemplateMiner::mask(std::string_view message, std::string& out) const {
  message = message.substr(0, params_.most_bytes);
  out.clear();
  for (std::size_t i = 0; i < message.size();) {
    const char c = message[i];
    if (alnum(c)) {
      std::size_t end = i;
      while (end < message.size() && in_word(message[end])) ++end;
      while (end > i && !alnum(message[end - 1])) --end;
      const std::string_view word = message.substr(i, end - i);
      if (word.size() >= shortest_host_ &&
          (hosts_.contains(word) || hosts_.contains(word.substr(0, word.find('.'))))) {
        out += "<host>";
        i = end;
        continue;
      }
      end = i;
      while (end < message.size() && alnum(message[end])) ++end;
      put_segment(out, message.substr(i, end - i));
      i = end;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || byte < 0x20) {  // bars, bullets, tabs
      const char stand_in = c == '\t' ? ' ' : '~';
      if (out.empty() || out.back() != stand_in) out += stand_in;
    } else if (c == ' ') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else if (out.size() < 2 || out[out.size() - 1] != c || out[out.size() - 2] != c ||
               c == '.') {  // ====== is ==
      out += c;
    }
    ++i;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
}

std::size_t TemplateMiner::words_kept() const { return kWords[level_]; }

std::string_view TemplateMiner::cut(std::string_view masked) const {
  const std::size_t most = kWords[level_] == 0 ? kMostWords : kWords[level_];
  std::size_t at = 0;
  for (std::size_t n = 0; n < most; ++n) {
    at = masked.find(' ', at);
    if (at == std::string_view::npos) return masked;
    ++at;
  }
  return masked.substr(0, at - 1);
}

void TemplateMiner::merge(Counted& into, const Counted& from) {
  for (std::size_t r = 0; r < 2; ++r) {
    TemplateCount& a = into.runs[r];
    const TemplateCount& b = from.runs[r];
    if (b.lines == 0) continue;
    if (a.lines == 0 || std::tie(b.path, b.line) < std::tie(a.path, a.line)) {
      a.path = b.path;
      a.text = b.text;
      a.kind = b.kind;
      a.line = b.line;
      a.bytes = b.bytes;
    }
    a.lines += b.lines;
    a.files = std::max(a.files, b.files);  // at least: which files it were is not kept
  }
}

// What was kept apart is put together by its first words. As these are the first words of any line
// counted later, too, the result is that of having counted so from the beginning.
void TemplateMiner::coarsen() {
  while (table_.size() > params_.most_keys && level_ + 1 < kWords.size()) {
    ++level_;
    Table coarse;
    for (const auto& [text, counted] : table_) merge(coarse[std::string(cut(text))], counted);
    table_ = std::move(coarse);
  }
  // Even first words can be without end; those that are seen late share one place.
}

void TemplateMiner::begin_file(std::size_t run, std::string path, std::string kind) {
  run_ = run;
  path_ = std::move(path);
  kind_ = std::move(kind);
  ++file_;
}

void TemplateMiner::line(std::string_view message, std::uint64_t number, std::uint64_t times,
                         LineBytes bytes) {
  mask(message, masked_);
  std::string_view key = cut(masked_);
  if (key.empty() || key == "#" || key == "~") return;
  auto it = table_.find(key);
  if (it == table_.end()) {
    if (level_ + 1 == kWords.size() && table_.size() >= params_.most_keys) key = "<*>";
    it = table_.try_emplace(std::string(key)).first;
  }
  Counted& counted = it->second;
  TemplateCount& own = counted.runs[run_];
  if (own.lines == 0 || std::tie(path_, number) < std::tie(own.path, own.line)) {
    own.path = path_;
    own.line = number;
    own.bytes = bytes;
    own.kind = kind_;
    own.text = std::string(message.substr(0, params_.most_bytes));
  }
  own.lines += times;
  if (counted.last_file != file_) {
    counted.last_file = file_;
    ++own.files;
  }
  if (table_.size() > params_.most_keys) coarsen();
}

namespace {

// The words of a line around one of them, as a number: 60,000 lines of 30 words have two million of
// these.
std::uint64_t surroundings(const std::vector<std::uint64_t>& words, std::size_t hole) {
  std::uint64_t out = 0x9E3779B97F4A7C15ULL * (words.size() + 1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    out ^= i == hole ? 0x5bd1e995 : words[i];
    out *= 0xff51afd7ed558ccdULL;
    out ^= out >> 32;
  }
  return out;
}

bool is_variable(std::string_view word) { return word == "#" || word == "<*>" || word == "<host>"; }

std::string framed(const std::vector<std::string_view>& words, std::size_t hole) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += ' ';
    out += i == hole ? std::string_view("<*>") : words[i];
  }
  return out;
}

}  // namespace

void TemplateMiner::find_variables() {
  for (std::size_t round = 0; round < params_.rounds; ++round) {
    std::vector<std::string> keys;
    keys.reserve(table_.size());
    for (const auto& [text, counted] : table_) keys.push_back(text);
    std::ranges::sort(keys);
    // What stands around a word -> the different words that stand there, as many as are needed to
    // call it a variable.
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> around;
    std::vector<std::uint64_t> hashes;
    const auto hash_words = [&](const std::vector<std::string_view>& words) {
      hashes.clear();
      for (const std::string_view word : words)
        hashes.push_back(std::hash<std::string_view>{}(word));
    };
    for (const std::string& key : keys) {
      const auto words = tokens_of(key);
      if (words.size() < 2) continue;  // a word alone is its own kind
      hash_words(words);
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (is_variable(words[i])) continue;
        auto& seen = around[surroundings(hashes, i)];
        if (seen.size() < params_.variable_from && !contains(seen, hashes[i]))
          seen.push_back(hashes[i]);
      }
    }
    Table next;
    bool changed = false;
    for (const std::string& key : keys) {
      const auto words = tokens_of(key);
      hash_words(words);
      std::string into = key;
      for (std::size_t i = 0; words.size() >= 2 && i < words.size(); ++i) {
        if (is_variable(words[i])) continue;
        if (const auto it = around.find(surroundings(hashes, i));
            it == around.end() || it->second.size() < params_.variable_from)
          continue;
        into = framed(words, i);
        changed = true;
        break;
      }
      merge(next[into], table_.at(key));
    }
    table_ = std::move(next);
    if (!changed) return;
  }
}

std::vector<LineTemplate> TemplateMiner::templates() {
  find_variables();
  std::vector<LineTemplate> out;
  out.reserve(table_.size());
  for (const auto& [text, counted] : table_) out.push_back({text, counted.runs});
  std::ranges::sort(out, {}, &LineTemplate::text);
  return out;
}

}  // namespace culprit::analyze
