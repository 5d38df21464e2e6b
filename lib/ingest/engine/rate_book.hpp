// Rates that somebody measured on machines, their devices, or between them, wherever a file tells
// them: at its end it is told what all slow ones have in common.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/rate_factors.hpp"
#include "model/rows.hpp"

namespace culprit::ingest {

// Whether the text names a rate that is measured: not what somebody expects, nor the traffic of a
// job.
bool names_rate(std::string_view text);

// Measurements of one column, with the place of each row.
struct MeasuredRates {
  std::string name;
  std::vector<RateRow> rows;
  std::vector<Place> places;
  std::vector<std::size_t> sections;  // below which remark a row stands
  std::vector<Timestamp> times;       // of the rows, where they are told
  bool of_time = false;               // its rates are shares of one: the slower, the longer
};

// Whether it names a test of machines or devices: what a program reads or copies is none.
bool names_test(std::string_view text);
// Whether it names the time that a test takes: "matmul_ms", "kernel_launch_us".
bool names_test_time(std::string_view text);

// The slowest of them, as a line that the rules see.
void tell_slowest(const std::vector<MeasuredRates>& measured, Reading& reading);

class RateBook final : public Kept {
 public:
  // Rates of one name and condition are compared. of_time: the row's rate is the time of a work.
  void add(const std::string& name, RateRow row, const Place& place, bool of_time,
           const Timestamp& time = {});
  void finish(Reading& reading) override;

 private:
  struct Test {
    MeasuredRates rates;
    std::map<std::pair<std::string, std::vector<RatePart>>, std::size_t> times;
    bool series = false;  // of one moment after another
  };
  std::map<std::string, Test> measured_;
  std::size_t rows_ = 0;
};

}  // namespace culprit::ingest
