// Training steps as slices of a trace.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/pace/job_steps.hpp"
#include "diagnose/trace_canvas.hpp"

namespace culprit::diagnose {

namespace {

// Rows that have a time; of more than `most`, some in a row are one slice, never over a restart.
void put_steps(TraceCanvas& canvas, std::size_t track, const std::vector<std::int64_t>& iteration,
               const std::vector<std::int64_t>& time, const std::vector<double>& ms,
               const std::vector<double>& loss, std::size_t most) {
  struct Step {
    Nanoseconds begin, end;
    std::int64_t iteration;
    double loss;
  };
  std::vector<Step> steps;
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (!drawable(time[i])) continue;
    const bool goes_on = !steps.empty() && steps.back().end <= time[i];  // no restart
    Nanoseconds begin = goes_on ? steps.back().end : time[i];
    if (ms[i] >= 0 && ms[i] < kMostMs) {
      const Nanoseconds said = time[i] - std::llround(ms[i] * 1e6);
      begin = goes_on ? std::max(begin, said) : said;
    }
    steps.push_back({begin, time[i], iteration[i], loss[i]});
  }
  const std::size_t bucket = steps.size() / most + 1;
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t end = i + 1;
    while (end < steps.size() && end - i < bucket && steps[end].begin >= steps[end - 1].end &&
           steps[end].iteration > steps[end - 1].iteration)
      ++end;
    const Step &first = steps[i], &last = steps[end - 1];
    Trace::Args args;
    if (std::isfinite(last.loss)) args.emplace_back("loss", fmt::format("{:.6g}", last.loss));
    const bool named = first.iteration != kNoValue;
    canvas.add(track, first.begin, last.end,
               !named         ? std::string("step")
               : end - i == 1 ? fmt::format("step {}", first.iteration)
                              : fmt::format("steps {} to {}", first.iteration, last.iteration),
               "step", std::move(args));
    i = end;
  }
}

}  // namespace

void draw_steps(const store::Database& db, TraceCanvas& canvas) {
  std::vector<StepTable> tables;
  for (const MemberId id : analyze::step_logs(canvas.facts)) tables.push_back(db.steps(id));
  const analyze::JobSteps job = analyze::job_steps(canvas.facts, tables);
  std::vector<std::pair<std::int64_t, MemberId>> ranks;
  for (const ProgressSpan& p : canvas.facts.progress)
    if (const MemberRow* m = canvas.facts.member(p.member); canvas.facts.counts(m) && m->rank)
      if (!canvas.tracks.shared(canvas.tracks.track(m->host, m->rank, Lane::events)))
        ranks.emplace_back(m->order, p.member);
  std::ranges::sort(ranks);
  const std::size_t most = std::max<std::size_t>(20, canvas.limits.steps / (ranks.size() + 1));
  put_steps(canvas, canvas.tracks.track({}, {}, Lane::steps), job.iteration, job.time, job.ms,
            job.loss, most);
  for (const Nanoseconds time : job.time)
    if (drawable(time)) canvas.last_step = std::max(canvas.last_step.value_or(time), time);
  std::size_t left = canvas.limits.steps - std::min(canvas.limits.steps, most);
  for (const auto& [order, id] : ranks) {
    if (left < most) {
      ++canvas.left_out["steps of ranks"];
      continue;
    }
    left -= most;
    StepTable t = db.steps(id);
    const auto offset = canvas.facts.clock_offset(id, t.clock);
    if (!offset) continue;
    for (std::int64_t& time : t.times)
      time = time != kNoValue && drawable(time + *offset) ? time + *offset : kNoValue;
    const MemberRow* m = canvas.facts.member(id);
    put_steps(canvas, canvas.tracks.track(m->host, m->rank, Lane::steps), t.iteration, t.times,
              t.iteration_ms, t.loss, most);
  }
}

}  // namespace culprit::diagnose
