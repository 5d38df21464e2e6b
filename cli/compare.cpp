// compare GOOD BAD: what changed since it worked.
#include "analyze/compare/compare_runs.hpp"

#include <fmt/format.h>

#include "answers.hpp"
#include "bundle/own_files.hpp"
#include "command.hpp"
#include "diagnose/run.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "model/phrases.hpp"
#include "report/terminal.hpp"
#include "terminal.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;
using analyze::Change;
using analyze::Comparison;

constexpr std::size_t kShown = 20;

struct Side {
  diagnose::LoadedRun run;
  std::string path;
  bool complete = true;
};

Result<Side> open_side(const Arguments& arguments, const std::string& path,
                       const rules::RulePack& pack) {
  if (path != "-" && bundle::own_file(path) == bundle::OwnFile::database) {
    CULPRIT_TRY(db, store::Database::open(path, store::Access::read));
    const bool complete = !db.partial();
    CULPRIT_TRY(run, diagnose::load_run(std::move(db)));
    return Side{std::move(run), path, complete};
  }
  CULPRIT_TRY(db, diagnose::open_new(std::vector<std::string>{path}, ""));
  CULPRIT_TRY(read, read_sources(arguments, {path}, pack, db));
  CULPRIT_TRY(run, diagnose::load_run(std::move(db)));
  return Side{std::move(run), path, !read.incomplete};
}

Result<Comparison> compare(Side& good, Side& bad, const rules::RulePack& pack,
                           const bundle::Limits& limits) {
  analyze::TemplateMiner miner;
  for (const Side* side : {&good, &bad})
    for (const HostRow& h : side->run.resolved.facts.hosts) {
      miner.add_host(h.host);
      miner.add_host(analyze::short_host(h.host));
    }
  const bool lines = !good.run.sources.empty() && !bad.run.sources.empty();
  std::size_t index = 0;
  for (Side* side : {&good, &bad}) {
    if (lines)
      CULPRIT_CHECK(diagnose::mine_lines(side->run, index, limits, miner));
    else
      diagnose::mine_exceptions(side->run, index, miner);
    ++index;
  }
  const std::size_t kept = miner.words_kept();
  Comparison out =
      analyze::compare_runs(good.run.view(), bad.run.view(), miner.templates(), pack,
                            rules::DriftRules::built_in(), rules::Catalogue::built_in());
  if (!lines) out.notes.push_back(say(Phrase::known_lines_only));
  if (kept > 0) out.notes.push_back(say(Phrase::very_many_templates, kept));
  for (const Side* side : {&good, &bad})
    if (!side->complete) out.notes.push_back(say(Phrase::not_read_to_its_end, side->path));
  return out;
}

std::string answer(const Comparison& c) {
  if (c.changes.empty()) return "Nothing that is known of both runs changed.";
  return fmt::format("{} change{} since it worked; the most telling: {}.", c.changes.size(),
                     c.changes.size() == 1 ? "" : "s", report::words(c.changes.front().title));
}

std::string_view heading(analyze::ChangeKind kind) {
  switch (kind) {
    case analyze::ChangeKind::setting: return "setting";
    case analyze::ChangeKind::shape: return "job";
    case analyze::ChangeKind::new_lines: return "new line";
    case analyze::ChangeKind::gone_lines: return "gone line";
    case analyze::ChangeKind::rate_of_lines: return "rate";
    case analyze::ChangeKind::metric: return "metric";
    case analyze::ChangeKind::machine: return "machine";
    case analyze::ChangeKind::step_time: return "pace";
    case analyze::ChangeKind::hosts: return "hosts";
  }
  return "";
}

std::string text(const Arguments& arguments, const Comparison& c) {
  const std::size_t width = std::max<std::size_t>(60, terminal_width());
  const std::string first = report::wrapped(report::visible(answer(c)), width - 2, 0);
  std::string out = report::Ink{use_color(arguments)}.bold(first) + "\n";
  const std::size_t most =
      arguments.has("all") ? c.changes.size() : std::min(kShown, c.changes.size());
  for (std::size_t i = 0; i < most; ++i) {
    const Change& change = c.changes[i];
    out +=
        fmt::format("\n{:>3}. {:<9} {}\n", i + 1, heading(change.kind),
                    report::wrapped(report::visible(report::words(change.title)), width, 15, 15));
    if (!change.hosts.empty())
      out += fmt::format("               on {}\n",
                         report::visible(analyze::named_some(change.hosts, 8)));
    for (const auto& p : change.places)
      out += fmt::format("               {} {}:{}\n", p.in_bad ? "bad " : "good",
                         report::visible(p.path), p.line);
  }
  if (most < c.changes.size())
    out += fmt::format("\n{} more with --all\n", c.changes.size() - most);
  if (!c.notes.empty()) out += "\n";
  for (const std::string& note : report::words(c.notes))
    out += report::paragraph("note: ", report::visible(note), width, 6, 6);
  return out;
}

Json json_of(const Comparison& c, const Side& good, const Side& bad) {
  const auto side = [](const Side& s) {
    Json hosts = Json::array();
    for (const HostRow& h : s.run.resolved.facts.hosts) hosts.push_back(h.host);
    return Json{{"path", s.path},
                {"complete", s.complete},
                {"members", s.run.resolved.facts.members.size()},
                {"steps", s.run.steps.size()},
                {"hosts", hosts}};
  };
  Json out = {{"schema", "culprit.compare/1"},
              {"answer", answer(c)},
              {"good", side(good)},
              {"bad", side(bad)},
              {"changes", Json::array()},
              {"notes", report::words(c.notes)}};
  for (const Change& change : c.changes) {
    Json places = Json::array();
    for (const auto& p : change.places)
      places.push_back({{"run", p.in_bad ? "bad" : "good"}, {"path", p.path}, {"line", p.line}});
    out["changes"].push_back(
        {{"kind", name(change.kind)},
         {"score", std::round(change.score * 1000) / 1000},
         {"what", change.what},
         {"title", report::words(change.title)},
         {"good", change.good},
         {"bad", change.bad},
         {"effect", std::isfinite(change.effect) ? Json(std::round(change.effect * 1000) / 1000)
                                                 : Json(nullptr)},
         {"class", change.event_class},
         {"hosts", change.hosts},
         {"places", places}});
  }
  return out;
}

Result<Exit> run(const Arguments& arguments) {
  if (arguments.positional().size() != 2)
    return usage_error("compare needs two: a run that worked and one that did not")
        .hint("culprit compare good.tar.gz bad.tar.gz");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(good, open_side(arguments, arguments.positional()[0], pack));
  CULPRIT_TRY(bad, open_side(arguments, arguments.positional()[1], pack));
  CULPRIT_TRY(options, read_options(arguments));
  CULPRIT_TRY(found, compare(good, bad, pack, options.limits));
  print(wants_json(arguments) ? identified(json_text(json_of(found, good, bad)) + "\n")
                              : text(arguments, found));
  return arguments.has("strict") && !(good.complete && bad.complete) ? Exit::incomplete
                                                                     : Exit::finished;
}

constexpr auto kOptions =
    joined({{"all", nullptr, "print all changes, not the twenty most telling ones"},
            {"format", "FORMAT", "text or json"},
            {"json", nullptr, "the same as --format json"},
            {"strict", nullptr, "exit with 4 when something of a bundle could not be read"}},
           kRulesOption, kTimezoneOption, kThreadsOption, kLimitOptions);

}  // namespace

Result<Json> compared_answer(const Arguments& arguments, const std::string& good,
                             const std::string& bad, const rules::RulePack& pack) {
  CULPRIT_TRY(a, open_side(arguments, good, pack));
  CULPRIT_TRY(b, open_side(arguments, bad, pack));
  for (Side* side : {&a, &b})
    if (!side->run.db.path().empty()) side->run.sources.clear();
  CULPRIT_TRY(options, read_options(arguments));
  CULPRIT_TRY(found, compare(a, b, pack, options.limits));
  return json_of(found, a, b);
}

constinit const Command kCompare{"compare",
                                 "what changed between a run that worked and one that did not",
                                 "compare GOOD BAD [options]",
                                 "  culprit compare monday.tar.gz tuesday.tar.gz\n"
                                 "  culprit compare good/incident.db bad/incident.db --json\n\n"
                                 "  GOOD and BAD are bundles or databases. Versions and settings, "
                                 "kinds of log lines that are new, gone or\n"
                                 "  more frequent, metrics, step time and hosts; the most telling "
                                 "change first. No change accuses anybody.\n",
                                 kOptions,
                                 run};

}  // namespace culprit::cli
