// Any bytes, as a document that this program wrote earlier and somebody hands it again: a diagnosis
// in a database or a fleet (d), an entry of a batch (e), a replay plan with its outcomes (r), an
// outcome alone (o). Nothing may crash, and no control byte may reach a terminal.
#include <algorithm>

#include "any_rows.hpp"
#include "batch/entry.hpp"
#include "cli/plan/replay_document.hpp"
#include "nlohmann/json.hpp"
#include "report/report.hpp"

namespace {

using namespace culprit;
using test::hold;

void show(const std::string& document) {
  const std::string placed = report::with_place(document, "incident.db");
  for (const report::Format* format : report::formats()) {
    const std::string text = format->render(placed, {false, true, true, 80});
    if (format->name != "text") continue;
    for (const char c : text)
      hold(static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t', "a control byte");
  }
}

void read_plan(const std::string& text) {
  auto document = cli::read_replay_document(text, "plan.json");
  if (!document) return hold(!document.error().what.empty(), "why it is no plan");
  hold(document->outcomes.size() == document->plan.tests.size(), "an outcome a test");
  const auto solved = plan::solve_replay(document->plan, document->outcomes);
  if (!solved) return hold(!solved.error().what.empty(), "why there is no solution");
  const auto again = cli::to_json(*document);
  if (again) hold(cli::read_replay_document(again->dump(), "again.json").has_value(), "a plan");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'd') show(text);
  if (data[0] == 'e') static_cast<void>(batch::entry_from_json(text));
  if (data[0] == 'r') read_plan(text);
  if (data[0] == 'o') {
    const auto outcome = cli::parse_outcome(text);
    hold(outcome || !outcome.error().what.empty(), "why it is no outcome");
  }
  return 0;
}
