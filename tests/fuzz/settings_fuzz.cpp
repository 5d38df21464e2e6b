// Any bytes, as a file that people write for us: the first byte chooses a rule file (r), a manifest
// (m), a table of rules/tables: glossary (g), settings (d), metrics (c); or a map of pseudonyms
// (p), a list of hosts (h) or of ranks (k). Nothing may crash; what is refused says where and why;
// what is read is the same the second time; rules that were read compile or say why not.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/logs/manifest.hpp"
#include "model/hostlist.hpp"
#include "model/ranges.hpp"
#include "redact/pseudonyms.hpp"
#include "rules/drift.hpp"
#include "rules/explain.hpp"
#include "rules/metrics.hpp"
#include "rules/pack.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;

void hold(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void read_rules(std::string_view text) {
  auto rules = rules::read_rule_file(text, "r.json");
  if (!rules)
    return hold(!rules.error().what.empty() && rules.error().where.has_value(), "why and where");
  const auto again = rules::read_rule_file(text, "r.json");
  hold(again && again->size() == rules->size(), "the same rules");
  const auto pack = rules::RulePack::compile(std::move(rules).value());
  hold(pack || !pack.error().what.empty(), "why they do not compile");
}

void read_manifest(std::string_view text) {
  std::vector<std::string> notes, notes_again;
  const auto manifest = ingest::parse_manifest(text, "job.json", notes);
  if (!manifest) return hold(!manifest.error().what.empty(), "why");
  const auto again = ingest::parse_manifest(text, "job.json", notes_again);
  hold(again && again->document == manifest->document && notes == notes_again, "the same manifest");
  for (const std::string& note : notes) hold(!note.empty(), "a note");
}

template <class Table>
void read_table(std::string_view text) {
  const auto table = Table::parse(text, "t.json");
  hold(table || !table.error().what.empty(), "why");
}

void read_pseudonyms(std::string_view text) {
  redact::Pseudonyms names;
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view map = text.substr(0, line), rest = text.substr(line);
  if (const auto loaded = names.load(map, "map.json"); !loaded)
    hold(!loaded.error().what.empty(), "why");
  names.collect(rest);
  names.seal();
  const std::string redacted = names.text(rest);
  hold(redacted == names.text(rest), "the same pseudonyms");
  hold(names.reveal(redacted).size() < 64 * text.size() + 4096, "what is revealed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'r') read_rules(text);
  if (data[0] == 'm') read_manifest(text);
  if (data[0] == 'g') read_table<rules::Glossary>(text);
  if (data[0] == 'd') read_table<rules::DriftRules>(text);
  if (data[0] == 'c') read_table<rules::Catalogue>(text);
  if (data[0] == 'p') read_pseudonyms(text);
  if (data[0] == 'h') hold(expand_hostlist(text, 1000).hosts.size() <= 1000, "hosts");
  if (data[0] == 'k') hold(from_ranges(text, 1000).size() <= 1000, "ranks");
  return 0;
}
