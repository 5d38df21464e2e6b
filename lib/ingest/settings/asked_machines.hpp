// What several machines answered to one question. Where nearly all give the same answer it is a
// setting, and whoever has another is unlike the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

inline constexpr std::size_t kFewestAsked = 3;

// Whether so many of so many answers are what nearly all say.
constexpr bool nearly_all(std::size_t alike, std::size_t all) {
  return all >= kFewestAsked && 4 * alike >= 3 * all;
}

class AskedMachines final : public Kept {
 public:
  // What is known by its form has its own name among the settings, a driver's version; of others
  // the question is.
  void add(const std::string& question, std::string_view host, std::string_view answer,
           const Place& place);
  void finish(Reading& reading) override;

 private:
  struct Answer {
    std::string host, text;
    Place place;
  };
  std::map<std::string, std::vector<Answer>> answers_;  // by question
  std::size_t kept_ = 0;
};

}  // namespace culprit::ingest
