#include "last_lines.hpp"

#include <algorithm>
#include <map>

#include "analyze/facts/path_facts.hpp"
#include "model/phrases.hpp"

namespace culprit::diagnose {

namespace {

using Rows = std::vector<const LastLineRow*>;

bool leaves_open(const Verdict& v) {
  return v.action == Action::investigate ||
         (v.sureness <= Sureness::possible &&
          (v.action == Action::checks || v.action == Action::none)) ||
         (v.symptom == Symptom::job_hang && v.sureness == Sureness::open);
}

const Finding* finding_of(std::span<const Finding> findings, const std::string& id) {
  const auto at = std::ranges::find(findings, id, &Finding::id);
  return at == findings.end() ? nullptr : &*at;
}

// Before this trouble, or before the one that it follows in the same log.
Rows before(std::span<const LastLineRow> rows, const Evidence& trouble) {
  std::uint64_t nearest = 0;
  for (const LastLineRow& row : rows)
    if (row.place.member == trouble.member && row.before <= trouble.line)
      nearest = std::max(nearest, row.before);
  Rows out;
  for (const LastLineRow& row : rows)
    if (nearest != 0 && row.place.member == trouble.member && row.before == nearest)
      out.push_back(&row);
  return out;
}

// Of the log in which the job was seen last: by its steps, else by its clock; the longest of those
// without either. What a tool prints of a machine ends with no word of the job.
Rows at_the_end(const analyze::Facts& facts, std::span<const LastLineRow> rows) {
  std::map<MemberId, std::pair<Nanoseconds, std::int64_t>> seen;
  for (const ProgressSpan& p : facts.progress) {
    auto& [time, step] = seen[p.last.place.member];
    time = std::max(time, p.last.time_ns.value_or(0));
    step = std::max(step, p.last.iteration.value_or(0));
  }
  const auto key = [&](const LastLineRow& row) {
    const auto at = seen.find(row.place.member);
    const auto [time, step] =
        at == seen.end() ? std::pair<Nanoseconds, std::int64_t>() : at->second;
    return std::tuple(at != seen.end(), time, step, row.place.line, -facts.order(row.place.member));
  };
  const LastLineRow* best = nullptr;
  for (const LastLineRow& row : rows) {
    const MemberRow* m = facts.member(row.place.member);
    if (row.before != 0 || !facts.counts(m) || analyze::tool_output(m->path)) continue;
    if (best == nullptr || key(row) > key(*best)) best = &row;
  }
  Rows out;
  for (const LastLineRow& row : rows)
    if (best != nullptr && row.before == 0 && row.place.member == best->place.member)
      out.push_back(&row);
  return out;
}

}  // namespace

std::optional<Finding> last_lines_for(const Verdict& verdict, std::span<const Finding> findings,
                                      const analyze::Facts& facts,
                                      const std::function<std::vector<LastLineRow>()>& load) {
  if (!leaves_open(verdict)) return std::nullopt;
  const std::vector<LastLineRow> rows = load();
  Rows lines;
  for (const Target& target : verdict.targets)
    for (const std::string& id : target.because)
      if (const Finding* f = finding_of(findings, id); f != nullptr && lines.empty())
        for (const Evidence& e : f->evidence)
          if (lines.empty() && e.line != 0) lines = before(rows, e);
  const bool trouble = !lines.empty();
  if (!trouble) lines = at_the_end(facts, rows);
  if (lines.empty()) return std::nullopt;
  Finding out;
  const MemberRow* m = facts.member(lines.front()->place.member);
  out.id = "last_lines/" + m->path;
  out.analysis = Analysis::last_lines;
  out.subject = m->rank ? Subject{SubjectKind::rank, std::to_string(number_of(*m->rank))}
                        : Subject{SubjectKind::job, "job"};
  out.event_class = "last_lines";
  out.title = say(trouble ? Phrase::lines_before_it : Phrase::last_lines_of_log);
  out.why = say(trouble ? Phrase::what_it_did_then : Phrase::what_it_did_last);
  for (const LastLineRow* line : lines)
    out.evidence.push_back(facts.evidence(line->place, line->text));
  return out;
}

}  // namespace culprit::diagnose
