// Many bundles: a report each, an index of them, a summary, and what the fleet remembers.
//
//   OUT/bundles/NAME/report.json report.html entry.json     a bundle
//   OUT/index.html summary.json summary.csv fleet.db        all of them
//
// Everything of the second line is made from the entries, so that a batch that was stopped and goes
// on ends with the same bytes. A bundle is read again when its files, the program, the rules or the
// options have changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "batch/inputs.hpp"
#include "batch/work.hpp"

namespace culprit::batch {

struct Options {
  std::filesystem::path out;
  std::filesystem::path fleet;  // fleet.db; "" = out / fleet.db
  std::size_t jobs = 1;
  std::uint64_t memory = 0;  // bytes for all children together; 0 = three quarters of what is free
  double timeout_s = 0;      // of a bundle; 0 = none
  bool contents = false;     // compare bytes, not times of change
  bool again = false;        // read every bundle again
  bool prune = false;        // forget the bundles that are not named any more
  std::string setup;         // what besides the bundle decides on the answer
  std::string tool = "culprit";  // who makes this, with its version
  const std::atomic<bool>* interrupted = nullptr;
};

struct Progress {
  std::size_t bundles = 0, unchanged = 0, finished = 0, failed = 0, running = 0;
  std::uint64_t bytes = 0, bytes_finished = 0;  // of those that have to be read
};

struct Outcomes {
  std::vector<Entry> entries;  // of all the folder, by name
  std::string summary;         // the document: schemas/batch-v1.json
  std::size_t read = 0, unchanged = 0;
  bool interrupted = false;  // then the rest is as the run before left it
};

// Errors: a folder that cannot be written, another batch at work in it, a fleet.db that is
// something else.
Result<Outcomes> run(const Inputs& inputs, const Work& work, const Options& options,
                     const std::function<void(const Progress&)>& progress);

// Names that bundles of this folder have already, by source.
std::vector<std::pair<std::string, std::string>> names_taken(const std::filesystem::path& out);

}  // namespace culprit::batch
