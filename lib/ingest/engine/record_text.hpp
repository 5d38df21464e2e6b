// Texts in which every line is a record by itself: metric exports. No word search, no prefixes to
// peel: the raw lines go to one reader, in order, whatever their number.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingest/engine/document.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // raw: a line without its end ("\n", "\r\n"). used: it went into rows; neither used nor rejected:
  // of no interest here (a comment, a blank). Outcome::assembler and judge are not looked at.
  virtual Outcome read(std::string_view raw, const Place& place, Reading& reading) = 0;
  // The last line when it has no end: the file may be cut there, and half a number is another
  // number.
  virtual Outcome tail(std::string_view raw, const Place& place, Reading& reading) {
    return read(raw, place, reading);
  }
  virtual void finish(Reading&) {}  // at the end of the member, before what `reading` kept
};

struct RecordText {
  std::string_view name;  // format name
  std::string_view summary;
  bool (*sniff)(const Head& head);
  std::unique_ptr<RecordReader> (*make)(const Head& head);
  bool of_machine = false;  // what a tool prints of the machine on which it runs
};

// Checked in order, after the documents and before the text kinds.
std::span<const RecordText* const> record_texts();

// Lines out of blocks, for one RecordReader. Same promises as TextReader: rows do not depend on
// where blocks are cut.
class RecordTextReader {
 public:
  RecordTextReader(std::unique_ptr<RecordReader> reader, Reading reading, MemberId member);
  void block(std::string_view bytes);
  void finish();
  std::uint64_t lines() const { return lines_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t rejected() const { return rejected_; }
  bool tail_truncated() const { return open_line_; }

 private:
  void line(std::string_view raw, bool ended = true);

  std::unique_ptr<RecordReader> reader_;
  Reading reading_;
  MemberId member_;
  std::string carry_;              // a line that goes on in the next block
  bool overlong_ = false;          // the line being read is too long: it is counted, not kept
  std::uint64_t offset_ = 0;       // of the line being read
  std::uint64_t next_offset_ = 0;  // of the next byte
  std::uint64_t lines_ = 0, used_ = 0, rejected_ = 0;
  bool open_line_ = false;
};

}  // namespace culprit::ingest
