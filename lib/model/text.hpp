// What a decision says, before it is put into words: which phrases, and what fills their places.
// Judgement compares and stores these; report/phrases.cpp alone knows the words.
#pragma once

#include <concepts>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/host.hpp"
#include "model/rank.hpp"

namespace culprit {

enum class Phrase : std::uint16_t;  // model/phrases.hpp has them

struct Clause;

// Clauses, one after the other. A name or a line of the bundle is a clause of its own, taken over
// as it is; a literal is refused, since a sentence in it would be one that only English knows.
class Text {
 public:
  Text();
  Text(const Text&);
  Text(Text&&) noexcept;
  Text& operator=(const Text&);
  Text& operator=(Text&&) noexcept;
  ~Text();
  Text(std::string verbatim);
  Text(const char*) = delete;
  explicit Text(Clause clause);

  Text& operator+=(const Text& more);
  bool empty() const;
  void clear();
  const std::vector<Clause>& clauses() const { return clauses_; }
  bool operator==(const Text& other) const;
  friend Text operator+(Text left, const Text& right) { return left += right; }

 private:
  std::vector<Clause> clauses_;
};

using Argument = std::variant<std::string, std::int64_t, double, Text>;

struct Clause {
  Phrase phrase{};
  std::vector<Argument> arguments;
  bool operator==(const Clause&) const = default;
};

// A clause holds texts: what needs its size comes after it.
inline Text::Text() = default;
inline Text::Text(const Text&) = default;
inline Text::Text(Text&&) noexcept = default;
inline Text& Text::operator=(const Text&) = default;
inline Text& Text::operator=(Text&&) noexcept = default;
inline Text::~Text() = default;
inline bool Text::empty() const { return clauses_.empty(); }
inline void Text::clear() { clauses_.clear(); }

// Puts a text into words: report/phrases.hpp has the one there is. Rooms that report does not see
// are given it.
using Wording = std::string (*)(const Text&);

// A text that is taken over as it is, from a rule or a line; "" of what is put into words.
std::string verbatim(const Text& text);

// A phrase with its places filled, in their order.
template <class... Parts>
Text say(Phrase phrase, Parts&&... parts) {
  Clause out{phrase, {}};
  out.arguments.reserve(sizeof...(parts));
  [[maybe_unused]] const auto add = [&]<class Part>(const Part& part) {
    if constexpr (std::floating_point<Part>)
      out.arguments.emplace_back(static_cast<double>(part));
    else if constexpr (std::integral<Part>)
      out.arguments.emplace_back(static_cast<std::int64_t>(part));
    else if constexpr (std::same_as<Part, Rank> || std::same_as<Part, LocalRank>)
      out.arguments.emplace_back(number_of(part));
    else if constexpr (std::same_as<Part, Text>)
      out.arguments.emplace_back(part);
    else
      out.arguments.emplace_back(std::string(std::string_view(part)));
  };
  (add(parts), ...);
  return Text(std::move(out));
}

// "a, b and c"; at most so many by name, the others counted.
Text list(const std::vector<Text>& items, std::size_t most = 4);
Text list(const std::vector<std::string>& items, std::size_t most = 4);
Text list(const std::set<std::string>& items, std::size_t most = 4);
Text list(const std::vector<Host>& hosts, std::size_t most = 4);
Text list(const std::set<Host>& hosts, std::size_t most = 4);

}  // namespace culprit
