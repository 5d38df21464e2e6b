// What stands in the logs of machines about resources, services and settings concerns everything
// that runs there. It explains a failure of the job only where the job says the same, or where it
// falls into the moment of the failure and is not what those machines print all day.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "decide/decide.hpp"
#include "model/text.hpp"

namespace culprit::decide {

class Surroundings {
 public:
  // consequence: when others began to notice.
  Surroundings(const Case& incident, const DecideParams& params,
               const std::optional<Nanoseconds>& consequence);

  // Why the finding does not concern the job; nothing: it may.
  std::optional<Text> unrelated(const Finding& f) const;

 private:
  struct Window {
    Nanoseconds from = 0, to = 0;
  };
  // How often machines print lines of a class, around the failure and in the rest of their logs.
  struct Rate {
    std::size_t outside = 0;
    std::vector<Nanoseconds> times;  // sorted
    bool scattered = false;
    std::vector<Nanoseconds> spells;  // for how long steps came while it held
  };

  void find_failure(const std::optional<Nanoseconds>& consequence);
  void count_rates();
  std::optional<Nanoseconds> lived_with(const Alert& alert) const;
  bool said_by_job(const Finding& f) const;
  std::size_t inside_failure(const Finding& f) const;
  bool another_fits(const Finding& f) const;
  bool scattered(const std::vector<Nanoseconds>& times) const;
  bool everyday(const Finding& f, std::size_t inside) const;
  std::optional<Text> lived_through(const Finding& f) const;

  const Case& incident_;
  const DecideParams& params_;
  std::optional<Window> failure_;
  bool failed_ = false;
  std::set<std::string> classes_;  // of what the job itself reports
  std::set<Symptom> symptoms_;
  std::set<Host> killed_;  // hosts on which a process of the job was killed
  std::map<std::string, Rate> rates_;
  std::set<std::tuple<Symptom, Role, Severity>> fitting_;  // at least that severe, in its moment
};

}  // namespace culprit::decide
