// What the aggregation says as findings.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/hang/stacks.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Text of the line that the evidence cites, as its tool writes it: the innermost frame, or the head
// of the thread; "" when that cannot be told from the row.
std::string cited(const StackSample& sample, const StackTable& stacks, const std::string& path) {
  const StackRow& row = sample.row;
  if (path.ends_with(".json") || path.ends_with(".dot")) return "";
  if (row.source == "eu-stack") return row.tid ? fmt::format("TID {}:", *row.tid) : "";
  if (row.source == "faulthandler") return row.thread_id;
  const auto* frames =
      sample.stack < 0 ? nullptr : &stacks.stacks[static_cast<std::size_t>(sample.stack)];
  if (frames == nullptr || frames->empty()) {
    if (row.source == "pyspy") {
      if (row.tid) return fmt::format("Thread {}", *row.tid);
      return row.thread_id.empty() ? "" : "Thread " + row.thread_id;
    }
    if (row.source == "gdb" || row.source == "gdb-py" || row.source == "cuda-gdb")
      return row.tid ? fmt::format("LWP {}", *row.tid) : row.thread_id;
    return "";
  }
  const Frame& frame = stacks.frames[frames->front()];
  if (frame.function == "?") return "";
  if (row.source == "pyspy")
    return frame.file.empty() || frame.line == 0
               ? frame.function
               : fmt::format("{} ({}:{})", frame.function, frame.file, frame.line);
  if (row.source == "gdb-py" && !frame.native && frame.line > 0)
    return fmt::format("line {}, in {}", frame.line, frame.function);
  if (row.source == "gdb" || row.source == "gdb-py" || row.source == "cuda-gdb")
    return frame.function.substr(0, frame.function.find_first_of("<("));
  return "";
}

}  // namespace

Evidence evidence_of(const Facts& facts, std::size_t sample) {
  const StackSample& s = facts.samples[sample];
  Evidence out = facts.evidence(s.row.place);
  out.excerpt = cited(s, facts.stacks, out.path);
  return out;
}

namespace {

std::string own_code_of(const StackSink& sink) {
  if (sink.function.empty()) return "";
  if (sink.file.empty()) return sink.function;
  return fmt::format("{} ({})", sink.function,
                     place_of(std::string(base_name(sink.file)), sink.line));
}

Text machine(const std::vector<Host>& hosts) {
  if (hosts.size() == 1) return Text(hosts.front());
  return hosts.empty() ? Text() : say(Phrase::n_hosts, hosts.size());
}

void show_groups(const StackReport& report, const Facts& facts, Finding& f) {
  for (const StackGroup& g : report.groups)
    if (g.role == "trainer" && f.evidence.size() < 6)
      f.evidence.push_back(evidence_of(facts, g.sample));
}

// The job went on, or one snapshot does not say.
Finding no_hang(const Finding& base, const StackReport& report, const Facts& facts) {
  Finding f = base;
  f.subject = {SubjectKind::job, "job"};
  f.scope = Scope::job_wide;
  f.event_class = "stalled_rank";
  show_groups(report, facts, f);
  if (report.motion == Motion::moving) {
    f.id = "stacks/moving";
    f.outcome = Outcome::ruled_out;
    f.title = say(Phrase::snapshots_differ);
    f.confidence = confidence::kStacksSettled;
    f.why = report.motion_why + say(Phrase::full_stop);
  } else {
    f.id = "stacks/mixture";
    f.outcome = Outcome::not_enough_evidence;
    f.title = say(Phrase::one_snapshot);
    f.confidence = confidence::kStacksOfOneMoment;
    f.why = say(report.outliers.empty() ? Phrase::same_stack_no_word : Phrase::mixture_of_stacks);
    if (!report.sinks.empty() && report.sinks.front().elsewhere && report.sinks.size() == 1) {
      const StackSink& s = report.sinks.front();
      f.why +=
          say(Phrase::if_it_does_look_at, to_ranges(s.ranks), describe(s.stage), own_code_of(s));
      f.ranks = s.ranks;
    }
    f.advice = say(Phrase::stacks_twice_apart);
  }
  return f;
}

Finding stalled_storage(const Finding& base, const StackReport& report, const Facts& facts) {
  const Text& known = report.hang_why;
  Finding f = base;
  f.id = "stacks/storage";
  f.subject = {SubjectKind::storage, report.storage};
  f.scope = Scope::shared;
  f.role = Role::root;
  f.event_class = "storage_stall";
  f.title = say(Phrase::storage_of_many);
  f.hosts = report.storage_hosts;
  for (const StackSink& s : report.sinks) {
    if (s.stage.doing != Doing::storage) continue;
    f.ranks.insert(f.ranks.end(), s.ranks.begin(), s.ranks.end());
    for (const std::size_t sample : s.samples)
      if (f.evidence.size() < 6) f.evidence.push_back(evidence_of(facts, sample));
  }
  sort_rows(f.ranks);
  f.count = f.ranks.size();
  f.confidence = std::max(confidence::kStackGroup, report.confidence);
  f.why =
      say(Phrase::ranks_in_same_call, known, to_ranges(f.ranks), f.hosts.size(), report.storage);
  f.remedy = "check_storage";
  f.advice = say(Phrase::check_file_system);
  return f;
}

// What the end of a chain is called, and why it is one.
void say_of(const StackSink& s, const Text& known, Finding& f) {
  const std::string ranks = to_ranges(s.ranks);
  const bool one = s.ranks.size() <= 1;
  const bool worker = s.role == "dataloader";
  const Text who = s.ranks.empty()
                       ? say(Phrase::one_process_on, machine(s.hosts))
                       : say(one ? Phrase::one_rank_on : Phrase::ranks_on, ranks, machine(s.hosts));
  const std::size_t many = one ? 1 : s.ranks.size();
  const std::string at = own_code_of(s);
  if (s.unheard) {
    f.title = say(Phrase::rank_without_stack);
    f.outcome = Outcome::not_enough_evidence;
    f.why = say(Phrase::others_wait_no_stack, known, s.waiting, who);
  } else if (!s.crossed.empty()) {
    f.title = say(Phrase::call_differently);
    f.why = known + say(Phrase::and_besides, s.crossed) + say(Phrase::full_stop);
  } else if (worker) {
    f.title = say(Phrase::worker_waited_for);
    f.why = say(Phrase::waits_for_worker, known, who, describe(s.stage), at, s.waiting);
  } else if (s.elsewhere) {
    f.title = say(Phrase::never_came);
    f.why = say(Phrase::in_no_collective, known, who, many, describe(s.stage), at, s.native_reason,
                s.waiting);
  } else {
    f.title = say(Phrase::end_of_chain);
    f.why = say(Phrase::with_all_who_belong, known, who, many, describe(s.stage), at, s.waiting);
  }
}

Finding end_of_chain(const Finding& base, const StackReport& report, const StackSink& s,
                     const Facts& facts) {
  const Text& known = report.hang_why;
  Finding f = base;
  const std::string ranks = to_ranges(s.ranks);
  const bool worker = s.role == "dataloader";
  f.id =
      fmt::format("stacks/{}/rank/{}",
                  worker      ? "worker"
                  : s.unheard ? "unheard"
                              : "sink",
                  s.ranks.size() <= 8 ? ranks : std::to_string(number_of(s.ranks.front())) + "+");
  f.subject = {SubjectKind::rank, ranks};
  if (s.ranks.empty()) {  // of a process whose rank nobody knows
    f.id = "stacks/sink/process";
    f.subject = s.hosts.size() == 1 ? Subject{SubjectKind::host, s.hosts.front()}
                                    : Subject{SubjectKind::code, own_code_of(s)};
  }
  f.role = Role::root;
  f.ranks = s.ranks;
  f.hosts = s.hosts;
  if (s.hosts.size() == 1) f.host = s.hosts.front();
  f.count = std::max<std::size_t>(1, s.ranks.size());
  f.confidence =
      std::max(confidence::kSecondSink,
               report.confidence - (&s == &report.sinks.front() ? 0.0 : confidence::kSecondSink));
  for (const std::size_t sample : s.samples)
    if (f.evidence.size() < 6) f.evidence.push_back(evidence_of(facts, sample));
  f.figures.emplace_back("waiting", std::to_string(s.waiting));
  if (!s.native_reason.empty()) f.figures.emplace_back("native", s.native_reason);
  if (!s.function.empty()) f.figures.emplace_back("place", own_code_of(s));
  f.figures.emplace_back("role", s.role);
  say_of(s, known, f);
  f.remedy = "find_lagging_rank";
  sort_rows(f.figures);
  return f;
}

// Outliers as a group, where no single rank is named, or beside the ones that are.
std::optional<Finding> outliers_together(const Finding& base, const StackReport& report,
                                         const Facts& facts) {
  const Text& known = report.hang_why;
  if (report.cover && report.cover->shared) {
    Finding f = base;
    f.id = "stacks/group/" + report.cover->groups.front();
    f.subject = {SubjectKind::group, fmt::format("{}", fmt::join(report.cover->groups, " "))};
    // The chain names ranks; the group is the wider net for when it is cut.
    f.role = report.sinks.empty() ? Role::root : Role::confirmation;
    f.scope = Scope::shared;
    f.title = say(Phrase::group_of_exceptions);
    f.hosts = report.cover->hosts;
    f.ranks = report.cover->ranks;
    f.count = report.outliers.size();
    f.confidence = confidence::kStackRounds;
    f.why =
        say(Phrase::exceptions_belong_to, known, report.outliers.size(), to_ranges(report.outliers),
            fmt::format("{}", fmt::join(report.cover->groups, ", ")),
            fmt::format("{}", fmt::join(report.cover->hosts, ", ")));
    show_groups(report, facts, f);
    return f;
  } else if (report.sinks.empty() && !report.outliers.empty()) {
    Finding f = base;
    f.id = "stacks/outliers";
    f.subject = {SubjectKind::job, "job"};
    f.outcome = Outcome::not_enough_evidence;
    f.scope = Scope::job_wide;
    f.title = say(Phrase::exceptions_without_group);
    f.confidence = confidence::kFewStacks;
    f.ranks = report.outliers;
    if (report.cover) f.hosts = report.cover->hosts;
    f.why = say(report.topology ? Phrase::differ_uncovered : Phrase::differ_groups_unknown, known,
                to_ranges(report.outliers));
    show_groups(report, facts, f);
    return f;
  } else if (report.sinks.empty()) {
    Finding f = base;
    f.id = "stacks/alike";
    f.subject = {SubjectKind::job, "job"};
    f.outcome = Outcome::not_enough_evidence;
    f.scope = Scope::job_wide;
    f.title = say(Phrase::stacks_alike);
    f.confidence = confidence::kFewStacks;
    f.why = say(Phrase::wait_not_for_whom, known, report.trainers);
    show_groups(report, facts, f);
    return f;
  }
  return std::nullopt;
}

Finding slow_group(const Finding& base, const StackReport& report, const Facts& facts,
                   const Topology& topology) {
  Finding f = base;
  f.id = "stacks/slow/" + report.degrader;
  f.subject = {SubjectKind::group, report.degrader};
  f.symptom = Symptom::mfu_decline;
  f.event_class = "slow_group";
  f.severity = Severity::warning;
  f.role = Role::root;
  f.scope = Scope::shared;
  f.title = say(Phrase::exception_in_most);
  for (const ParallelGroup& g : topology.groups)
    if (g.id == report.degrader) f.ranks = g.ranks;
  f.hosts = topology.hosts_of(f.ranks);
  f.confidence = std::min(confidence::kMostOfRounds,
                          confidence::kFewStacks + confidence::kSecondSource *
                                                       static_cast<double>(report.degrader_flags) /
                                                       static_cast<double>(report.rounds.size()));
  f.facts = OddStackFacts{static_cast<std::int64_t>(report.degrader_flags),
                          static_cast<std::int64_t>(report.rounds.size())};
  f.figures.clear();
  f.why =
      say(Phrase::most_exceptions_in, report.degrader_flags, report.rounds.size(), report.degrader);
  show_groups(report, facts, f);
  return f;
}

}  // namespace

std::vector<Finding> stack_findings(const StackReport& report, const Facts& facts,
                                    const Topology& topology) {
  std::vector<Finding> out;
  if (report.processes.empty()) return out;
  Finding base{.analysis = Analysis::stacks,
               .symptom = Symptom::job_hang,
               .figures = {{"outliers", std::to_string(report.outliers.size())},
                           {"trainers", std::to_string(report.trainers)}}};

  if (!report.hang) {
    out.push_back(no_hang(base, report, facts));
  } else {
    base.severity = Severity::distributed;
    base.event_class = "stalled_rank";
    if (!report.storage.empty()) out.push_back(stalled_storage(base, report, facts));
    // Ends that are alike are one finding each as long as one can look at them all.
    std::size_t named = 0;
    for (const StackSink& s : report.sinks) {
      if (s.stage.doing == Doing::storage && !report.storage.empty()) continue;
      if (!out.empty() && s.elsewhere != report.sinks.front().elsewhere)
        continue;  // a surer one was found
      if (++named > 8) break;
      out.push_back(end_of_chain(base, report, s, facts));
    }
    if (auto f = outliers_together(base, report, facts)) out.push_back(std::move(*f));
  }

  if (!report.degrader.empty() && !report.hang)
    out.push_back(slow_group(base, report, facts, topology));
  sort_by(out, &Finding::id);
  return out;
}

}  // namespace culprit::analyze
