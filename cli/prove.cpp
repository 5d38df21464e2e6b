// prove BUNDLE: the smallest set of lines that still gives this verdict.
#include <algorithm>

#include <fmt/format.h>

#include "command.hpp"
#include "diagnose/proof.hpp"
#include "incident.hpp"
#include "interrupt.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/fields.hpp"
#include "report/terminal.hpp"
#include "terminal.hpp"
#include "version.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;
using diagnose::ProvedVerdict;

constexpr std::size_t kMostTargets = 4;

std::string headline(const ProvedVerdict& v) {
  std::string out = report::headline(std::string(name(v.action)), std::string(name(v.cause)));
  if (v.action == Action::none) return out;
  for (std::size_t i = 0; i < v.targets.size() && i < kMostTargets; ++i)
    out += (i == 0 ? " " : ", ") +
           (v.targets[i].kind == SubjectKind::rank ? "rank " + v.targets[i].id : v.targets[i].id);
  if (v.targets.size() > kMostTargets)
    out += fmt::format(" and {} more", v.targets.size() - kMostTargets);
  return out;
}

Json json_of(const ProvedVerdict& v) {
  Json targets = Json::array();
  for (const Subject& s : v.targets) targets.push_back({{"kind", name(s.kind)}, {"id", s.id}});
  return {{"action", name(v.action)},
          {"cause", name(v.cause)},
          {"precision", name(v.precision)},
          {"targets", std::move(targets)}};
}

std::string place(const diagnose::ProofLine& line) {
  return line.line == 0 ? line.path : fmt::format("{}:{}", line.path, line.line);
}

// "rests on dmesg:19 and rank_4.log:812; without dmesg:19: INVESTIGATE": the first line whose
// removal changes the action, else the first.
std::string answer(const ProvedVerdict& verdict, const diagnose::Proof& proof) {
  constexpr std::size_t kNamed = 3;
  if (proof.lines.empty()) return "rests on no line: a bundle without any gives the same verdict";
  const std::size_t named = std::min(kNamed, proof.lines.size());
  const bool more = named < proof.lines.size();
  std::string out = "rests on ";
  for (std::size_t i = 0; i < named; ++i)
    out += (i == 0 ? "" : i + 1 == named && !more ? " and " : ", ") + place(proof.lines[i]);
  if (more) out += fmt::format(" and {} more", proof.lines.size() - named);
  if (!proof.minimal) return out;
  const auto telling = std::ranges::find_if(proof.lines, [&](const diagnose::ProofLine& line) {
    return line.without.action != verdict.action;
  });
  const diagnose::ProofLine& line = telling == proof.lines.end() ? proof.lines[0] : *telling;
  return out + fmt::format("; without {}: {}", place(line), headline(line.without));
}

std::string text_of(const Arguments& arguments, const ProvedVerdict& verdict,
                    const diagnose::Proof& proof) {
  const std::size_t width = std::max<std::size_t>(60, terminal_width());
  const std::string first = report::visible(headline(verdict));
  std::string out = report::Ink{use_color(arguments)}.bold(first) + "\n";
  out += report::paragraph("", report::visible(answer(verdict, proof)), width, 0);
  if (!proof.minimal)
    out += "NOT MINIMAL  stopped after so many runs or so long: lines may be left that can go\n";
  for (const diagnose::ProofLine& line : proof.lines) {
    out += "\n  " + report::visible(place(line)) + "\n";
    if (!line.words.empty())
      out += "    " + report::shortened(report::visible(line.words), width - 4) + "\n";
    if (proof.minimal)
      out += fmt::format("    without it: {}\n", report::visible(headline(line.without)));
  }
  return out + fmt::format("\n{} of {}, found in {}\n", report::counted(proof.lines.size(), "line"),
                           report::counted(proof.of_lines, "line"),
                           report::counted(proof.runs, "run"));
}

Json json_of(const ProvedVerdict& verdict, const diagnose::Proof& proof) {
  Json out{{"schema", "culprit.prove/1"},
           {"answer", answer(verdict, proof)},
           {"verdict", json_of(verdict)},
           {"minimal", proof.minimal},
           {"lines", Json::array()}};
  for (const diagnose::ProofLine& line : proof.lines)
    out["lines"].push_back({{"path", line.path},
                            {"line", line.line},
                            {"text", report::shortened(report::visible(line.words), 1000)},
                            {"without", proof.minimal ? json_of(line.without) : Json(nullptr)}});
  out["of"] = {{"files", proof.of_files}, {"lines", proof.of_lines}};
  out["runs"] = proof.runs;
  return out;
}

Result<> write_bundle(const Arguments& arguments, diagnose::Prover& prover) {
  const std::string path = arguments.get("out");
  if (!path.ends_with(".tar") && !path.ends_with(".tar.gz") && !path.ends_with(".tar.zst") &&
      !path.ends_with(".tar.xz"))
    return usage_error("-o takes an archive: .tar, .tar.gz, .tar.zst or .tar.xz").at({path, 0});
  CULPRIT_TRY(written, prover.write(path));
  remark(arguments,
         fmt::format("{} holds {}, names replaced", path, report::counted(written.files, "file")));
  if (written.given != written.wanted)
    remark(arguments, fmt::format("with names replaced its verdict is {}, not {}",
                                  headline(written.given), headline(written.wanted)));
  return {};
}

Result<Exit> run_prove(const Arguments& arguments) {
  if (arguments.positional().empty())
    return usage_error("prove needs a bundle").hint("culprit prove job.tar.gz -o proof.tar.gz");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  diagnose::ProofRequest request;
  CULPRIT_TRY(runs, arguments.number("most-runs", request.most_runs));
  CULPRIT_TRY(seconds, arguments.number("time-limit", 300));
  if (runs < 1 || seconds < 1 || seconds > 86'400)
    return usage_error("--most-runs takes a number from 1, --time-limit seconds from 1 to 86400");
  request.most_runs = runs;
  request.time = std::chrono::seconds(static_cast<std::int64_t>(seconds));
  request.read.sources = arguments.positional();
  request.read.manifest = arguments.get("manifest");
  request.read.timezone = arguments.get("timezone");
  request.read.tool = std::string(kProgram);
  CULPRIT_TRY(options, read_options(arguments));
  request.read.options = std::move(options);
  const NotedSignals signals;
  request.read.options.interrupted = &signals.came();
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(prover, diagnose::Prover::read(request, pack));
  CULPRIT_TRY(proof, prover.prove());
  if (arguments.has("out")) CULPRIT_CHECK(write_bundle(arguments, prover));
  print(wants_json(arguments) ? identified(json_text(json_of(prover.verdict(), proof)) + "\n")
                              : text_of(arguments, prover.verdict(), proof));
  return Exit::finished;
}

constexpr auto kProveOptions = with_read_options({
    {"out,o", "FILE", "write these lines as a bundle with names replaced (.tar, .tar.gz ...)"},
    {"most-runs", "N", "most runs of the analysis (default 3000)"},
    {"time-limit", "SECONDS", "stop after so long (default 300); the answer is not minimal then"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
});

}  // namespace

constinit const Command kProve{
    "prove",
    "the fewest lines that still give this verdict",
    "prove BUNDLE... [-o FILE] [options]",
    "  culprit prove job.tar.gz\n"
    "  culprit prove job.tar.gz -o proof.tar.gz\n\n"
    "  None of the lines can go: without any one of them the verdict is another, which is printed "
    "beside it.\n"
    "  -o writes them as a small bundle without names: for a ticket, a test, a vendor.\n",
    kProveOptions,
    run_prove};

}  // namespace culprit::cli
