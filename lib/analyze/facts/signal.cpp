#include "analyze/facts/signal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/job_pods.hpp"
#include "analyze/facts/programs.hpp"
#include "analyze/facts/scheduler_job.hpp"
#include "analyze/facts/step_lines.hpp"
#include "analyze/facts/story.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kEvidencePerMember = 3;
constexpr std::size_t kEvidencePerSignal = 12;
constexpr Nanoseconds kBeforeJob =
    600 * kSecond;  // start-up of a job may well show its fault before the first output
constexpr Nanoseconds kFoldWindow = 10 * kSecond;

Evidence evidence_at(const Facts& facts, const Place& place, const std::string& message) {
  const MemberRow* m = facts.member(place.member);
  return {place.member, m == nullptr ? "" : m->path, place.line, place.offset,
          place.length, message.substr(0, 300)};
}

bool before_job(const Facts& facts, const std::optional<Nanoseconds>& end,
                Nanoseconds uncertainty) {
  return end && facts.job_start &&
         *end + uncertainty + (facts.start_is_known ? 0 : kBeforeJob) < *facts.job_start;
}

bool reads_state(const MemberRow* m) {
  return m != nullptr &&
         (m->text_kind == "nvidia-smi" || m->text_kind == "rdma" || m->text_kind == "dcgm");
}

// What several copies of one event share. The message is part of it: two Xid 13 of one GPU are two
// events.
std::string key_of(const EventRow& e) {
  const auto text = [](const auto& value) {
    std::string out = "\x1f";
    if (value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, std::string>)
        out += *value;
      else
        out += fmt::format("{}", *value);
    }
    return out;
  };
  return e.rule + "\x1f" + e.event_class + text(e.host) + text(e.rank) + text(e.gpu) + text(e.nic) +
         text(e.peer_host ? e.peer_host : e.peer);
}

// Members that hold what programs printed: a rank's log, a launcher's console. They may quote
// anything.
class ProgramOutput {
 public:
  explicit ProgramOutput(const Facts& facts)
      : facts_(facts), pods_(facts), job_(job_of_steps(facts)) {
    for (const MemberRow& m : facts.members)
      if (m.text_kind == "training" || m.text_kind == "nccl" || (m.rank && m.text_kind.empty()))
        add(m.id);
    for (const TracebackRow& t : facts.tracebacks) add(t.place.member);
    for (const ProgressSpan& p : facts.progress) add(p.member);
    for (const IdentityRow& i : facts.identities)
      if (i.source.starts_with("nccl-init") || i.source == "torchrun") add(i.place.member);
    // A job that did not come as far as its ranks: what is named as its output.
    if (members_.empty())
      for (const MemberRow& m : facts.members)
        if (m.belonging == Belonging::job && m.text_kind.empty() && named_as_output(m.path) &&
            !named_as_record(m.path))
          add(m.id);
    for (const ConfigRow& c : facts.configs)
      if (c.name == "slurm.job.state") {
        lists_.insert(c.place.member);
        nodes_[c.value.substr(0, c.value.find(' '))];
      } else if (c.name == "slurm.job.nodes") {
        const std::size_t space = std::min(c.value.find(' '), c.value.size());
        for (const auto& node :
             expand_hostlist(std::string_view(c.value).substr(space), 4096).hosts)
          nodes_[c.value.substr(0, space)].insert(short_host(node));
      }
    for (const RankRow& rank : facts.ranks)
      if (rank.host) ranks_on_.insert(short_host(*rank.host));
    ran_on_ = ranks_on_;
    for (const HostRow& host : facts.hosts)
      if (host.has_log) ran_on_.insert(short_host(host.host));
    for (const IdentityRow& i : facts.identities)
      if (i.pid && i.host) pids_[short_host(*i.host)].insert(*i.pid);
    for (const ExitRow& x : facts.exits)
      if (x.pid && x.host) pids_[short_host(*x.host)].insert(*x.pid);
    for (const EventRow& e : facts.events) {
      const MemberRow* m = facts.member(e.place.member);
      if (e.pid && e.host && m != nullptr && m->text_kind != "kernel")
        pids_[*e.host].insert(*e.pid);
    }
    // A console may hold the output of dmesg, too: there the kernel's lines are most of what stands
    // in it.
    std::map<MemberId, std::size_t> kernel_lines;
    for (const EventRow& e : facts.events) kernel_lines[e.place.member] += said_by_kernel(e);
    find_journals();
    for (const MemberRow& m : facts.members)
      if (m.text_kind == "kernel" ||
          (!m.rank && kernel_lines.count(m.id) > 0 && 2 * kernel_lines[m.id] > m.lines))
        members_.erase(m.id);
  }

  bool hearsay(const EventRow& e, const rules::RulePack& pack) const {
    const rules::Rule* rule = pack.find(e.rule);
    if (rule == nullptr) return false;
    // A daemon that repeats the kernel's words may repeat those of another machine.
    if (rule->origin == Origin::kernel && rule->meaning.traits.has(Trait::driver_number) &&
        !detail_of(e, "unit").empty() && !carries_kernel(detail_of(e, "unit")))
      return true;
    // A list of tickets or of what to do, unless its rows tell when.
    if (const MemberRow* m = facts_.member(e.place.member);
        m != nullptr && m->text_kind == "words" && e.time.clock == Clock::none &&
        rule->meaning.cause == CauseKind::machine)
      return true;
    if (members_.count(e.place.member) == 0) return false;
    if (rule->origin == Origin::kernel && journals_.count(e.place.member) > 0 &&
        carries_kernel(detail_of(e, "unit")))
      return false;
    // srun and slurmstepd speak on a job's own stderr; the daemons write syslog.
    return rule->origin == Origin::kernel || rule->origin == Origin::bmc ||
           (rule->origin == Origin::scheduler && is_daemon(e.detail));
  }

  // What a service of the machine says of its own requests, and a crash of a process that is none
  // of the job's, as far as its numbers are known: both stand in the machine's log.
  bool stranger(const Facts& facts, const EventRow& e, const rules::RulePack& pack) const {
    const MemberRow* m = facts.member(e.place.member);
    const rules::Rule* rule = pack.find(e.rule);
    if (m != nullptr && rule != nullptr && rule->origin == Origin::any &&
        rule->meaning.cause != CauseKind::none && members_.count(m->id) == 0 &&
        of_bundle_maker(*m, rule->meaning.traits))
      return true;
    // On a job's own standard error a step's daemon may speak of one that shared the machine.
    const bool by_daemon = e.message.find("StepId=") != std::string::npos;
    if (rule != nullptr && (members_.count(e.place.member) == 0 || by_daemon) &&
        (pods_.another(e) || of_another_job(e)))
      return true;
    // "xinetd[2]: Connection reset by peer": a daemon of the machine tells of its own clients.
    if (rule != nullptr && rule->origin == Origin::any && rule->meaning.role == Role::cascade &&
        members_.count(e.place.member) == 0 && serves_others(detail_of(e, "unit")))
      return true;
    if (m == nullptr || m->text_kind != "kernel" || rule == nullptr) return false;
    const std::string unit = detail_of(e, "unit");
    if (rule->origin == Origin::any &&
        (rule->meaning.cause == CauseKind::environment ||
         rule->meaning.cause == CauseKind::program) &&
        (unit.empty() || unit == "kernel"))
      return true;  // its words, not its meaning: "ACPI: Could not resolve symbol"
    if (rule->meaning.symptom == Symptom::external_service_error && !unit.empty())
      return unit == "kernel" || !carries_jobs(unit);
    if (rule->meaning.cause != CauseKind::crash || !e.host) return false;
    const auto own = pids_.find(*e.host);
    if (own == pids_.end() || (!unit.empty() && unit != "kernel")) return false;
    const std::optional<std::int64_t> pid = crashed_pid(e);
    return pid && own->second.count(*pid) == 0;
  }

  // Who reports that a resource, a service or a setting failed. Of devices nobody but the machine
  // speaks.
  Speaker speaker(const Facts& facts, const EventRow& e, const rules::RulePack& pack) const {
    const MemberRow* m = facts.member(e.place.member);
    const rules::Rule* rule = pack.find(e.rule);
    // A power distribution unit or a switch is no machine of the job, and speaks of nothing else.
    if (m == nullptr || rule == nullptr || members_.count(e.place.member) != 0 ||
        rule->origin == Origin::bmc || rule->meaning.traits.has(Trait::of_network))
      return Speaker::job;
    if (rule->meaning.cause == CauseKind::crash && detail_of(e, "unit") == "kernel")
      return Speaker::machine;  // of whichever program it was
    // What sets the clock speaks of the whole machine, and so does the kernel of its driver.
    const bool environment = rule->meaning.cause == CauseKind::environment &&
                             rule->origin == Origin::any &&
                             !rule->meaning.traits.has(Trait::clock_set);
    if (rule->meaning.cause != CauseKind::resource && rule->meaning.cause != CauseKind::shared &&
        !environment)
      return Speaker::job;
    // "Warning  OOMKilling  node/gpu-7": of whichever pod runs there.
    if (m->text_kind == "kubernetes" && e.message.find(" node/") != std::string::npos)
      return Speaker::machine;
    const std::string unit = detail_of(e, "unit");
    if (unit.empty() || unit == "kernel")
      return m->text_kind == "kernel" || !unit.empty() ? Speaker::machine : Speaker::job;
    if (carries_jobs(unit)) return Speaker::job;
    return runs_jobs(unit) ? Speaker::machine : Speaker::service;
  }

 private:
  // Schedulers keep the books of whole clusters: "Time limit exhausted for JobId=771863".
  bool of_another_job(const EventRow& e) const {
    if (of_another_record(e) || of_another_request(e)) return true;
    static const re2::RE2 kNumber(R"((?i)\b(?:job(?:[ _]?id)?|stepid)[ =:#]{1,2}(\d{2,12})\b)"),
        kRow(R"(^\s*(\d{2,12})(?:[._+]\S*)?[ |,\t])");
    std::string number;
    if (lists_.count(e.place.member) > 0 && re2::RE2::PartialMatch(e.message, kRow, &number))
      return job_.empty() ? had_few_machines(number) : number != job_;
    bool any = false;
    for (re2::StringPiece text(e.message); re2::RE2::FindAndConsume(&text, kNumber, &number);) {
      any = any || !job_.empty() || had_few_machines(number);
      if (number == job_) return false;
    }
    return any;
  }
  // By its record it had fewer than half of the machines on which ranks ran.
  bool had_few_machines(const std::string& number) const {
    const auto nodes = nodes_.find(number);
    if (nodes == nodes_.end() || nodes->second.empty()) return false;
    const auto had = std::ranges::count_if(
        ranks_on_, [&](const Host& host) { return nodes->second.count(host) > 0; });
    return 2 * static_cast<std::size_t>(had) < ranks_on_.size();
  }
  // A record of a job's end: of several jobs it must be the one in question, and of its machines.
  bool of_another_record(const EventRow& e) const {
    static const re2::RE2 kEnding(R"(^JobId=(\S+) JobState=)");
    std::string number;
    if (!re2::RE2::PartialMatch(e.message, kEnding, &number)) return false;
    if (job_.empty()) return nodes_.size() > 1 || had_few_machines(number);
    const auto nodes = nodes_.find(number);
    return number != job_ || (nodes != nodes_.end() && !nodes->second.empty() && !ran_on_.empty() &&
                              std::ranges::none_of(ran_on_, [&](const Host& host) {
                                return nodes->second.count(host) > 0;
                              }));
  }
  // What an API server was asked to delete goes by a name that something else of the bundle has.
  bool of_another_request(const EventRow& e) const {
    static const re2::RE2 kRequest(
        R"re("(?:requestURI|endpoint)": ?"[^"]*/(?:\w+s|job)/([\w.-]+)[?"/])re");
    std::string name;
    return re2::RE2::PartialMatch(e.message, kRequest, &name) &&
           std::ranges::none_of(facts_.members,
                                [&](const MemberRow& m) {
                                  return contains(m.path, name) ||
                                         (m.host && contains(std::string_view(*m.host), name));
                                }) &&
           std::ranges::none_of(facts_.events, [&](const EventRow& other) {
             return other.place.member != e.place.member && contains(other.message, name);
           });
  }
  // What whoever made the bundle ran afterwards: that a machine refused it, or lacks a command, is
  // no failure of the job.
  static bool of_bundle_maker(const MemberRow& m, const Traits& traits) {
    const std::string name = m.path.substr(m.path.rfind('/') + 1);
    return of_collector(name) || (of_tool(name) && traits.has(Trait::refused_or_missing));
  }
  // "python3[695594]: segfault at ..."
  static std::optional<std::int64_t> crashed_pid(const EventRow& e) {
    if (e.pid) return e.pid;
    static const re2::RE2 kPid(R"(\[(\d{2,8})\]:? (?:segfault|general protection|trap ))");
    std::int64_t pid = 0;
    if (re2::RE2::PartialMatch(e.message, kPid, &pid)) return pid;
    return std::nullopt;
  }

  static bool is_daemon(const std::string& detail) {
    return detail.find("unit=slurmd") != std::string::npos ||
           detail.find("unit=slurmctld") != std::string::npos ||
           detail.find("unit=kubelet") != std::string::npos;
  }
  void add(MemberId id) { members_.insert(id); }
  // Logs of several machines, to which the job writes as well: each line says which machine and
  // which program speaks, the job's own too.
  void find_journals() {
    std::set<MemberId> nameless;
    std::map<MemberId, std::set<Host>> speakers;
    for (const EventRow& e : facts_.events) {
      if (e.role == Role::advice) continue;
      const std::string unit = detail_of(e, "unit");
      if (unit.empty() || !e.host) nameless.insert(e.place.member);
      if (e.role == Role::cascade && e.host && unit != "kernel" && carries_jobs(unit))
        speakers[e.place.member].insert(*e.host);
    }
    for (const auto& [member, hosts] : speakers)
      if (hosts.size() > 1 && nameless.count(member) == 0) journals_.insert(member);
  }
  std::set<MemberId> journals_;
  std::set<MemberId> members_, lists_;                  // lists: of jobs, a row each
  std::map<std::string, std::set<std::int64_t>> pids_;  // of the job's processes, by machine
  const Facts& facts_;
  JobPods pods_;
  std::string job_;                              // in question; empty: not known
  std::map<std::string, std::set<Host>> nodes_;  // of each job that has a record
  std::set<Host> ranks_on_, ran_on_;             // of ranks; with those that have a log
};

// The lines that take alerts back, by class and host.
class Recoveries {
 public:
  explicit Recoveries(const Facts& facts) : facts_(facts) {
    for (const EventRow& e : facts.events)
      if ((e.role == Role::recovery || e.role == Role::advice) && !e.rule.empty() &&
          facts.counts(facts.member(e.place.member)))
        lists_[key(e.event_class, e.host)].in_place.push_back(&e);
    for (auto& [name, list] : lists_) {
      for (const EventRow* e : list.in_place)
        if (e->time_ns) list.in_time.push_back(e);
      sort_rows(list.in_place,
                [&](const EventRow* a, const EventRow* b) { return place(*a) < place(*b); });
      sort_by(list.in_time, [&](const EventRow* a) { return std::tuple(*a->time_ns, place(*a)); });
    }
  }

  // One alert from the first line that reports a trouble to the line that takes it back; what is
  // reported meanwhile belongs to it.
  std::vector<Alert> alerts(std::vector<const EventRow*> rows,
                            const std::vector<std::string>& classes) const {
    sort_rows(rows,
              [](const EventRow* a, const EventRow* b) { return a->place.line < b->place.line; });
    std::vector<Alert> out;
    const EventRow* closed_by = nullptr;
    for (const EventRow* e : rows) {
      if (!out.empty() && (closed_by == nullptr || !after(*closed_by, *e))) continue;
      closed_by = recovery_of(*e, classes);
      const bool boot = e->time.clock == Clock::boot;
      out.push_back({e->time_ns, closed_by ? closed_by->time_ns : std::nullopt,
                     boot      ? std::optional(e->time.ns)
                     : e->boot ? std::optional(e->boot->ns)
                               : std::nullopt,
                     closed_by != nullptr});
    }
    return out;
  }

 private:
  struct List {
    std::vector<const EventRow*> in_place, in_time;
  };
  std::pair<std::int64_t, std::uint64_t> place(const EventRow& e) const {
    return {facts_.order(e.place.member), e.place.line};
  }
  static std::string key(const std::string& event_class, const std::optional<Host>& host) {
    return event_class + '\x1f' + name_of(host);
  }
  static bool same_part(const EventRow& a, const EventRow& b) {
    const auto agree = [](const auto& x, const auto& y) { return !x || !y || *x == *y; };
    return agree(a.nic, b.nic) && agree(a.gpu, b.gpu) && agree(a.peer, b.peer);
  }
  static bool after(const EventRow& first, const EventRow& e) {
    if (first.place.member == e.place.member) return first.place.line < e.place.line;
    return first.time_ns && e.time_ns && *first.time_ns < *e.time_ns;
  }
  // The next one of the same log; else the next one in time.
  const EventRow* recovery_of(const EventRow& e, const std::vector<std::string>& classes) const {
    const EventRow* in_time = nullptr;
    const EventRow* in_place = nullptr;
    for (const std::string& one : classes) {
      const auto it = lists_.find(key(one, e.host));
      if (it == lists_.end()) continue;
      const List& list = it->second;
      auto at = std::upper_bound(list.in_place.begin(), list.in_place.end(), place(e),
                                 [&](const auto& p, const EventRow* r) { return p < place(*r); });
      for (; at != list.in_place.end() && (*at)->place.member == e.place.member; ++at)
        if (same_part(e, **at)) {
          if (in_place == nullptr || (*at)->place.line < in_place->place.line) in_place = *at;
          break;
        }
      if (!e.time_ns) continue;
      auto later =
          std::lower_bound(list.in_time.begin(), list.in_time.end(), *e.time_ns,
                           [](const EventRow* r, Nanoseconds t) { return *r->time_ns < t; });
      for (; later != list.in_time.end(); ++later)
        if (same_part(e, **later)) {
          if (in_time == nullptr || *(*later)->time_ns < *in_time->time_ns) in_time = *later;
          break;
        }
    }
    return in_place != nullptr ? in_place : in_time;
  }

  const Facts& facts_;
  std::map<std::string, List> lists_;
};

void widen(Signal& s, const std::optional<Nanoseconds>& start,
           const std::optional<Nanoseconds>& end, Nanoseconds uncertainty) {
  if (start && (!s.start || *start < *s.start)) {
    s.start = start;
    s.uncertainty = uncertainty;
  }
  if (end && (!s.end || *end > *s.end)) s.end = end;
  if (start && !s.end) s.end = start;
}

// Xid 45 belongs to another Xid of its GPU.
void name_owners_of_xid_45(std::vector<Signal>& signals) {
  std::map<std::pair<std::string, std::string>, std::vector<const Signal*>>
      others;  // by host and GPU, in order
  const auto part = [](const Signal& s) {
    return std::pair(s.host ? std::string(*s.host) : "\x1f", s.gpu.value_or("\x1f"));
  };
  for (const Signal& s : signals)
    if (s.meaning.traits.has(Trait::gpu_xid) && !s.meaning.traits.has(Trait::channel_removed) &&
        s.start)
      others[part(s)].push_back(&s);
  for (Signal& s : signals) {
    if (!s.meaning.traits.has(Trait::channel_removed) || !s.start || !s.after.empty()) continue;
    const auto its = others.find(part(s));
    if (its == others.end()) continue;
    for (const Signal* other : its->second)
      if (*other->start <= *s.end + kFoldWindow && *s.start <= *other->end + kFoldWindow) {
        s.after = other->event_class;
        break;
      }
  }
}

// Events of one kind. The rows stand by the path of their member, since the order of reading must
// not matter; copies of the same lines in other members are not counted again.
struct EventGroup {
  std::map<std::string, std::vector<const EventRow*>> by_path;
  bool hearsay = false, stranger = false;  // of all of its rows
  bool before = false;                     // each by itself, however uncertain their times are
  bool over = false;                       // each has no time, and steps of its log follow it
  bool unplaced = false, after = false;    // of all of its rows
  Speaker speaker = Speaker::job;          // of all of its rows, of what no device reports
};

std::map<std::string, EventGroup> group_events(const Facts& facts, const rules::RulePack& pack) {
  const ProgramOutput output(facts);
  const Story story(facts);
  std::map<std::string, EventGroup> groups;
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (!facts.counts(m) || e.role == Role::recovery || e.role == Role::advice) continue;
    const bool hearsay = output.hearsay(e, pack);
    const bool stranger = !hearsay && output.stranger(facts, e, pack);
    const Speaker speaker = hearsay || stranger ? Speaker::job : output.speaker(facts, e, pack);
    const Relation when =
        story.relate(e.time_ns, e.last_time_ns ? e.last_time_ns : e.time_ns, e.uncertainty);
    const bool before = when == Relation::before_start;
    const bool unplaced = e.elsewhere;
    // The job's own words cannot lie behind its end: their clock is another, or the record's.
    const bool after = when == Relation::after && m->belonging == Belonging::machine;
    const bool over = story.relate(e.place, e.last_line, e.time_ns) == Relation::lived_with;
    EventGroup& group = groups[key_of(e) +
                               (hearsay                       ? "\x1fhearsay"
                                : stranger                    ? "\x1fstranger"
                                : speaker == Speaker::service ? "\x1fservice"
                                : speaker == Speaker::machine ? "\x1fmachine"
                                                              : "") +
                               (before ? "\x1f"
                                         "before"
                                       : "") +
                               (over ? "\x1f"
                                       "over"
                                     : "") +
                               (unplaced ? "\x1funplaced"
                                : after  ? "\x1f"
                                           "after"
                                         : "")];
    group.unplaced = unplaced;
    group.after = after;
    group.hearsay = hearsay;
    group.stranger = stranger;
    group.before = before;
    group.over = over;
    group.speaker = speaker;
    group.by_path[m->path].push_back(&e);
  }
  return groups;
}

// When and how often a group was seen, and where: counted in the member that has most of it, which
// is returned.
const std::vector<const EventRow*>* count_group(const EventGroup& group, const Facts& facts,
                                                Signal& s) {
  s.count = 0;
  const std::vector<const EventRow*>* fullest = nullptr;
  for (const auto& [path, rows] : group.by_path) {
    std::uint64_t lines = 0;
    std::vector<Nanoseconds> times;
    std::size_t cited = 0;
    for (const EventRow* e : rows) {
      lines += e->count;
      widen(s, e->time_ns, e->last_time_ns, e->uncertainty);
      if (e->time_ns) times.push_back(*e->time_ns);
      if (e->count > 1 && e->last_time_ns) times.push_back(*e->last_time_ns);
      if (cited < kEvidencePerMember && s.evidence.size() < kEvidencePerSignal) {
        s.evidence.push_back(evidence_at(facts, e->place, e->message));
        ++cited;
      }
      if (!s.nic) s.nic = e->nic;
      if (!s.code) s.code = e->code;
    }
    if (lines > s.count) {
      s.count = lines;
      s.times = std::move(times);
      fullest = &rows;
    }
  }
  sort_rows(s.times);
  return fullest;
}

// "Xid 45 ... caused by previous Xid 149": the driver names the fault itself, whose own line may
// not have been collected.
std::string xid_named(const EventRow& e, const rules::RulePack& pack) {
  static const re2::RE2 kNamed(R"((?m)^cause=(\d{1,3})$)");
  const rules::Rule* rule = pack.find(e.rule);
  std::int64_t code = 0;
  if (rule == nullptr || !rules::meaning_of(*rule, e.code).traits.has(Trait::channel_removed) ||
      !re2::RE2::PartialMatch(e.detail, kNamed, &code))
    return {};
  return rules::fill_class(rule->event_class, {{"code", std::to_string(code)}}) + ": " +
         rules::meaning_of(*rule, code, {}, {}).title;
}

// Who says that his own numbers are none, or the same again, says on which device.
void name_own_device(const auto& row, Signal& s) {
  if (s.meaning.traits.has_any(
          {Trait::own_numbers, Trait::rerun_same_gpu_agrees, Trait::rerun_same_gpu_differs}) &&
      !s.gpu && row.host && row.local_rank)
    s.gpu = std::to_string(number_of(*row.local_rank));
}

Signal signal_of_group(const EventGroup& group, const Facts& facts, const rules::RulePack& pack,
                       const Recoveries& recoveries,
                       const std::map<std::string_view, std::string_view>& drivers) {
  Signal s;
  const auto* const fullest = count_group(group, facts, s);
  const EventRow& e = *group.by_path.begin()->second.front();
  const MemberRow* m = facts.member(e.place.member);
  s.event_class = e.event_class;
  s.rule = e.rule;
  if (const rules::Rule* rule = pack.find(e.rule); rule != nullptr) {
    const auto driver = e.host ? drivers.find(*e.host) : drivers.end();
    s.meaning =
        rules::meaning_of(*rule, e.code, e.message,
                          driver == drivers.end() ? std::string{} : std::string(driver->second));
    s.origin = rule->origin;
  }
  // What the line itself printed (Fatal, Non-fatal) stands over the table, unless the driver
  // branch gives the number another sense.
  if (s.meaning.history.empty() || s.meaning.severity == Severity::info)
    s.meaning.severity = e.severity;
  else
    s.meaning.severity = std::min(s.meaning.severity, e.severity);
  s.meaning.role = e.role;
  s.meaning.scope = e.scope;
  s.host = e.host;
  s.rank = e.rank;
  s.gpu = e.gpu;
  s.peer = e.peer;
  s.peer_host = e.peer_host;
  s.attempt = m->attempt;
  s.message = e.message;
  s.state = reads_state(m);
  s.steps_after = group.over;
  s.after = xid_named(e, pack);
  s.hearsay = group.hearsay;
  s.stranger = group.stranger;
  s.before_job = group.before;
  s.after_end = group.after;
  s.unplaced = group.unplaced;
  s.speaker = group.speaker;
  // What a program prints of other machines is about its text, not about them.
  if (s.hearsay) s.host = m->host;
  name_own_device(e, s);
  if (!s.meaning.cleared_by.empty() && fullest != nullptr)
    s.alerts = recoveries.alerts(*fullest, s.meaning.cleared_by);
  return s;
}

void add_event_signals(const Facts& facts, const rules::RulePack& pack, std::vector<Signal>& out) {
  const Recoveries recoveries(facts);
  std::map<std::string_view, std::string_view> drivers;  // by host
  for (const HostRow& row : facts.hosts) drivers.emplace(row.host, row.driver);
  const auto groups = group_events(facts, pack);
  out.reserve(out.size() + groups.size());
  for (const auto& [key, group] : groups)
    out.push_back(signal_of_group(group, facts, pack, recoveries, drivers));
}

// Exceptions: one per process and text, whichever files tell of it. Rows of each by path and line.
std::map<std::string, std::vector<const TracebackRow*>> exceptions_raised(const Facts& facts) {
  std::map<std::string, std::vector<const TracebackRow*>> raised;
  const Story story(facts);
  for (const TracebackRow& t : facts.tracebacks) {
    const MemberRow* m = facts.member(t.place.member);
    if (!facts.counts(m)) continue;
    const std::string who = t.rank ? "r" + std::to_string(number_of(*t.rank))
                                   : name_of(t.host) + "/" +
                                         (t.local_rank ? std::to_string(number_of(*t.local_rank))
                                          : t.pid      ? "p" + std::to_string(*t.pid)
                                                       : m->path);
    const bool before = before_job(facts, t.time_ns, t.uncertainty);
    const bool unplaced = t.elsewhere || story.outside(t.place, t.time_ns);
    raised[who + "\x1f" + t.type + "\x1f" + t.message + (before ? "\x1f" : "") +
           (unplaced ? "\x1funplaced" : "")]
        .push_back(&t);
  }
  for (auto& [key, rows] : raised)
    sort_rows(rows, [&](const TracebackRow* a, const TracebackRow* b) {
      const std::string& p = facts.member(a->place.member)->path;
      const std::string& q = facts.member(b->place.member)->path;
      return p != q ? p < q : a->place.line < b->place.line;
    });
  return raised;
}

// Classes of exceptions that no rule knows: those of the rules that read such lines elsewhere.
constexpr std::string_view kUnknownException = "py_exception", kAskedToStop = "launcher_teardown";

// The meaning of an exception that no rule knows.
void judge_unknown_exception(const std::string& type, Signal& s) {
  static const std::set<std::string> kEndings{"KeyboardInterrupt", "SystemExit", "SignalException",
                                              "GeneratorExit"};
  const std::size_t dot = type.rfind('.');
  const bool ending = kEndings.count(type.substr(dot == std::string::npos ? 0 : dot + 1)) > 0;
  s.event_class = ending ? kAskedToStop : kUnknownException;
  s.meaning.traits = rules::traits_of_class(s.event_class);
  s.unknown_exception = true;
  s.meaning.severity = ending ? Severity::distributed : Severity::critical;
  s.meaning.role = ending ? Role::teardown : Role::root;
  s.meaning.scope = ending ? Scope::job_wide : Scope::user_code;
  s.meaning.cause = ending ? CauseKind::none : CauseKind::program;
  s.meaning.component = "program or data";
  s.meaning.symptom = ending ? Symptom::none : Symptom::code_data_adjustment;
  s.meaning.action = "fix_code";
}

// What stands on the line of an exception. JSON spells some characters in another way.
std::string excerpt_of(const TracebackRow& t) {
  std::string said = t.type + (t.type.empty() || t.message.empty() ? "" : ": ") + t.message;
  if (t.source == "error.json") {
    const auto escaped = std::ranges::find_if(
        said, [](unsigned char c) { return c < 0x20 || c > 0x7e || c == '"' || c == '\\'; });
    said.erase(escaped, said.end());
  }
  return said;
}

// A URL, or a host of one, with a domain: machines of the job go by an address or a bare name.
bool names_web_service(const std::string& message) {
  static const re2::RE2 kHost(R"re((?:https?://|HTTPS?ConnectionPool\(host=')([A-Za-z0-9.-]+))re");
  re2::StringPiece rest(message);
  for (std::string host; re2::RE2::FindAndConsume(&rest, kHost, &host);)
    if (host.find('.') != std::string::npos &&
        std::ranges::any_of(host, [](unsigned char c) { return std::isalpha(c) != 0; }) &&
        !host.ends_with(".local") && !host.ends_with(".internal"))
      return true;
  return false;
}

Signal signal_of_exception(const std::vector<const TracebackRow*>& rows, const Facts& facts,
                           const StepLines& steps, const rules::RulePack& pack) {
  Signal s;
  // The program caught it, or another run came after.
  s.steps_after = std::ranges::all_of(
      rows, [&](const TracebackRow* t) { return !t->time_ns && steps.follow_far(t->place); });
  std::map<MemberId, std::uint64_t> lines;
  std::optional<Nanoseconds> epoch;
  for (const TracebackRow* t : rows) {
    widen(s, t->time_ns, t->time_ns, t->uncertainty);
    if (t->source == "error.json" && t->time_ns) epoch = t->time_ns;
    ++lines[t->place.member];
    if (s.evidence.size() < kEvidencePerSignal) {
      s.evidence.push_back(evidence_at(facts, t->place, excerpt_of(*t)));
    }
    if (!s.host) s.host = t->host;
    if (!s.rank) s.rank = t->rank;
    if (!s.attempt) s.attempt = facts.member(t->place.member)->attempt;
    if (s.event_class.empty()) {
      s.event_class = t->event_class;
      s.rule = t->rule;
    }
    if (s.code_place.empty() && !t->file.empty()) {
      s.code_place = t->file + ":" + std::to_string(t->file_line);
      s.function = t->function;
    }
  }
  // The process's own clock is nearer to the failure than its parent's.
  if (epoch) {
    s.start = s.end = epoch;
    s.uncertainty = 2 * kSecond;
  }
  const TracebackRow& t = *rows.front();
  s.unplaced = t.elsewhere;
  s.exception = t.type;
  s.message = t.type + (t.message.empty() ? "" : ": " + t.message);
  for (const auto& [member, n] : lines) s.count = std::max(s.count, n);
  if (s.start) s.times.push_back(*s.start);
  if (const rules::Rule* rule = s.rule.empty() ? nullptr : pack.find(s.rule); rule != nullptr) {
    s.meaning = rule->meaning;
    s.meaning.traits.add(rules::traits_of_class(s.event_class));  // of its number, if it has one
  } else {
    judge_unknown_exception(t.type, s);
  }
  name_own_device(t, s);
  // A web service that a program only warns of has ended it when nothing caught the exception:
  // often rank 0 alone calls it.
  const auto caught = [&](const TracebackRow* one) {
    return steps.follow(one->place.member, std::max(one->place.line, one->last_line), one->time_ns);
  };
  if (s.meaning.role == Role::root && s.meaning.severity == Severity::warning &&
      names_web_service(s.message) && !std::ranges::all_of(rows, caught))
    s.meaning.severity = Severity::critical;
  return s;
}

// Not of this attempt: a machine that was taken out before the last attempt began.
void mark_absent(const Facts& facts, std::vector<Signal>& signals) {
  if (!facts.manifest) return;
  const auto& attempts = facts.manifest->attempts;
  const bool listed = !attempts.empty() && !attempts.back().hosts.empty();
  if (!listed && (attempts.size() < 2 || facts.manifest->hosts.empty())) return;
  std::set<std::string> present;
  for (const auto& host : listed ? attempts.back().hosts : facts.manifest->hosts)
    present.insert(short_host(host));
  for (Signal& s : signals) s.absent = s.host && present.count(short_host(*s.host)) == 0;
}

// What is broken until somebody resets the device or the machine, if a run that came within a day
// of it did not come together.
bool breaks_the_next_run(const Facts& facts, const Signal& s) {
  constexpr std::array<std::string_view, 2> kUntilRestart{"reset_gpu", "reboot_node"};
  const auto steps_later = [&](const ProgressSpan& p) {
    return facts.earlier_output.count(p.member) == 0 &&
           (!p.last.time_ns || *p.last.time_ns > *s.end);
  };
  return contains(kUntilRestart, s.meaning.action) && s.meaning.role == Role::root &&
         s.meaning.severity == Severity::critical && s.origin == Origin::kernel &&
         facts.job_start && *s.end + kDay > *facts.job_start &&
         std::ranges::none_of(facts.progress, steps_later);
}

// Where nothing tells when the job ran: what a device showed before its driver was loaded anew,
// which resets it, was of another time.
void mark_reset_since(const Facts& facts, std::vector<Signal>& signals) {
  if (facts.job_start || std::ranges::any_of(facts.progress, [](const ProgressSpan& p) {
        return p.last.time_ns.has_value();
      }))
    return;
  std::map<MemberId, std::uint64_t> loaded;  // the last line that tells of it
  for (const ConfigRow& row : facts.configs)
    if (row.name == "driver_version")
      loaded[row.place.member] = std::max(loaded[row.place.member], row.place.line);
  for (Signal& s : signals) {
    if (s.origin != Origin::kernel || !s.gpu || s.evidence.empty()) continue;
    s.reset_since = std::ranges::all_of(s.evidence, [&](const Evidence& e) {
      const auto at = loaded.find(e.member);
      return at != loaded.end() && at->second > e.line;
    });
  }
}

bool led_to_any(const Signal& s, const std::set<std::string_view>& classes) {
  return std::ranges::any_of(s.meaning.leads_to,
                             [&](const std::string& one) { return classes.count(one) > 0; });
}

// A service that ended before the job began, of a kind that says when it is back and did not, is
// still gone when somebody who asks for it gets no answer.
void keep_services_that_stayed_away(std::vector<Signal>& signals) {
  std::set<std::string_view> met;
  for (const Signal& s : signals)
    if (!s.before_job && !s.hearsay && s.meaning.role == Role::confirmation)
      met.insert(s.event_class);
  for (Signal& s : signals)
    if (s.before_job && s.meaning.cause == CauseKind::shared && s.meaning.role == Role::root &&
        !s.meaning.cleared_by.empty() && (s.alerts.empty() || !s.alerts.back().closed) &&
        led_to_any(s, met))
      s.before_job = false;
}

// A setting that was changed within a day before the job began is in force when the job prints what
// it leads to.
void keep_settings_that_stay(const Facts& facts, std::vector<Signal>& signals) {
  std::set<std::string_view> met;
  for (const Signal& s : signals)
    if (!s.before_job && !s.hearsay) met.insert(s.event_class);
  for (Signal& s : signals)
    if (s.before_job && s.meaning.traits.has(Trait::lasting) && s.end && facts.job_start &&
        *s.end + kDay > *facts.job_start && led_to_any(s, met))
      s.before_job = false;
}

// A part that failed before the job began and that nothing took back is still broken when a program
// on the same machine prints what that leads to, and what is no echo of a failure anywhere.
void keep_what_stayed_broken(const Facts& facts, std::vector<Signal>& signals) {
  std::map<Host, std::set<std::string_view>> met;  // by the job, by host
  for (const Signal& s : signals)
    if (!s.before_job && !s.hearsay && !s.stranger && s.origin == Origin::any && s.host &&
        s.meaning.role == Role::root)
      met[*s.host].insert(s.event_class);
  std::map<Host, Nanoseconds> boots;
  for (const HostRow& row : facts.hosts)
    if (row.boot_ns) boots[row.host] = *row.boot_ns;
  const bool apart = std::ranges::any_of(signals, [](const Signal& s) {
    return !s.before_job && !s.hearsay && !s.stranger &&
           s.meaning.traits.has_any({Trait::rendezvous_timeout, Trait::store_unreached});
  });
  for (Signal& s : signals) {
    if (!s.before_job || s.meaning.cause != CauseKind::machine || !s.host || !s.end) continue;
    const bool closed = !s.alerts.empty() && s.alerts.back().closed;
    const auto boot = boots.find(*s.host);
    const auto classes = met.find(*s.host);
    if (closed || (boot != boots.end() && boot->second > *s.end)) continue;
    if (apart && breaks_the_next_run(facts, s)) s.before_job = false;
    if (classes != met.end() && led_to_any(s, classes->second)) s.before_job = false;
  }
}

bool earlier(const Signal& a, const Signal& b) {
  const auto text = [](const auto& t) { return t ? std::string_view(*t) : std::string_view(); };
  const auto key = [&](const Signal& s) {
    return std::tuple(!s.start.has_value(), s.start.value_or(0), std::string_view(s.event_class),
                      text(s.host), s.rank.value_or(kNoRank), text(s.gpu),
                      std::string_view(s.message));
  };
  return key(a) < key(b);
}

}  // namespace

std::vector<Signal> collect_signals(const Facts& facts, const rules::RulePack& pack) {
  std::vector<Signal> out;
  const StepLines steps(facts);
  add_event_signals(facts, pack, out);
  for (const auto& [key, rows] : exceptions_raised(facts))
    out.push_back(signal_of_exception(rows, facts, steps, pack));
  mark_absent(facts, out);
  mark_reset_since(facts, out);
  // Before the job: an old fault of the same machine is history, not cause.
  for (Signal& s : out) s.before_job = s.before_job || before_job(facts, s.end, s.uncertainty);
  keep_what_stayed_broken(facts, out);
  keep_services_that_stayed_away(out);
  keep_settings_that_stay(facts, out);
  name_owners_of_xid_45(out);
  sort_rows(out, earlier);
  return out;
}

std::optional<Nanoseconds> ran_for(std::string_view message) {
  constexpr std::string_view kWords = "ran for ";
  const std::size_t at = message.find(kWords);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t ms = 0;
  const std::string_view number = message.substr(at + kWords.size());
  std::from_chars(number.data(), number.data() + number.size(), ms);
  if (ms <= 0 || ms >= 86'400'000) return std::nullopt;  // a day: no time-out of a collective
  return ms * 1'000'000;
}

std::vector<const Signal*> timeouts(const std::vector<Signal>& signals) {
  std::vector<const Signal*> out;
  bool genuine = false, broke = false;
  for (const Signal& s : signals) {
    if (!s.takes_part() || s.meaning.role != Role::cascade) continue;
    if (s.meaning.symptom != Symptom::job_hang) {
      broke = broke || s.meaning.severity >= Severity::distributed;
      continue;
    }
    genuine = genuine || !s.meaning.traits.has(Trait::watchdog_stop);
    out.push_back(&s);
  }
  if (broke && !genuine) out.clear();
  return out;
}

}  // namespace culprit::analyze
