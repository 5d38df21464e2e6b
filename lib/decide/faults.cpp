// Steps for faults that say so: of machines, services, resources, the program, the network.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

// A rank died of what one machine alone counts: the line of the rank, which names no machine, says
// that it was now, the counter says where.
double confirmed(const Cause& c, double confidence, const Host& host) {
  if (c.hosts.size() != 1) return confidence;
  const Finding *counted = nullptr, *died = nullptr;
  for (const Finding* f : c.findings) {
    if (f->hosts == std::vector<Host>{host} && f->subject.kind == SubjectKind::gpu) counted = f;
    if (f->hosts.empty() && !f->ranks.empty() && f->start) died = f;
  }
  if (counted == nullptr || died == nullptr || counted->symptom != died->symptom) return confidence;
  return 1 - (1 - confidence) * (1 - confidence::kSecondSource);
}

// Each of its hosts, as sure as the surest of what names it, and their parts.
void accuse(Verdict& v, const Cause& c) {
  for (const Host& host : c.hosts) {
    std::vector<std::string> because;
    double confidence = 0;
    for (const Finding* one : c.findings)
      if (std::find(one->hosts.begin(), one->hosts.end(), host) != one->hosts.end()) {
        if (because.size() < 6) because.push_back(one->id);
        confidence = std::max(confidence, one->confidence);
      }
    confidence = confirmed(c, confidence, host);
    target(v, {SubjectKind::host, host}, confidence, because);
  }
  for (const Finding* one : c.findings)
    if (one->subject.kind == SubjectKind::gpu || one->subject.kind == SubjectKind::nic)
      target(v, one->subject,
             one->host ? confirmed(c, one->confidence, *one->host) : one->confidence, {one->id});
}

// What the rule of a class says of it, where findings are counted by class.
bool class_has(const Cause& c, Trait trait, const std::string* event_class = nullptr) {
  return std::any_of(c.findings.begin(), c.findings.end(), [&](const Finding* f) {
    return f->traits.has(trait) && (event_class == nullptr || f->event_class == *event_class);
  });
}

// At most one of these machines is the cause, and nothing says which: all are checked, the first
// few named.
Answer one_of_several(Walk& w, const Cause& c, std::map<Host, std::vector<std::string>> because,
                      Text summary, Text why) {
  constexpr std::size_t kMostNamed = 8;
  Verdict& v = w.verdict;
  v.action = Action::checks;
  v.precision = Precision::candidates;
  std::vector<Host> hosts;
  for (auto& [host, findings] : because) {
    hosts.push_back(host);
    if (v.targets.size() < kMostNamed)
      target(v, {SubjectKind::host, host}, confidence::kOneOfUndated, std::move(findings));
  }
  v.summary = std::move(summary);
  check(v, hosts);
  advise(v, c);
  return taken(std::move(why));
}
std::map<Host, std::vector<std::string>> findings_by_host(const Cause& c) {
  std::map<Host, std::vector<std::string>> out;
  const std::set<Host> hosts(c.hosts.begin(), c.hosts.end());
  for (const Finding* f : c.findings)
    for (const Host& host : f->hosts)
      if (hosts.count(host) != 0) out[host].push_back(f->id);
  return out;
}

bool job_unknown(const Walk& w) {
  const Case& c = w.incident;
  return !c.any_training_output && !c.job_start && !c.job_end && !w.first.first_consequence;
}

// Where nothing says when the job ran: machines that report faults at other times, which might as
// well be the cause.
std::vector<const Finding*> at_other_times(const Walk& w, const Cause& first) {
  std::vector<const Finding*> out;
  if (!job_unknown(w)) return out;
  const std::set<Host> own(first.hosts.begin(), first.hosts.end());
  const auto add = [&](const Finding* f) {
    const auto kind = kind_of(*f);
    if ((kind == CauseKind::machine || kind == CauseKind::environment) && f->host &&
        own.count(*f->host) == 0)
      out.push_back(f);
  };
  for (const Cause& cause : w.first.causes)
    if (&cause != &first) std::for_each(cause.findings.begin(), cause.findings.end(), add);
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::after_failure) add(e.finding);
  return out;
}

// The machines' logs go on for a day and more after the last of it.
bool went_on_after(const Walk& w, const Cause& c) {
  std::optional<Nanoseconds> last;
  for (const Finding* f : c.findings)
    if (const auto& end = f->end ? f->end : f->start; end)
      last = std::max(last.value_or(*end), *end);
  return last && w.incident.last_word && *last + kDay < *w.incident.last_word;
}

// A machine without power is seen by its own management controller; whether its power units failed
// or what feeds several machines, only those of others can say.
Answer power_of_one(Walk& w, const Cause& c) {
  Verdict& v = w.verdict;
  const Host& host = c.hosts.front();
  v.action = Action::repair;
  v.precision = Precision::group;
  target(v, {SubjectKind::group, "power feed of " + host}, confidence::kSharedUnnamed,
         ids(c.findings));
  v.summary = say(Phrase::power_of_one, host, at(c.start));
  next(v, NextKind::collect, say(Phrase::management_logs_of_rack, host));
  advise(v, c);
  return taken(say(Phrase::class_on_place, c.findings.front()->event_class, host));
}

Answer without_story(Walk& w, const Cause& first, const std::vector<const Finding*>& others) {
  auto because = findings_by_host(first);
  for (const Finding* f : others) because[*f->host].push_back(f->id);
  std::vector<Host> hosts;
  for (const auto& [host, findings] : because) hosts.push_back(host);
  const Finding& one = *first.findings.front();
  const auto alike = [&](const Finding* f) { return f->event_class == one.event_class; };
  const bool same = std::all_of(first.findings.begin(), first.findings.end(), alike) &&
                    std::all_of(others.begin(), others.end(), alike);
  Text summary = others.empty() ? say(Phrase::fault_long_over, list(hosts, 8), inside(one.title),
                                      at(first.start))
                 : same ? say(Phrase::same_fault_without_story, list(hosts, 8), inside(one.title))
                        : say(Phrase::faults_without_story, list(hosts, 8));
  return one_of_several(w, first, std::move(because), std::move(summary),
                        say(Phrase::faults_at_other_times, hosts.size()));
}

}  // namespace

namespace {

// How many machines show the fault, with those that came to it after the first failure, until then.
std::size_t with_later(const Walk& w, const std::string& event_class, std::set<Host> hosts,
                       const std::optional<Nanoseconds>& until = {}) {
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::after_failure && e.finding->event_class == event_class &&
        (!until || (e.finding->start && *e.finding->start <= *until)))
      hosts.insert(e.finding->hosts.begin(), e.finding->hosts.end());
  return hosts.size();
}

// A scheduler asks its nodes one after the other: it misses those that went in one moment within
// minutes.
bool lost_together(const Walk& w, const Cause& c, const std::string& event_class,
                   const std::set<Host>& hosts) {
  constexpr Nanoseconds kAsked = 600 * kSecond;  // twice the SlurmdTimeout that Slurm comes with
  return class_has(c, Trait::node_missed, &event_class) && hosts.size() > 1 && c.start &&
         shared_by(w, with_later(w, event_class, hosts, *c.start + kAsked));
}

// Why what these machines report is one fault that they share; empty: each stands for itself.
Text shared_fault(const Walk& w, const Cause& c) {
  std::map<std::string, std::set<Host>> by_class;
  for (const Finding* f : c.findings)
    by_class[f->event_class].insert(f->hosts.begin(), f->hosts.end());
  const std::size_t all = std::max<std::size_t>(w.incident.hosts, c.hosts.size());
  for (const auto& [event_class, hosts] : by_class)
    if (c.findings.front()->symptom == Symptom::infiniband_error &&
        !switch_below_which_all(w, hosts).empty())
      return say(Phrase::all_hosts_of_switch, event_class, switch_below_which_all(w, hosts),
                 hosts.size());
  for (const auto& [event_class, hosts] : by_class)
    if (shared_by(w, hosts.size()) || lost_together(w, c, event_class, hosts) ||
        (class_has(c, Trait::power_lost, &event_class) && hosts.size() > 1))
      return say(Phrase::shared_by_many_hosts, event_class, hosts.size(), all, hosts.size());
  return {};
}

}  // namespace

Answer critical_errors(Walk& w) {
  const Cause* c = w.best(CauseKind::machine);
  if (c == nullptr) {
    const bool any = std::any_of(w.incident.findings.begin(), w.incident.findings.end(),
                                 [](const Finding& f) { return kind_of(f) == CauseKind::machine; });
    return ruled_out(any ? say(Phrase::critical_errors_not_first) : say(Phrase::no_critical_error));
  }
  if (auto answer = borne_out(w, *c)) return std::move(*answer);
  // The same kind of fault on many machines at once is one cause that they share.
  std::map<std::string, std::set<Host>> by_class;
  for (const Finding* f : c->findings)
    by_class[f->event_class].insert(f->hosts.begin(), f->hosts.end());
  if (Text shared = shared_fault(w, *c); !shared.empty()) return ruled_out(std::move(shared));
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  // A part of a machine that nothing names, of several that it may be.
  if (c->hosts.empty() && (f.subject.kind == SubjectKind::job || w.incident.hosts > 1)) {
    // A job of one machine has no other that it could be.
    v.action = w.incident.hosts <= 1 ? Action::checks : Action::investigate;
    v.precision = Precision::candidates;
    target(v, f.subject, confidence::kUnnamedMachine, ids(c->findings));
    v.summary = say(Phrase::fault_of_unnamed_machine, inside(f.title), at(c->start));
    next(v, NextKind::collect, say(Phrase::collect_file_with_host));
    advise(v, *c);
    return taken(say(Phrase::class_without_host, f.event_class));
  }
  if (!c->start && c->hosts.size() > 1 &&
      std::none_of(by_class.begin(), by_class.end(),
                   [&](const auto& one) { return one.second.size() == c->hosts.size(); }))
    // Of different kinds, and none of them can be placed in time.
    return one_of_several(w, *c, findings_by_host(*c),
                          say(Phrase::undated_on_several, list(c->hosts, 8)),
                          say(Phrase::undated_faults, c->hosts.size()));
  if (const auto others = at_other_times(w, *c); !others.empty())
    return without_story(w, *c, others);
  if (job_unknown(w) && went_on_after(w, *c)) return without_story(w, *c, {});
  if (c->hosts.size() == 1 && w.incident.holds.management_logs.size() < 2 &&
      class_has(*c, Trait::power_lost))
    return power_of_one(w, *c);
  if (job_unknown(w) && w.incident.hosts > 1 && !c->hosts.empty() &&
      std::all_of(c->findings.begin(), c->findings.end(),
                  [](const Finding* one) { return one->symptom == Symptom::disk_fault; }))
    // A disk of one of several machines ends the job that uses it, and no other.
    return one_of_several(
        w, *c, findings_by_host(*c),
        say(Phrase::disk_without_story, list(c->hosts, 8), inside(c->findings.front()->title),
            at(c->start)),
        say(Phrase::class_on_place, c->findings.front()->event_class, list(c->hosts, 8)));
  v.action = Action::isolate;
  std::vector<std::string> who(c->hosts.begin(), c->hosts.end());
  if (!who.empty()) {
    accuse(v, *c);
  } else {
    who = {fmt::format("{} {}", name(f.subject.kind), f.subject.id)};
    target(v, f.subject, f.confidence * confidence::kPartWithoutHost, ids(c->findings));
    next(v, NextKind::collect, say(Phrase::collect_job_json_for_host));
  }
  v.precision = Precision::exact;
  v.summary =
      say(Phrase::machines_broke_job,
          who.size() == 1 ? say(Phrase::one_machine) : say(Phrase::several_machines, who.size()),
          inside(f.title), list(who), at(c->start),
          after_effects(w) ? say(Phrase::rest_are_consequences) : Text());
  drain(w, c->hosts, f.event_class);
  advise(v, *c);
  return taken(say(Phrase::class_first, f.event_class, list(who), at(c->start)));
}

Answer shared_cause(Walk& w) {
  const Cause* c = w.best(CauseKind::shared);
  const Cause* machine = w.best(CauseKind::machine);
  if (c == nullptr && (machine == nullptr || shared_fault(w, *machine).empty()))
    return ruled_out(say(Phrase::no_shared_error_first));
  Verdict& v = w.verdict;
  if (c == nullptr) {
    const Finding& f = *machine->findings.front();
    std::map<std::string, std::set<Host>> by_class;
    for (const Finding* one : machine->findings)
      by_class[one->event_class].insert(one->hosts.begin(), one->hosts.end());
    const auto widest = std::max_element(
        by_class.begin(), by_class.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    v.action = Action::repair;
    v.symptom = f.symptom;
    v.start = machine->start;
    v.precision = Precision::group;
    const bool net = f.symptom == Symptom::infiniband_error;
    const std::string named = switch_of(w, widest->second);
    if (net && !named.empty())
      target(v, {SubjectKind::network_switch, named}, confidence::kSwitchNamed,
             ids(machine->findings));
    else
      target(v,
             {net ? SubjectKind::network_switch : SubjectKind::group,
              net ? "network of " + joined({widest->second.begin(), widest->second.end()}, 3)
                  : widest->first},
             confidence::kSharedUnnamed, ids(machine->findings));
    w.shared_class = widest->first;
    const std::size_t all = with_later(w, widest->first, widest->second);
    const Text share = net ? say(Phrase::a_switch_first) : say(Phrase::power_cooling_driver);
    v.summary = all == widest->second.size()
                    ? say(Phrase::same_fault_same_moment, all, inside(f.title), share, all)
                    : say(Phrase::same_fault_spreads, all, inside(f.title), widest->second.size(),
                          share, all);
    if (!net)
      advise(v, *machine);  // else it is to look at single cables
    else
      next(v, NextKind::plan,
           say(Phrase::look_at_switch, named.empty() ? say(Phrase::shared_switch) : Text(named)));
    return taken(say(Phrase::class_on_hosts_within_minutes, widest->first, widest->second.size()));
  }
  const Finding& f = *c->findings.front();
  v.symptom = f.symptom;
  v.start = c->start;
  v.action = Action::repair;
  for (const Finding* one : c->findings) {
    Subject s = one->subject;
    if (s.kind == SubjectKind::host || s.kind == SubjectKind::gpu || s.kind == SubjectKind::rank)
      s = {SubjectKind::storage, verbatim(one->title)};
    target(v, s,
           c->hosts.size() == 1 && w.incident.hosts > 2 ? confidence::kServiceSeenByOne
                                                        : confidence::kServiceSeenByMany,
           {one->id});
  }
  if (c->hosts.size() == 1 && w.incident.hosts_with_output > 2) {
    v.precision = Precision::candidates;
    v.summary = say(Phrase::service_seen_by_one_host, f.title, c->hosts[0], at(c->start));
    next(v, NextKind::plan, say(Phrase::check_mount_of_host, c->hosts[0]));
  } else {
    v.precision = Precision::exact;
    v.summary = say(Phrase::shared_service_failed, inside(f.title),
                    c->hosts.size() > 1 ? say(Phrase::seen_by_hosts, c->hosts.size()) : Text(),
                    at(c->start));
  }
  v.summary += in_its_words(f);
  advise(v, *c);
  return taken(say(Phrase::class_on_hosts_first, f.event_class, c->hosts.size()));
}

namespace {

std::string shared_path(const std::string& text) {
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" '\":,)", at), text.size());
    const std::string path = text.substr(at, end - at);
    for (const std::string_view name :
         {"lustre", "gpfs", "nfs", "weka", "beegfs", "vast", "fsx", "efs", "ceph", "juicefs", "s3",
          "gcs", "oss", "shared", "home", "filestore", "panfs", "daos"}) {
      const std::size_t found = path.find("/" + std::string(name));
      if (found == std::string::npos) continue;
      const std::size_t after = found + 1 + name.size();
      if (after < path.size() && path[after] != '/' &&
          !isdigit(static_cast<unsigned char>(path[after])) && path[after] != '-' &&
          path[after] != '_')
        continue;
      return path.substr(0, std::min(path.find('/', after), path.size()));
    }
    at = end;
    if (at == text.size()) break;
  }
  return {};
}

}  // namespace

Answer resources(Walk& w) {
  const Cause* c = w.best(CauseKind::resource);
  if (c == nullptr) return ruled_out(say(Phrase::no_resource_ran_out_first));
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.symptom = f.symptom;
  v.start = c->start;
  // A full file system that several hosts see, or whose path is a shared one, is no host's.
  const std::string path = shared_path(message_of(f));
  if (f.symptom == Symptom::insufficient_disk_space && (!path.empty() || c->hosts.size() >= 2)) {
    target(v, {SubjectKind::storage, path.empty() ? "shared file system" : path},
           confidence::kSharedSpaceFull, ids(c->findings));
    v.summary = say(Phrase::shared_file_system_full, path.empty() ? say(Phrase::of_the_job) : path,
                    at(c->start));
    advise(v, *c);
    return taken(say(Phrase::class_on_place, f.event_class,
                     path.empty() ? say(Phrase::hosts_counted, c->hosts.size()) : path));
  }
  const bool limit = f.remedy == "raise_limit" || f.remedy == "enlarge_shm" ||
                     f.remedy == "fix_launch" || f.remedy == "fix_path";
  // What ran out for one process after the other is what all of them need.
  std::set<std::string> subjects;
  for (const Finding* one : c->findings)
    if (one->event_class == f.event_class) subjects.insert(one->subject.id);
  // A scheduler's line without the machine says the same of it as the machine's own.
  const Finding* of_host = nullptr;
  if ((f.subject.kind == SubjectKind::job || f.subject.kind == SubjectKind::host) &&
      c->hosts.size() == 1 && subjects.size() <= 2)
    for (const Finding* one : c->findings)
      if (of_host == nullptr && one->subject == Subject{SubjectKind::host, c->hosts.front()})
        of_host = one;
  // What ran out on one machine now and on another before is what the job needs of each.
  const bool elsewhere =
      of_host != nullptr &&
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& one) {
        return one.event_class == f.event_class && one.analysis == Analysis::classify &&
               one.outcome == Outcome::fired && !one.hearsay && one.host &&
               *one.host != *of_host->host &&
               (one.origin == Origin::any || line_of(one).names_trainer) &&
               (w.incident.job_hosts.empty() ||
                std::binary_search(w.incident.job_hosts.begin(), w.incident.job_hosts.end(),
                                   *one.host));
      });
  if (limit)
    target(v,
           {SubjectKind::config, f.remedy == "enlarge_shm"   ? "size of /dev/shm"
                                 : f.remedy == "raise_limit" ? "memory limit of the job"
                                                             : f.remedy},
           confidence::kLimitReached, ids(c->findings));
  else if (of_host != nullptr && elsewhere)
    target(v, {SubjectKind::config, f.event_class}, confidence::kLimitReached, ids(c->findings));
  else if (of_host != nullptr)
    target(v, of_host->subject, of_host->confidence * confidence::kPartWithoutHost,
           ids(c->findings));
  else if (subjects.size() > 1)
    target(v, {SubjectKind::config, f.event_class}, confidence::kLimitReached, ids(c->findings));
  else if (f.subject.kind == SubjectKind::job)
    target(v, {SubjectKind::config, f.event_class}, confidence::kLimitReached, ids(c->findings));
  else
    target(v, f.subject, f.confidence * confidence::kPartWithoutHost, ids(c->findings));
  std::vector<std::string> who(c->hosts.begin(), c->hosts.end());
  if (who.empty() && subjects.size() > 1)
    who = {fmt::format("{} {}s", subjects.size(), name(f.subject.kind))};
  else if (who.empty() && f.subject.kind != SubjectKind::job)
    who = {fmt::format("{} {}", name(f.subject.kind), f.subject.id)};
  v.summary = say(Phrase::ran_out, inside(f.title),
                  who.empty() ? Text() : say(Phrase::on_place, list(who)), at(c->start));
  v.summary += in_its_words(f);
  advise(v, *c);
  return taken(say(Phrase::two_joined, f.event_class,
                   who.empty() ? Text() : say(Phrase::on_place, list(who))));
}

namespace {

// The setting in which the GPUs of that host differ from all others; nullptr: none.
const Finding* other_gpus_of(const Walk& w, const Host& host) {
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::drift && f.outcome == Outcome::fired &&
        f.hosts == std::vector<Host>{host} && f.subject.id.starts_with("gpu.product"))
      return &f;
  return nullptr;
}

// Out of memory on one machine alone, whose GPUs are not like the others'.
bool memory_of_one_host(Walk& w, const Cause& c) {
  std::set<Host> hosts;
  std::set<Rank> ranks;
  for (const Finding* f : c.findings) {
    if (!f->traits.has(Trait::gpu_memory_full)) return false;
    hosts.insert(f->hosts.begin(), f->hosts.end());
    ranks.insert(f->ranks.begin(), f->ranks.end());
  }
  if (hosts.size() != 1 || w.incident.hosts < 2) return false;
  const Host& host = *hosts.begin();
  const Finding* drift = other_gpus_of(w, host);
  if (drift == nullptr) return false;
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.symptom = c.findings.front()->symptom;
  v.start = c.start;
  v.precision = Precision::exact;
  std::vector<std::string> because = ids(c.findings);
  because.push_back(drift->id);
  target(v, {SubjectKind::host, host}, confidence::kExceptionKnown, because);
  v.summary = say(Phrase::host_out_of_gpu_memory, host, at(c.start), drift->why);
  next(v, NextKind::plan, say(Phrase::same_gpus_in_job));
  return true;
}

// The same in an earlier run, on ranks that are not among these.
bool other_ranks_had(const Walk& w, const std::string& event_class, const std::set<Rank>& ranks) {
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& f) {
    return f.event_class == event_class && f.analysis == Analysis::classify && !f.hearsay &&
           f.outcome == Outcome::ruled_out && !f.ranks.empty() &&
           std::none_of(f.ranks.begin(), f.ranks.end(),
                        [&](Rank r) { return ranks.count(r) != 0; });
  });
}

}  // namespace

Answer user_code(Walk& w) {
  const Cause* c = w.best(CauseKind::program);
  if (c == nullptr) return ruled_out(say(Phrase::no_exception_first));
  if (memory_of_one_host(w, *c))
    return taken(say(Phrase::memory_of_odd_host, w.verdict.targets.front().subject.id));
  Verdict& v = w.verdict;
  const Finding* f = c->findings.front();
  for (const Finding* one : c->findings)  // a place in the code says more than a line without one
    if (one->subject.kind == SubjectKind::code && f->subject.kind != SubjectKind::code) f = one;
  std::set<Rank> ranks;
  for (const Finding* one : c->findings)
    if (one->event_class == f->event_class) ranks.insert(one->ranks.begin(), one->ranks.end());
  const bool memory = f->traits.has(Trait::gpu_memory_full);
  const Text what = line_of(*f).exception.empty() ? f->title : Text(line_of(*f).exception);
  v.symptom = f->symptom;
  v.start = c->start;
  const std::vector<std::string> rank_names = [&] {
    std::vector<std::string> out;
    for (const auto r : ranks) out.push_back(std::to_string(number_of(r)));
    return out;
  }();
  // One rank after the other, run by run: no GPU of one of them, but what all have to hold.
  const bool others_before = memory && other_ranks_had(w, f->event_class, ranks);
  if (memory && ranks.size() == 1 && w.incident.ranks > 1 && !others_before) {
    v.action = Action::investigate;
    v.precision = Precision::candidates;
    target(v, {SubjectKind::rank, rank_names[0]}, confidence::kMemoryOfOneRank, ids(c->findings));
    v.summary = say(Phrase::rank_out_of_gpu_memory, rank_names[0], at(c->start));
    next(v, NextKind::command,
         std::string("nvidia-smi --query-compute-apps=gpu_bus_id,pid,used_memory --format=csv   # "
                     "on that host, before the next start"));
    advise(v, *c);
    return taken(say(Phrase::cuda_oom_on_one_rank));
  }
  v.action = Action::rollback;
  if (f->subject.kind == SubjectKind::code)
    target(v, f->subject,
           f->traits.has(Trait::any_exception) ? confidence::kExceptionPlain
                                               : confidence::kExceptionKnown,
           ids(c->findings));
  if (ranks.size() == 1)
    target(v, {SubjectKind::rank, rank_names[0]}, confidence::kExceptionRank, ids(c->findings));
  if (v.targets.empty())
    target(v, {SubjectKind::code, "the program"}, confidence::kProgramUnplaced, ids(c->findings));
  const std::string function = line_of(*f).function;
  const Text place = f->subject.kind != SubjectKind::code
                         ? Text()
                         : say(Phrase::at_place, f->subject.id) +
                               (function.empty() ? Text() : say(Phrase::in_brackets, function));
  const std::string said = quoted(message_of(*f), 140);
  if (ranks.size() == 1)
    v.summary =
        say(Phrase::program_failed_on_rank, rank_names[0], said.empty() ? what : said, place);
  else if (ranks.empty())
    v.summary = say(Phrase::program_failed, said.empty() ? what : said, place);
  else
    v.summary =
        say(Phrase::program_failed_on_ranks, ranks.size(), said.empty() ? what : said, place);
  if (ranks.size() == 1 && w.incident.ranks > 1)
    next(v, NextKind::plan, say(Phrase::only_rank_failed_this_way, rank_names[0]));
  next(v, NextKind::plan,
       memory ? say(Phrase::reduce_memory)
              : say(Phrase::go_back_or_fix, f->subject.kind == SubjectKind::code
                                                ? Text(f->subject.id)
                                                : say(Phrase::the_program)));
  return taken(say(Phrase::exception_at_on, what, place,
                   ranks.empty()       ? say(Phrase::unnamed_ranks)
                   : ranks.size() == 1 ? say(Phrase::rank_named, rank_names[0])
                                       : say(Phrase::ranks_counted, ranks.size())));
}

// GPUs on which earlier runs of the job ended with an illegal access: the driver reports it when
// the program does.
static std::set<std::string> gpus_of_runs_before(const Walk& w) {
  std::set<std::string> out;
  const auto when = [&](const Finding& f, const Finding& xid) {
    return (f.start && std::abs(*f.start - *xid.start) < w.params.same_moment) ||
           (f.end && std::abs(*f.end - *xid.start) < w.params.same_moment);
  };
  for (const Finding& f : w.incident.findings) {
    if (!f.traits.has(Trait::illegal_access) || f.hearsay || !w.incident.job_start || !f.end ||
        *f.end >= *w.incident.job_start || line_of(f).speaker != Speaker::job)
      continue;
    for (const Finding& xid : w.incident.findings)
      if (xid.traits.has(Trait::access_fault) && xid.subject.kind == SubjectKind::gpu &&
          xid.start && when(f, xid))
        out.insert(xid.subject.id);
  }
  return out;
}

namespace {

// The GPU that all these ranks were: the same of one machine of several, which one run gives to one
// rank alone.
struct OneGpu {
  Host host;
  LocalRank local{};
};
std::optional<OneGpu> one_gpu_of(const Case& incident, const std::set<Rank>& ranks) {
  if (ranks.size() < 2 || incident.hosts < 2) return std::nullopt;
  std::optional<OneGpu> out;
  for (const Rank rank : ranks) {
    const auto place = std::find_if(incident.places.begin(), incident.places.end(),
                                    [&](const auto& one) { return one.first == rank; });
    const auto local = incident.local_ranks.find(rank);
    if (place == incident.places.end() || local == incident.local_ranks.end()) return std::nullopt;
    if (out && (out->host != place->second || out->local != local->second)) return std::nullopt;
    out = OneGpu{place->second, local->second};
  }
  return out;
}

}  // namespace

Answer illegal_access(Walk& w) {
  const Cause* c = w.best(CauseKind::device_or_program);
  if (c == nullptr) return ruled_out(say(Phrase::no_illegal_access_first));
  std::set<std::string> devices;
  std::set<Rank> ranks;
  std::optional<Nanoseconds> low, high;
  const Finding* place = nullptr;
  for (const Finding* f : c->findings) {
    if (f->subject.kind == SubjectKind::gpu) devices.insert(f->subject.id);
    ranks.insert(f->ranks.begin(), f->ranks.end());
    if (f->subject.kind == SubjectKind::code && place == nullptr) place = f;
  }
  const std::set<std::string> before = gpus_of_runs_before(w);
  devices.insert(before.begin(), before.end());
  // Each time that this GPU ran into the fault, also in earlier attempts and runs.
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.traits.has(Trait::access_fault) &&
        f.subject.kind == SubjectKind::gpu && devices.count(f.subject.id) > 0) {
      if (f.start && (!low || *f.start < *low)) low = f.start;
      if (f.end && (!high || *f.end > *high)) high = f.end;
    }
  Verdict& v = w.verdict;
  v.symptom = Symptom::cuda_error;
  v.start = c->start;
  if (const auto one = one_gpu_of(w.incident, ranks); one && devices.size() < 2) {
    v.action = Action::isolate;
    v.precision = Precision::exact;
    target(v, {SubjectKind::host, one->host}, confidence::kDeviceAgainAndAgain, ids(c->findings));
    v.summary = say(Phrase::one_gpu_as_several_ranks, number_of(one->local), one->host,
                    inside(c->findings.front()->title),
                    to_ranges(std::vector<Rank>(ranks.begin(), ranks.end())));
    drain(w, one->host, c->findings.front()->event_class);
    next(v, NextKind::plan, say(Phrase::field_diagnostic_of_gpu));
    return taken(say(Phrase::same_gpu_in_each_run));
  }
  if (devices.size() > 1 || (devices.empty() && ranks.size() > 1)) {
    v.action = Action::rollback;
    target(v, place != nullptr ? place->subject : Subject{SubjectKind::code, "the program"},
           confidence::kSameOnSeveral, ids(c->findings));
    v.summary = say(Phrase::illegal_access_everywhere,
                    devices.empty() ? say(Phrase::ranks_counted, ranks.size())
                                    : say(Phrase::gpus_counted, devices.size()),
                    at(c->start));
    next(v, NextKind::plan, say(Phrase::find_the_kernel));
    return taken(say(Phrase::fault_on_several_gpus));
  }
  const bool repeated = devices.size() == 1 && low && high && *high - *low > w.params.same_burst;
  if (repeated) {
    const std::string gpu = *devices.begin();
    v.action = Action::isolate;
    if (const std::size_t end = gpu.find('/'); end != std::string::npos)  // else of no known host
      target(v, {SubjectKind::host, gpu.substr(0, end)}, confidence::kDeviceAgainAndAgain,
             ids(c->findings));
    target(v, {SubjectKind::gpu, gpu}, confidence::kDeviceAgainAndAgain, ids(c->findings));
    v.summary = say(Phrase::one_gpu_again_and_again, human_duration(*high - *low), gpu);
    next(v, NextKind::plan, say(Phrase::field_diagnostic_of_gpu));
    return taken(say(Phrase::fault_on_one_gpu_repeated));
  }
  v.action = Action::checks;
  v.precision = Precision::candidates;
  for (const std::string& gpu : devices)
    target(v, {SubjectKind::gpu, gpu}, confidence::kIllegalAccessOnce, ids(c->findings));
  if (devices.empty() && ranks.size() == 1)
    target(v, {SubjectKind::rank, std::to_string(number_of(*ranks.begin()))},
           confidence::kIllegalAccessOnce, ids(c->findings));
  v.summary = say(Phrase::illegal_access_once, c->findings.front()->title, at(c->start));
  next(v, NextKind::plan, say(Phrase::checks_of_gpu));
  return taken(say(Phrase::one_occurrence));
}

// What others report that ends processes in this way, a node that is gone; else the crash itself.
static const Finding& because_of(const Walk& w, const Finding& crash) {
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.outcome == Outcome::fired && !f.hearsay &&
        f.role == Role::cascade && leads_to(f, crash.event_class) && line_of(f).peer)
      return f;
  return crash;
}

Answer process_crash(Walk& w) {
  const Cause* c = w.best(CauseKind::crash);
  if (c == nullptr) return ruled_out(say(Phrase::no_crash_first));
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = Action::investigate;
  v.symptom = f.symptom;
  v.start = c->start;
  v.precision = Precision::candidates;
  std::set<Rank> ranks;
  for (const Finding* one : c->findings) ranks.insert(one->ranks.begin(), one->ranks.end());
  // The same crash in processes on other machines, also of other attempts.
  std::set<Host> hosts;
  for (const Finding& one : w.incident.findings)
    if (one.analysis == Analysis::classify && one.outcome == Outcome::fired && !one.hearsay &&
        one.event_class == f.event_class && one.role == Role::root)
      hosts.insert(one.hosts.begin(), one.hosts.end());
  if (hosts.size() >= 2) {
    v.action = Action::rollback;
    target(v, {SubjectKind::code, "the program"}, confidence::kSameOnSeveral, ids(c->findings));
    v.summary = say(Phrase::same_crash_on_hosts, hosts.size(), inside(f.title), at(c->start));
    next(v, NextKind::plan, say(Phrase::debug_the_crash));
    advise(v, *c);
    return taken(say(Phrase::class_on_hosts, f.event_class, list(hosts)));
  }
  for (const Rank r : ranks)
    if (v.targets.size() < 4)
      target(v, {SubjectKind::rank, std::to_string(number_of(r))}, confidence::kCrashOnce,
             ids(c->findings));
  std::vector<std::string> who;
  for (const Rank r : ranks)
    if (who.size() < 4) who.push_back(fmt::format("rank {}", r));
  if (who.empty()) who.assign(c->hosts.begin(), c->hosts.end());
  const Finding& told = because_of(w, f);
  if (const auto& peer = line_of(told).peer; &told != &f && peer) who = {*peer};
  v.summary = say(Phrase::process_crashed, who.empty() ? Text() : say(Phrase::on_place, list(who)),
                  at(c->start), inside(told.title), in_its_words(told));
  next(v, NextKind::plan, say(Phrase::keep_core_dump));
  advise(v, *c);
  return taken(say(Phrase::class_once, f.event_class));
}

namespace {

// Several machines lost their links for good in the same seconds: a switch has many ports. States
// of ports without a date agree with any.
bool all_at_once(const Cause& c) {
  constexpr Nanoseconds kMoment = 5 * kSecond;
  std::map<Host, Nanoseconds> down;
  std::set<Host> dead;
  Nanoseconds uncertainty = 0;  // clocks that cannot tell the moments apart make them one
  for (const Finding* f : c.findings) {
    const bool open = !f->alerts.empty() && !f->alerts.back().closed;
    if (!f->host || !(f->start ? open : f->severity == Severity::critical)) continue;
    dead.insert(*f->host);
    if (!f->start) continue;
    uncertainty = std::max(uncertainty, f->uncertainty);
    const Nanoseconds since = f->alerts.back().begin.value_or(*f->start);
    const auto [at, fresh] = down.try_emplace(*f->host, since);
    at->second = std::min(at->second, since);
  }
  if (c.hosts.size() < 2 || dead.size() != c.hosts.size() || down.empty()) return false;
  const auto [low, high] = std::minmax_element(
      down.begin(), down.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return high->second - low->second <= kMoment + 2 * uncertainty;
}

}  // namespace

namespace {

// The job's library says that a port failed, and the kernel of that host, which saw it, that it
// came back: one alert, of which the program does not print the end.
const Finding* came_back(const Walk& w, const Cause& c) {
  const Finding* out = nullptr;
  for (const Finding* one : c.findings) {
    if (one->origin != Origin::any || one->alerts.size() > 1 || one->hosts.size() != 1 ||
        one->count > 1)
      return nullptr;
    const auto& seen = w.first.transients;
    const auto own = std::find_if(seen.begin(), seen.end(), [&](const Finding* f) {
      return f->origin == Origin::kernel && f->host == one->hosts.front();
    });
    if (own == seen.end()) return nullptr;
    out = *own;
  }
  return out;
}

// Single alerts of a warning's weight in machines' own logs: the moment speaks for them, and the
// port may be one that the job does not use.
bool only_by_its_moment(const Cause& c) {
  return std::all_of(c.findings.begin(), c.findings.end(), [](const Finding* f) {
    return f->severity < Severity::critical && f->alerts.size() <= 1 && f->ranks.empty();
  });
}

}  // namespace

Answer network_alerts(Walk& w) {
  const Cause* c = w.best(CauseKind::network);
  if (c == nullptr) return ruled_out(say(Phrase::no_network_alert));
  const Finding& f = *c->findings.front();
  if (!after_effects(w))
    return ruled_out(say(Phrase::network_alert_without_effect, f.event_class, list(c->hosts)));
  if (const Finding* link = came_back(w, *c))
    return ruled_out(say(Phrase::link_came_back, *link->host));
  const Finding* diag = nullptr;
  for (const Finding& one : w.incident.findings)
    if (one.analysis == Analysis::root_diag && one.outcome == Outcome::fired) diag = &one;
  // Its own alert and connections of its own that broke are two sources; the others' connections
  // are a third opinion.
  const bool touched =
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& one) {
        return one.outcome == Outcome::fired && one.analysis == Analysis::classify &&
               one.role == Role::cascade && one.symptom == Symptom::infiniband_error &&
               std::any_of(one.hosts.begin(), one.hosts.end(), [&](const Host& host) {
                 return std::find(c->hosts.begin(), c->hosts.end(), host) != c->hosts.end();
               });
      });
  if (diag != nullptr && !touched && diag->subject.kind == SubjectKind::host &&
      std::find(c->hosts.begin(), c->hosts.end(), diag->subject.id) == c->hosts.end())
    return ruled_out(say(Phrase::connections_point_elsewhere, diag->subject.id, list(c->hosts)));
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  // Links that went down in the same moment count here although a clock is too uncertain to accuse
  // a host by.
  std::set<Host> hosts(c->hosts.begin(), c->hosts.end());
  for (const Finding& other : w.incident.findings)
    if (other.outcome == Outcome::fired && other.event_class == f.event_class && other.start &&
        c->start && std::abs(*other.start - *c->start) <= 30 * kSecond)
      hosts.insert(other.hosts.begin(), other.hosts.end());
  if (shared_by(w, c->hosts.size()) || !switch_below_which_all(w, hosts).empty() ||
      all_at_once(*c)) {
    v.action = Action::repair;
    v.precision = Precision::group;
    const std::string below = switch_below_which_all(w, hosts);
    const std::string named = below.empty() ? switch_of(w, hosts) : below;
    target(
        v,
        {SubjectKind::network_switch, named.empty() ? "network of " + joined(c->hosts, 3) : named},
        named.empty() ? confidence::kSharedUnnamed : confidence::kSwitchNamed, ids(c->findings));
    v.summary = say(Phrase::links_failed_together, hosts.size(), at(c->start), hosts.size());
    // The findings' own advice is to look at single cables.
    next(v, NextKind::plan,
         say(Phrase::look_at_switch_at, named.empty() ? say(Phrase::shared_switch) : Text(named),
             c->start ? iso_utc(*c->start / kSecond * kSecond) : say(Phrase::that_moment),
             list(hosts, 3)));
    return taken(say(Phrase::many_link_alerts));
  }
  const bool alone = diag == nullptr && !touched && only_by_its_moment(*c);
  v.action = alone ? Action::checks : Action::isolate;
  if (alone) v.precision = Precision::candidates;
  const double confidence = diag != nullptr || f.severity == Severity::critical
                                ? confidence::kLinkAndPeers
                                : confidence::kLinkAlone;
  for (const Host& host : c->hosts)
    target(v, {SubjectKind::host, host}, confidence, ids(c->findings));
  for (const Finding* one : c->findings)
    if (one->subject.kind == SubjectKind::nic) target(v, one->subject, confidence, {one->id});
  const bool open = std::any_of(c->findings.begin(), c->findings.end(), [](const Finding* one) {
    return !one->alerts.empty() && !one->alerts.back().closed;
  });
  v.summary = say(Phrase::link_failed, list(c->hosts),
                  open ? say(Phrase::link_went_down) : say(Phrase::link_failed_repeatedly),
                  at(c->start), inside(f.title));
  if (!alone) drain(w, c->hosts, f.event_class);
  advise(v, *c);
  return taken(say(Phrase::link_alerts_before, f.event_class, f.count, list(c->hosts)));
}

}  // namespace culprit::decide
