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

Text list(const std::vector<Text>& items, std::size_t most) {
  Clause out{Phrase::list, {static_cast<std::int64_t>(most)}};
  for (const Text& item : items) out.arguments.emplace_back(item);
  return Text(std::move(out));
}

Text list(const std::vector<std::string>& items, std::size_t most) {
  return list(std::vector<Text>(items.begin(), items.end()), most);
}

Text list(const std::set<std::string>& items, std::size_t most) {
  return list(std::vector<Text>(items.begin(), items.end()), most);
}

Text list(const std::vector<Host>& hosts, std::size_t most) {
  return list(std::vector<Text>(hosts.begin(), hosts.end()), most);
}

Text list(const std::set<Host>& hosts, std::size_t most) {
  return list(std::vector<Text>(hosts.begin(), hosts.end()), most);
}

}  // namespace culprit
