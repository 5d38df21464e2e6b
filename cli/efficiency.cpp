// efficiency FILE: how much of a job was training, from its progress table.
#include "analyze/pace/efficiency.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "analyze/pace/interruptions.hpp"
#include "analyze/pace/loss_signals.hpp"
#include "command.hpp"
#include "efficiency_detectors.hpp"
#include "efficiency_starts.hpp"
#include "model/json.hpp"
#include "diagnose/pace.hpp"
#include "pack.hpp"
#include "incident.hpp"
#include "ingest/table/table_times.hpp"
#include "report/terminal.hpp"
#include "table_file.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 78;

// A slow interval as `changepoints` and `diagnose` tell it.
struct SlowStretch {
  std::int64_t first = 0, last = 0;  // iterations
  double factor = 1, cost_ms = 0;
  bool relieved = false;
};

std::vector<SlowStretch> stretches_of(
    const analyze::FailSlow& report, const std::function<std::int64_t(std::size_t)>& iteration,
    const std::function<double(const analyze::SlowInterval&)>& cost) {
  std::vector<SlowStretch> out;
  for (const analyze::SlowInterval& s : report.intervals)
    out.push_back({iteration(s.start), iteration(s.end - 1), s.factor, cost(s), s.relieved});
  return out;
}

// What a table and an incident both give.
struct Progress {
  analyze::JobTimes job;
  std::vector<analyze::LossRecord> losses;
  std::vector<std::int64_t> checkpoints;
  std::vector<std::string> notes;
  std::vector<SlowStretch> slow;
  std::vector<Finding> hints;  // that the machines stood still at the end
  std::vector<analyze::Start> starts;
  analyze::Detections detections;
};

std::vector<std::string> notes_of(const Progress& progress, const analyze::Efficiency& e,
                                  const analyze::LossSignals& s) {
  std::vector<std::string> out = progress.notes;
  for (const auto* list : {&e.notes, &s.notes})
    for (std::string& note : report::words(*list)) out.push_back(std::move(note));
  return out;
}

std::optional<std::int64_t> whole(double v) {
  if (!(std::abs(v) < 9e15)) return std::nullopt;
  return static_cast<std::int64_t>(v);
}

// NaN and Inf are missing numbers to a table and news to a loss.
std::optional<double> value_of(const ingest::TableColumn* c, std::size_t row) {
  if (!c) return std::nullopt;
  if (!std::isnan(c->values[row])) return c->values[row];
  const std::string word = ingest::folded_name(c->cells[row]);
  if (word == "nan") return std::nan("");
  if (word == "inf" || word == "infinity")
    return c->cells[row].starts_with('-') ? -HUGE_VAL : HUGE_VAL;
  return std::nullopt;
}

Result<Progress> from_table(const ingest::BareTable& table, const std::string& path) {
  const auto* iteration = table.named({"iteration", "iter", "globalstep", "step", "it"});
  if (!iteration) iteration = table.first(ingest::TableColumn::Use::iteration);
  if (!iteration)
    return fail("the table has no column of iterations")
        .at({path, 1})
        .hint("name it iteration or step");
  const auto* time = table.named({"endtime", "end", "ts", "timestamp", "time", "datetime", "date",
                                  "walltime", "tsns", "timens"});
  if (!time) time = table.first(ingest::TableColumn::Use::time);
  const auto* ms =
      table.named({"iterms", "iterationms", "stepms", "itertimems", "iterationtimems", "steptimems",
                   "elapsedtimeperiterationms", "elapsedms", "durationms"});
  const auto* seconds =
      ms ? nullptr
         : table.named({"iters", "itertime", "iterationtime", "steptime", "duration", "elapsed",
                        "steptimes", "itertimes", "stepseconds"});
  if (!time && !ms && !seconds)
    return fail("the table has neither times nor durations")
        .at({path, 1})
        .hint("name the column of times time, that of durations iter_ms");
  const auto* loss = table.named({"loss", "lmloss", "trainloss"});
  const auto* norm = table.named({"gradnorm", "gradientnorm"});
  const auto* attempt = table.named({"attempt", "run", "restart"});
  const auto* rank = table.named({"rank", "globalrank"});

  Progress out;
  std::optional<std::int64_t> only;
  if (rank) {
    bool several = false;
    for (const double v : rank->values)
      if (const auto r = whole(v)) {
        several = several || (only && *only != *r);
        only = only ? std::min(*only, *r) : *r;
      }
    if (several)
      out.notes.push_back(fmt::format("several ranks are in the table: rank {} is taken", *only));
  }
  const ingest::TableTimes times = time ? ingest::table_times(*time) : ingest::TableTimes{};
  std::size_t without = 0, others = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (only && whole(rank->values[row]) != only) {
      ++others;
      continue;
    }
    const auto i = whole(iteration->values[row]);
    if (!i) {
      ++without;
      continue;
    }
    analyze::StepRecord s;
    s.iteration = *i;
    if (attempt) s.attempt = whole(attempt->values[row]).value_or(0);
    if (time && times.times[row] != kNoValue) s.end = times.times[row];
    if (ms)
      s.ms = ms->values[row];
    else if (seconds)
      s.ms = seconds->values[row] * 1000;
    out.job.steps.push_back(s);
    if (loss || norm) out.losses.push_back({*i, value_of(loss, row), value_of(norm, row)});
  }
  if (ms || seconds) {
    std::vector<double> durations, numbers, clock;
    for (const analyze::StepRecord& s : out.job.steps) {
      durations.push_back(s.ms.value_or(std::nan("")));
      numbers.push_back(static_cast<double>(s.iteration));
      if (s.end) clock.push_back(static_cast<double>(*s.end) / 1e6);
    }
    if (clock.size() != durations.size()) clock.clear();
    out.slow = stretches_of(
        analyze::find_fail_slow({durations, numbers, clock}),
        [&](std::size_t i) { return out.job.steps[i].iteration; },
        [](const analyze::SlowInterval& s) { return s.cost; });
  }
  if (without)
    out.notes.push_back(fmt::format("{} rows have no iteration and were left out", without));
  if (others) out.notes.push_back(fmt::format("{} rows of other ranks were left out", others));
  return out;
}

Progress from_incident(const Incident& incident) {
  const diagnose::Pace pace = diagnose::pace_of(incident.db, incident.resolved.facts);
  const analyze::JobSteps& steps = pace.steps;
  Progress out;
  out.slow = stretches_of(
      pace.report,
      [&](std::size_t i) {
        return steps.iteration[i] == kNoValue ? static_cast<std::int64_t>(i) : steps.iteration[i];
      },
      [&](const analyze::SlowInterval& s) { return analyze::interval_cost_ms(steps, s); });
  const analyze::IncidentMetrics metrics =
      diagnose::metrics_of(incident.db, incident.resolved.facts);
  for (Finding& f : diagnose::stalls_of(incident.db, incident.resolved.facts, metrics))
    if (f.fired()) out.hints.push_back(std::move(f));
  out.detections = analyze::detections(incident.resolved.facts, steps, pace.jobs, pace.report,
                                       metrics, rules::Catalogue::built_in());
  out.job = diagnose::job_times(incident.resolved.facts, steps);
  out.starts =
      analyze::restart_parts(incident.resolved.facts, steps, incident.db.start_marks(), pace.loads);
  out.job.interruptions = analyze::interruptions(incident.resolved.facts, steps, out.starts);
  out.losses = analyze::losses_of(steps);
  // Where the program says when a checkpoint is complete, one that was only begun is none.
  const bool ends = std::ranges::any_of(pace.checkpoints, [](const analyze::JobCheckpoint& c) {
    return c.event == CheckpointEvent::saved;
  });
  for (const analyze::JobCheckpoint& c : pace.checkpoints)
    if (c.iteration && c.event == (ends ? CheckpointEvent::saved : CheckpointEvent::saving))
      out.checkpoints.push_back(*c.iteration);
  for (const std::string& path : steps.sources) out.notes.push_back("steps are those of " + path);
  if (!steps.from_calls.empty())
    out.notes.push_back(report::words(steps.from_calls) +
                        "; without their numbers no share of the time is known");
  if (steps.from_times)
    out.notes.push_back("no step times are printed: they are the distances of the lines' times");
  return out;
}

std::vector<std::pair<const char*, Nanoseconds>> parts_of(const analyze::TimeParts& p) {
  return {{"training", p.productive},         {"slow steps", p.slow},
          {"recomputation", p.recomputation}, {"detection", p.detection},
          {"localisation", p.localisation},   {"restart", p.restart},
          {"unexplained", p.unexplained},     {"start-up", p.start_up},
          {"between steps", p.between_steps}, {"after the last step", p.after}};
}

std::string duration_ms(double ms) {
  return human_duration(static_cast<Nanoseconds>(std::clamp(ms, 0.0, 9e12) * 1e6));
}

std::string to_text(const analyze::Efficiency& e, const analyze::LossSignals& s,
                    const Progress& progress) {
  const auto wrapped = [](const std::string& text) {
    return report::paragraph("", report::visible(text), kWidth, 2);
  };
  std::string out;
  if (e.enough) {
    out += fmt::format("Effective training time (ETTR) {:.1f} %: {} iterations in {}\n",
                       e.ettr * 100, e.steps, human_duration(e.end - e.start));
    out += "  the share of the time in which steps were done for the first time, slow or not\n";
    if (e.sliding_lowest)
      out += fmt::format("  lowest hour {:.1f} %, until {}\n", e.sliding_lowest->value * 100,
                         iso_utc(e.sliding_lowest->time));
    out += fmt::format("  {} run{}, {} iterations computed again\n\nWhere the time went\n",
                       e.runs.size(), e.runs.size() == 1 ? "" : "s", e.recomputed_steps);
    const double wall = std::max(1.0, static_cast<double>(e.end - e.start));
    for (const auto& [name, part] : parts_of(e.parts)) {
      if (part < 1'000'000) continue;  // rounding of the times
      out += fmt::format("  {:<20} {:>10}  {:>5.1f} %", name, human_duration(part),
                         static_cast<double>(part) / wall * 100);
      if (const auto hours = analyze::gpu_hours(part, e.gpus))
        out += fmt::format("  {:>10.1f} GPU-hours", *hours);
      out += "\n";
    }
  } else {
    out += wrapped(
        fmt::format("Effective training time: not enough evidence: {}", report::words(e.why)));
  }
  out += starts_text(progress.starts);
  out += detectors_text(progress.detections, progress.job.gpus);
  if (e.degradation) {
    const auto& d = *e.degradation;
    out += fmt::format(
        "\nSlow steps: {} above {:.1f} ms (1.2 times the mean of {:.1f});\n  degradation {:.2f} %, "
        "against 1.2 times the median ({:.1f} ms) {:.2f} %\n",
        d.slow_steps, d.threshold_ms, d.mean_ms, d.share * 100, d.median_ms, d.robust_share * 100);
  }
  for (const SlowStretch& slow : progress.slow)
    out += wrapped(fmt::format(
        "Slow interval: iterations {} to {} took {:.2f} times as long{}; lost {}{}", slow.first,
        slow.last, slow.factor, slow.relieved ? "" : ", and it lasts", duration_ms(slow.cost_ms),
        analyze::gpu_hours(static_cast<Nanoseconds>(std::clamp(slow.cost_ms, 0.0, 9e12) * 1e6),
                           e.gpus)
            ? fmt::format(
                  " ({:.1f} GPU-hours)",
                  *analyze::gpu_hours(
                      static_cast<Nanoseconds>(std::clamp(slow.cost_ms, 0.0, 9e12) * 1e6), e.gpus))
            : ""));
  for (const Finding& hint : progress.hints)
    out += wrapped(
        fmt::format("Hint of a hang: {}; {}", report::words(hint.title), report::words(hint.why)));
  if (e.mfu)
    out += fmt::format("Relative MFU: best stretch {:.2f} times the worst; the last {:.2f}\n",
                       e.mfu->highest, e.mfu->last);
  for (const auto& spike : s.spikes)
    out += fmt::format("{} spike: iteration {}{}, {:.4g}, usually {:.4g}\n",
                       spike.metric == "loss" ? "Loss" : "Gradient norm", spike.first,
                       spike.last == spike.first ? "" : fmt::format(" to {}", spike.last),
                       spike.peak, spike.usual);
  if (s.first_bad) {
    out += wrapped(fmt::format(
        "{} is {} first at iteration {}; last good iteration {}{}", s.bad_metric, s.bad_value,
        *s.first_bad, s.last_good ? fmt::format("{}", *s.last_good) : "unknown",
        s.checkpoint ? fmt::format("; last checkpoint before it {}", *s.checkpoint) : ""));
  }
  std::string remarks;
  for (const std::string& n : notes_of(progress, e, s))
    remarks += report::paragraph("  ", report::visible(n), kWidth - 2, 2);
  if (!remarks.empty()) out += "\nNotes\n" + remarks;
  return out;
}

Json curve_json(const std::vector<analyze::CurvePoint>& curve) {
  Json out = Json::array();
  for (const auto& p : curve) out.push_back({{"time_ns", p.time}, {"value", p.value}});
  return out;
}

std::string to_json(const analyze::Efficiency& e, const analyze::LossSignals& s,
                    const Progress& progress) {
  const auto maybe = [](const auto& v) { return v ? Json(*v) : Json(nullptr); };
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  Json out;
  out["schema"] = "culprit.efficiency/1";
  out["enough"] = e.enough;
  if (!e.enough) out["why"] = report::words(e.why);
  if (e.enough) {
    out["start_ns"] = e.start;
    out["end_ns"] = e.end;
    out["ettr"] = e.ettr;
    out["sliding_lowest"] = e.sliding_lowest ? Json{{"time_ns", e.sliding_lowest->time},
                                                    {"value", e.sliding_lowest->value}}
                                             : Json(nullptr);
    out["iterations"] = e.steps;
    out["recomputed"] = e.recomputed_steps;
    Json parts = Json::object();
    for (const auto& [name, part] : parts_of(e.parts))
      parts[name] = {{"ns", part}, {"gpu_hours", maybe(analyze::gpu_hours(part, e.gpus))}};
    out["parts"] = std::move(parts);
    out["runs"] = Json::array();
    for (const auto& r : e.runs)
      out["runs"].push_back({{"attempt", r.attempt},
                             {"first", r.first},
                             {"last", r.last},
                             {"begin_ns", r.begin},
                             {"end_ns", r.end},
                             {"recomputed_ns", r.recomputed}});
    out["cumulative"] = curve_json(e.cumulative);
    out["sliding"] = curve_json(e.sliding);
  }
  if (progress.detections.end)
    out["detectors"] = detectors_json(progress.detections, progress.job.gpus);
  if (!progress.starts.empty()) out["starts"] = starts_json(progress.starts);
  if (e.degradation) {
    const auto& d = *e.degradation;
    out["degradation"] = {{"mean_ms", d.mean_ms},
                          {"median_ms", d.median_ms},
                          {"threshold_ms", d.threshold_ms},
                          {"slow_steps", d.slow_steps},
                          {"share", d.share},
                          {"robust_threshold_ms", d.robust_threshold_ms},
                          {"robust_share", d.robust_share}};
  }
  if (e.mfu)
    out["relative_mfu"] = {{"highest", e.mfu->highest},
                           {"last", e.mfu->last},
                           {"worst_of_best", e.mfu->worst_of_best},
                           {"curve", curve_json(e.mfu->curve)}};
  out["spikes"] = Json::array();
  for (const auto& k : s.spikes)
    out["spikes"].push_back({{"metric", k.metric},
                             {"first", k.first},
                             {"last", k.last},
                             {"peak", number(k.peak)},
                             {"usual", number(k.usual)}});
  out["not_finite"] =
      s.first_bad ? Json{{"metric", s.bad_metric},           {"value", s.bad_value},
                         {"iteration", *s.first_bad},        {"rows", s.bad_rows},
                         {"recovered", s.recovered},         {"last_good", maybe(s.last_good)},
                         {"checkpoint", maybe(s.checkpoint)}}
                  : Json(nullptr);
  out["slow_intervals"] = Json::array();
  for (const SlowStretch& slow : progress.slow)
    out["slow_intervals"].push_back({{"first", slow.first},
                                     {"last", slow.last},
                                     {"factor", number(slow.factor)},
                                     {"cost_ms", number(slow.cost_ms)},
                                     {"relieved", slow.relieved}});
  out["hints"] = Json::array();
  for (const Finding& hint : progress.hints)
    out["hints"].push_back({{"what", report::words(hint.title)},
                            {"start_ns", maybe(hint.start)},
                            {"end_ns", maybe(hint.end)},
                            {"why", report::words(hint.why)}});
  out["notes"] = notes_of(progress, e, s);
  return json_text(out) + "\n";
}

Result<Exit> run_efficiency(const Arguments& arguments) {
  const bool whole_incident = names_incident(arguments);
  if (!whole_incident && arguments.positional().size() != 1)
    return usage_error("efficiency needs a database, a bundle or one table")
        .hint("culprit efficiency -d incident.db, culprit efficiency steps.csv");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(gpus, arguments.number("gpus", 0));
  Progress progress;
  std::optional<Incident> incident;
  if (whole_incident) {
    CULPRIT_TRY(pack, load_pack(arguments));
    CULPRIT_TRY(opened, open_incident(arguments, pack));
    progress = from_incident(incident.emplace(std::move(opened)));
  } else {
    const std::string& path = arguments.positional()[0];
    CULPRIT_TRY(table, read_table_file(arguments, path));
    CULPRIT_TRY(read, from_table(table, path));
    progress = std::move(read);
  }
  if (gpus > 0) progress.job.gpus = static_cast<double>(gpus);
  for (const std::string& c : arguments.all("checkpoint")) {
    double v = 0;
    if (!ingest::cell_number(c, v) || !whole(v))
      return usage_error(fmt::format("--checkpoint takes an iteration, not '{}'", c));
    progress.checkpoints.push_back(*whole(v));
  }
  const auto result = analyze::efficiency(progress.job);
  auto signals = analyze::loss_signals(progress.losses, progress.checkpoints);
  if (!wants_json(arguments)) {
    print(to_text(result, signals, progress));
    return Exit::finished;
  }
  std::string json = to_json(result, signals, progress);
  print(incident ? identified(std::move(json), *incident) : identified(std::move(json)));
  return Exit::finished;
}

constexpr auto kEfficiencyOptions = with_read_options({
    {"db,d", "FILE", "the database that `ingest` made; with a BUNDLE, where to keep it"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
    {"gpus", "N", "GPUs of the job, to tell GPU-hours"},
    {"checkpoint", "N", "iteration of which a checkpoint exists (may be repeated)"},
});

}  // namespace

constinit const Command kEfficiency{"efficiency",
                                    "how much of the time was training",
                                    "efficiency [BUNDLE...|TABLE] [-d FILE] [options]",
                                    "  culprit efficiency -d incident.db\n"
                                    "  culprit efficiency steps.csv --gpus 1024\n"
                                    "  culprit efficiency metrics/rank_0.jsonl --format json\n\n"
                                    "  A table has a row for each step (CSV, JSON, JSON lines; - "
                                    "is standard input) with columns such as\n"
                                    "  iteration, time, iter_ms, loss, grad_norm, attempt.\n",
                                    kEfficiencyOptions,
                                    run_efficiency};

}  // namespace culprit::cli
