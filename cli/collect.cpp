// culprit collect: a shell script that collects a bundle, printed for people to read and run.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "collect.hpp"
#include "collect/wishes.hpp"
#include "command.hpp"
#include "diagnose/identity.hpp"
#include "incident.hpp"
#include "model/hostlist.hpp"

namespace culprit::cli {

namespace {

constexpr const char* kPlaces[] = {"slurm", "kubernetes", "hosts", "here"};

constexpr OptionSpec kCollectOptions[] = {
    {"slurm", "JOBID", "the hosts and the records of a Slurm job"},
    {"kubernetes", "NAMESPACE/JOB", "the pods of a Job, PyTorchJob, JobSet and the like"},
    {"hosts", "LIST", "these hosts: a1,node[01-04]"},
    {"here", nullptr, "the host that the script runs on, before it is rebooted"},
    {"via", "WAY", "how to reach hosts: ssh (default), pdsh, clush, or srun with --slurm"},
    {"quick", nullptr, "what a reboot would lose, in half a minute a host (default)"},
    {"hang", nullptr, "first the stacks of all ranks, twice: before anything is killed"},
    {"full", nullptr, "and journals, counters, settings, storage clients"},
    {"from", "FILE", "what the open verdict of this database asks for, and nothing else"},
};

Result<> take_place(const Arguments& arguments, collect::Request& request) {
  for (const char* place : kPlaces) {
    if (!arguments.has(place)) continue;
    if (!request.place.empty())
      return usage_error(fmt::format("--{} and --{} exclude each other", request.place, place));
    request.place = place;
  }
  request.job = arguments.get("slurm");
  if (const std::string job = arguments.get("kubernetes"); !job.empty()) {
    const std::size_t slash = std::min(job.find('/'), job.size());
    request.name_space = job.substr(0, slash);
    request.job = job.substr(std::min(slash + 1, job.size()));
  }
  if (!arguments.has("hosts")) return {};
  Hostlist list = expand_hostlist(arguments.get("hosts"));
  if (list.broken || list.capped)
    return usage_error(fmt::format("'{}' is not a list of hosts", arguments.get("hosts")))
        .hint("--hosts a1,node[01-04]");
  request.hosts = std::move(list.hosts);
  return {};
}

Result<> take_tier(const Arguments& arguments, collect::Request& request) {
  std::string given;
  for (const collect::Tier& tier : collect::table().tiers) {
    if (!arguments.has(tier.name)) continue;
    if (!given.empty())
      return usage_error(fmt::format("--{} and --{} exclude each other", given, tier.name))
          .hint(fmt::format("--{} holds --{}", tier.name, given));
    request.tier = given = tier.name;
  }
  if (!given.empty() && arguments.has("from"))
    return usage_error(fmt::format("--from and --{} exclude each other", given))
        .hint("a verdict asks for less than a tier");
  return {};
}

// Hosts whose names can stand in a script; logs may hold any.
std::vector<std::string> usable(const Arguments& arguments, const std::vector<std::string>& all) {
  std::vector<std::string> out;
  for (const std::string& host : all)
    if (collect::host_name(host))
      out.push_back(host);
    else
      remark(arguments, fmt::format("'{}' is not a host name: left out", host));
  return out;
}

Result<Exit> run_collect(const Arguments& arguments) {
  collect::Request request;
  CULPRIT_CHECK(take_place(arguments, request));
  CULPRIT_CHECK(take_tier(arguments, request));
  request.via = arguments.get("via");
  if (arguments.has("from")) {
    CULPRIT_TRY(incident, open_with_verdict(arguments, database_path(arguments, "from")));
    CULPRIT_CHECK(ask_of_verdict(arguments, incident, request));
    CULPRIT_TRY(script, script_of_verdict(incident, request));
    print(script);
    return Exit::finished;
  }
  if (request.place.empty())
    return usage_error("collect needs to know where the job ran")
        .hint("--slurm JOBID, --kubernetes NAMESPACE/JOB, --hosts LIST or --here");
  CULPRIT_TRY(script, collect::collector(request));
  print(script);
  return Exit::finished;
}

}  // namespace

Result<> ask_of_verdict(const Arguments& arguments, const Diagnosed& incident,
                        collect::Request& request) {
  const diagnose::Resolved& resolved = incident.resolved;
  CULPRIT_TRY(wishes, collect::wishes_of(incident.document, resolved.topology.host_of));
  std::set<std::string> named;
  bool all = false;
  for (collect::Wish& wish : wishes) {
    const bool of_all = wish.hosts.empty();
    wish.hosts = usable(arguments, wish.hosts);
    named.insert(wish.hosts.begin(), wish.hosts.end());
    all = all || of_all;
    // No host for a wish means all hosts, which this one does not ask of.
    if (of_all || !wish.hosts.empty()) request.wishes.push_back(std::move(wish));
  }
  if (all)
    for (const HostRow& row : resolved.facts.hosts) named.insert(row.host);
  if (!request.place.empty() && request.place != "slurm") return {};
  request.hosts = usable(arguments, {named.begin(), named.end()});
  if (request.place.empty() &&
      collect::slurm_job(request.job = diagnose::identity_of(incident.db, resolved.facts).job_id))
    request.place = "slurm";
  if (request.place.empty()) request.place = "hosts";
  return {};
}

Result<std::string> script_of_verdict(const Diagnosed& incident, const collect::Request& request) {
  if (request.wishes.empty())
    return usage_error("this verdict asks for nothing more")
        .at({incident.path, 0})
        .hint("culprit collect --slurm, --kubernetes, --hosts or --here collects a whole tier");
  if (request.hosts.empty() && (request.place == "slurm" || request.place == "hosts"))
    return usage_error("this verdict names no hosts")
        .at({incident.path, 0})
        .hint(
            "culprit collect --from with --hosts LIST, --slurm JOBID or --kubernetes "
            "NAMESPACE/JOB says where the job ran");
  return collect::collector(request);
}

constinit const Command kCollect{
    "collect",
    "print a script that collects a bundle",
    "collect --slurm JOBID|--kubernetes NAMESPACE/JOB|--hosts LIST|--here|--from FILE [options]",
    "  culprit collect --slurm 41207 --hang > collect.sh; less collect.sh; sh collect.sh\n"
    "  culprit collect --from report/incident.db > collect.sh\n\n"
    "  It runs nothing itself. The script needs a POSIX shell and the usual tools, asks all hosts\n"
    "  at once with limits of time and size, and leaves FOLDER.tar.gz for `culprit diagnose`.\n",
    kCollectOptions,
    run_collect};

}  // namespace culprit::cli
