#include "decide/walk.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

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

void advise(Verdict& v, const Cause& cause) {
  std::vector<const Text*> said;
  for (const Finding* f : cause.findings) {
    const bool again =
        std::any_of(said.begin(), said.end(), [&](const Text* one) { return *one == f->advice; });
    if (f->advice.empty() || again || said.size() == 4) continue;
    said.push_back(&f->advice);
    next(v, NextKind::plan, f->advice);
  }
}

bool shared_by(const Walk& w, std::size_t hosts) {
  return hosts >= std::max(w.params.many_hosts, w.incident.hosts / w.params.few_of);
}

std::string switch_of(const Walk& w, const std::set<Host>& hosts) {
  std::string best;
  std::size_t best_size = 0;
  for (const auto& [name, members] : w.incident.switches) {
    std::size_t inside = 0;
    for (const auto& member : members)
      inside += hosts.count(Host(member.substr(0, member.find('.')))) +
                (member.find('.') != std::string::npos ? hosts.count(Host(member)) : 0);
    if (inside * 10 < hosts.size() * 9 || (best_size > 0 && members.size() >= best_size)) continue;
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
  return f.outcome == Outcome::fired &&
         (f.event_class == "scheduler_time_limit" || f.event_class == "scheduler_teardown" ||
          f.event_class == "k8s_teardown" || f.event_class == "node_preempted");
}

bool timed_out(const Walk& w) {
  bool terminated = false, broke = false;
  for (const Finding& f : w.incident.findings) {
    if (f.outcome != Outcome::fired || f.analysis != Analysis::classify || f.role != Role::cascade)
      continue;
    if (f.symptom == Symptom::job_hang && f.event_class != "nccl_watchdog_terminate") return true;
    terminated = terminated || f.event_class == "nccl_watchdog_terminate";
    broke = broke || (f.symptom != Symptom::job_hang && f.severity >= Severity::distributed);
  }
  return terminated && !broke;
}

namespace {

// Behind the closing line of the job: processes that leave hang up on each other.
bool after_closing(const Walk& w, const Finding& f) {
  // The scheduler saw all processes leave with 0: the first to go closes the others' store.
  if (w.incident.completed && w.incident.job_end && f.start &&
      f.event_class.starts_with("torch_store_") && *f.start + kMinute >= *w.incident.job_end)
    return true;
  const auto& closing = w.incident.closing;
  if (!closing || f.evidence.empty()) return false;
  if (f.start && w.incident.closing_time && !w.incident.closing_of_launcher)
    return *f.start >= *w.incident.closing_time;
  // A launcher speaks after its processes ended, and they end after the last step.
  if (f.start && w.incident.last_progress && *f.start < *w.incident.last_progress) return false;
  return std::all_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& e) {
    return e.member == closing->member &&
           (e.line > closing->line || w.incident.closing_of_launcher);
  });
}

}  // namespace

bool after_effects(const Walk& w) {
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& f) {
    return f.outcome == Outcome::fired && f.role == Role::cascade && f.origin != Origin::kernel &&
           !after_closing(w, f);
  });
}

std::string checks_of(const std::vector<Host>& hosts) {
  return "culprit plan checks --hosts " + shell_quoted(fmt::format("{}", fmt::join(hosts, ",")));
}
void drain(Walk& w, const Host& host, std::string_view reason) {
  const auto& nodes = w.incident.kubernetes_nodes;
  if (const auto node = nodes.find(host); node != nodes.end())
    return next(w.verdict, NextKind::command,
                fmt::format("kubectl cordon {}", shell_quoted(node->second)));
  const std::string machine = shell_quoted(host);
  switch (w.incident.scheduler) {
    case Scheduler::pbs:
      return next(w.verdict, NextKind::command,
                  fmt::format("pbsnodes -o -C \"{}\" {}", reason, machine));
    case Scheduler::lsf:
      return next(w.verdict, NextKind::command,
                  fmt::format("badmin hclose -C \"{}\" {}", reason, machine));
    case Scheduler::slurm: break;
  }
  next(w.verdict, NextKind::command,
       fmt::format("scontrol update nodename={} state=drain reason=\"{}\"", machine, reason));
}

}  // namespace culprit::decide
