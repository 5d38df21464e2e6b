// Asks each kind of cause of each candidate that may be of it.
#include "decide/hypothesis.hpp"

#include <algorithm>

#include "model/contains.hpp"

namespace culprit::decide {

namespace {

struct Kind {
  StepId step;
  Answer (*propose)(Walk&);
};
#define CULPRIT_KIND(step) {StepId::step, step},
constexpr Kind kKinds[] = {CULPRIT_KINDS(CULPRIT_KIND)};
#undef CULPRIT_KIND

constexpr std::size_t kMostCauses = 4;  // of one kind: further ones are less likely by their order

}  // namespace

Proposals propose(const Case& incident, const DecideParams& params, const FirstFailure& first,
                  const rules::CauseTable& table) {
  Proposals out;
  for (const Kind& kind : kKinds) {
    const std::vector<CauseKind>& of = table.row(kind.step).of;
    std::vector<const Cause*> candidates;
    for (const Cause& c : first.causes)
      if (candidates.size() < kMostCauses && contains(of, c.kind)) candidates.push_back(&c);
    if (candidates.empty()) candidates.push_back(nullptr);
    Answer last{};
    bool any = false;
    for (const Cause* cause : candidates) {
      Walk w{incident, params, first, {}, {}};
      w.candidate = cause;
      Answer answer = kind.propose(w);
      if (answer.outcome != StepOutcome::taken) {
        last = std::move(answer);
        for (NextStep& n : w.verdict.next) out.remarks.push_back(std::move(n));
        continue;
      }
      any = true;
      out.standing.push_back({kind.step,
                              cause,
                              std::move(w.verdict),
                              std::move(answer.why),
                              std::move(w.shared_class),
                              0,
                              {}});
    }
    if (!any) out.others.push_back({kind.step, last.outcome, std::move(last.why)});
  }
  return out;
}

}  // namespace culprit::decide
