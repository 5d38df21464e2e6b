// Reads the table of programs.
#include "analyze/facts/programs.hpp"

#include <re2/re2.h>

#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::analyze {

namespace {

using Table = std::map<std::string, std::unique_ptr<re2::RE2>, std::less<>>;

Table read_table() {
  Table out;
  const auto document = parse_json(embedded_rule("tables/programs.json"));
  for (const auto& row : document["programs"]) {
    const auto what = row["what"].get<std::string>();
    std::string any;
    for (const auto& name : row["names"]) any += (any.empty() ? "" : "|") + name.get<std::string>();
    out[what] =
        std::make_unique<re2::RE2>((what == "trainers" ? "(?i)\\b(?:" : "(?i)(?:") + any + ")");
  }
  return out;
}

const re2::RE2& table(std::string_view what) {
  static const Table kTable = read_table();
  return *kTable.find(what)->second;
}

bool is(std::string_view what, std::string_view name) {
  return re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), table(what));
}

}  // namespace

bool carries_kernel(std::string_view program) { return is("kernel_carriers", program); }
bool carries_jobs(std::string_view program) { return is("job_carriers", program); }
bool runs_jobs(std::string_view program) { return is("runners", program); }
bool serves_others(std::string_view program) { return is("daemons", program); }
bool of_collector(std::string_view file_name) { return is("collectors", file_name); }
bool of_tool(std::string_view file_name) { return is("tools", file_name); }
bool is_default_name(std::string_view job) { return is("default_names", job); }

bool names_trainer(std::string_view message) {
  return re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()),
                                table("trainers"));
}

}  // namespace culprit::analyze
