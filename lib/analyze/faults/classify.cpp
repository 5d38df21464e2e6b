#include "analyze/faults/classify.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/facts/programs.hpp"
#include "analyze/faults/failure_moment.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kEvidence = 16;

bool network(const Signal& s) {
  return s.meaning.severity == Severity::warning &&
         (s.meaning.symptom == Symptom::infiniband_error ||
          s.meaning.symptom == Symptom::switch_fault ||
          s.meaning.symptom == Symptom::network_congestion);
}

Subject subject_of(const Signal& s) {
  if (s.meaning.scope == Scope::user_code && !s.code_place.empty())
    return {SubjectKind::code, s.code_place};
  // A switch whose own log speaks, or that the manager of its fabric names, is a thing to repair.
  if (s.meaning.scope == Scope::shared &&
      (s.meaning.role == Role::root || s.meaning.role == Role::confirmation) &&
      s.meaning.component == "switch" && s.host)
    return {SubjectKind::network_switch, *s.host};
  if (s.meaning.scope == Scope::shared && s.meaning.role == Role::root)
    return {SubjectKind::storage,
            s.meaning.component.empty() ? s.event_class : s.meaning.component};
  if (s.meaning.role != Role::root && s.meaning.severity == Severity::distributed)
    return {SubjectKind::job, "job"};
  if (s.meaning.scope == Scope::job_wide) return {SubjectKind::job, "job"};
  // A PCI address is a GPU's only where the rule speaks of GPUs.
  const std::string& part = s.meaning.component;
  if (s.host && s.gpu && part.rfind("nvswitch", 0) == 0)
    return {SubjectKind::network_switch, *s.host + "/" + *s.gpu};
  if (s.host && s.gpu &&
      (part.rfind("nic", 0) == 0 || part.rfind("infiniband", 0) == 0 ||
       part.rfind("ethernet", 0) == 0 || part.rfind("cable", 0) == 0 ||
       part.rfind("optic", 0) == 0))
    return {SubjectKind::nic, *s.host + "/" + *s.gpu};
  if (s.host && s.gpu && part.rfind("pcie", 0) == 0)
    return {SubjectKind::link, *s.host + "/" + *s.gpu};
  if (s.host && s.gpu) return {SubjectKind::gpu, *s.host + "/" + *s.gpu};
  if (s.host && s.nic) return {SubjectKind::nic, *s.host + "/" + *s.nic};
  if (s.host) return {SubjectKind::host, *s.host};
  if (s.rank) return {SubjectKind::rank, std::to_string(number_of(*s.rank))};
  if (s.gpu) return {SubjectKind::gpu, *s.gpu};
  return {SubjectKind::job, "job"};
}

Text fill(const std::string& text, const Signal& s, const Subject& subject) {
  Text out;
  std::string plain;
  // "GPU {pci}" in a sentence must not become "GPU GPU 0000:3b:00", nor "the {host}" "the the
  // host".
  const auto after = [&](std::string_view word) {
    const bool repeated = plain.ends_with(word);
    if (repeated) plain.resize(plain.size() - word.size());
    return repeated;
  };
  const auto some = [&](Phrase what) {
    after("the ");
    out += Text(std::exchange(plain, {}));
    out += say(what);
  };
  const auto known = [&](const std::optional<std::string>& name, Phrase otherwise) {
    name ? void(plain += *name) : some(otherwise);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t close = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (close == std::string::npos) {
      plain.push_back(text[i]);
      continue;
    }
    const std::string key = text.substr(i + 1, close - i - 1);
    if (key == "host")
      known(s.host, Phrase::the_host);
    else if (key == "pci" && (plain.ends_with("card ") || plain.ends_with("device "))) {
      // No GPU: "device 0000:5e:00.0", "network card 0000:5e:00.0".
      s.gpu ? void(plain += *s.gpu) : some(Phrase::which_is_named);
    } else if (key == "gpu" || key == "pci") {
      after("GPU ");
      s.gpu ? void(plain += "GPU " + *s.gpu) : some(Phrase::the_gpu);
    } else if (key == "nic" || key == "device")
      known(s.nic, Phrase::the_device);
    else if (key == "peer")
      known(s.peer_host ? s.peer_host : s.peer, Phrase::the_peer);
    else if (key == "code")
      plain += s.code ? std::to_string(*s.code) : "";
    else if (key == "path")
      !s.code_place.empty() ? void(plain += s.code_place) : some(Phrase::path_named);
    else if (key == "rank")
      plain += s.rank ? std::to_string(number_of(*s.rank)) : subject.id;
    else
      plain += key;
    i = close;
  }
  return out += Text(std::move(plain));
}

// At least `count` of the times within `window`.
bool dense(const std::vector<Nanoseconds>& times, std::uint64_t lines, int count,
           Nanoseconds window) {
  if (times.empty()) return lines >= static_cast<std::uint64_t>(count);
  for (std::size_t i = 0; i + static_cast<std::size_t>(count) <= times.size(); ++i)
    if (times[i + static_cast<std::size_t>(count) - 1] - times[i] <= window) return true;
  return times.size() < static_cast<std::size_t>(count) &&
         lines >= static_cast<std::uint64_t>(count) && times.back() - times.front() <= window;
}

bool all_closed(const std::vector<Alert>& alerts) {
  return std::ranges::all_of(alerts, [](const Alert& a) { return a.closed; });
}

// At least `count` alerts that begin within `window`, by dates or by one machine's boot clock.
bool repeated(const std::vector<Alert>& alerts, int count, Nanoseconds window) {
  const auto on = [&](auto member) {
    std::vector<Nanoseconds> times;
    for (const Alert& a : alerts)
      if (a.*member) times.push_back(*(a.*member));
    sort_rows(times);
    for (std::size_t i = 0; i + static_cast<std::size_t>(count) <= times.size(); ++i)
      if (times[i + static_cast<std::size_t>(count) - 1] - times[i] <= window) return true;
    return false;
  };
  return on(&Alert::begin) || on(&Alert::begin_boot);
}

Text taken_back(const std::vector<Alert>& alerts, int needed, Nanoseconds window) {
  const Alert& last = alerts.back();
  return say(Phrase::taken_back,
             last.begin && last.end ? human_duration(*last.end - *last.begin) : std::string(),
             needed, human_duration(window), alerts.size());
}

// What machines' own logs say, and of which machines there are any.
struct Witnesses {
  std::set<std::pair<std::string, std::string>> said;  // host and class
  std::set<std::string> logs;                          // hosts with a kernel log
  std::set<std::string> broke;  // hosts at an end of an RDMA connection that broke
  FailureMoment failure;

  Witnesses(const Facts& facts, const std::vector<Signal>& signals) : failure(facts, signals) {
    for (const Signal& s : signals) note(s);
    for (const MemberRow& m : facts.members)
      if (m.text_kind == "kernel" && m.host) logs.insert(*m.host);
  }

 private:
  void note(const Signal& s) {
    if (s.unplaced || s.after_end) return;
    if (!s.hearsay && s.host) said.emplace(*s.host, s.event_class);
    if (s.hearsay || s.meaning.role != Role::cascade ||
        s.meaning.symptom != Symptom::infiniband_error)
      return;
    if (s.host) broke.insert(*s.host);
    if (s.peer_host) broke.insert(*s.peer_host);
  }
};

// A program prints whatever it likes. What that machine's own kernel log of the hour does not have
// did not happen there.
void judge_hearsay(const Witnesses& witnesses, const Signal& s, Finding& f) {
  const bool proven = s.host && witnesses.said.count({*s.host, s.event_class}) != 0;
  const bool own_log = s.host && witnesses.logs.count(*s.host) != 0;
  f.cause = CauseKind::none;
  f.role = Role::confirmation;
  f.severity = std::min(f.severity, Severity::warning);
  if (proven) {
    f.outcome = Outcome::fired;
    f.confidence = confidence::kHearsay;
    f.why = say(Phrase::quotes_machines_log);
    return;
  }
  f.outcome = own_log ? Outcome::ruled_out : Outcome::not_enough_evidence;
  f.confidence = own_log ? confidence::kRuledOutByTime : confidence::kHearsay;
  f.why = say(own_log ? Phrase::quotes_not_in_log : Phrase::quotes_unproven);
}

// How many alerts within which time count; below that they are transients.
struct Needed {
  int count = 0;
  Nanoseconds window = 0;
};
Needed needed_of(const Signal& s, const ClassifyParams& params) {
  if (s.meaning.tolerance)
    return {s.meaning.tolerance->count, s.meaning.tolerance->window_s * kSecond};
  if (network(s) || !s.alerts.empty()) return {params.network_alerts, params.network_window};
  return {};
}

// An open alert, or one that came again within its tolerance. A service that many share answers
// again when it does: its hiccups explain nothing, however many.
bool stands(const Signal& s, const ClassifyParams& params,
            const std::optional<Nanoseconds>& job_end) {
  if (s.alerts.empty() || !all_closed(s.alerts)) return true;
  // It had not answered for a while when the job ended, and answered again behind that. A scheduler
  // ends the job when it gives a node up, and takes it back once it was restarted.
  const bool lost = s.meaning.traits.has(Trait::node_missed);
  const Nanoseconds before = lost ? -kMinute : params.down_at_the_end;
  if ((lost || s.meaning.scope == Scope::shared) && job_end &&
      std::ranges::any_of(s.alerts, [&](const Alert& a) {
        return a.begin && a.end && *a.begin + s.uncertainty + before <= *job_end &&
               *job_end <= *a.end - s.uncertainty;
      }))
    return true;
  const Needed needed = needed_of(s, params);
  return s.meaning.scope != Scope::shared && repeated(s.alerts, needed.count, needed.window);
}

// When the trouble in question began: the alert that is still open, else the first one.
std::optional<Nanoseconds> begin_of(const Signal& s) {
  if (!s.alerts.empty() && !s.alerts.back().closed && s.alerts.back().begin)
    return s.alerts.back().begin;
  return s.start;
}

struct Occurrences {
  std::vector<const Signal*> signals;
  Subject subject;
};

std::string key_of(const Signal& s, const Subject& subject) {
  return s.event_class +
         (s.hearsay                       ? "/quoted/"
          : s.stranger                    ? "/stranger/"
          : s.before_job || s.reset_since ? "/before/"
          : s.absent                      ? "/absent/"
          : s.unplaced                    ? "/elsewhere/"
          : s.after_end                   ? "/behind/"
                                          : "/") +
         std::string(name(subject.kind)) + "/" + subject.id;
}

std::map<std::string, Occurrences> group_signals(const Facts& facts,
                                                 const std::vector<Signal>& signals,
                                                 const ClassifyParams& params) {
  std::map<std::string, Occurrences> groups;
  std::set<std::string> by_job;
  for (const Signal& s : signals)
    if (s.speaker == Speaker::job) by_job.insert(key_of(s, subject_of(s)));
  for (const Signal& s : signals) {
    const Subject subject = subject_of(s);
    std::string key = key_of(s, subject);
    // What the job says of itself does not begin with what others said hours before.
    if (s.speaker != Speaker::job && by_job.count(key) != 0) key += "/journal";
    Occurrences& group = groups[key];
    group.subject = subject;
    group.signals.push_back(&s);
  }
  // Where one stands, those that were taken back say nothing more.
  for (auto& [key, group] : groups)
    if (std::ranges::any_of(group.signals,
                            [&](const Signal* s) { return stands(*s, params, facts.job_end); }))
      std::erase_if(group.signals,
                    [&](const Signal* s) { return !stands(*s, params, facts.job_end); });
  // Nor do lines without a time that steps follow, where others of the kind have none behind them.
  for (auto& [key, group] : groups) {
    const auto over = [](const Signal* s) { return s->steps_after; };
    if (!std::ranges::all_of(group.signals, over)) std::erase_if(group.signals, over);
  }
  return groups;
}

// Who says so, and when, as far as it is not the job.
void describe_speaker(const Occurrences& group, const std::vector<Nanoseconds>& times,
                      LineFacts& line) {
  line.speaker = Speaker::service;
  bool may_slow = false;
  for (const Signal* s : group.signals) {
    may_slow = may_slow || s->meaning.traits.has(Trait::may_slow);
    line.speaker = std::min(line.speaker, s->speaker);
    line.names_trainer = line.names_trainer || names_trainer(s->message) ||
                         std::ranges::any_of(s->evidence, [](const Evidence& e) {
                           return names_trainer(e.excerpt);
                         });
  }
  if (line.speaker == Speaker::job && !may_slow) return;
  constexpr std::size_t kMost = 64;  // the first and the last of more
  line.times = times;
  line.times_cut = times.size() > kMost;
  if (line.times_cut)
    line.times.erase(line.times.begin() + kMost / 2, line.times.end() - kMost / 2);
}

// The earliest that speaks for all: signals are in order of time, and a code that only confirms may
// come before the one that broke.
const Signal& telling(const Occurrences& group) {
  const auto at = std::ranges::find_if(
      group.signals, [](const Signal* s) { return s->meaning.role != Role::confirmation; });
  return at == group.signals.end() ? *group.signals.front() : **at;
}

// Everything but the judgement. times: of all occurrences, sorted.
Finding describe(const std::string& key, const Occurrences& group,
                 std::vector<Nanoseconds>& times) {
  const Signal& first = telling(group);
  Finding f;
  f.id = "classify/" + key;
  f.analysis = Analysis::classify;
  f.subject = group.subject;
  f.event_class = first.event_class;
  f.traits = first.meaning.traits;
  f.symptom = first.meaning.symptom;
  f.severity = first.meaning.severity;
  f.role = first.meaning.role;
  f.scope = first.meaning.scope;
  f.cause = first.meaning.cause;
  f.origin = first.origin;
  const bool unknown = first.unknown_exception;
  f.title = unknown ? say(Phrase::uncaught_exception) : Text(first.meaning.title);
  if (!first.after.empty()) f.title += say(Phrase::after_class, first.after);
  f.remedy = first.meaning.action;
  f.leads_to = first.meaning.leads_to;
  f.host = first.host;
  std::set<Host> hosts;
  std::set<Rank> ranks;
  for (const Signal* s : group.signals) {
    if (s->host) hosts.insert(*s->host);
    if (s->rank) ranks.insert(*s->rank);
    f.severity = std::max(f.severity, s->meaning.severity);
    f.count += s->count;
    const auto begin = begin_of(*s);
    if (begin && (!f.start || *begin < *f.start)) {
      f.start = begin;
      f.uncertainty = s->uncertainty;
    }
    if (s->end && (!f.end || *s->end > *f.end)) f.end = s->end;
    f.alerts.insert(f.alerts.end(), s->alerts.begin(), s->alerts.end());
    times.insert(times.end(), s->times.begin(), s->times.end());
  }
  sort_rows(times);
  // Evidence of the earliest first, then one from each other place.
  for (std::size_t round = 0; round < 3; ++round)
    for (const Signal* s : group.signals)
      if (round < s->evidence.size() && f.evidence.size() < kEvidence)
        f.evidence.push_back(s->evidence[round]);
  f.hosts.assign(hosts.begin(), hosts.end());
  f.ranks.assign(ranks.begin(), ranks.end());
  f.advice = unknown ? say(Phrase::read_the_stack, first.code_place)
                     : fill(first.meaning.advice, first, f.subject);
  LineFacts line;
  describe_speaker(group, times, line);
  line.exception = first.exception;
  line.function = first.function;
  line.message = first.message.substr(0, 300);
  line.code = first.code;
  line.peer = first.peer_host;
  line.steps_after =
      std::ranges::all_of(group.signals, [](const Signal* s) { return s->steps_after; });
  line.hosts = hosts.size();
  line.ranks = ranks.size();
  f.facts = std::move(line);
  return f;
}

void rule_out(Finding& f, double confidence, Text why) {
  f.outcome = Outcome::ruled_out;
  f.confidence = confidence;
  f.why = std::move(why);
}

void judge(const Facts& facts, const Witnesses& witnesses, const Occurrences& group,
           const std::vector<Nanoseconds>& times, const ClassifyParams& params, Finding& f) {
  const Signal& first = telling(group);
  const Needed needed = needed_of(first, params);
  f.outcome = Outcome::fired;
  f.confidence = confidence::of(f.severity);
  f.why = first.unknown_exception ? say(Phrase::exception_ended_process) : Text(first.meaning.why);
  if (first.before_job)
    return rule_out(f, confidence::kRuledOutByTime,
                    say(Phrase::of_earlier_run, human_duration(*facts.job_start - *f.end)));
  if (first.reset_since)
    return rule_out(f, confidence::kRuledOutByTime, say(Phrase::before_job_began));
  if (first.hearsay) {
    f.hearsay = true;
    return judge_hearsay(witnesses, first, f);
  }
  if (first.stranger)
    return rule_out(f, confidence::kRuledOutByTime, say(Phrase::of_another_program));
  if (first.absent)
    return rule_out(f, confidence::kRuledOutByTime, say(Phrase::not_in_last_attempt));
  if (first.after_end)
    return rule_out(f, confidence::kRuledOutByTime,
                    say(Phrase::after_the_job_ended, human_duration(*f.start - *facts.job_end)));
  if (first.unplaced) {
    f.outcome = Outcome::not_enough_evidence;
    f.confidence = confidence::kUndated;
    f.why = say(Phrase::file_not_tied_to_job);
    return;
  }
  if (const auto* line = std::get_if<LineFacts>(&f.facts);
      f.role != Role::root && line != nullptr && line->steps_after)
    return rule_out(f, confidence::kRuledOutByTime, say(Phrase::steps_follow_in_log));
  if (!stands(first, params, facts.job_end)) {
    f.transient = true;
    return rule_out(f, confidence::kTransient, taken_back(f.alerts, needed.count, needed.window));
  }
  if (f.alerts.empty() && needed.count > 1 && !dense(times, f.count, needed.count, needed.window))
    return rule_out(
        f, confidence::kTransient,
        say(Phrase::transient_below, needed.count, human_duration(needed.window), f.count));
  // One open alert of a warning's weight may be a port that nobody uses, unless the job itself says
  // so of its own.
  const bool own = first.origin == Origin::any && first.speaker == Speaker::job && first.host &&
                   witnesses.broke.count(*first.host) != 0;
  if (!own && !f.alerts.empty() && f.severity < Severity::critical &&
      f.scope == Scope::host_local && needed.count > 1 &&
      !repeated(f.alerts, needed.count, needed.window) && network(first)) {
    const std::optional<Nanoseconds>& begin = f.alerts.back().begin;
    if (begin && witnesses.failure.began_with(*begin, first.uncertainty)) {
      f.why += say(Phrase::began_as_job_failed);
      return;
    }
    if (!begin && witnesses.failure.broke()) {
      f.outcome = Outcome::not_enough_evidence;
      f.confidence = confidence::kUndated;
      f.why += say(Phrase::time_not_tied);
      return;
    }
    return rule_out(
        f, confidence::kTransient,
        say(Phrase::would_count, needed.count, human_duration(needed.window), f.alerts.size()));
  }
  if (first.state && f.role == Role::root) {
    f.confidence = confidence::kStateReading;
    f.why += say(Phrase::reading_undated);
  } else if (!f.start && f.role == Role::root && f.severity == Severity::critical &&
             facts.job_start) {
    f.confidence = confidence::kUndated;
    f.why += say(Phrase::time_not_tied);
  }
}

// One link that flaps is a transient; the links of many hosts that fail in the same moment are a
// switch.
void links_of_a_switch(std::vector<Finding>& findings, const ClassifyParams& params) {
  constexpr Nanoseconds kTogether = 30 * kSecond;
  std::map<std::string, std::vector<Finding*>> dated;  // by class, in order of time
  for (Finding& f : findings)
    if (f.start) dated[f.event_class].push_back(&f);
  for (auto& [event_class, list] : dated) {
    sort_rows(list, [](const Finding* a, const Finding* b) { return *a->start < *b->start; });
    std::map<std::string_view, std::size_t>
        together;  // hosts of those from `first` to before `last`
    std::size_t first = 0, last = 0;
    for (Finding* f : list) {
      for (; last < list.size() && *list[last]->start - *f->start <= kTogether; ++last)
        for (const Host& host : list[last]->hosts) ++together[host];
      for (; *f->start - *list[first]->start > kTogether; ++first)
        for (const Host& host : list[first]->hosts)
          if (const auto its = together.find(host); --its->second == 0) together.erase(its);
      const bool flap =
          f->outcome == Outcome::ruled_out && (f->severity == Severity::warning || f->transient) &&
          f->symptom == Symptom::infiniband_error && f->id.find("/before/") == std::string::npos;
      if (!flap || together.size() < params.many_links) continue;
      if (auto* line = std::get_if<LineFacts>(&f->facts)) line->hosts_at_once = together.size();
      f->confidence = confidence::kFoldedXid;
      f->why = say(Phrase::links_of_many_failed, together.size());
      f->outcome = Outcome::fired;
      f->transient = false;
    }
  }
}

// Machines that start again together were stopped by what they share, or are restarted by somebody
// who cleans up: none of them failed by itself.
void restarts_of_several(std::vector<Finding>& findings) {
  constexpr Nanoseconds kTogether = 10 * kMinute;
  std::vector<Finding*> restarts;
  for (Finding& f : findings)
    if (f.fired() && f.traits.has(Trait::restarted) && f.end) restarts.push_back(&f);
  for (Finding* f : restarts) {
    std::set<Host> together;
    for (const Finding* other : restarts)
      if (std::abs(*other->end - *f->end) <= kTogether)
        together.insert(other->hosts.begin(), other->hosts.end());
    if (together.size() < 2) continue;
    f->cause = CauseKind::none;
    f->severity = Severity::warning;
    f->role = Role::confirmation;
    f->why = say(Phrase::restarted_with_others, together.size());
  }
}

}  // namespace

std::vector<Finding> classify(const Facts& facts, const std::vector<Signal>& signals,
                              const ClassifyParams& params) {
  std::vector<Finding> out;
  const Witnesses witnesses(facts, signals);
  const auto groups = group_signals(facts, signals, params);
  out.reserve(groups.size());
  for (const auto& [key, group] : groups) {
    std::vector<Nanoseconds> times;
    Finding f = describe(key, group, times);
    judge(facts, witnesses, group, times, params, f);
    out.push_back(std::move(f));
  }
  links_of_a_switch(out, params);
  restarts_of_several(out);
  sort_by(out, [](const Finding& f) {
    return std::tuple(!f.fired(), -static_cast<int>(f.severity), -static_cast<int>(f.role),
                      !f.start.has_value(), f.start.value_or(0), f.id);
  });
  return out;
}

std::vector<Finding> classify(const Facts& facts, const std::vector<Signal>& signals) {
  return classify(facts, signals, ClassifyParams{});
}

}  // namespace culprit::analyze
