#include "analyze/faults/leads.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/facts/programs.hpp"
#include "analyze/facts/step_lines.hpp"
#include "model/ascii.hpp"

#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/grammar.hpp"

namespace culprit::analyze {

namespace {

struct LineKind {
  std::vector<const EventRow*> rows;
  std::set<Host> hosts;
  std::set<Rank> ranks;
  std::set<MemberId> members;
  std::size_t early = 0;  // members in which it stands before their end
  std::uint64_t lines = 0;
  int score = 0;
};

// "RuntimeError: ...", "FATAL ...", "E1121 ..." begin a message that somebody meant as the last
// one; a line whose reason is known says what failed.
int strength(const EventRow& e) {
  if (detail_of(e, "role") == name(rules::ReasonRole::specific)) return 1;
  const std::string head = culprit::lower(std::string_view(e.message).substr(0, 60));
  for (const char* word : {"fatal", "exception", "panic", "abort", "traceback", "error:", "cannot ",
                           "unable to", "failed"})
    if (head.find(word) != std::string::npos) return 1;
  return 0;
}

bool before_job(const Facts& facts, const EventRow& e) {
  return e.time_ns && facts.job_start &&
         *e.time_ns + e.uncertainty + 600 * kSecond < *facts.job_start;
}

// The job completed steps for minutes after it.
bool survived(const EventRow& e, const std::optional<Nanoseconds>& last_step) {
  return e.time_ns && last_step && *e.time_ns + e.uncertainty + 120 * kSecond < *last_step;
}

// Where the life of the job ends: by time where the line and the job's end have one, else by its
// place in the log.
bool at_end(const Facts& facts, const LeadParams& params, const EventRow& e, const MemberRow& m) {
  if (e.time_ns && facts.job_end && m.text_kind == "kernel")
    return *e.time_ns + e.uncertainty + params.last_time >= *facts.job_end;
  // A few lines are all of them the end: somebody pasted what mattered.
  return m.lines <= params.excerpt_lines ||
         (e.last_line + params.last_lines >= m.lines && 2 * e.last_line >= m.lines);
}

// Lines of one shape: "error_line/SHAPE", or "SPEAKER/REASON/SHAPE" where the grammar names them.
std::string kind_name(const EventRow& e) {
  const std::string shape = detail_of(e, "shape");
  return shape.empty() ? e.event_class : e.event_class + "/" + shape;
}

std::map<std::string, LineKind> kinds_of(const Facts& facts, const LeadParams& params) {
  std::map<std::string, LineKind> kinds;
  const auto step = last_step(facts);
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (!e.rule.empty() || !facts.counts(m) || before_job(facts, e) ||
        serves_others(detail_of(e, "unit")))
      continue;
    LineKind& kind = kinds[kind_name(e)];
    kind.rows.push_back(&e);
    if (e.host) kind.hosts.insert(*e.host);
    if (e.rank) kind.ranks.insert(*e.rank);
    const bool late = !survived(e, step) && at_end(facts, params, e, *m);
    if (kind.members.insert(m->id).second && !late) ++kind.early;
    kind.lines += e.count;
  }
  return kinds;
}

void rate(const Facts& facts, const LeadParams& params, LineKind& kind) {
  const bool alone = kind.members.size() == 1 && facts.members.size() > 2;
  const bool late = kind.early == 0;
  kind.score =
      (late ? 3 : 0) + (alone || kind.hosts.size() == 1 ? 1 : 0) + strength(*kind.rows.front());
  if (!late && kind.early >= params.members_of_noise) kind.score = 0;
  if (!late && kind.lines > 20) kind.score = 0;
}

Finding finding_of(const Facts& facts, const std::string& id, const LineKind& kind) {
  const EventRow& first = *kind.rows.front();
  Finding f;
  f.id = "leads/" + id.substr(id.rfind('/') + 1);
  f.analysis = Analysis::leads;
  f.outcome = Outcome::not_enough_evidence;
  const std::string title = detail_of(first, "title");
  f.event_class = title.empty() ? "error_line" : first.event_class;
  f.title = title.empty() ? say(Phrase::line_no_rule_knows) : Text(title);
  f.severity = Severity::info;
  f.role = Role::advice;
  f.scope = Scope::job_wide;
  f.subject = kind.hosts.size() == 1 ? Subject{SubjectKind::host, *kind.hosts.begin()}
              : kind.ranks.size() == 1
                  ? Subject{SubjectKind::rank, std::to_string(number_of(*kind.ranks.begin()))}
                  : Subject{SubjectKind::job, "job"};
  if (kind.hosts.size() == 1) f.host = *kind.hosts.begin();
  f.hosts.assign(kind.hosts.begin(), kind.hosts.end());
  f.ranks.assign(kind.ranks.begin(), kind.ranks.end());
  f.start = first.time_ns;
  f.end = kind.rows.back()->last_time_ns ? kind.rows.back()->last_time_ns : first.time_ns;
  f.uncertainty = first.uncertainty;
  f.count = kind.lines;
  f.confidence = confidence::kUnknownLine;
  f.why = say(kind.early == 0 ? Phrase::at_end_of_log : Phrase::amid_the_log, kind.members.size());
  f.facts = LeadFacts{first.message.substr(0, 300), static_cast<std::int64_t>(kind.score),
                      !title.empty()};
  for (const EventRow* e : kind.rows)
    if (f.evidence.size() < 4)
      f.evidence.push_back(facts.evidence(e->place, e->message.substr(0, 300)));
  return f;
}

}  // namespace

std::vector<Finding> leads(const Facts& facts, const LeadParams& params) {
  auto kinds = kinds_of(facts, params);
  std::vector<std::pair<const std::string*, LineKind*>> ranked;
  for (auto& [id, kind] : kinds) {
    sort_by(kind.rows, [&](const EventRow* a) {
      return std::tuple(!a->time_ns, a->time_ns.value_or(0), facts.order(a->place.member),
                        a->place.line);
    });
    rate(facts, params, kind);
    if (kind.score >= 3) ranked.emplace_back(&id, &kind);
  }
  sort_by(ranked, [&](const auto& one) {
    const EventRow& e = *one.second->rows.front();
    return std::tuple(-one.second->score, !e.time_ns, e.time_ns.value_or(0),
                      facts.order(e.place.member), e.place.line);
  });
  std::vector<Finding> out;
  for (const auto& [id, kind] : ranked)
    if (out.size() < params.most) out.push_back(finding_of(facts, *id, *kind));
  return out;
}

std::vector<Finding> leads(const Facts& facts, const std::vector<Signal>&) {
  return leads(facts, LeadParams{});
}

}  // namespace culprit::analyze
