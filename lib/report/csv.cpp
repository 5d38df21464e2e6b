// Findings as rows for a spreadsheet or a database, one a finding in the order of the report: what,
// where, since when, how sure, and the first place that shows it. Quoted as in RFC 4180, with line
// feeds. A cell that a spreadsheet would take for a formula is quoted by a leading apostrophe.

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/csv.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

std::string csv_of_findings(const std::string& document, const RenderOptions&) {
  constexpr const char* kColumns[] = {"outcome", "severity", "analysis", "class",
                                      "symptom", "hosts",    "ranks",    "title"};
  const json d = without_ledger(document);
  std::string out =
      fmt::format("id,{},subject_kind,subject,confidence,lines,start,end,rests_on_it,path,line\n",
                  fmt::join(kColumns, ","));
  const std::vector<std::string> ground = grounds(d);
  for (const json& f : list(d, "findings")) {
    const std::string id = text(f, "id");
    out += csv_cell(id);
    for (const char* column : kColumns) out += "," + csv_cell(text(f, column));
    const json& subject = member(f, "subject");
    const json& interval = member(f, "interval");
    const json& evidence = list(f, "evidence");
    const json& first = evidence.empty() ? member(evidence, "") : evidence[0];
    const bool rests = contains(ground, id);
    out +=
        fmt::format(",{},{},{:.2f},{},{},{},{},{},{}\n", csv_cell(text(subject, "kind")),
                    csv_cell(text(subject, "id")), number(f, "confidence"), count(f, "count"),
                    csv_cell(text(interval, "start")), csv_cell(text(interval, "end")),
                    rests ? "true" : "false", csv_cell(text(first, "path")), count(first, "line"));
  }
  return out;
}

}  // namespace

extern constinit const Format kCsv{"csv", "", csv_of_findings};

}  // namespace culprit::report
