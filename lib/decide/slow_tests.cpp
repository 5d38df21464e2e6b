// A job that did not fail, and tests that measured who is slower than all others: a machine, one of
// its ports, a switch, or a group of which nothing tells who (Aegis section 5.2).
#include <algorithm>
#include <set>

#include "decide/slow_part.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

std::vector<const Finding*> measured_slow(const Walk& w) {
  std::vector<const Finding*> out;
  for (const Finding& f : w.incident.findings)
    if (f.outcome != Outcome::ruled_out && f.traits.has(Trait::measured_slow)) out.push_back(&f);
  return out;
}

// Of a rack, a test names what all its machines' names begin with.
std::vector<Host> machines_named(const Walk& w, const Host& name) {
  std::vector<Host> out;
  for (const Host& host : w.incident.all_hosts)
    if (host.size() > name.size() + 1 && host.starts_with(name) &&
        (host[name.size()] == '-' || host[name.size()] == '.' || host[name.size()] == '_'))
      out.push_back(host);
  if (out.empty()) out.push_back(name);
  return out;
}

std::vector<Host> machines_of(const Walk& w, const std::vector<const Finding*>& group) {
  std::vector<Host> out;
  for (const Finding* f : group)
    for (const Host& named : f->hosts)
      for (const Host& host : machines_named(w, named))
        if (std::ranges::find(out, host) == out.end()) out.push_back(host);
  return out;
}

// Its steps say so too, or nothing says that another machine is slow.
bool contradicted(const Walk& w, const Host& host) {
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return f.analysis == Analysis::slow && f.outcome == Outcome::fired && f.host &&
           *f.host != host && !slow_of(f).transient && !slow_of(f).event_only;
  });
}

// The setting that this machine has otherwise than others, and that slows it.
const Finding* setting_of(const Walk& w, const Host& host) {
  const auto at = std::ranges::find_if(w.incident.findings, [&](const Finding& f) {
    const auto* setting = std::get_if<SettingFacts>(&f.facts);
    return setting != nullptr && f.outcome == Outcome::fired && f.hosts.size() == 1 &&
           f.hosts.front() == host && !setting->of_part() &&
           (setting->slows || setting->explains == "performance");
  });
  return at == w.incident.findings.end() ? nullptr : &*at;
}

Answer machine_measured(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  const Host& host = *f.host;
  const Finding* setting = setting_of(w, host);
  act(v, setting != nullptr ? Action::repair : Action::isolate, Precision::exact);
  target(v, {SubjectKind::host, host}, confidence::kSettingSlows, {f.id});
  if (setting != nullptr)
    target(v, setting->subject, confidence::kSettingSlows, {setting->id});
  else if (f.subject.kind != SubjectKind::host)
    target(v, f.subject, confidence::kSettingSlows, {f.id});
  v.summary = f.analysis == Analysis::port_counters
                  ? say(Phrase::port_slows, f.title)
                  : say(Phrase::measured_slow, host, in_its_words(f));
  if (setting != nullptr) {
    const auto& facts = std::get<SettingFacts>(setting->facts);
    v.summary += say(Phrase::alone_has, host, facts.label, facts.value);
    if (!setting->advice.empty()) next(v, NextKind::plan, setting->advice);
  } else {
    drain(w, host, kSlowsJob);
  }
  return taken(f.title);
}

Answer switch_measured(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  act(v, Action::repair, Precision::group);
  // A rail by its number is below some switch; the one that reports a fault of its own is that.
  const Finding* reports = nullptr;
  std::set<std::string> switches;
  for (const Finding& other : w.incident.findings)
    if (&other != &f && other.outcome == Outcome::fired && other.analysis == Analysis::classify &&
        other.subject.kind == SubjectKind::network_switch && other.severity >= Severity::warning) {
      switches.insert(other.subject.id.substr(0, other.subject.id.find('/')));
      reports = &other;
    }
  if (switches.size() == 1)
    target(v, {SubjectKind::network_switch, *switches.begin()}, confidence::kSettingSlows,
           {f.id, reports->id});
  else
    target(v, f.subject, confidence::kSettingSlows, {f.id});
  v.summary = f.analysis == Analysis::port_counters
                  ? say(Phrase::network_port_slows, f.title)
                  : say(Phrase::network_measured_slow, in_its_words(f));
  if (switches.size() == 1)
    v.summary += say(Phrase::switch_reports, *switches.begin(), inside(reports->title));
  return taken(f.title);
}

Answer group_measured(Walk& w, const std::vector<const Finding*>& group,
                      const std::vector<Host>& hosts) {
  Verdict& v = w.verdict;
  act(v, Action::checks, Precision::candidates);
  for (const Host& host : hosts)
    target(v, {SubjectKind::host, host},
           confidence::kSettingSlows / static_cast<double>(hosts.size()), ids(group));
  v.summary = say(Phrase::one_of_measured_slow, list(hosts), in_its_words(*group.front()));
  check(v, hosts);
  return taken(group.front()->title);
}

// What a machine shows of a link or device of its own that is slower than it ought to be.
const Finding* own_word(const Walk& w, const Host& host) {
  const auto at = std::ranges::find_if(w.incident.findings, [&](const Finding& f) {
    if (f.outcome != Outcome::fired || f.hosts.size() != 1 || f.hosts.front() != host) return false;
    const auto* setting = std::get_if<SettingFacts>(&f.facts);
    return f.traits.has(Trait::below_rate) || f.analysis == Analysis::port_counters ||
           (setting != nullptr && setting->slows && setting->of_part());
  });
  return at == w.incident.findings.end() ? nullptr : &*at;
}

// Of machines that a test does not tell apart, the one that shows a slow part of its own.
std::optional<Answer> one_of_group(Walk& w, const std::vector<const Finding*>& group,
                                   const std::vector<Host>& hosts) {
  const Host* whose = nullptr;
  for (const Host& host : hosts)
    if (own_word(w, host) != nullptr) {
      if (whose != nullptr) return std::nullopt;
      whose = &host;
    }
  if (whose == nullptr || !w.incident.of_job(*whose) || contradicted(w, *whose))
    return std::nullopt;
  const Finding& word = *own_word(w, *whose);
  Verdict& v = w.verdict;
  v.action = Action::isolate;
  v.precision = Precision::exact;
  std::vector<std::string> because = ids(group);
  because.insert(because.begin(), word.id);
  target(v, {SubjectKind::host, *whose}, confidence::kSettingSlows, because);
  v.summary = say(Phrase::one_of_measured_slow, list(hosts), in_its_words(*group.front())) +
              say(Phrase::and_its_own_word, std::string(*whose),
                  word.why.empty() ? inside(word.title) : word.why);
  drain(w, *whose, kSlowsJob);
  return taken(word.title);
}

}  // namespace

std::optional<Answer> slow_in_tests(Walk& w) {
  const std::vector<const Finding*> found = measured_slow(w);
  if (found.empty()) return std::nullopt;
  // Of a job that ended well, only where it was slow: nobody is accused of what cost nothing.
  const auto slow = [](const Finding& f) {
    return f.analysis == Analysis::slow && f.outcome == Outcome::fired;
  };
  if (ended_well(w) && std::ranges::none_of(w.incident.findings, slow)) return std::nullopt;
  const Finding& first = *found.front();
  w.verdict.symptom = first.symptom;
  std::optional<Answer> out;
  if (first.subject.kind == SubjectKind::network_switch)
    out = switch_measured(w, first);
  else if (const std::vector<Host> hosts = machines_of(w, found);
           hosts.size() > 1 || first.outcome != Outcome::fired ||
           first.traits.has(Trait::not_of_host)) {
    out = one_of_group(w, found, hosts);
    if (!out) out = group_measured(w, found, hosts);
  } else if (first.host && w.incident.of_job(*first.host) && !contradicted(w, *first.host))
    out = machine_measured(w, first);
  if (!out) return out;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::slow && f.outcome == Outcome::fired && !slow_of(f).over) {
      w.verdict.start = f.start;
      w.verdict.summary += steps_longer(f);
      break;
    }
  for (const Finding* f : found)
    if (!f->advice.empty()) next(w.verdict, NextKind::plan, f->advice);
  return out;
}

}  // namespace culprit::decide
