// Any bytes, as a log: the first byte chooses the kind of text. The line layer, the search for
// words, rules, recognisers and assemblers read it, as a whole and in two blocks. Nothing may
// crash; places are within the bytes; the ledger adds up; both readings give the same rows.
#include <algorithm>
#include <iterator>

#include "any_rows.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/engine/scan.hpp"
#include "ingest/engine/text_reader.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using test::AnyRows;
using test::hold;

const ingest::Scanner& scanner() {
  static const rules::RulePack pack = [] {
    auto loaded = rules::load_rules({});
    if (!loaded) std::exit(70);
    auto compiled = rules::RulePack::compile(std::move(loaded).value());
    if (!compiled) std::exit(70);
    return std::move(compiled).value();
  }();
  static const ingest::Scanner the(pack);
  return the;
}

std::string read(std::string_view bytes, std::size_t cut, const std::string& kind) {
  AnyRows rows(bytes.size());
  const line::Habit habit = line::habit_of(bytes);
  const bool rules = kind != "data" && kind != "stack" && kind != "process" && kind != "source";
  ingest::TextReader reader(scanner(), rows, 1, kind, habit, rules, "file.log");
  for (const std::string_view block : {bytes.substr(0, cut), bytes.substr(cut)})
    if (!block.empty()) reader.block(block, scanner().scan(block, kind, habit, rules));
  reader.finish();
  hold(reader.used() + reader.rejected() <= reader.lines(), "the ledger");
  return rows.log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The kinds of text that a head can tell, and none.
  const auto kinds = ingest::text_kinds();
  const std::size_t choice = static_cast<std::size_t>(data[0]) % (kinds.size() + 1);
  const std::string kind = choice == 0 ? "" : std::string(kinds[choice - 1].kind);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Blocks end after a line end.
  const std::size_t half = bytes.find('\n', bytes.size() / 2);
  const std::size_t cut = half == std::string_view::npos ? bytes.size() : half + 1;
  hold(read(bytes, bytes.size(), kind) == read(bytes, cut, kind),
       "the same rows however blocks are cut");
  return 0;
}
