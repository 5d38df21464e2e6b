#include "model/text.hpp"

#include "model/phrases.hpp"

namespace culprit {

Text::Text(std::string verbatim) {
  if (!verbatim.empty()) clauses_.push_back({Phrase::verbatim, {std::move(verbatim)}});
}

Text::Text(Clause clause) { clauses_.push_back(std::move(clause)); }

Text& Text::operator+=(const Text& more) {
  clauses_.insert(clauses_.end(), more.clauses_.begin(), more.clauses_.end());
  return *this;
}

bool Text::operator==(const Text& other) const { return clauses_ == other.clauses_; }

std::string verbatim(const Text& text) {
  if (text.clauses().size() != 1 || text.clauses()[0].phrase != Phrase::verbatim) return {};
  const auto* word = std::get_if<std::string>(&text.clauses()[0].arguments[0]);
  return word == nullptr ? std::string() : *word;
}

namespace {

// What is not named is only counted: there may be a hundred thousand hosts.
Text listed(const auto& items, std::size_t most) {
  Clause out{Phrase::list, {static_cast<std::int64_t>(most)}};
  std::size_t named = 0;
  for (const auto& item : items) {
    if (named == most) break;
    out.arguments.emplace_back(Text(item));
    ++named;
  }
  if (named < items.size())
    out.arguments.emplace_back(static_cast<std::int64_t>(items.size() - named));
  return Text(std::move(out));
}

}  // namespace

Text list(const std::vector<Text>& items, std::size_t most) { return listed(items, most); }

Text list(const std::vector<std::string>& items, std::size_t most) { return listed(items, most); }

Text list(const std::set<std::string>& items, std::size_t most) { return listed(items, most); }

Text list(const std::vector<Host>& hosts, std::size_t most) { return listed(hosts, most); }

Text list(const std::set<Host>& hosts, std::size_t most) { return listed(hosts, most); }

}  // namespace culprit
