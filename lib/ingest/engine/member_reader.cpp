#include "ingest/engine/member_reader.hpp"

#include "ingest/engine/machine_sections.hpp"

namespace culprit::ingest {

namespace {

template <class Reader>
void finish_lines(Reader& reader, MemberRow& row) {
  reader.finish();
  row.lines = reader.lines();
  row.used = reader.used();
  row.rejected = reader.rejected();
  row.skipped = row.lines - row.used - row.rejected;
  row.tail_truncated = reader.tail_truncated();
}

}  // namespace

Opened open_member(MemberRow& row, std::string_view head, bool whole) {
  head = head.substr(0, kHeadBytes);
  Opened out;
  out.detected = detect({row.path, head, whole});
  row.format = std::string(out.detected.format);
  row.text_kind = std::string(out.detected.kind);
  if (out.detected.text) out.habit = line::habit_of(head);
  if (out.detected.records != nullptr)
    out.records = out.detected.records->make({row.path, head, whole});
  return out;
}

MemberReader::MemberReader(const Scanner& scanner, MemberSink& sink, Opened opened,
                           const MemberRow& row)
    : scanner_(scanner), sink_(sink), detected_(opened.detected), id_(sink.begin_member(row)) {
  if (opened.records != nullptr)
    records_.emplace(std::move(opened.records),
                     Reading{sink, scanner.pack(), row.text_kind, {}, {}, row.path}, id_);
  else if (opened.scanned())
    text_.emplace(scanner, sink, id_, row.text_kind, opened.habit, opened.detected.rules_apply,
                  row.path);
}

void MemberReader::block(std::string_view bytes, const BlockScan& scan) {
  if (text_) text_->block(bytes, scan);
  if (records_) records_->block(bytes);
}

void MemberReader::sections(std::string_view bytes, MemberRow row) {
  row.id = id_;
  read_machine_sections(bytes, row, sink_, scanner_);
}

std::uint64_t MemberReader::end(MemberRow row, const std::optional<std::string_view>& document) {
  row.id = id_;
  std::uint64_t problems = 0;
  if (text_) {
    finish_lines(*text_, row);
  } else if (records_) {
    finish_lines(*records_, row);
  } else if (detected_.document != nullptr && document) {
    problems = read_document(*document, row);
  } else if (detected_.document != nullptr) {
    row.format += " (too large)";
    row.lines = row.rejected = 1;
    sink_.put(RejectRow{{row.id, 0, 0, 0}, "document.too_large", row.format});
  } else if (row.kind == "file" && row.size > 0) {
    row.lines = row.skipped = 1;  // one record: bytes that nobody reads
  }
  sink_.end_member(row);
  return problems;
}

std::uint64_t MemberReader::read_document(std::string_view bytes, MemberRow& row) {
  Reading reading{sink_, scanner_.pack(), row.text_kind, {}, {}, row.path};
  const std::string reason = detected_.document->read(bytes, row, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
  row.lines = 1;
  if (reading.cut) {
    row.tail_truncated = true;
    sink_.problem(row.path, "document.cut",
                  reason.empty()
                      ? "the file breaks off or is damaged; what stands before that was read"
                      : "the file breaks off or is damaged before it tells anything");
  }
  if (reason.empty()) {
    row.used = 1;
  } else {
    row.rejected = 1;
    sink_.put(RejectRow{{row.id, 0, 0, 0}, reason, std::string(bytes.substr(0, 200))});
  }
  return reading.cut ? 1 : 0;
}

std::uint64_t read_piece(Piece& piece, const Scanner& scanner, MemberSink& sink, bool places) {
  if (places) sink.begin_place(piece.place);
  MemberRow& row = piece.member;
  if (!piece.code.empty()) {
    sink.problem(row.path, piece.code, piece.reason);
    return 1;
  }
  if (!piece.opened_before && row.kind == "file") {
    const std::string_view bytes = piece.blocks.empty() ? std::string_view{} : piece.blocks[0];
    piece.opened = open_member(row, bytes, true);
  }
  const Opened& opened = piece.opened;
  const line::Habit habit = opened.habit;
  const bool scanned = opened.scanned(), rules = opened.detected.rules_apply;
  const bool document = opened.detected.document != nullptr;
  MemberReader reader(scanner, sink, std::move(piece.opened), row);
  if (document)
    return piece.blocks.empty() ? reader.end(row, std::nullopt) : reader.end(row, piece.blocks[0]);
  for (const std::string& block : piece.blocks)
    reader.block(block, scanned ? scanner.scan(block, row.text_kind, habit, rules) : BlockScan{});
  if (scanned && rules && !piece.blocks.empty()) {
    std::string& whole = piece.blocks.front();
    for (std::size_t i = 1; i < piece.blocks.size(); ++i) whole += piece.blocks[i];
    reader.sections(whole, row);
  }
  return reader.end(row, std::nullopt);
}

}  // namespace culprit::ingest
