// An incident whose every text is as a stranger's bundle may hold it.
#pragma once

#include <string>

#include "report/report.hpp"
#include "support/hosts.hpp"

namespace culprit::test {

// Markup, quotes, an entity, the end of a CDATA section and of a script, NUL and escape, bytes
// that are no UTF-8, an override of the writing direction, and a code point that is no character.
inline std::string hostile() {
  return std::string("<script>alert(1)</script>\"' onload=x &amp; ]]> --> \0\x1b[31m\x07", 56) +
         "\xff\xc0\xaf \xe2\x80\xae"
         "gpj\xef\xbf\xbf";
}

inline report::Incident hostile_incident() {
  const std::string evil = hostile();
  report::Incident incident;
  Verdict& v = incident.verdict;
  v.action = Action::isolate;
  v.summary = evil;
  v.start = 1'700'000'000 * kSecond;
  v.targets.push_back({{SubjectKind::host, evil}, 0.9, {"f/" + evil}});
  v.steps.push_back({StepId::critical_errors, StepOutcome::taken, evil});
  v.steps.push_back({StepId::shared_cause, StepOutcome::not_enough_evidence, evil});
  v.next.push_back({NextKind::command, evil});
  v.next.push_back({NextKind::plan, evil});
  v.chain.push_back({v.start, evil, evil, "f/" + evil});
  Finding f;
  f.id = "f/" + evil;
  f.event_class = evil;
  f.why = f.title = f.advice = Text(evil);
  f.subject = {SubjectKind::host, evil};
  f.host = Host(evil);
  f.hosts = Hosts({evil});
  f.start = f.end = v.start;
  f.count = 1;
  f.figures = {{evil, evil}};
  f.evidence.push_back({1, "../" + evil, 3, 40, 10, evil});
  f.evidence.push_back({1, evil, 0, 40, 10, ""});
  incident.findings.push_back(f);
  MemberRow m;
  m.id = 1;
  m.path = m.stored_path = evil;
  m.host = Host(evil);
  m.lines = m.used = 3;
  static std::vector<MemberRow> members;
  members.assign(1, m);
  incident.members = members;
  incident.hosts.push_back(evil);
  incident.notes.push_back(evil);
  incident.problems.push_back({evil, "bundle.damaged", evil});
  return incident;
}

}  // namespace culprit::test
