#include "plan/checks.hpp"

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/shell.hpp"
#include "plan/group_command.hpp"
#include "plan/links.hpp"

namespace culprit::plan {

namespace {

constexpr const char* kStop = "ByteRobust §4.2";
constexpr const char* kDelivery = "Aegis §6, table 1";
constexpr const char* kRepair = "Aegis appendix B";
constexpr const char* kLikeTheOthers =
    "the bandwidth is like the other hosts', and no error is counted";

class Checklist {
 public:
  Checklist(const std::vector<std::string>& hosts, const CheckParams& params)
      : hosts_(hosts), params_(params) {}

  // The same command on every host.
  void each(CheckStep step, const std::string& command) {
    for (const std::string& host : hosts_) {
      std::string via = params_.via;
      for (std::size_t at = via.find("{host}"); at != std::string::npos;
           at = via.find("{host}", at)) {
        const std::string quoted = shell_quoted(host);
        via.replace(at, 6, quoted);
        at += quoted.size();
      }
      step.items.push_back({{host}, via + " " + shell_quoted(command)});
    }
    out_.push_back(std::move(step));
  }

  // Pairs of neighbours in the order of the hosts, everybody with both: who fails twice is the
  // suspect.
  void neighbours(CheckStep step, const std::string& program) {
    // The closing link of two hosts is the first one again.
    for (const Pass& pass :
         hosts_.size() == 2 ? std::vector<Pass>{{"", {{0, 1}}}} : ring_passes(hosts_.size()))
      for (const Link& link : pass.links)
        step.items.push_back({{hosts_[link.from], hosts_[link.to]},
                              together({hosts_[link.from], hosts_[link.to]}, program)});
    if (hosts_.size() > 2)
      step.note += fmt::format("{}{} passes, pairs of one pass at the same time",
                               step.note.empty() ? "" : "; ", ring_passes(hosts_.size()).size());
    if (!step.items.empty()) out_.push_back(std::move(step));
  }

  void all(CheckStep step, const std::string& program) {
    step.items.push_back({hosts_, together(hosts_, program)});
    out_.push_back(std::move(step));
  }

  std::string gpus() const { return std::to_string(params_.gpus_per_host); }
  std::vector<CheckStep> take() { return std::move(out_); }

 private:
  std::string together(const std::vector<std::string>& hosts, const std::string& program) const {
    std::string list;
    for (const std::string& host : hosts) list += (list.empty() ? "" : ",") + host + ":" + gpus();
    return fmt::format("mpirun -np {} --host {} {}",
                       static_cast<std::int64_t>(hosts.size()) * params_.gpus_per_host,
                       shell_quoted(list), program);
  }

  const std::vector<std::string>& hosts_;
  const CheckParams& params_;
  std::vector<CheckStep> out_;
};

void settings(Checklist& c, const char* phase, const char* minutes, const char* source) {
  c.each({phase, "host configuration", minutes, "it is the same on all hosts", "", source, {}},
         "uname -r; cat /proc/cmdline; ulimit -l; sysctl vm.swappiness kernel.numa_balancing");
  c.each(
      {phase,
       "GPU configuration",
       minutes,
       "all GPUs are there, the same on all hosts",
       "",
       source,
       {}},
      "nvidia-smi "
      "--query-gpu=index,name,driver_version,vbios_version,pcie.link.gen.current,pcie.link.width."
      "current,ecc.mode.current,persistence_mode,clocks.max.sm --format=csv; nvidia-smi topo -m");
  c.each({phase,
          "NIC configuration",
          minutes,
          "all ports are active, with the same rate and firmware",
          "",
          source,
          {}},
         "ibv_devinfo -v | grep -E 'hca_id|fw_ver|state|active_mtu|active_speed|active_width'");
}

void single_host(Checklist& c, const char* phase, const char* minutes, const char* source) {
  const std::string g = c.gpus();
  c.each({phase, "GPU kernels", minutes, "every GPU says Pass", "", source, {}},
         "dcgmi diag -r diagnostic");
  c.each(
      {phase, "NVLink", minutes, kLikeTheOthers, "", source, {}},
      "nvidia-smi nvlink -s; nvidia-smi nvlink -e; all_reduce_perf -b 1G -e 1G -n 50 -c 1 -g " + g);
  c.each({phase,
          "HBM",
          minutes,
          "every GPU says Pass, and no row waits for remapping",
          "",
          source,
          {}},
         "dcgmi diag -r memory,memory_bandwidth; nvidia-smi -q -d ROW_REMAPPER,ECC");
  c.each({phase, "PCIe", minutes, "every GPU says Pass", "", source, {}}, "dcgmi diag -r pcie");
  c.each({phase, "CPU execution", minutes, "no verification error", "", source, {}},
         "stress-ng --cpu 0 --verify --timeout 60s --metrics-brief");
  c.each({phase,
          "dataset, model and checkpoint load",
          minutes,
          "it takes the time of the other hosts",
          "set CHECKPOINT to a file of the job",
          source,
          {}},
         "dd if=\"$CHECKPOINT\" of=/dev/null bs=64M iflag=direct count=256");
}

void stop(Checklist& c, bool nan) {
  const std::string g = c.gpus();
  const char* phase = "stop-time checks";
  c.each({phase,
          "GPU diagnostics (EUD)",
          "",
          "every GPU says Pass",
          "finds about 70 % of faulty GPUs (ByteRobust §9): a pass clears nobody",
          kStop,
          {}},
         "dcgmi diag -r 4");
  c.each({phase,
          "clocks as before",
          "",
          "the locked frequencies are still set",
          "the diagnostics were seen to lift a frequency lock",
          "ByteRobust §9",
          {}},
         "nvidia-smi -q -d CLOCK");
  c.each({phase, "all-to-all within the machine", "", kLikeTheOthers, "", kStop, {}},
         "alltoall_perf -b 8M -e 1G -f 2 -n 20 -c 1 -g " + g);
  c.neighbours({phase,
                "all-gather with the neighbours",
                "",
                "no wrong value, and the bandwidth is like the other pairs'",
                "a host that fails with both neighbours is the suspect; a pair alone, the link",
                kStop,
                {}},
               "all_gather_perf -b 8M -e 1G -f 2 -n 20 -c 1 -g 1");
  if (nan)
    c.each({phase,
            "bit-wise alignment",
            "",
            "the digests are the same on every machine: `culprit plan compare --run a.digest --run "
            "b.digest ...`",
            "reference_step.py stands for a reference model like the job's: fixed weights and "
            "input, one training step, TP 2 PP 2 DP 2, a digest a rank",
            "ByteRobust §4.3",
            {}},
           "torchrun --standalone --nproc-per-node=" + g +
               " reference_step.py --tp 2 --pp 2 --dp 2 >\"$HOSTNAME.digest\"");
}

// A link that is replaced below a running job: pulling the wrong one kills it.
void dual_tor(Checklist& c) {
  const char* source = "Aegis appendix B";
  const char* ports = "for p in $(cat /sys/class/net/bond*/bonding/slaves); do ";
  const std::string state = std::string("cat /proc/net/bonding/*; ") + ports +
                            "echo \"$p\"; ethtool \"$p\" | grep -E 'Speed|Link detected'; done";
  const std::string errors = std::string(ports) +
                             "echo \"$p\"; ethtool -S \"$p\" | "
                             "grep -iE 'crc|symbol|discard|link_down|_bytes_phy'; done";
  const char* before = "before the link is touched; the job goes on";
  c.each({before,
          "both links lead where they should",
          "",
          "each port of the bond sees a ToR of its own, the one that the plan of cables says",
          "note the ToR and the port of the link that is down",
          source,
          {}},
         std::string(ports) + "lldpcli show neighbors ports \"$p\" summary; done");
  c.each({before,
          "state of both links",
          "",
          "one link is up at its full rate, the other one is down",
          "when both are up, or both down, this is the wrong host or bond: stop here",
          source,
          {}},
         state);
  c.each({before,
          "ports of both switches",
          "",
          "the port of the link that is down is down, that of the other one is up without errors",
          "TOR and PORT stand for what the first check printed, of either link",
          source,
          {}},
         "ssh \"$TOR\" show interface \"$PORT\"");
  c.each({before,
          "the other link carries the traffic",
          "",
          "the bytes of one port grow, those of the other one stand still, and no error is counted",
          "",
          source,
          {}},
         errors + "; sleep 10; " + errors);
  c.each({"hot fix",
          "replace the link that is down",
          "",
          "the steps of the job go on meanwhile",
          "clean or exchange cable and transceiver; when steps stop, the wrong one was pulled: put "
          "it back",
          source,
          {}},
         "cat /proc/net/bonding/*");
  c.each({"after the hot fix",
          "both links are up",
          "",
          "both are up at their full rate, and steps take what they took before the failure",
          "",
          source,
          {}},
         state);
  c.each({"after the hot fix",
          "no errors on either link",
          "",
          "both ports carry traffic, and no error counter grows",
          "when errors grow, the link is to be cleaned again, or exchanged",
          source,
          {}},
         errors + "; sleep 600; " + errors);
}

void several_hosts(Checklist& c, const char* phase, const char* minutes, const char* source) {
  const std::string g = c.gpus();
  c.all({phase,
         "collective communication",
         minutes,
         "the bandwidth is what this many hosts should have, with no wrong value",
         "",
         source,
         {}},
        "all_reduce_perf -b 8M -e 4G -f 2 -n 20 -c 1 -g 1");
  c.all({phase,
         "overlap of computation and communication",
         minutes,
         "the step takes its usual time",
         "overlap_step.py stands for a reference model with overlap switched on",
         source,
         {}},
        "python3 overlap_step.py");
}

}  // namespace

Result<std::vector<CheckStep>> plan_checks(const std::vector<std::string>& hosts,
                                           const CheckParams& params) {
  if (hosts.empty()) return usage_error("there are no hosts to check");
  CULPRIT_CHECK(check_hosts(hosts));
  if (!contains(params.via, "{host}"))
    return usage_error("the way to a host does not say which host")
        .hint("such as 'ssh {host}' or 'srun -w {host} -N1'");
  Checklist c(hosts, params);
  switch (params.occasion) {
    case CheckOccasion::stop: stop(c, params.nan); break;
    case CheckOccasion::dual_tor: dual_tor(c); break;
    case CheckOccasion::delivery_light:
      settings(c, "configuration check in parallel", "<1", kDelivery);
      break;
    case CheckOccasion::delivery:
      settings(c, "configuration check in parallel", "<1", kDelivery);
      single_host(c, "single-host test in parallel", "3", kDelivery);
      several_hosts(c, "multi-host test in parallel", "6", kDelivery);
      break;
    case CheckOccasion::repair:
      c.each({"reboot",
              "reboot",
              "",
              "the host is back with all GPUs and NICs",
              "a host that passed this list three times and fails a job again goes to repair",
              kRepair,
              {}},
             "sudo systemctl reboot");
      settings(c, "settings: install again where one is wrong", "", kRepair);
      single_host(c, "thorough tests", "", kRepair);
      c.each({"thorough tests",
              "GPU diagnostics (EUD)",
              "",
              "every GPU says Pass",
              "any failure: repair",
              kRepair,
              {}},
             "dcgmi diag -r 4");
      c.neighbours({"thorough tests",
                    "network between the hosts",
                    "",
                    "the bandwidth is the network's",
                    "one host alone needs a good one beside it",
                    kRepair,
                    {}},
                   "sendrecv_perf -b 8M -e 1G -f 2 -n 20 -c 1 -g 1");
      break;
  }
  return c.take();
}

}  // namespace culprit::plan
