// The classes in which published statistics count incidents, so that a fleet's own numbers can
// stand beside them.
#pragma once

#include <span>
#include <string_view>

namespace culprit::fleet {

struct Share {
  std::string_view name;
  double percent;  // of the publication
  int count;
};

// ByteRobust table 1: 778,135 jobs of three months. Symptom -> explicit, implicit, manual; "none"
// where nothing failed.
std::span<const Share> published_symptoms();
std::string_view category_of(std::string_view symptom);

// FT-HSDP table 1: interruptions of a job on 32K GPUs. Our names for its components, and some that
// it has none of.
std::span<const Share> published_components();
// A rule's component and the symptom ("gpu memory", "nic port"), or another system's class ("Power
// Supply") -> one of the names above, or nvlink, nic, power, cpu, remote storage, setup, other.
std::string_view component_group(std::string_view component, std::string_view symptom);
// True for components that are parts of a GPU.
bool is_gpu(std::string_view group);

// ByteRobust table 4: which mechanism resolves an incident.
std::string_view mechanism_of(std::string_view action, std::string_view symptom);
struct Mechanism {
  std::string_view name;
  double dense, moe;  // percent of ByteRobust's two jobs
};
std::span<const Mechanism> published_mechanisms();

// ByteRobust table 6: seconds from localisation to a successful restart.
struct Resolution {
  std::string_view symptom;
  double mean_s, longest_s;
};
// nullptr for a symptom that the table does not have.
const Resolution* published_resolution(std::string_view symptom);

// 2.3 interruptions per 1,000 servers and day (FT-HSDP 2.2); 73 % of failed tasks fail in the first
// ten minutes (Aegis 6).
inline constexpr double kPublishedRate = 2.3;
inline constexpr double kPublishedEarly = 0.73;

}  // namespace culprit::fleet
