// What explains a verdict by the records of whom it names: a machine restarted, and an
// uncorrectable memory error stands in its event log, by a clock of another zone perhaps; a GPU is
// slow, and a fan has failed; storage is gone, and a server has lost a disk.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "rules/step_parts.hpp"

namespace culprit::decide {

namespace {

constexpr std::size_t kMostRecords = 2;
constexpr Nanoseconds kAround = 15 * kMinute;  // a machine restarts, and its controller notes why

// The one machine that all targets are parts of.
std::optional<Host> only_machine(const Verdict& v) {
  std::set<Host> out;
  for (const Target& t : v.targets)
    if (t.subject.kind == SubjectKind::host || t.subject.kind == SubjectKind::gpu ||
        t.subject.kind == SubjectKind::nic)
      out.insert(machine_of(t.subject));
  return out.size() == 1 ? std::optional(*out.begin()) : std::nullopt;
}

// Half-hours apart and to the minute, as zones are; 0: at the same time. Nothing: at another time.
std::optional<Nanoseconds> zone_between(Nanoseconds a, Nanoseconds b) {
  constexpr Nanoseconds kZone = 30 * kMinute, kNearest = kHour, kWidest = 14 * kHour;
  constexpr Nanoseconds kExact = kMinute;
  if (std::abs(a - b) <= kAround) return 0;
  if (std::abs(a - b) < kNearest - kExact || std::abs(a - b) > kWidest) return std::nullopt;
  const Nanoseconds off = ((a - b) % kZone + kZone) % kZone;
  if (std::min(off, kZone - off) > kExact) return std::nullopt;
  return (a - b + (off > kZone / 2 ? kZone - off : -off));
}

// A fault by the machine's own word, and not what came of one.
bool says_itself(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return line != nullptr && line->speaker == Speaker::machine && !f.traits.has(Trait::restarted);
}

// The same in other words: of one class, or of one device.
bool same_fault(const Finding& a, const Finding& b) {
  return a.event_class == b.event_class ||
         (a.symptom == b.symptom && a.subject.kind == SubjectKind::gpu);
}

bool explains(const Finding& f, const Host& host, bool slow) {
  if (f.analysis != Analysis::classify || f.hearsay || f.host != host || f.role != Role::root ||
      f.cause != CauseKind::machine || (f.origin != Origin::kernel && f.origin != Origin::bmc))
    return false;
  return slow ? f.severity >= Severity::warning &&
                    rules::made_longer_by(rules::StepPart::compute, f.symptom)
              : f.severity == Severity::critical;
}

// Storage failed, and nobody says which: the server that recorded a fault of its own by then.
void tell_server_records(Walk& w) {
  constexpr Nanoseconds kBefore = kHour;  // a server fails over, and its clients wait for it
  Verdict& v = w.verdict;
  const Case& incident = w.incident;
  const auto moment = v.start                     ? v.start
                      : w.first.first_consequence ? w.first.first_consequence
                      : incident.last_progress    ? incident.last_progress
                                                  : incident.job_end;
  const bool storage = v.action == Action::repair && !v.targets.empty() &&
                       std::ranges::all_of(v.targets, [](const Target& t) {
                         return t.subject.kind == SubjectKind::storage;
                       });
  if (!storage || !moment) return;
  const auto& servers = incident.storage_servers;
  const Finding* first = nullptr;
  for (const Finding& f : incident.findings)
    if (f.fired(Analysis::classify) && !f.hearsay && f.host && f.start && f.role == Role::root &&
        f.severity >= Severity::warning && std::ranges::binary_search(servers, *f.host) &&
        *f.start <= *moment + kAround && *f.start >= *moment - kBefore &&
        (first == nullptr || *f.start < *first->start))
      first = &f;
  if (first == nullptr) return;
  target(v, {SubjectKind::storage, std::string(*first->host)}, confidence::kServiceSeenByMany,
         {first->id});
  // By its name before what it serves.
  std::rotate(v.targets.begin(), v.targets.end() - 1, v.targets.end());
  v.summary += say(Phrase::machine_recorded, *first->host,
                   say(Phrase::record_at, inside(first->title), at(first->start)));
}

// What shows, without a moment of its own, why the resource was used up: a full target of a file
// system that has room.
void tell_shared_reason(Walk& w) {
  Verdict& v = w.verdict;
  if (v.action != Action::repair || v.targets.empty() || v.targets.front().because.empty()) return;
  const auto& findings = w.incident.findings;
  const std::string& id = v.targets.front().because.front();
  const auto head = std::ranges::find(findings, id, &Finding::id);
  if (head == findings.end() || head->cause != CauseKind::resource) return;
  const auto reason = std::ranges::find_if(findings, [&](const Finding& f) {
    return f.fired() && !f.hearsay && f.cause == CauseKind::shared && f.role == Role::root &&
           leads_to(f, head->event_class);
  });
  if (reason == findings.end()) return;
  target(v, reason->subject, reason->confidence, {reason->id});
  v.summary += say(Phrase::shown_besides, inside(reason->title)) + in_its_words(*reason);
  if (!reason->advice.empty()) next(v, NextKind::plan, reason->advice);
}

// What others saw of the machine, or what came of it, by its own kernel or controller.
void tell_machine_records(Walk& w) {
  Verdict& v = w.verdict;
  const std::optional<Host> host = only_machine(v);
  const bool slow = of_slow_job(v);
  if (!host || !v.start || (!slow && v.action != Action::isolate && v.action != Action::checks))
    return;
  const auto& because = v.targets.front().because;
  const auto head = std::ranges::find_if(w.incident.findings, [&](const Finding& f) {
    return !because.empty() && f.id == because.front();
  });
  if (head == w.incident.findings.end() || says_itself(*head)) return;
  // Of the same time rather than of another zone; of these the first: what follows may follow from
  // it.
  struct Record {
    const Finding* finding;
    Nanoseconds zone;
  };
  std::map<std::tuple<bool, Nanoseconds, std::string>, Record> found;
  for (const Finding& f : w.incident.findings)
    if (explains(f, *host, slow) && f.start && !same_fault(f, *head))
      if (const auto zone = zone_between(*f.start, *v.start);
          zone && (*zone == 0 ? f.fired() : !slow))
        found.emplace(std::tuple(*zone != 0, *f.start, f.event_class), Record{&f, *zone});
  Text records;
  std::set<std::string> told;
  for (const auto& [key, one] : found) {
    const auto& [f, zone] = one;
    if (told.size() >= kMostRecords || !told.insert(f->event_class).second) continue;
    Text when = at(f->start);
    if (zone != 0) when += say(Phrase::clock_of_another_zone, human_duration(std::abs(zone)));
    const Text record = say(Phrase::record_at, inside(f->title), when);
    records = told.size() == 1 ? record : say(Phrase::and_record, records, record);
  }
  if (!told.empty()) v.summary += say(Phrase::machine_recorded, *host, records);
}

// Settings that one machine alone has otherwise than all others, the weightiest first.
std::vector<const Finding*> odd_settings(const Walk& w, const std::optional<Host>& host,
                                         std::string_view explains) {
  std::vector<const Finding*> out;
  const std::vector<Target>& targets = w.verdict.targets;
  for (const Finding& f : w.incident.findings)
    if (const auto* setting = std::get_if<SettingFacts>(&f.facts);
        setting != nullptr && f.fired() && setting->explains == explains && f.hosts.size() == 1 &&
        (!host || f.hosts.front() == *host) && std::ranges::none_of(targets, [&](const Target& t) {
          return std::ranges::count(t.because, f.id) > 0;
        }))
      out.push_back(&f);
  std::ranges::stable_sort(
      out, [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  return out;
}

void tell_setting(Walk& w, const Finding& f) {
  const auto& setting = std::get<SettingFacts>(f.facts);
  w.verdict.summary += say(Phrase::alone_has, f.hosts.front(), setting.label, setting.value);
  if (!f.advice.empty()) next(w.verdict, NextKind::plan, f.advice);
}

// What the machine that makes the job slow has otherwise: a program beside the job's, less memory.
// And where a job failed that no machine ended, the build of its program that one of them alone
// has.
void tell_odd_settings(Walk& w) {
  constexpr std::size_t kMostSettings = 2;
  Verdict& v = w.verdict;
  const std::optional<Host> host = only_machine(v);
  if (of_slow_job(v) && host) {
    std::vector<const Finding*> odd = odd_settings(w, host, "performance");
    if (odd.size() > kMostSettings) odd.resize(kMostSettings);
    for (const Finding* f : odd) {
      tell_setting(w, *f);
      if (v.targets.front().because.size() < 6) v.targets.front().because.push_back(f->id);
    }
  } else if (v.action == Action::repair || v.action == Action::rollback ||
             v.action == Action::checks || v.action == Action::investigate) {
    const std::vector<const Finding*> odd = odd_settings(w, std::nullopt, "communication");
    if (!odd.empty() && odd.front()->severity == Severity::critical) tell_setting(w, *odd.front());
  }
}

}  // namespace

void tell_records(Walk& w) {
  tell_server_records(w);
  tell_shared_reason(w);
  tell_machine_records(w);
  tell_odd_settings(w);
}

}  // namespace culprit::decide
