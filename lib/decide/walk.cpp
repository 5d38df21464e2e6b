#include "decide/walk.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/shell.hpp"

namespace culprit::decide {

Answer ruled_out(std::string why) { return {StepOutcome::ruled_out, std::move(why)}; }
Answer taken(std::string why) { return {StepOutcome::taken, std::move(why)}; }
Answer not_enough(std::string why) { return {StepOutcome::not_enough_evidence, std::move(why)}; }

std::string list(std::vector<std::string> words, std::size_t most) {
  if (words.empty()) return "nobody";
  const std::size_t n = words.size();
  if (n > most) {
    words.resize(most);
    return fmt::format("{} and {} more", fmt::join(words, ", "), n - most);
  }
  if (n == 1) return words[0];
  const std::string last = words.back();
  words.pop_back();
  return fmt::format("{} and {}", fmt::join(words, ", "), last);
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

void next(Verdict& v, NextKind kind, std::string text) {
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

std::string at(const std::optional<Nanoseconds>& t) {
  return t ? " at " + iso_utc(*t / kSecond * kSecond) : "";
}

void advise(Verdict& v, const Cause& cause) {
  std::set<std::string> said;
  for (const Finding* f : cause.findings)
    if (!f->advice.empty() && said.size() < 4 && said.insert(f->advice).second)
      next(v, NextKind::plan, f->advice);
}

std::string lower_first(std::string text) {
  static const std::set<std::string> kProperNames{
      "Ceph", "Ethernet", "Gloo", "Horovod", "Kubernetes", "Lustre", "Python", "Ray", "Slurm"};
  const std::string first = text.substr(0, text.find(' '));
  const auto capitals =
      std::count_if(first.begin(), first.end(), [](unsigned char c) { return isupper(c); });
  if (capitals == 1 && isupper(static_cast<unsigned char>(first[0])) && first.size() > 1 &&
      kProperNames.count(first) == 0)
    text[0] = static_cast<char>(tolower(text[0]));
  return text;
}

bool shared_by(const Walk& w, std::size_t hosts, std::size_t all) {
  return hosts >= w.params.many_hosts ||
         (hosts >= 3 &&
          static_cast<double>(hosts) > w.params.shared_hosts * static_cast<double>(all));
}

std::string switch_of(const Walk& w, const std::set<std::string>& hosts) {
  std::string best;
  std::size_t best_size = 0;
  for (const auto& [name, members] : w.incident.switches) {
    std::size_t inside = 0;
    for (const auto& member : members)
      inside += hosts.count(member.substr(0, member.find('.'))) +
                (member.find('.') != std::string::npos ? hosts.count(member) : 0);
    if (inside * 10 < hosts.size() * 9 || (best_size > 0 && members.size() >= best_size)) continue;
    best = name;
    best_size = members.size();
  }
  return best_size < w.incident.hosts ? best : "";
}

std::string switch_below_which_all(const Walk& w, const std::set<std::string>& hosts) {
  if (hosts.size() < 2 || hosts.size() >= w.incident.hosts) return "";
  for (const auto& [name, members] : w.incident.switches) {
    std::set<std::string> below;
    for (const std::string& member : members) below.insert(member.substr(0, member.find('.')));
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

bool after_effects(const Walk& w) {
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) {
    return f.outcome == Outcome::fired && f.role == Role::cascade;
  });
}

std::string checks_of(const std::vector<std::string>& hosts) {
  return "culprit plan checks --hosts " + shell_quoted(fmt::format("{}", fmt::join(hosts, ",")));
}
void drain(Verdict& v, const std::string& host, std::string_view reason) {
  next(v, NextKind::command,
       fmt::format("scontrol update nodename={} state=drain reason=\"{}\"", shell_quoted(host),
                   reason));
}

}  // namespace culprit::decide
