#include "decide/walk.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/phrases.hpp"
#include "model/shell.hpp"

namespace culprit::decide {

Answer ruled_out(Text why) { return {StepOutcome::ruled_out, std::move(why)}; }
Answer taken(Text why) { return {StepOutcome::taken, std::move(why)}; }
Answer not_enough(Text why) { return {StepOutcome::not_enough_evidence, std::move(why)}; }

Text on(const std::vector<Host>& hosts) {
  return hosts.empty() ? Text() : say(Phrase::on_place, list(hosts));
}

Text inside(const Text& title) { return say(Phrase::inside, title); }

std::string joined(const std::vector<Host>& hosts, std::size_t most) {
  const std::size_t shown = std::min(most, hosts.size());
  std::string out = fmt::format(
      "{}", fmt::join(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(shown), ","));
  if (hosts.size() > shown) out += fmt::format(",+{}", hosts.size() - shown);
  return out;
}

std::vector<std::string> ids(const std::vector<const Finding*>& findings) {
  std::vector<std::string> out;
  for (const Finding* f : findings)
    if (out.size() < 6) out.push_back(f->id);
  return out;
}

void act(Verdict& v, Action action, Precision precision) {
  v.action = action;
  v.precision = precision;
}
void act(Verdict& v, Action action, Precision precision, Symptom symptom) {
  act(v, action, precision);
  v.symptom = symptom;
}
void act(Verdict& v, Action action, Precision precision, Symptom symptom,
         const std::optional<Nanoseconds>& start) {
  act(v, action, precision, symptom);
  v.start = start;
}

void target(Verdict& v, Subject subject, double confidence, std::vector<std::string> because) {
  for (Target& t : v.targets)
    if (t.subject == subject) {
      t.confidence = std::max(t.confidence, confidence);
      return;
    }
  v.targets.push_back({std::move(subject), confidence, std::move(because)});
}

void next(Verdict& v, NextKind kind, Text text) {
  for (const NextStep& n : v.next)
    if (n.text == text) return;
  v.next.push_back({kind, std::move(text)});
}

namespace {

template <class Facts>
const Facts& facts_of(const Finding& f) {
  static const Facts kNone{};
  const Facts* facts = std::get_if<Facts>(&f.facts);
  return facts == nullptr ? kNone : *facts;
}

}  // namespace

const HangFacts& hang_of(const Finding& f) { return facts_of<HangFacts>(f); }
const SlowFacts& slow_of(const Finding& f) { return facts_of<SlowFacts>(f); }
const LineFacts& line_of(const Finding& f) { return facts_of<LineFacts>(f); }
const std::string& message_of(const Finding& f) {
  return std::holds_alternative<LeadFacts>(f.facts) ? facts_of<LeadFacts>(f).message
                                                    : line_of(f).message;
}

Text at(const std::optional<Nanoseconds>& t) {
  return t ? say(Phrase::at_time, iso_utc(*t / kSecond * kSecond)) : Text();
}

std::int64_t signal_of(std::int64_t code) {
  return code < 0 && code >= -64 ? -code : code > 128 && code <= 128 + 64 ? code - 128 : 0;
}

void advise(Verdict& v, const Cause& cause) {
  std::vector<const Text*> said;
  for (const Finding* f : cause.findings) {
    const bool again =
        std::ranges::any_of(said, [&](const Text* one) { return *one == f->advice; });
    if (f->advice.empty() || again || said.size() == 4) continue;
    said.push_back(&f->advice);
    next(v, NextKind::plan, f->advice);
  }
}

bool shared_by(const Walk& w, std::size_t hosts) {
  return hosts >= std::max(w.params.many_hosts, w.incident.hosts / w.params.few_of);
}

namespace {

// Something else tells of that switch: itself, its neighbours, its manager.
bool spoken_of(const Walk& w, const std::string& name) {
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    const auto* line = std::get_if<LineFacts>(&f.facts);
    return f.fired() &&
           (f.subject.id == name || (line != nullptr && line->peer && contains(*line->peer, name)));
  });
}

}  // namespace

std::string switch_of(const Walk& w, const std::set<Host>& hosts) {
  std::string best;
  std::size_t best_size = 0;
  for (const auto& [name, members] : w.incident.switches) {
    std::size_t inside = 0;
    for (const auto& member : members)
      inside += hosts.count(Host(member.substr(0, member.find('.')))) +
                (member.find('.') != std::string::npos ? hosts.count(Host(member)) : 0);
    if (inside * 10 < hosts.size() * 9 || (best_size > 0 && members.size() > best_size)) continue;
    // Machines hang on a switch for each of their rails.
    if (best_size == members.size() && !spoken_of(w, name)) continue;
    best = name;
    best_size = members.size();
  }
  return best_size < w.incident.hosts ? best : std::string();
}

std::string switch_below_which_all(const Walk& w, const std::set<Host>& hosts) {
  if (hosts.size() < 2 || hosts.size() >= w.incident.hosts) return "";
  for (const auto& [name, members] : w.incident.switches) {
    std::set<Host> below;
    for (const Host& member : members) below.insert(Host(member.substr(0, member.find('.'))));
    if (below == hosts) return name;
  }
  return "";
}

bool scheduler_word(const Finding& f) {
  return f.fired() && f.traits.has_any({Trait::time_limit, Trait::scheduler_ended,
                                        Trait::pods_evicted, Trait::preempted});
}

bool timed_out(const Walk& w) {
  bool terminated = false, broke = false;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::classify) || f.role != Role::cascade) continue;
    if (f.symptom == Symptom::job_hang && !f.traits.has(Trait::watchdog_stop)) return true;
    terminated = terminated || f.traits.has(Trait::watchdog_stop);
    broke = broke || (f.symptom != Symptom::job_hang && f.severity >= Severity::distributed);
  }
  return terminated && !broke;
}

namespace {

// Behind the closing line of the job: processes that leave hang up on each other.
bool after_closing(const Walk& w, const Finding& f) {
  // The scheduler saw all processes leave with 0: the first to go closes the others' connections.
  if (w.incident.completed && w.incident.job_end && f.start &&
      f.traits.has_any({Trait::store_unreached, Trait::store_lost, Trait::remote_closed}) &&
      *f.start + kMinute >= *w.incident.job_end)
    return true;
  const auto& closing = w.incident.closing;
  if (f.evidence.empty()) return false;
  // The program said that it came to its end, and nobody left with anything but 0.
  const auto& exits = w.incident.exits;
  if (!f.start && w.incident.completed &&
      std::ranges::all_of(exits, [](const ExitFact& x) { return x.code == 0; }) &&
      std::ranges::all_of(f.evidence, [&](const Evidence& e) {
        return std::ranges::any_of(exits, [&](const ExitFact& x) {
          return x.source == "log" && x.evidence.member == e.member && x.evidence.line < e.line;
        });
      }))
    return true;
  if (!closing) return false;
  if (f.start && w.incident.closing_time && !w.incident.closing_of_launcher)
    return *f.start >= *w.incident.closing_time;
  // A launcher speaks after its processes ended, and they end after the last step.
  if (f.start && w.incident.last_progress && *f.start < *w.incident.last_progress) return false;
  return std::ranges::all_of(f.evidence, [&](const Evidence& e) {
    return e.member == closing->member &&
           (e.line > closing->line || w.incident.closing_of_launcher);
  });
}

}  // namespace

bool after_effects(const Walk& w) {
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return f.fired() && f.role == Role::cascade && f.origin != Origin::kernel &&
           !after_closing(w, f);
  });
}

namespace {

// People read and paste commands: a few hosts are named one by one, many folded to ranges, and what
// does not fold is cut.
constexpr std::size_t kMostApart = 8;
constexpr std::size_t kMostInCommand = 32;

std::vector<Host> first_of(const std::vector<Host>& hosts) {
  return {hosts.begin(),
          hosts.begin() + static_cast<std::ptrdiff_t>(std::min(kMostInCommand, hosts.size()))};
}

// As a hostlist.
Named folded(const std::vector<Host>& hosts) {
  std::string all = fold_hostlist(hosts);
  if (static_cast<std::size_t>(std::count(all.begin(), all.end(), ',')) < kMostInCommand)
    return {shell_quoted(all), 0};
  const std::vector<Host> some = first_of(hosts);
  return {shell_quoted(fold_hostlist(some)), hosts.size() - some.size()};
}

// One after the other.
Named spelled(const std::vector<Host>& hosts) {
  std::string out;
  const std::vector<Host> some = first_of(hosts);
  for (const Host& host : some) out += (out.empty() ? "" : " ") + shell_quoted(host);
  return {std::move(out), hosts.size() - some.size()};
}

void command(Verdict& v, std::string text, std::size_t left_out) {
  next(v, NextKind::command, std::move(text));
  if (left_out > 0) next(v, NextKind::plan, say(Phrase::same_for_more_hosts, left_out));
}

// The command of the job's scheduler that takes these hosts out of service.
std::string drain_command(Scheduler scheduler, const std::string& hosts, std::string_view reason) {
  switch (scheduler) {
    case Scheduler::pbs: return fmt::format("pbsnodes -o -C \"{}\" {}", reason, hosts);
    case Scheduler::lsf: return fmt::format("badmin hclose -C \"{}\" {}", reason, hosts);
    case Scheduler::slurm: break;
  }
  return fmt::format("scontrol update nodename={} state=drain reason=\"{}\"", hosts, reason);
}

// The same of the cluster manager, which asks the scheduler and remembers it. A name that cmsh
// would not take for one is none of its devices.
std::string device_drain(const std::vector<Host>& hosts) {
  std::string names;
  for (const Host& host : hosts) {
    const std::string name = fmt::to_string(host);
    if (name.empty() || !alnum(name[0]) ||
        !std::ranges::all_of(name, [](char c) { return alnum(c) || c == '-' || c == '.'; }))
      return {};
    names += (names.empty() ? "" : ",") + name;
  }
  return fmt::format("cmsh -c 'device; drain -n {}'", names);
}

// Of machines that are no nodes of Kubernetes.
void drain_machines(Walk& w, const std::vector<Host>& hosts, std::string_view reason) {
  const std::vector<Host> some = first_of(hosts);
  if (w.incident.command_manager)
    if (std::string drain = device_drain(some); !drain.empty())
      return command(w.verdict, std::move(drain), hosts.size() - some.size());
  const Scheduler scheduler = w.incident.scheduler;
  const Named named = scheduler == Scheduler::slurm ? folded(hosts) : spelled(hosts);
  command(w.verdict, drain_command(scheduler, named.text, reason), named.left_out);
}

}  // namespace

Named checks_of(const std::vector<Host>& hosts) {
  Named named = hosts.size() <= kMostApart
                    ? Named{shell_quoted(fmt::format("{}", fmt::join(hosts, ","))), 0}
                    : folded(hosts);
  named.text.insert(0, "culprit plan checks --hosts ");
  return named;
}

void check(Verdict& v, const std::vector<Host>& hosts) {
  if (hosts.empty()) return;
  Named named = checks_of(hosts);
  command(v, std::move(named.text), named.left_out);
}

void halve(Verdict& v, const std::vector<Host>& hosts) {
  Named named = folded(hosts);
  named.text.insert(0, "culprit plan isolate --hosts ");
  command(v, std::move(named.text), named.left_out);
}

bool of_slow_job(const Verdict& v) {
  return std::ranges::any_of(v.steps, [](const Step& step) {
    return step.outcome == StepOutcome::taken &&
           (step.step == StepId::slow_job || step.step == StepId::gpu_throttled);
  });
}

void drain(Walk& w, const Host& host, std::string_view reason) {
  const auto& nodes = w.incident.kubernetes_nodes;
  if (const auto node = nodes.find(host); node != nodes.end())
    next(w.verdict, NextKind::command, "kubectl cordon " + shell_quoted(node->second));
  else
    drain_machines(w, {host}, reason);
}

void drain(Walk& w, const std::vector<Host>& hosts, std::string_view reason) {
  if (hosts.size() <= kMostApart) {
    for (const Host& host : hosts) drain(w, host, reason);
    return;
  }
  std::vector<Host> nodes, machines;
  for (const Host& host : hosts) {
    const auto node = w.incident.kubernetes_nodes.find(host);
    if (node != w.incident.kubernetes_nodes.end())
      nodes.emplace_back(node->second);
    else
      machines.push_back(host);
  }
  if (!nodes.empty()) {
    const Named named = spelled(nodes);
    command(w.verdict, "kubectl cordon " + named.text, named.left_out);
  }
  if (!machines.empty()) drain_machines(w, machines, reason);
}

}  // namespace culprit::decide
