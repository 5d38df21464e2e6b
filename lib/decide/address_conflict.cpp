// Two machines with one address, where connections of the job broke.
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

Answer address_conflict(Walk& w) {
  const Finding* found = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && std::holds_alternative<AddressFacts>(f.facts) &&
        (found == nullptr ||
         (found->subject.kind != SubjectKind::host && f.subject.kind == SubjectKind::host)))
      found = &f;
  if (found == nullptr) return ruled_out(say(Phrase::no_address_of_two));
  const auto& shared = std::get<AddressFacts>(found->facts);
  if (!after_effects(w)) return ruled_out(say(Phrase::address_of_two_harmless, shared.address));
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.symptom = found->symptom;
  target(v, found->subject, found->confidence, {found->id});
  v.summary = say(Phrase::address_breaks_connections, found->why);
  next(v, NextKind::plan, found->advice);
  return taken(found->why);
}

}  // namespace culprit::decide
