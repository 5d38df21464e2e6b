// culprit plan updates: what hot updates, and lazy ones, save against queueing the job again.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "command.hpp"
#include "from_incident.hpp"
#include "incident.hpp"
#include "input.hpp"
#include "measured_job.hpp"
#include "model/json.hpp"
#include "plan/updates.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr double kHour = 3600;
constexpr auto kPlanUpdatesOptions =
    joined({{"a-day", "N", "updates of the code a day"},
            {"urgent-a-day", "N", "of these, such as cannot wait (default 0)"},
            {"mtbf-min", "MIN", "minutes between failures of the whole job"},
            {"updates", "LIST", "hours at which updates were asked for, such as 3,20.5,31"},
            {"urgent", "LIST", "hours of those that could not wait"},
            {"failures", "LIST", "hours at which the job failed anyway"},
            {"hours", "H", "the time of the job, with --updates or --urgent"},
            {"requeue-s", "S", "seconds when the whole job is queued again (default 600)"},
            {"hot-s", "S", "seconds of an update in place (default 54)"},
            {"window-h", "H", "hours that an update may wait for a failure (default 24)"},
            {"gpus", "N", "GPUs of the job: time lost is told in GPU-hours, too"}},
           kPlanDatabase, kPlanOptions);

struct UpdateAnswer {
  plan::UpdateParams params;
  plan::UpdateCosts costs;
  double updates = 0;  // a day, or in `hours`
  double hours = 24;
  bool lived = false;  // of the times that are given; else expected
  double mtbf = 0;
  std::int64_t gpus = 0;
  std::vector<std::string> notes;
};

std::string duration(double s) {
  return s < 120    ? fmt::format("{:.1f} s", s)
         : s < 7200 ? fmt::format("{:.1f} min", s / 60)
                    : fmt::format("{:.1f} h", s / kHour);
}

std::string text_of(const UpdateAnswer& a) {
  const std::string span = a.lived ? fmt::format("in {:.4g} hours", a.hours) : "a day";
  std::string out = fmt::format("lazy updates lose {} {}, requeues {}\n",
                                duration(a.costs.lazy.lost), span, duration(a.costs.requeue.lost));
  out += fmt::format("  {:g} update{} {}; {}\n", a.updates, a.updates == 1 ? "" : "s", span,
                     a.lived ? "failures at the times given"
                             : fmt::format("a failure every {}", duration(a.mtbf)));
  out += fmt::format(
      "  a requeue takes {}, an update in place {}; what is not urgent waits for\n"
      "  the next failure, {} at most\n\n",
      duration(a.params.requeue), duration(a.params.hot), duration(a.params.window));
  out += fmt::format("  {:<18} {:>8} {:>12}{} {:>12} {:>12}\n", "", "stops", "lost",
                     a.gpus > 0 ? fmt::format(" {:>10}", "GPU-hours") : "", "mean wait", "longest");
  const auto row = [&](const char* name, const plan::UpdateCost& cost) {
    out += fmt::format(
        "  {:<18} {:>8.3g} {:>12}{} {:>12} {:>12}\n", name, cost.stops < 1e-3 ? 0 : cost.stops,
        duration(cost.lost),
        a.gpus > 0 ? fmt::format(" {:>10.1f}", cost.lost / kHour * static_cast<double>(a.gpus))
                   : "",
        duration(cost.wait), duration(cost.longest_wait));
  };
  row("requeue for each", a.costs.requeue);
  row("in place, at once", a.costs.hot);
  row("in place, lazily", a.costs.lazy);
  if (a.costs.lazy.pending > 0)
    out += fmt::format("\n  {:g} update{} still wait{} at the end\n", a.costs.lazy.pending,
                       a.costs.lazy.pending == 1 ? "" : "s", a.costs.lazy.pending == 1 ? "s" : "");
  for (const std::string& note : a.notes)
    out += report::paragraph("note: ", report::visible(note), 74, 6);
  return out;
}

std::string json_of(const UpdateAnswer& a) {
  const auto cost = [](const plan::UpdateCost& c) {
    return ordered_json{{"stops", c.stops},
                        {"lost_s", c.lost},
                        {"mean_wait_s", c.wait},
                        {"longest_wait_s", c.longest_wait},
                        {"pending", c.pending}};
  };
  ordered_json out{{"schema", "culprit.plan-updates/1"},
                   {"updates", a.updates},
                   {"hours", a.hours},
                   {"expected", !a.lived},
                   {"mtbf_s", a.lived ? ordered_json(nullptr) : ordered_json(a.mtbf)},
                   {"requeue_s", a.params.requeue},
                   {"hot_s", a.params.hot},
                   {"window_s", a.params.window},
                   {"requeue", cost(a.costs.requeue)},
                   {"hot", cost(a.costs.hot)},
                   {"lazy", cost(a.costs.lazy)}};
  if (!a.notes.empty()) out["notes"] = a.notes;
  return json_text(out) + "\n";
}

// The ends of the runs that failed, in seconds of the job's time; and that time.
std::vector<double> failures_of(const MeasuredJob& job, double& end) {
  std::vector<double> out;
  end = 0;
  for (std::size_t i = 0; i < job.trace.runs.size(); ++i) {
    if (i > 0) end += job.restart.value_or(0);
    end += job.trace.runs[i];
    if (i + 1 < job.trace.runs.size() || job.trace.last_failed) out.push_back(end);
  }
  return out;
}

Result<std::vector<double>> hours(const PlanInput& input, const char* name) {
  CULPRIT_TRY(list, input.reals(name, 0, 1e8, 1'000'000));
  for (double& one : list) one *= kHour;
  return list;
}

// What the job failed at, and when it ended.
struct KnownFailures {
  std::vector<double> times;
  double end = 0;
  bool known = false;
};

Result<KnownFailures> known_failures(const PlanInput& input, const Arguments& arguments,
                                     UpdateAnswer& answer) {
  KnownFailures out;
  if (names_plan_incident(arguments)) {
    CULPRIT_TRY(incident, open_plan_incident(arguments));
    const MeasuredJob job = measured_job(incident);
    out.times = failures_of(job, out.end);
    out.known = !job.trace.runs.empty();
    if (job.new_start && !input.has("requeue-s")) {
      const auto& [took, count, from_decision] = *job.new_start;
      answer.params.requeue = took;
      answer.notes.push_back(fmt::format(
          "a requeue is taken to last as long as the restarts of this job, {} ({} of them{})",
          duration(took), count, from_decision ? "" : ", detection of the failure included"));
    }
    answer.gpus = std::max<std::int64_t>(incident.resolved.facts.world_size, 0);
  }
  CULPRIT_TRY(failures, hours(input, "failures"));
  if (input.has("failures")) {
    out.times = std::move(failures);
    out.known = true;
  }
  CULPRIT_TRY(end, input.real("hours", out.end / kHour, 0, 1e8));
  out.end = end * kHour;
  return out;
}

Result<> replay_given(const PlanInput& input, const KnownFailures& failures, UpdateAnswer& answer) {
  CULPRIT_TRY(updates, hours(input, "updates"));
  CULPRIT_TRY(urgent, hours(input, "urgent"));
  for (const char* rate : {"a-day", "urgent-a-day", "mtbf-min"})
    if (input.has(rate))
      return input.complaint(rate, "is a rate, and the times of updates are given as well")
          .hint("give rates, or times: --updates 3,20 --failures 9 --hours 48");
  if (!(failures.end > 0) || !failures.known)
    return usage_error("plan updates needs the failures and the time of the job")
        .hint("--updates 3,20 --failures 9 --hours 48, or -d incident.db");
  std::vector<plan::RequestedUpdate> all;
  for (const double time : updates) all.push_back({time, false});
  for (const double time : urgent) all.push_back({time, true});
  answer.lived = true;
  answer.updates = static_cast<double>(all.size());
  answer.hours = failures.end / kHour;
  CULPRIT_TRY(costs,
              plan::replay_updates(std::move(all), failures.times, failures.end, answer.params));
  answer.costs = costs;
  return {};
}

Result<Exit> run_plan_updates(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanUpdatesOptions));
  UpdateAnswer answer;
  CULPRIT_TRY(failures, known_failures(input, arguments, answer));
  CULPRIT_CHECK(input.set("requeue-s", answer.params.requeue, 0, 1e9));
  CULPRIT_CHECK(input.set("hot-s", answer.params.hot, 0, 1e9));
  CULPRIT_TRY(window, input.real("window-h", answer.params.window / kHour, 0, 1e8));
  answer.params.window = window * kHour;
  CULPRIT_CHECK(input.set("gpus", answer.gpus, 0, 100'000'000));
  if (input.has("updates") || input.has("urgent")) {
    CULPRIT_CHECK(replay_given(input, failures, answer));
  } else {
    CULPRIT_TRY(updates, input.real("a-day", 0, 0, 1e6));
    CULPRIT_TRY(urgent, input.real("urgent-a-day", 0, 0, 1e6));
    // One failure is no rate.
    const double known = failures.times.size() > 1 && failures.end > 0
                             ? failures.end / static_cast<double>(failures.times.size())
                             : 0;
    CULPRIT_TRY(mtbf, input.real("mtbf-min", known / 60, 0, 1e9));
    if (!(mtbf > 0) || (!input.has("a-day") && !input.has("urgent-a-day")))
      return usage_error(mtbf > 0 ? "plan updates needs the updates"
                                  : "plan updates needs the time between failures")
          .hint(
              "--a-day 2 --mtbf-min 480; --updates 3,20 --failures 9 --hours 48; or "
              "-d incident.db with --a-day");
    if (urgent > updates && input.has("a-day"))
      return input.complaint("urgent-a-day", "is more than all updates of a day");
    answer.updates = std::max(updates, urgent);
    answer.mtbf = mtbf * 60;
    CULPRIT_TRY(
        costs, plan::expected_updates(answer.updates - urgent, urgent, answer.mtbf, answer.params));
    answer.costs = costs;
  }
  print(input.wants_json() ? identified(json_of(answer)) : text_of(answer));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanUpdates{
    "plan updates",
    "what updates in place save, at once and lazily",
    "plan updates [BUNDLE...] [options]",
    "  culprit plan updates --a-day 2 --mtbf-min 480 --gpus 8192\n"
    "  culprit plan updates --updates 3,20,31 --failures 9 --hours 48\n"
    "  culprit plan updates -d incident.db --a-day 1\n\n"
    "  Updates of the code: the job queued again for each, in place, or in place with the next\n"
    "  failure, or when a window is over.\n",
    kPlanUpdatesOptions,
    run_plan_updates};

}  // namespace culprit::cli
