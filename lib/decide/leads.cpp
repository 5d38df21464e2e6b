// What is known although nothing is proven: the strongest lines, quoted, and called leads.
#include <algorithm>
#include <map>
#include <set>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

constexpr std::size_t kMostLeads = 3;

// How much a finding says of a cause, most first; 0: nothing. What was ruled out by its time or its
// place is no lead.
int weight(const Finding& f) {
  if (f.analysis == Analysis::leads) return f.outcome == Outcome::ruled_out ? 0 : 2;
  if (f.analysis != Analysis::classify || f.outcome == Outcome::ruled_out || f.role == Role::advice)
    return 0;
  if (f.hearsay || f.severity == Severity::info || f.traits.has(Trait::may_slow)) return 0;
  if (f.cause == CauseKind::outside && !f.fired()) return 0;  // said of others
  // A port that went down when the job failed, or at an unknown time, is no proof by itself, and
  // the first thing to look at.
  if (f.role == Role::root && f.cause == CauseKind::network && f.severity == Severity::warning)
    return 2;
  if (f.role == Role::root)
    return f.severity == Severity::critical ? 6
           : f.origin == Origin::any        ? 4
           : f.cause == CauseKind::shared   ? 2
                                            : 1;
  if (f.role == Role::confirmation) return 3;
  return f.role == Role::cascade ? 3 : 1;
}

// A machine's warning at the moment when the steps of an unfinished job stopped, and others wrote
// on behind it.
bool when_steps_stopped(const Walk& w, const Finding& f) {
  const auto &last = w.incident.last_progress, &word = w.incident.last_word;
  if (f.role != Role::root || f.origin != Origin::kernel || !f.start || !last || !word ||
      !steps_left(w.incident))
    return false;
  const Nanoseconds missed = std::max(kMinute, 10 * w.incident.step_time);
  return *word >= *last + missed && *f.start + f.uncertainty + w.incident.step_time >= *last &&
         *f.start <= *last + missed;
}

// What was sorted out: whether for want of a time or of a second report, and not because it is
// known to be innocent.
using Sorted = std::map<const Finding*, bool>;
Sorted sorted_out(const Walk& w) {
  Sorted out;
  for (const Excluded& e : w.first.excluded) {
    bool& unproven = out[e.finding];
    unproven = unproven || e.reason == Exclusion::unplaced || e.reason == Exclusion::too_few;
  }
  return out;
}

// Whether it has a title that says more than its line.
bool has_title(const Finding& f) {
  const auto* lead = std::get_if<LeadFacts>(&f.facts);
  return lead == nullptr ? !f.title.empty() : lead->named;
}

Text who(const Finding& f) {
  if (f.hosts.size() > 1 && f.ranks.size() > 1) return say(Phrase::ranks_counted, f.ranks.size());
  if (f.hosts.size() > 1) return list(f.hosts, 3);
  if (f.host)
    return f.ranks.size() == 1 ? say(Phrase::rank_on_host, f.ranks[0], *f.host) : Text(*f.host);
  if (f.ranks.size() == 1) return say(Phrase::rank_named, f.ranks[0]);
  if (f.ranks.size() > 1) return say(Phrase::ranks_counted, f.ranks.size());
  return {};
}

}  // namespace

Text in_its_words(const Finding& f) {
  const std::string& message = message_of(f);
  if (message.empty() || message.front() == '{' || message.front() == '<') return {};
  return say(Phrase::quotation_after, quoted(message, 200));
}

std::string quoted(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  // The reason of a message stands at its end, its kind at its beginning.
  const auto is_part = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t head = most / 2, tail = text.size() - most / 2;
  while (head > 0 && is_part(head)) --head;
  while (is_part(tail)) ++tail;
  // Between words, where one ends or begins near.
  constexpr std::size_t kNear = 24;
  if (const std::size_t end = text.rfind(' ', head);
      end != std::string::npos && end > 0 && head - end <= kNear)
    head = end;
  if (const std::size_t begin = text.find(' ', tail - 1);
      begin != std::string::npos && begin + 1 < text.size() && begin + 1 - tail <= kNear)
    tail = begin + 1;
  return text.substr(0, head) + " ... " + text.substr(tail);
}

std::vector<const Finding*> strongest_leads(const Walk& w) {
  std::vector<const Finding*> out;
  const Sorted sorted = sorted_out(w);
  const auto unproven = [&](const Finding* f) {
    const auto at = sorted.find(f);
    return at != sorted.end() && at->second;
  };
  const bool failed = !failure(w).empty();
  // Of another year than the failure: no job runs for so long.
  constexpr Nanoseconds kLongestJob = 90 * kDay;
  const auto of_other_times = [&](const Finding& f) {
    const auto end = f.end ? f.end : f.start;
    return end && w.first.noticed && *end + kLongestJob < *w.first.noticed;
  };
  for (const Finding& f : w.incident.findings)
    if (!of_other_times(f) && (failed || !counters_of_switch(f)) &&
        (weight(f) > 1 || (weight(f) == 1 && when_steps_stopped(w, f))) &&
        (sorted.count(&f) == 0 || unproven(&f)) &&
        !(f.role != Role::root && went_on(w.incident, w.params, f)))
      out.push_back(&f);
  sort_by(out, [&](const Finding* f) {
    const Evidence* first = f->evidence.empty() || f->start ? nullptr : &f->evidence.front();
    return std::tuple(unproven(f), -weight(*f), !f->start.has_value(), f->start.value_or(0),
                      first == nullptr ? std::string_view() : std::string_view(first->path),
                      first == nullptr ? 0 : first->line);
  });
  std::set<std::string> kinds;
  std::erase_if(out, [&](const Finding* f) {
    return !kinds.insert(f->analysis == Analysis::leads ? f->id : f->event_class).second;
  });
  if (out.size() > kMostLeads) out.resize(kMostLeads);
  return out;
}

namespace {

bool accuses_machine(const Finding& f) {
  return f.cause == CauseKind::machine || f.cause == CauseKind::network ||
         f.cause == CauseKind::device_or_program;
}

// The machine that one lead accuses and that another, of anything else, is of alone; else none.
std::optional<Host> agreed_host(const std::vector<const Finding*>& leads) {
  std::set<Host> accused;
  for (const Finding* f : leads)
    if (accuses_machine(*f) && f->host && f->hosts.size() < 2) accused.insert(*f->host);
  if (accused.size() != 1) return std::nullopt;
  const Host& host = *accused.begin();
  const bool seconded = std::ranges::any_of(leads, [&](const Finding* f) {
    return !accuses_machine(*f) && f->host == host && f->hosts.size() < 2;
  });
  return seconded ? std::optional(host) : std::nullopt;
}

// What one lead is about: the machine that says so, unless it tells of another one.
Subject whom(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  if (f.subject.kind == SubjectKind::network_switch || f.subject.kind == SubjectKind::storage)
    return f.subject;
  const bool of_another = line != nullptr && line->peer && f.host && Host(*line->peer) != *f.host;
  return f.host && f.hosts.size() < 2 && f.cause != CauseKind::none && !of_another
             ? Subject{SubjectKind::host, *f.host}
             : Subject{SubjectKind::job, "job"};
}

}  // namespace

void quote_leads(Walk& w, const std::vector<const Finding*>& leads) {
  Verdict& v = w.verdict;
  const std::optional<Host> agreed = agreed_host(leads);
  bool first = true;
  for (const Finding* f : leads) {
    const std::string message = message_of(*f);
    const Text from = who(*f);
    const Text words = !has_title(*f) ? say(Phrase::quotation, quoted(message, 200))
                       : message.empty()
                           ? Text(f->title)
                           : say(Phrase::title_and_quotation, f->title, quoted(message, 200));
    if (first)
      v.summary += say(Phrase::first_known_trouble,
                       from.empty() ? Text() : say(Phrase::in_brackets, from), at(f->start), words);
    else
      next(
          v, NextKind::plan,
          say(Phrase::also_look_at, from.empty() ? Text() : say(Phrase::after_space, from), words));
    if (first && agreed)
      target(v, {SubjectKind::host, *agreed}, confidence::kLead, ids(leads));
    else if (first)
      target(v, whom(*f), confidence::kLead, ids(leads));
    first = false;
    if (!f->advice.empty()) next(v, NextKind::plan, f->advice);
  }
}

}  // namespace culprit::decide
