// score DIR: answers to incidents whose truth is known, ours or any analyser's.
#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "batch/batch.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "interrupt.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "simulate/score.hpp"
#include "version.hpp"

namespace culprit::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTruthBytes = 16 << 20, kMostAnswerBytes = std::size_t{1} << 30;

constexpr auto kScoreOptions =
    joined({{"answers", "FILE",
             "score these answers in place of our own: rows bundle,action,blamed[,confidence]"},
            {"out,o", "DIR", "keep the reports, as batch does (default: they are removed)"},
            {"jobs,j", "N", "bundles that are read at the same time (default: the processors)"},
            {"format", "FORMAT", "text, json or csv (a row for each bundle)"},
            {"json", nullptr, "the same as --format json"}},
           kRulesOption);

struct Case {
  simulate::Truth truth;
  std::string path;  // of the bundle
};

// What lies beside a truth: bundle/, or an archive bundle.tar.zst.
Result<std::string> bundle_beside(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().stem() == "bundle" || entry.path().filename().string().starts_with("bundle."))
      found.push_back(entry.path().string());
  if (found.size() != 1)
    return fail(found.empty() ? "there is no bundle beside this truth"
                              : "there are several bundles beside this truth")
        .at({(folder / "truth.json").string(), 0})
        .hint("the files of the incident go into bundle/, or bundle.tar.gz");
  return found[0];
}

Result<std::vector<Case>> cases_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> folders;
  if (fs::exists(folder / "truth.json", error)) folders.push_back(folder);
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "truth.json", error)) folders.push_back(entry.path());
  if (folders.empty())
    return fail("no truth.json lies in this folder or in one of its folders")
        .at({folder.string(), 0})
        .hint(
            "`culprit simulate --out DIR` makes such a folder; culprit-score(1) tells its layout");
  std::ranges::sort(folders);
  std::vector<Case> out;
  for (const fs::path& one : folders) {
    const fs::path file = one / "truth.json";
    CULPRIT_TRY(text, batch::read_file(file, kMostTruthBytes));
    const std::string name = fs::weakly_canonical(one, error).filename().string();
    CULPRIT_TRY(truth, simulate::truth_of(text, file.string(), name));
    CULPRIT_TRY(bundle, bundle_beside(one));
    out.push_back({std::move(truth), std::move(bundle)});
  }
  return out;
}

Result<std::vector<simulate::Answer>> answers_of_others(const std::string& file,
                                                        const std::vector<Case>& cases) {
  CULPRIT_TRY(text, batch::read_file(file, kMostAnswerBytes));
  CULPRIT_TRY(answers, simulate::answers_of_csv(text, file));
  for (const simulate::Answer& answer : answers)
    if (std::ranges::none_of(cases, [&](const Case& c) { return c.truth.bundle == answer.bundle; }))
      return usage_error(fmt::format("no bundle is called '{}'", answer.bundle))
          .at({file, 0})
          .hint("the name is that of the folder with truth.json, such as " +
                cases.front().truth.bundle);
  return answers;
}

// A folder that is gone when its owner is, unless it is the user's.
struct Reports {
  fs::path path;
  bool keep = false;
  Reports(fs::path where, bool kept) : path(std::move(where)), keep(kept) {}
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() {
    std::error_code ignored;
    if (!keep) fs::remove_all(path, ignored);
  }
};

Result<fs::path> folder_for_reports(const Arguments& arguments) {
  if (arguments.has("out")) return fs::path(arguments.get("out"));
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "culprit-score-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr)
    return fail("no folder can be made for the reports")
        .at({pattern, 0})
        .hint("name one with -o, or set TMPDIR");
  return fs::path(pattern);
}

// Diagnoses the bundles as `batch` does, each in a process of its own.
Result<std::vector<simulate::Answer>> own_answers(const Arguments& arguments,
                                                  const std::vector<Case>& cases) {
  const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
  CULPRIT_TRY(jobs, arguments.number("jobs", processors));
  if (jobs < 1 || jobs > 1024) return usage_error("--jobs takes a number from 1 to 1024");
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(folder, folder_for_reports(arguments));
  const Reports reports(folder, arguments.has("out"));
  batch::Work work{.pack = &pack};
  work.request.tool = std::string(kProgram);
  CULPRIT_TRY(read, read_options(arguments));
  work.request.options = std::move(read);
  work.request.options.threads = static_cast<int>(std::max<std::size_t>(1, processors / jobs));
  const NotedSignals signals;
  batch::Options options{
      .out = reports.path, .jobs = jobs, .again = true, .tool = std::string(kProgram)};
  options.interrupted = &signals.came();
  batch::Inputs inputs;
  for (const Case& one : cases)
    inputs.bundles.push_back({one.path, fs::absolute(one.path).string(), one.truth.bundle});
  CULPRIT_TRY(outcomes, batch::run(inputs, work, options, [](const batch::Progress&) {}));
  if (outcomes.interrupted) return fail("interrupted: not all bundles are diagnosed");
  std::vector<simulate::Answer> answers;
  for (const Case& one : cases) {
    const std::string& name = one.truth.bundle;
    const auto entry = std::ranges::find(outcomes.entries, name, &batch::Entry::name);
    if (entry == outcomes.entries.end() || !entry->done()) {
      remark(arguments, fmt::format("{}: no answer: {}", name,
                                    entry == outcomes.entries.end() ? "" : entry->reason));
      continue;
    }
    CULPRIT_TRY(report, batch::read_file(reports.path / "bundles" / name / "report.json",
                                         kMostAnswerBytes));
    answers.push_back(simulate::answer_of(parse_json(report), name));
  }
  return answers;
}

Result<Exit> run_score(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"text", "json", "csv"}));
  if (arguments.positional().size() != 1)
    return usage_error("score takes one folder of incidents with their truth")
        .hint("culprit score incidents/");
  CULPRIT_TRY(cases, cases_in(arguments.positional()[0]));
  CULPRIT_TRY(answers, arguments.has("answers") ? answers_of_others(arguments.get("answers"), cases)
                                                : own_answers(arguments, cases));
  std::vector<simulate::Truth> truths;
  for (const Case& one : cases) truths.push_back(one.truth);
  const simulate::Scores scores = simulate::score(truths, answers);
  if (wants_json(arguments))
    print(identified(json_text(simulate::to_document(scores)) + "\n"));
  else
    print(arguments.get("format") == "csv" ? simulate::to_csv(scores) : simulate::to_text(scores));
  return Exit::finished;
}

}  // namespace

constinit const Command kScore{
    "score",
    "answers to incidents whose truth is known: how many are right",
    "score DIR [--answers FILE] [options]",
    "  culprit score incidents/\n"
    "  culprit score incidents/ --answers theirs.csv --format csv\n\n"
    "  DIR holds folders with truth.json and the bundle beside it, as `culprit simulate` writes\n"
    "  them. Without --answers each bundle is diagnosed. Figures over simulated bundles are of "
    "our\n"
    "  own making; they are no accuracy.\n",
    kScoreOptions,
    run_score};

}  // namespace culprit::cli
