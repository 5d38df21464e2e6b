#include "rules/survival.hpp"

#include <algorithm>

#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

std::vector<CommunicationError> read_errors() {
  std::vector<CommunicationError> out;
  const auto document = nlohmann::json::parse(embedded_rule("tables/survival.json"));
  for (const auto& row : document["errors"]) {
    CommunicationError one;
    one.name = row["error"].get<std::string>();
    one.recoverable = row["recoverable"].get<bool>();
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
    if (std::any_of(error.words.begin(), error.words.end(), [&](const std::string& word) {
          return message.find(word) != std::string_view::npos;
        }))
      return &error;
  return nullptr;
}

}  // namespace culprit::rules
