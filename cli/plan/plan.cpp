// culprit plan: what to do next, and what it will cost. Each plan is a subcommand in a file of its
// own.
#include "command.hpp"

namespace culprit::cli {

namespace {

constexpr const Command* kPlans[] = {
    &kPlanBackup,   &kPlanCheckpoints, &kPlanChecks,  &kPlanCompare,  &kPlanGemm,
    &kPlanHolders,  &kPlanIngest,      &kPlanIsolate, &kPlanLinks,    &kPlanMicrobatch,
    &kPlanMitigate, &kPlanReplicas,    &kPlanStandby, &kPlanSurvival, &kPlanTopology,
    &kPlanUpdates,  &kPlanZones};

Result<Exit> run_plan(const Arguments&) {
  return usage_error("plan needs the name of a plan").hint("`culprit help plan` lists them");
}

}  // namespace

constinit const Command kPlan{"plan",
                              "plans for the recovery, and what they cost",
                              "plan NAME [options]",
                              "  culprit plan standby --machines 1024\n"
                              "  culprit plan standby -d incident.db --format json\n",
                              {},
                              run_plan,
                              kPlans};

}  // namespace culprit::cli
