// What a program prints between the records of its own file, read as a log would be: errors,
// tracebacks over several lines, exits.
#pragma once

#include <memory>

#include "ingest/engine/scan.hpp"
#include "ingest/engine/text_reader.hpp"

namespace culprit::ingest {

class Remarks final : public Kept {
 public:
  void hear(std::string_view raw, const Place& place, Reading& reading) {
    if (!reader_) {
      scanner_ = std::make_unique<Scanner>(reading.pack);
      reader_ = std::make_unique<TextReader>(*scanner_, reading.sink, place.member,
                                             reading.text_kind, line::Habit{}, true, reading.path);
    }
    reader_->record(place, raw, {});
  }
  void finish(Reading&) override {
    if (reader_) reader_->finish();
  }

 private:
  std::unique_ptr<Scanner> scanner_;
  std::unique_ptr<TextReader> reader_;
};

}  // namespace culprit::ingest
