// Asks each kind of cause of each candidate that may be of it.
#include "decide/hypothesis.hpp"

#include <algorithm>
#include <array>

namespace culprit::decide {

namespace {

struct Kind {
  StepId step;
  Answer (*propose)(Walk&);
};
#define CULPRIT_KIND(step) {StepId::step, step},
constexpr Kind kKinds[] = {CULPRIT_LADDER(CULPRIT_KIND)};
#undef CULPRIT_KIND

constexpr std::size_t kMostCauses = 4;  // of one kind: further ones are less likely by their order

// Which causes a kind is made of; CauseKind::none: of analyses, or of how the job ended.
std::array<CauseKind, 2> made_of(StepId step) {
  switch (step) {
    case StepId::critical_errors: return {CauseKind::machine, CauseKind::none};
    case StepId::shared_cause: return {CauseKind::shared, CauseKind::machine};
    case StepId::resources: return {CauseKind::resource, CauseKind::none};
    case StepId::setup_failure: return {CauseKind::environment, CauseKind::none};
    case StepId::user_code: return {CauseKind::program, CauseKind::none};
    case StepId::illegal_access: return {CauseKind::device_or_program, CauseKind::none};
    case StepId::process_crash: return {CauseKind::crash, CauseKind::none};
    case StepId::network_alerts: return {CauseKind::network, CauseKind::none};
    case StepId::ended_outside: return {CauseKind::outside, CauseKind::none};
    case StepId::data_corruption:
    case StepId::diverged:
    case StepId::numerics: return {CauseKind::numerics, CauseKind::none};
    default: return {CauseKind::none, CauseKind::none};
  }
}

}  // namespace

Proposals propose(const Case& incident, const DecideParams& params, const FirstFailure& first) {
  Proposals out;
  for (const Kind& kind : kKinds) {
    const auto causes = made_of(kind.step);
    std::vector<const Cause*> candidates;
    for (const Cause& c : first.causes)
      if (candidates.size() < kMostCauses && c.kind != CauseKind::none &&
          (c.kind == causes[0] || c.kind == causes[1]))
        candidates.push_back(&c);
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
