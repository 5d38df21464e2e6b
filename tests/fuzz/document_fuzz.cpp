// Any bytes, as a file of one format: the first line names it as `culprit formats` does, and after
// a blank the path of the file. Every reader of documents and of records is reached so, without the
// sniffing that would keep most bytes away from it. Nothing may crash; places are within the
// bytes; a second reading, with blocks cut elsewhere, gives the same rows.
#include <algorithm>

#include "any_document.hpp"
#include "ingest/engine/record_text.hpp"

namespace {

using namespace culprit;
using test::AnyRows;
using test::hold;

std::string read_records(const ingest::RecordText& records, const ingest::Head& head,
                         std::size_t cut) {
  AnyRows rows(head.bytes.size());
  ingest::RecordTextReader reader(
      records.make(head),
      ingest::Reading{rows, test::no_rules(), "data", {}, {}, std::string(head.path)}, 1);
  for (std::size_t at = 0; at < head.bytes.size(); at += cut)
    reader.block(head.bytes.substr(at, cut));
  reader.finish();
  hold(reader.used() + reader.rejected() <= reader.lines(), "the ledger");
  return rows.log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), size);
  const std::string_view first = input.substr(0, line);
  const std::size_t blank = std::min(first.find(' '), first.size());
  const std::string_view name = first.substr(0, blank);
  std::string_view path = first.substr(std::min(blank + 1, first.size()));
  if (path.empty()) path = "file";
  const ingest::Head head{path, input.substr(std::min(line + 1, size)), true};
  static_cast<void>(ingest::detect(head));
  for (const ingest::Document* document : ingest::documents())
    if (document->name == name && head.bytes.size() <= document->max_bytes) {
      const auto rows = [&] { return test::read_document(*document, head.path, head.bytes); };
      hold(rows() == rows(), "the same rows");
    }
  for (const ingest::RecordText* records : ingest::record_texts())
    if (records->name == name)
      hold(read_records(*records, head, head.bytes.size() + 1) == read_records(*records, head, 7),
           "the same rows however blocks are cut");
  return 0;
}
