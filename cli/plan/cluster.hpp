// The hosts that a test is planned for, and where they stand: from options, from --input, or from a
// database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "input.hpp"

namespace culprit::cli {

inline constexpr OptionSpec kClusterHosts{"hosts", "LIST",
                                          "the hosts, in the order of node ranks: a1,node[01-24]"};
inline constexpr OptionSpec kClusterTor{
    "tor", "NAME=LIST", "hosts below a ToR switch, or a group of them (may be repeated)"};
inline constexpr OptionSpec kClusterPod{"pod", "NAME=LIST", "hosts of a pod (may be repeated)"};
inline constexpr OptionSpec kClusterCenter{"datacenter", "NAME=LIST",
                                           "pods of a data center (may be repeated)"};

// Said where a plan rests on it.
inline constexpr const char* kAssumedGpus =
    "8 GPUs a host are assumed: nothing says otherwise (--gpus-per-host)";

inline constexpr std::size_t kMostHosts = 1 << 17;

struct Cluster {
  std::vector<std::string> hosts;  // in the order of node ranks where that is known; each once
  std::vector<std::string> tor,
      pod;  // of each host; "" = not known. Several ToRs of a host: "rail0+rail1"
  std::vector<std::string> center;  // data center of each host; "" = all are in one
  std::optional<std::int64_t> tp, pp, cp, dp,
      gpus;  // what the database knows; options are read by each command
  std::vector<std::string> notes;
};

// --hosts --tor --pod --datacenter, and --db for what they leave out. No hosts is no error here.
// Errors: a host twice, a switch with a host that is none of them.
Result<Cluster> read_cluster(const PlanInput& input, const Arguments& arguments);

}  // namespace culprit::cli
