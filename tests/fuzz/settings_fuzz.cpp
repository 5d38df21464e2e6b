// Any bytes, as a file that people write for us: the first byte chooses a rule file (r) or a
// manifest (m). Nothing may crash; what is refused says where and why; what is read is the same the
// second time; rules that were read compile or say why not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/logs/manifest.hpp"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'r') read_rules(text);
  if (data[0] == 'm') read_manifest(text);
  return 0;
}
