#include "rule_new.hpp"

#include <algorithm>

#include <re2/re2.h>

#include "line/line.hpp"
#include "model/json.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLiteral = 400;

// What differs from line to line, the longest kinds first; each with what stands for it.
struct Variable {
  re2::RE2 pattern;
  const char* stands_for;
};
const auto& variables() {
  static const Variable kVariables[] = {
      {R"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})", R"([0-9a-fA-F-]{36})"},
      {R"((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b)",
       R"((?P<pci>[0-9a-fA-F:.]+))"},
      {R"(\d{1,3}(?:\.\d{1,3}){3}(?:[:<]\d+>?)?)", R"([\d.]+(?:[:<]\d+>?)?)"},
      {R"(0x[0-9a-fA-F]+)", R"(0x[0-9a-fA-F]+)"},
      {R"('[^']*')", R"('[^']*')"},
      {R"("[^"]*")", R"("[^"]*")"},
      {R"(/[\w.@%+-]+(?:/[\w.@%+-]+)+)", R"(/\S+)"},
      {R"([0-9a-f]{12,})", R"([0-9a-f]+)"},
      {R"(\d+(?:\.\d+)?)", R"(\d+(?:\.\d+)?)"},
  };
  return kVariables;
}

}  // namespace

std::string pattern_of(std::string_view message) {
  std::string out, literal;
  const auto put_literal = [&] {
    // Runs of blanks are a matter of width.
    std::string quoted = re2::RE2::QuoteMeta(literal);
    for (std::size_t at = 0; (at = quoted.find("\\ ", at)) != std::string::npos; ++at) {
      std::size_t end = at;
      while (quoted.compare(end, 2, "\\ ") == 0) end += 2;
      quoted.replace(at, end - at, end - at > 2 ? " +" : " ");
    }
    out += quoted;
    literal.clear();
  };
  bool within_word = false, device = false;
  for (std::size_t at = 0; at < message.size();) {
    std::size_t taken = 0;
    for (const Variable& v : variables()) {
      if (within_word) break;  // the 2 of mlx5_2 is a part of a name
      re2::StringPiece rest(message.data() + at, message.size() - at);
      const std::size_t before = rest.size();
      if (!re2::RE2::Consume(&rest, v.pattern)) continue;
      taken = before - rest.size();
      put_literal();
      // A name is captured once.
      const bool again = device && std::string_view(v.stands_for).starts_with("(?P<pci>");
      out += again ? "[0-9a-fA-F:.]+" : v.stands_for;
      device = device || std::string_view(v.stands_for).starts_with("(?P<pci>");
      break;
    }
    if (taken == 0) {
      if (out.size() + literal.size() > kMostLiteral) break;
      literal += message[at];
      taken = 1;
    }
    at += taken;
    const char last = message[at - 1];
    within_word = (last >= 'a' && last <= 'z') || (last >= 'A' && last <= 'Z') || last == '_';
  }
  put_literal();
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string rule_skeleton(const std::string& line) {
  const line::Line peeled = line::peel(line);
  Json rule = {
      {"id", "my-rule"},
      {"class", "my_class"},
      {"title", "a noun phrase: what this line reports"},
      {"why", "What it means, in a sentence."},
      {"source", "where that is written"},
      {"match", Json::array({pattern_of(peeled.message)})},
      {"severity", "warning"},
      {"role", "confirmation"},
      {"scope", "host-local"},
      {"action", "investigate"},
      {"samples",
       Json{{"fires", Json::array({line})},
            {"silent", Json::array({"a line that looks like it and means another thing"})}}}};
  return json_text(Json{{"family", "my-rules"},
                        {"about", "What these rules are about."},
                        {"rules", Json::array({std::move(rule)})}}) +
         "\n";
}

}  // namespace culprit::cli
