#include "rules/survival.hpp"

#include <algorithm>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {

namespace {

std::vector<CommunicationError> read_errors() {
  std::vector<CommunicationError> out;
  const auto document = parse_json(embedded_rule("tables/survival.json"));
  for (const auto& row : document["errors"]) {
    CommunicationError one{.name = row["error"].get<std::string>(),
                           .recoverable = row["recoverable"].get<bool>()};
    for (const auto& word : row["words"]) one.words.push_back(word.get<std::string>());
    one.why = row["why"].get<std::string>();
    one.source = row["source"].get<std::string>();
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::span<const CommunicationError> communication_errors() {
  static const std::vector<CommunicationError> kErrors = read_errors();
  return kErrors;
}

const CommunicationError* communication_error(std::string_view message) {
  for (const CommunicationError& error : communication_errors())
    if (std::ranges::any_of(error.words,
                            [&](const std::string& word) { return contains(message, word); }))
      return &error;
  return nullptr;
}

}  // namespace culprit::rules
