// JSON objects of numbers at a step or a time: one line of a metrics file, or a summary by itself.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/training/step_rows.hpp"

namespace culprit::ingest {

// What a sniff can see of a text that begins with '{'. Only keys of the object itself count, not
// those of objects in it.
struct ObjectGlance {
  bool complete = false;  // one whole object and nothing after it
  bool log = false;       // has keys of log records: message, level, error ...
  bool event = false;     // has keys of event records, which step metrics have now and then
  bool step = false, time = false, figure = false;
  int numbers = 0;  // values that are none of these
};
ObjectGlance glance(std::string_view text);

// Values one level down are named "parent/key"; deeper ones and lists are not read. NaN and
// Infinity may stand bare, as Python prints them, or as strings, as wandb does.
class StepObjects {
 public:
  explicit StepObjects(std::string_view framework) : rows_(framework) {}
  // printed: when the line that holds the object was, for an object that does not tell it.
  Outcome read(std::string_view text, const Place& place, Reading& reading,
               const Timestamp& printed = {});

  // As told by the scanner, in the order of the text.
  void number(std::string_view parent, std::string_view key, std::string_view text);
  void string(std::string_view parent, std::string_view key, std::string_view text);
  void null(std::string_view parent, std::string_view key);
  void open() { before_nested_ = row_.cells.size(), typed_ = false; }
  void close() {
    if (typed_) row_.cells.resize(before_nested_);
  }

 private:
  struct Key {
    std::string parent, key;
    KeyMeaning meaning;
    std::uint32_t slot;
    std::size_t next;  // the key that came after this one last time: mostly it does so again
    std::uint32_t numbers = 0;  // that it held
    bool left_out = false;      // null stood for what is not logged at each step
  };
  Key* find(std::string_view parent, std::string_view key);
  void keep(Key& key, double value);

  StepRows rows_;
  std::vector<Key> keys_;
  std::unordered_map<std::string, std::size_t> key_of_;
  std::size_t at_ = 0;   // of the key before
  int surest_step_ = 0;  // in the file: a record without that key has no step

  // Of the record being read.
  StepRow row_;
  DeviceWords devices_;
  int step_grade_ = 0, time_grade_ = 0, rank_grade_ = 0, host_grade_ = 0, gpu_grade_ = 0,
      run_grade_ = 0;
  std::string metric_, operation_, group_, run_;
  int metric_grade_ = 0;
  std::uint32_t amount_ = StepRows::kNoSlot, bytes_ = StepRows::kNoSlot;
  std::uint32_t none_ = StepRows::kNoSlot;  // a loss that is null
  std::size_t before_nested_ = 0;
  bool typed_ = false;  // {"_type": "histogram", ...}: no numbers of the training
  std::string_view problem_;
};

}  // namespace culprit::ingest
