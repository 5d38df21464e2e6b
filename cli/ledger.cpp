// Prints the ledger for `ingest` and `merge`.
#include "ledger.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "diagnose/read.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

// What the ledger cannot show, since it was not read: with -q it would be lost without a word.
std::string unread(const std::vector<ProblemRow>& problems, bool json) {
  std::string out;
  std::size_t lost = 0;
  for (const ProblemRow& problem : problems) {
    if (!diagnose::loses_input(problem)) continue;
    if (json)
      out += json_text(nlohmann::ordered_json{{"path", problem.path},
                                              {"problem", problem.code},
                                              {"reason", problem.reason},
                                              {"complete", false}},
                       -1) +
             "\n";
    else if (++lost <= 3)
      out += fmt::format("INCOMPLETE BUNDLE  {}: {}\n", report::visible(problem.path),
                         report::visible(problem.reason));
  }
  if (lost > 3) out += fmt::format("INCOMPLETE BUNDLE  and {} more\n", lost - 3);
  return out;
}

}  // namespace

void print_ledger(const Arguments& arguments, const store::Database& db,
                  const std::string& behind) {
  std::string out;
  auto members = db.members();
  sort_by(members, [](const MemberRow& a) { return std::tie(a.path, a.id); });
  std::uint64_t lines = 0, used = 0, skipped = 0, rejected = 0;
  const bool json = wants_json(arguments);
  for (const MemberRow& m : members) {
    lines += m.lines;
    used += m.used;
    skipped += m.skipped;
    rejected += m.rejected;
    if (json)
      out += json_text(nlohmann::ordered_json{{"path", m.path},
                                              {"format", m.format},
                                              {"lines", m.lines},
                                              {"used", m.used},
                                              {"skipped", m.skipped},
                                              {"rejected", m.rejected},
                                              {"complete", m.complete}},
                       -1) +
             "\n";
    else
      out += fmt::format("{}  {}  {} lines = {} used + {} skipped + {} rejected{}\n",
                         report::visible(m.path), m.format, m.lines, m.used, m.skipped, m.rejected,
                         m.complete ? "" : "  (incomplete)");
  }
  if (!json)
    out += fmt::format("{} files, {} lines = {} used + {} skipped + {} rejected\n", members.size(),
                       lines, used, skipped, rejected);
  const auto problems = db.problems();
  out += unread(problems, json);
  print(out + behind);
  for (const ProblemRow& problem : problems)
    remark(arguments, fmt::format("{}: {} ({})", problem.path, problem.reason, problem.code));
}

}  // namespace culprit::cli
