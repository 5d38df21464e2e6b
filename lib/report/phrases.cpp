#include "report/phrases.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/args.h>
#include <fmt/format.h>

#include "model/phrases.hpp"

namespace culprit::report {

namespace {

struct Words {
  Phrase phrase;
  const char* id;
  const char* words;
};

// clang-format off
#define SAYS(phrase, words) {Phrase::phrase, #phrase, words}
constexpr Words kWords[] = {
#include "report/phrases_of_verdicts.inc"
#include "report/phrases_of_findings.inc"
#include "report/phrases_of_notes.inc"
};
#undef SAYS
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kWords); ++i)
    if (static_cast<std::size_t>(kWords[i].phrase) != i) return false;
  return true;
}
static_assert(in_order(), "the tables stand in the order in which lib/CMakeLists.txt reads them");

const Words& words_of(Phrase phrase) {
  const auto index = static_cast<std::size_t>(phrase);
  return kWords[index < std::size(kWords) ? index : 0];
}

// "Out of memory" -> "out of memory"; "GPU fell off" and "InfiniBand" keep their capitals.
std::string lower_first(std::string text) {
  static const std::set<std::string> kProperNames{
      "Ceph", "Ethernet", "Gloo", "Horovod", "Kubernetes", "Lustre", "Python", "Ray", "Slurm"};
  const std::string first = text.substr(0, text.find(' '));
  const auto capitals = std::ranges::count_if(first, [](unsigned char c) { return isupper(c); });
  if (capitals == 1 && isupper(static_cast<unsigned char>(first[0])) && first.size() > 1 &&
      kProperNames.count(first) == 0)
    text[0] = static_cast<char>(tolower(text[0]));
  return text;
}

// "nobody"; "a"; "a, b and c"; "a, b and 4 more".
std::string enumeration(std::vector<std::string> items, std::int64_t more) {
  if (more > 0) return fmt::format("{} and {} more", fmt::join(items, ", "), more);
  if (items.empty()) return "nobody";
  if (items.size() == 1) return items[0];
  const std::string last = items.back();
  items.pop_back();
  return fmt::format("{} and {}", fmt::join(items, ", "), last);
}

std::string filled(const Argument& argument) {
  if (const auto* text = std::get_if<Text>(&argument)) return words(*text);
  if (const auto* number = std::get_if<std::int64_t>(&argument)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&argument)) return fmt::format("{}", *real);
  return std::get<std::string>(argument);
}

// Whether place N of a clause stands for one, or for a text that is there.
bool first_branch(const std::vector<Argument>& parts, std::size_t place) {
  if (place >= parts.size()) return true;
  if (const auto* number = std::get_if<std::int64_t>(&parts[place])) return *number == 1;
  if (const auto* text = std::get_if<Text>(&parts[place])) return !text->empty();
  const auto* word = std::get_if<std::string>(&parts[place]);
  return word == nullptr || !word->empty();
}

// "{0} rank[0:|s]" -> "{0} ranks": the branch of each choice that the places ask for. Only our own
// words are looked at; what fills the places comes later.
std::string chosen(std::string_view words, const std::vector<Argument>& parts) {
  std::string out;
  while (!words.empty()) {
    const std::size_t at = words.find('[');
    out += words.substr(0, at);
    if (at == std::string_view::npos) break;
    words.remove_prefix(at);
    const std::size_t end = words.find(']'), bar = words.find('|');
    if (words.size() > 3 && isdigit(static_cast<unsigned char>(words[1])) != 0 && words[2] == ':' &&
        end != std::string_view::npos && bar < end) {
      const auto place = static_cast<std::size_t>(words[1] - '0');
      out += first_branch(parts, place) ? words.substr(3, bar - 3)
                                        : words.substr(bar + 1, end - bar - 1);
      words.remove_prefix(end + 1);
    } else {
      out += words.front();
      words.remove_prefix(1);
    }
  }
  return out;
}

std::string filled(const Clause& clause) {
  const auto& parts = clause.arguments;
  switch (clause.phrase) {
    case Phrase::verbatim: return parts.empty() ? std::string() : filled(parts[0]);
    case Phrase::inside: return parts.empty() ? std::string() : lower_first(filled(parts[0]));
    case Phrase::capital: {
      std::string out = parts.empty() ? std::string() : filled(parts[0]);
      if (!out.empty())
        out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
      return out;
    }
    case Phrase::list: {
      std::vector<std::string> items;
      std::int64_t more = 0;  // that are not named
      for (std::size_t i = 1; i < parts.size(); ++i)
        if (const auto* rest = std::get_if<std::int64_t>(&parts[i]))
          more += *rest;
        else
          items.push_back(filled(parts[i]));
      return enumeration(std::move(items), more);
    }
    default: break;
  }
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Argument& part : parts)
    if (const auto* real = std::get_if<double>(&part))
      store.push_back(*real);
    else if (const auto* number = std::get_if<std::int64_t>(&part))
      store.push_back(*number);
    else
      store.push_back(filled(part));
  try {
    return fmt::vformat(chosen(words_of(clause.phrase).words, parts), store);
  } catch (const fmt::format_error&) {  // fewer parts than places: the name still says which
    return words_of(clause.phrase).id;
  }
}

// A quotation that ends a sentence brings its own full stop or colon: "failed..", "Qwen2:.".
std::string one_full_stop(std::string text) {
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    const char before = text[at - 1];
    if (text[at + 1] != '.' || (text[at] != '.' && text[at] != ':') || before == '.' ||
        before == ' ' || before == '/')
      continue;
    if (at + 2 == text.size() || text[at + 2] == ' ') text.erase(at, 1);
  }
  return text;
}

}  // namespace

std::string words(const Text& text) {
  std::string out;
  for (const Clause& clause : text.clauses()) out += filled(clause);
  return one_full_stop(std::move(out));
}

std::vector<std::string> words(const std::vector<Text>& texts) {
  std::vector<std::string> out;
  for (const Text& text : texts) out.push_back(words(text));
  return out;
}

std::string_view id(Phrase phrase) { return words_of(phrase).id; }

std::string_view reason(const Text& text) {
  return text.empty() ? std::string_view() : id(text.clauses().front().phrase);
}

std::size_t phrases() { return std::size(kWords); }

std::size_t places(Phrase phrase) {
  const std::string_view words = words_of(phrase).words;
  std::size_t numbered = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if ((words[i] == '{' || words[i] == '[') && isdigit(static_cast<unsigned char>(words[i + 1])))
      numbered = std::max(numbered, static_cast<std::size_t>(words[i + 1] - '0') + 1);
  return numbered > 0 ? numbered : static_cast<std::size_t>(std::ranges::count(words, '{'));
}

}  // namespace culprit::report
