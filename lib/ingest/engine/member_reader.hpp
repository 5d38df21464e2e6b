// Reads one member: what it is, from its head, and its bytes into the rows of a sink.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/document.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/scan.hpp"
#include "ingest/engine/text_reader.hpp"
#include "model/sink.hpp"

namespace culprit::ingest {

inline constexpr std::size_t kHeadBytes = 64 << 10;

// What the head of a member says it is.
struct Opened {
  Detected detected;
  line::Habit habit;
  std::unique_ptr<RecordReader> records;  // of a text whose lines are records

  bool scanned() const { return detected.text && !detected.document && !detected.records; }
};
// Sets format and kind of the row. whole: `head` is all there is.
Opened open_member(MemberRow& row, std::string_view head, bool whole);

// A member that is read as it comes.
class MemberReader {
 public:
  // Begins the member. The scanner outlives this, as the sink does.
  MemberReader(const Scanner& scanner, MemberSink& sink, Opened opened, const MemberRow& row);
  // The next bytes of a text, with their scan if it is scanned.
  void block(std::string_view bytes, const BlockScan& scan);
  // After the blocks of a text that is here as a whole: what it has of several machines.
  void sections(std::string_view bytes, MemberRow row);
  // Ends the member. row: with what its end told; document: the bytes of one that is read as a
  // whole, or nothing when they are too many. How many problems were told.
  std::uint64_t end(MemberRow row, const std::optional<std::string_view>& document);

 private:
  std::uint64_t read_document(std::string_view bytes, MemberRow& row);

  const Scanner& scanner_;
  MemberSink& sink_;
  Detected detected_;
  MemberId id_;
  std::optional<TextReader> text_;
  std::optional<RecordTextReader> records_;
};

// A member of which all bytes are here, one that has none, or a problem.
struct Piece {
  std::uint64_t place = 0;   // of the unit, see MemberSink::begin_place
  MemberRow member;          // of a problem: its path
  std::string code, reason;  // of a problem
  bool opened_before = false;
  Opened opened;
  std::vector<std::string> blocks;  // of a document one, or none when its bytes are too many
};
// Into rows. places: whether the sink is told them. How many problems were told.
std::uint64_t read_piece(Piece& piece, const Scanner& scanner, MemberSink& sink, bool places);

}  // namespace culprit::ingest
