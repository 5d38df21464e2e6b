#include "machine_failures.hpp"

#include "fleet/document.hpp"
#include "store/fleet.hpp"

namespace culprit::cli {

Result<std::optional<double>> mtbf_of_machines(const PlanInput& input) {
  constexpr double kDay = 86'400;
  constexpr std::int64_t kMostMachinesOfAJob = 1'000'000'000;
  if (input.has("from") && input.has("interruptions"))
    return input.complaint("interruptions", "is what --from tells as well")
        .hint("leave one of the two out");
  if (input.has("from")) {
    CULPRIT_TRY(path, input.text("from"));
    CULPRIT_TRY(record, store::read_fleet(path));
    const fleet::MachineRate rate = fleet::machine_rate(record);
    if (rate.failures == 0 || !(rate.rate > 0))
      return usage_error("this fleet database holds no failures of machines over a time")
          .at({path, 0})
          .hint("`culprit fleet -d " + path + "` prints what it holds");
    CULPRIT_TRY(machines, input.integer("machines", rate.machines, 1, kMostMachinesOfAJob));
    return std::optional(kDay / (rate.rate * static_cast<double>(machines)));
  }
  const bool rate = input.has("interruptions");
  if (rate != input.has("machines"))
    return input
        .complaint(rate ? "interruptions" : "machines",
                   rate ? "goes with --machines" : "goes with --from or --interruptions")
        .hint("--from fleet.db --machines 512, or --interruptions 2.3 --machines 512");
  if (!rate) return std::optional<double>();
  CULPRIT_TRY(a_day, input.real("interruptions", 0, 1e-9, 1e9));
  CULPRIT_TRY(machines, input.integer("machines", 1, 1, kMostMachinesOfAJob));
  return std::optional(kDay * 1000 / (a_day * static_cast<double>(machines)));
}

}  // namespace culprit::cli
