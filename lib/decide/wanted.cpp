// Asks for the files that would have settled an open verdict, the likeliest first.
#include "decide/walk.hpp"

#include <algorithm>

#include "decide/ledger.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

constexpr std::size_t kMostWanted = 4;  // a person collects the first one or two
constexpr std::size_t kMostNamed = 3;   // machines that are asked of one by one

// General wishes of the steps, which what is asked for here takes the place of.
constexpr Phrase kGeneral[] = {
    Phrase::kernel_log_of_both,
    Phrase::collect_logs_of_host,
    Phrase::stacks_of_that_rank,
    Phrase::recorder_never_entered,
    Phrase::stacks_of_all_while_hanging,
    Phrase::recorder_and_ncclras,
    Phrase::collect_host_state,
    Phrase::collect_kernel_logs_short,
    Phrase::collect_job_json,
    Phrase::collect_stacks_while_slow,
    Phrase::is_machine_alive,
    Phrase::next_time_stacks,
    Phrase::next_time_recorder,
};

// How likely it is that a file settles the question, as far as incidents with one source left out
// tell (bench/counterfactual.py). Only the order of these counts.
namespace worth {
constexpr int kPlace = 95;        // names a place for what is known without one
constexpr int kTimeOfFault = 90;  // a fault that only lacks its moment
constexpr int kOwnWords = 85;     // the last words of who is suspected, and was not collected
constexpr int kDumpOfSuspect = 84;
constexpr int kKernelOfSuspect = 80;
constexpr int kMetrics = 78;
constexpr int kSilentHosts = 76;  // machines of the job of which no output was collected
constexpr int kKernelOfAll = 74;
constexpr int kDumpsOfAll = 72;
constexpr int kTimesOfAll = 70;
constexpr int kScheduler = 60;
constexpr int kHistory = 55;
constexpr int kNetwork = 50;
}  // namespace worth

struct Wish {
  int worth = 0;
  NextStep step;
};

// Machines that failed alike at once may hang on one switch.
bool several_isolated(const Walk& w) {
  std::size_t hosts = 0;
  for (const Target& t : w.verdict.targets) hosts += t.subject.kind == SubjectKind::host;
  return w.verdict.action == Action::isolate && hosts > 1 &&
         w.verdict.symptom == Symptom::infiniband_error;
}

class Asking {
 public:
  explicit Asking(Walk& w) : w_(w), c_(w.incident), holds_(w.incident.holds) {
    for (const Target& t : w.verdict.targets) see_target(t.subject);
    for (const Finding& f : c_.findings)
      if (f.fired(Analysis::classify) && f.role == Role::cascade) {
        if (!first_ || (f.start && (!first_->start || *f.start < *first_->start))) first_ = &f;
      }
    if (suspects_.empty() && first_ != nullptr) {
      if (const auto& peer = line_of(*first_).peer; peer && known_host(Host(*peer)))
        suspects_.push_back(Host(*peer));
      if (first_->hosts.size() <= kMostNamed)
        for (const Host& host : first_->hosts) add_suspect(host);
    }
    // Logs that end without a word: the job may be standing.
    hang_ = w.verdict.symptom == Symptom::job_hang || timed_out(w) ||
            (w.verdict.symptom == Symptom::none && !after_effects(w) && w.best() == nullptr);
  }

  void run() {
    if (!slow()) {  // nothing failed: no words are the last ones
      ask_for_times();
      ask_for_output();
    }
    if (hang_) ask_for_dumps();
    if (w_.verdict.symptom != Symptom::nan_value) ask_for_kernel_logs();
    ask_for_metrics();
    ask_for_records();
    sort_rows(wishes_, [](const Wish& a, const Wish& b) { return a.worth > b.worth; });
    auto& all = w_.verdict.next;
    std::erase_if(all, [](const NextStep& n) {
      return n.kind == NextKind::collect && !n.text.empty() &&
             contains(kGeneral, n.text.clauses().front().phrase);
    });
    // Commands first: they can be run at once.
    auto at =
        std::ranges::find_if(all, [](const NextStep& n) { return n.kind != NextKind::command; });
    for (std::size_t i = 0; i < wishes_.size() && i < kMostWanted; ++i)
      at = std::next(all.insert(at, wishes_[i].step));
  }

 private:
  bool known_host(const Host& host) const {
    return std::binary_search(c_.all_hosts.begin(), c_.all_hosts.end(), host);
  }
  void add_suspect(const Host& host) {
    if (known_host(host) && !contains(suspects_, host)) suspects_.push_back(host);
  }
  Host host_of(Rank rank) const {
    const auto at =
        std::lower_bound(c_.places.begin(), c_.places.end(), rank,
                         [](const auto& place, Rank wanted) { return place.first < wanted; });
    return at != c_.places.end() && at->first == rank ? at->second : Host();
  }
  void see_target(const Subject& s) {
    if (s.kind == SubjectKind::host || s.kind == SubjectKind::gpu || s.kind == SubjectKind::nic) {
      add_suspect(decide::machine_of(s));
    } else if (s.kind == SubjectKind::rank) {
      const Rank rank{std::strtoll(s.id.c_str(), nullptr, 10)};
      ranks_.push_back(rank);
      if (const Host host = host_of(rank); !host.empty()) add_suspect(host);
    } else if (s.kind == SubjectKind::group) {
      group_ = s.id;
    }
  }
  void want(int worth, Source source, Subject of, Text text) {
    for (const Wish& one : wishes_)
      if (one.step.source == source && one.step.of == of) return;
    wishes_.push_back({worth, {NextKind::collect, std::move(text), source, std::move(of)}});
  }
  static Subject host(const Host& name) { return {SubjectKind::host, name}; }
  static Subject job() { return {SubjectKind::job, "job"}; }
  Text around() const { return at(w_.verdict.start ? w_.verdict.start : c_.job_end); }

  // A fault that would be the cause if only its moment were known.
  void ask_for_times() {
    for (const Excluded& e : w_.first.excluded) {
      if (e.reason != Exclusion::unplaced || !e.finding->host) continue;
      const Host& name = *e.finding->host;
      want(worth::kTimeOfFault, Source::times, host(name),
           say(Phrase::want_times_of, name, e.finding->event_class));
    }
    if (!holds_.times && !c_.last_progress)
      want(worth::kTimesOfAll, Source::times, job(), say(Phrase::want_times));
  }

  // Machines of the job of which not a line of the program was collected.
  void ask_for_output() {
    std::vector<Host> silent;
    for (const Host& name : c_.all_hosts)
      if (holds_.outputs.count(name) == 0) silent.push_back(name);
    for (const Host& name : suspects_)
      if (holds_.outputs.count(name) == 0)
        want(worth::kOwnWords, Source::training_output, host(name),
             say(Phrase::want_output_of, name));
    ask_for_output_of_ranks();
    if (silent.empty() || (holds_.outputs.empty() && c_.any_training_output)) return;
    if (silent.size() <= kMostNamed) {
      for (const Host& name : silent)
        want(worth::kSilentHosts, Source::training_output, host(name),
             say(Phrase::want_output_of, name));
    } else {
      want(worth::kSilentHosts, Source::training_output, job(),
           say(Phrase::want_output_of_all, list(silent)));
    }
  }

  // A file a rank, and some are missing: of whom is suspected, or of few at all.
  void ask_for_output_of_ranks() {
    if (4 * holds_.ranks.size() < c_.ranks) return;
    std::vector<Rank> missing, suspected;
    for (const auto& [rank, host] : c_.places) {
      if (holds_.ranks.count(rank) > 0) continue;
      missing.push_back(rank);
      if (contains(suspects_, host)) suspected.push_back(rank);
    }
    const auto& asked = suspected.empty() ? missing : suspected;
    if (asked.empty()) return;
    want(suspected.empty() ? worth::kSilentHosts : worth::kKernelOfSuspect - 1,
         Source::training_output,
         asked.size() == 1 ? Subject{SubjectKind::rank, std::to_string(number_of(asked.front()))}
                           : job(),
         say(asked.size() == 1 ? Phrase::want_output_of_rank : Phrase::want_output_of_ranks,
             to_ranges(asked)));
  }

  void ask_for_dumps() {
    bool one_missing = false;
    for (const Rank rank : ranks_) {
      const Subject of{SubjectKind::rank, std::to_string(number_of(rank))};
      const Host where = host_of(rank);
      const Text place = where.empty() ? Text() : on({where});
      if (holds_.stacks.count(rank) == 0)
        want(worth::kDumpOfSuspect, Source::stacks, of, say(Phrase::want_stacks_of, rank, place)),
            one_missing = true;
      if (c_.uses_gpus && holds_.recorders.count(rank) == 0)
        want(worth::kDumpOfSuspect - 1, Source::flight_recorder, of,
             say(Phrase::want_recorder_of, rank, place)),
            one_missing = true;
    }
    if (one_missing && ranks_.size() <= kMostNamed) return;
    if (!c_.has_recorder && c_.uses_gpus)
      want(worth::kDumpsOfAll, Source::flight_recorder, job(), say(Phrase::want_recorders));
    if (!c_.has_stacks)
      want(worth::kDumpsOfAll + 1, Source::stacks, job(), say(Phrase::want_stacks, kDumpStacks));
  }

  void ask_for_kernel_logs() {
    if (slow()) return;
    std::vector<Host> missing;
    for (const Host& name : suspects_)
      if (holds_.kernel_logs.count(name) == 0 && missing.size() < kMostNamed)
        missing.push_back(name);
    for (const Host& name : missing)
      want(worth::kKernelOfSuspect, Source::kernel_log, host(name),
           say(Phrase::want_kernel_log_of, name, around()));
    if (!missing.empty() && missing.size() == suspects_.size()) return;
    std::size_t without = 0;
    Host last;
    for (const Host& name : c_.all_hosts)
      if (holds_.kernel_logs.count(name) == 0) ++without, last = name;
    if (without == 1)
      want(worth::kKernelOfAll, Source::kernel_log, host(last),
           say(Phrase::want_kernel_log_of, last, around()));
    else if (without > 1 || (c_.all_hosts.empty() && holds_.kernel_logs.empty()))
      want(worth::kKernelOfAll, Source::kernel_log, job(), say(Phrase::want_kernel_logs, around()));
  }

  bool slow() const {
    const Symptom s = w_.verdict.symptom;
    return s == Symptom::mfu_decline || s == Symptom::network_congestion || s == Symptom::thermal ||
           s == Symptom::cpu_overload;
  }

  void ask_for_metrics() {
    if (!slow() && group_.empty()) return;
    std::vector<Host> without;
    for (const Host& name : c_.all_hosts)
      if (holds_.metrics.count(name) == 0) without.push_back(name);
    if (without.empty() && !holds_.metrics.empty()) return;
    const bool none = holds_.metrics.empty();
    if (!none && without.size() <= kMostNamed) {
      for (const Host& name : without)
        want(worth::kMetrics, Source::metrics, host(name), say(Phrase::want_metrics_of, name));
    } else {
      want(worth::kMetrics, Source::metrics, job(),
           say(slow() ? Phrase::want_metrics_slow : Phrase::want_metrics_network, around()));
    }
    if (slow() && !c_.has_stacks)
      want(worth::kDumpsOfAll, Source::stacks, job(), say(Phrase::want_stacks_slow));
  }

  void ask_for_records() {
    const bool killed = std::ranges::any_of(c_.exits, [](const ExitFact& x) {
      return x.code == -9 || x.code == 137 || x.code == -15 || x.code == 143;
    });
    if (!holds_.scheduler && (killed || !after_effects(w_)) && !slow() &&
        w_.verdict.symptom != Symptom::nan_value)
      want(worth::kScheduler + (killed ? 15 : 0), Source::scheduler, job(),
           say(Phrase::want_scheduler, around()));
    if (several_isolated(w_) && !holds_.network) {
      want(worth::kNetwork, Source::manifest, job(), say(Phrase::want_network));
      return;
    }
    const bool nameless = !c_.has_rank_map && (!ranks_.empty() || !group_.empty() || hang_);
    if (holds_.manifest) return;
    if (nameless)
      want(worth::kPlace, Source::manifest, job(), say(Phrase::want_places));
    else if (w_.verdict.symptom == Symptom::nan_value && holds_.attempts <= 1)
      want(worth::kHistory, Source::manifest, job(), say(Phrase::want_history));
    else if (suspects_.size() > 1 && !holds_.network && c_.all_hosts.size() > suspects_.size())
      want(worth::kNetwork, Source::manifest, job(), say(Phrase::want_network));
    else if (!c_.has_rank_map)
      want(worth::kNetwork, Source::manifest, job(), say(Phrase::want_places));
  }

  Walk& w_;
  const Case& c_;
  const Holdings& holds_;
  const Finding* first_ = nullptr;  // of the consequences
  std::vector<Host> suspects_;
  std::vector<Rank> ranks_;  // that the verdict names
  std::string group_;
  bool hang_ = false;
  std::vector<Wish> wishes_;
};

// Something is left open: who, or what.
bool open_question(const Walk& w) {
  const Verdict& v = w.verdict;
  switch (v.action) {
    case Action::investigate:
    case Action::checks: return true;
    case Action::isolate:
    case Action::mitigate:
      return v.precision != Precision::exact || v.targets.empty() || several_isolated(w) ||
             v.targets.front().confidence < confidence::kSettled;
    case Action::reattempt: return v.targets.empty() || v.precision != Precision::exact;
    default: return false;
  }
}

}  // namespace

void ask_for_missing(Walk& w) {
  // Of a bundle that says nothing, everything is missing, and its own step says so.
  if (!open_question(w) || w.verdict.steps.front().outcome == StepOutcome::taken) return;
  // Where nothing failed as far as the logs go, their end is what is missing: the step asks for it.
  if (w.verdict.symptom == Symptom::none && failure(w).empty()) return;
  Asking(w).run();
}

}  // namespace culprit::decide
