// Scores as a document, a table for spreadsheets, and a text.
#include <fmt/format.h>

#include "model/csv.hpp"
#include "report/terminal.hpp"
#include "simulate/score.hpp"

namespace culprit::simulate {

namespace {

using Json = nlohmann::ordered_json;

Json tally_json(const Tally& t) {
  Json out{{"all", t.all}, {"among_three", t.among_three}};
  for (const Score score : kScores) out[std::string(name(score))] = t.count(score);
  return out;
}

Json bins_json(const std::vector<Bin>& bins, bool stated) {
  Json out = Json::array();
  for (const Bin& bin : bins) {
    Json row{{"label", bin.label}, {"all", bin.all}, {"exact", bin.exact}};
    if (stated) row["stated"] = bin.stated;
    out.push_back(std::move(row));
  }
  return out;
}

std::string row_of(std::string_view label, const Tally& t) {
  return fmt::format("  {:<24} {:>5} {:>6} {:>6} {:>6} {:>6} {:>8} {:>6}\n", label, t.all,
                     t.count(Score::exact), t.among_three, t.count(Score::open),
                     t.count(Score::wrong), t.count(Score::accused), t.count(Score::none));
}

std::string calibration(const char* title, const std::vector<Bin>& bins, bool stated) {
  if (bins.empty()) return "";
  std::string out = fmt::format("\n{:<26} {:>5} {:>6} {:>7}{}\n", title, "all", "exact", "share",
                                stated ? "  stated" : "");
  for (const Bin& bin : bins) {
    const double share = static_cast<double>(bin.exact) / static_cast<double>(bin.all);
    out += fmt::format("  {:<24} {:>5} {:>6} {:>7.2f}", bin.label, bin.all, bin.exact, share);
    out += stated ? fmt::format("  {:>6.2f}\n", bin.stated) : "\n";
  }
  return out;
}

}  // namespace

Json to_document(const Scores& scores) {
  Json kinds = Json::object(), answers = Json::array();
  for (const auto& [kind, tally] : scores.kinds) kinds[kind] = tally_json(tally);
  for (const Scored& one : scores.answers) {
    Json row{{"bundle", one.bundle},
             {"kind", one.kind},
             {"result", name(one.score)},
             {"among_three", one.among_three}};
    if (one.answer.given) {
      row["action"] = one.answer.verdict.action;
      row["blamed"] = one.answer.verdict.blamed;
    }
    if (one.answer.confidence) row["confidence"] = *one.answer.confidence;
    if (!one.answer.sureness.empty()) row["sureness"] = one.answer.sureness;
    answers.push_back(std::move(row));
  }
  return {{"schema", "culprit.score/1"},
          {"total", tally_json(scores.total)},
          {"kinds", std::move(kinds)},
          {"calibration",
           {{"confidence", bins_json(scores.confidence, true)},
            {"sureness", bins_json(scores.sureness, false)}}},
          {"answers", std::move(answers)}};
}

std::string to_csv(const Scores& scores) {
  std::string out = "bundle,kind,result,among_three,action,blamed,confidence,sureness\n";
  for (const Scored& one : scores.answers) {
    const Answer& a = one.answer;
    out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_cell(one.bundle), csv_cell(one.kind),
                       name(one.score), one.among_three ? "yes" : "no",
                       a.given ? name(a.verdict.action) : "",
                       csv_cell(fmt::format("{}", fmt::join(a.verdict.blamed, "; "))),
                       a.confidence ? fmt::format("{}", *a.confidence) : "", a.sureness);
  }
  return out;
}

std::string to_text(const Scores& scores) {
  std::string out = fmt::format("{:<26} {:>5} {:>6} {:>6} {:>6} {:>6} {:>8} {:>6}\n", "KIND", "all",
                                "exact", "of 3", "open", "wrong", "accused", "none");
  for (const auto& [kind, tally] : scores.kinds) out += row_of(report::visible(kind), tally);
  out += row_of("all", scores.total);
  out += calibration("STATED CONFIDENCE", scores.confidence, true);
  out += calibration("STATED WORD", scores.sureness, false);
  std::string missed;
  for (const Scored& one : scores.answers)
    if (one.score != Score::exact)
      missed += report::visible(fmt::format(
                    "  {:<8} {:<24} {:<14} {}{}{}", name(one.score), one.kind, one.bundle,
                    one.answer.given ? name(one.answer.verdict.action) : "no answer",
                    one.answer.verdict.blamed.empty() ? "" : " ",
                    fmt::join(one.answer.verdict.blamed, " "))) +
                "\n";
  return missed.empty() ? out : out + "\nNOT EXACT\n" + missed;
}

}  // namespace culprit::simulate
