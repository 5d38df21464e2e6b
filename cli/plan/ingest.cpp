// plan ingest: the script that reads a bundle on many machines and merges what they read. Printed,
// for people to look at and run.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"
#include "store/shard.hpp"

namespace culprit::cli {

namespace {

// What the scripts are made of; texts are words of a shell already.
struct IngestPlan {
  std::uint64_t shards = 12;
  std::uint64_t threads = 2;
  std::vector<std::string> hosts;  // each reads its own part; empty: all see one bundle
  std::vector<std::string> bundles, options;
  std::string work;
};

// `culprit ingest`, but for the number of the shard and where it goes.
std::vector<std::string> words_of(const IngestPlan& plan) {
  std::vector<std::string> out{"ingest"};
  out.insert(out.end(), plan.bundles.begin(), plan.bundles.end());
  out.insert(out.end(), plan.options.begin(), plan.options.end());
  for (const char* word : {"-q", "--threads"}) out.emplace_back(word);
  out.push_back(std::to_string(plan.threads));
  return out;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_quoted(word);
  return out;
}

// One shard that is lost leaves its files unread; it does not take the answer.
std::string merge_lines(const IngestPlan& plan) {
  return fmt::format(
      "set --\n"
      "k=0\n"
      "while [ $k -lt {} ]; do\n"
      "  k=$((k + 1))\n"
      "  set -- \"$@\" \"$k.db\"\n"
      "done\n"
      "\"${{CULPRIT:-culprit}}\" merge \"$@\" --partial -d incident.db >ledger.txt\n"
      "\"${{CULPRIT:-culprit}}\" classify -d incident.db >/dev/null\n"
      "\"${{CULPRIT:-culprit}}\" report -d incident.db\n",
      plan.shards);
}

std::string head_of(const IngestPlan& plan, std::string_view how) {
  return fmt::format(
      "#!/bin/sh\n"
      "# Reads a bundle in {} shards{} and merges them into incident.db. To be run again when a\n"
      "# shard was lost: those that are there are kept. CULPRIT names the program.\n"
      "# shellcheck disable=SC2016  # names are meant as they are written\n"
      "set -eu\n"
      "work={}\n"
      "mkdir -p \"$work\"\n",
      plan.shards, how, shell_quoted(plan.work));
}

std::string processes(const IngestPlan& plan) {
  return head_of(plan, ", each a process,") +
         fmt::format(
             "cd \"$work\"\n"
             "k=0\n"
             "while [ $k -lt {0} ]; do\n"
             "  k=$((k + 1))\n"
             "  \"${{CULPRIT:-culprit}}\" {1} --shard \"$k/{0}\" -d \"$k.db\" >\"$k.log\" 2>&1 &\n"
             "done\n"
             "wait\n",
             plan.shards, quoted(words_of(plan))) +
         merge_lines(plan);
}

// Texts between the lines of a here-document hold no line of their own (checked in plan_of).
std::string slurm(const IngestPlan& plan) {
  const std::string command = "exec \"${CULPRIT:-culprit}\" " + quoted(words_of(plan));
  std::string out = head_of(plan, " on the nodes of Slurm");
  if (plan.hosts.empty()) {
    out += fmt::format(
        "array=$(sbatch --parsable --job-name=culprit-ingest --array=1-{0} --cpus-per-task={1} \\\n"
        "  --chdir=\"$work\" --output=%a.log <<'JOB'\n"
        "#!/bin/sh\n"
        "{2} \\\n"
        "  --shard \"$SLURM_ARRAY_TASK_ID/{0}\" -d \"$SLURM_ARRAY_TASK_ID.db\"\n"
        "JOB\n"
        ")\n",
        plan.shards, plan.threads, command);
  } else {
    // A task a node, in the order of the list; a node that fails does not end the others.
    out += fmt::format(
        "array=$(sbatch --parsable --job-name=culprit-ingest --nodelist={3} --nodes={0} "
        "--ntasks={0} \\\n"
        "  --ntasks-per-node=1 --cpus-per-task={1} --no-kill --chdir=\"$work\" --output=all.log "
        "<<'JOB'\n"
        "#!/bin/sh\n"
        "srun --no-kill --kill-on-bad-exit=0 --output=%t.log sh -c '\n"
        "k=$((SLURM_PROCID + 1))\n"
        "exec \"${{CULPRIT:-culprit}}\" \"$@\" --shard \"$k/{0}\" --where \"$SLURMD_NODENAME\" -d "
        "\"$k.db\"' sh \\\n"
        "  {2}\n"
        "JOB\n"
        ")\n",
        plan.shards, plan.threads, quoted(words_of(plan)), shell_quoted(fold_hostlist(plan.hosts)));
  }
  return out +
         "array=${array%%;*}\n"
         "sbatch --job-name=culprit-merge --dependency=\"afterany:$array\" --chdir=\"$work\" \\\n"
         "  --output=report.txt <<'JOB'\n"
         "#!/bin/sh\n"
         "set -eu\n" +
         merge_lines(plan) + "JOB\n";
}

// Kubernetes replaces $(NAME) in words of a container; two dollars are one.
std::string dollars(std::string text) {
  for (std::size_t at = 0; (at = text.find('$', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '$');
  return text;
}

using Json = nlohmann::ordered_json;

Json pod_of(const Arguments& arguments, const IngestPlan& plan, const std::string& name,
            const std::string& script, const std::vector<std::string>& words) {
  Json command = Json::array({"sh", "-c", dollars(script), "sh"});
  for (const std::string& word : words) command.push_back(dollars(word));
  const std::string mount = arguments.get("mount", "/shared");
  Json container{
      {"name", name},
      {"image", arguments.get("image")},
      {"command", std::move(command)},
      {"workingDir", mount},
      {"env", Json::array({{{"name", "NODE"},
                            {"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}},
                           {{"name", "WORK"}, {"value", dollars(plan.work)}}})},
      {"volumeMounts", Json::array({{{"name", "shared"}, {"mountPath", mount}}})}};
  Json pod{{"restartPolicy", "Never"},
           {"volumes",
            Json::array({{{"name", "shared"},
                          {"persistentVolumeClaim", {{"claimName", arguments.get("claim")}}}}})}};
  if (!plan.hosts.empty() && name == "ingest") {
    const std::string& path = plan.bundles.front();
    container["volumeMounts"].push_back(
        {{"name", "logs"}, {"mountPath", path}, {"readOnly", true}});
    pod["volumes"].push_back({{"name", "logs"}, {"hostPath", {{"path", path}}}});
    const Json here{{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", plan.hosts}};
    pod["affinity"] = {
        {"nodeAffinity",
         {{"requiredDuringSchedulingIgnoredDuringExecution",
           {{"nodeSelectorTerms", Json::array({{{"matchExpressions", Json::array({here})}}})}}}}},
        {"podAntiAffinity",
         {{"requiredDuringSchedulingIgnoredDuringExecution",
           Json::array({{{"labelSelector", {{"matchLabels", {{"app", "culprit-ingest"}}}}},
                         {"topologyKey", "kubernetes.io/hostname"}}})}}}};
  }
  pod["containers"] = Json::array({std::move(container)});
  return pod;
}

std::string manifest(const std::string& name, Json spec, Json pod) {
  spec["template"] = {{"metadata", {{"labels", {{"app", name}}}}}, {"spec", std::move(pod)}};
  return json_text(Json{{"apiVersion", "batch/v1"},
                        {"kind", "Job"},
                        {"metadata", {{"name", name}}},
                        {"spec", std::move(spec)}}) +
         "\n";
}

std::string kubernetes(const Arguments& arguments, const IngestPlan& plan) {
  const std::string shard = fmt::format(
      "mkdir -p \"$WORK\"; k=$((JOB_COMPLETION_INDEX + 1)); "
      "exec \"${{CULPRIT:-culprit}}\" \"$@\" --shard \"$k/{}\"{} -d \"$WORK/$k.db\"",
      plan.shards, plan.hosts.empty() ? "" : " --where \"$NODE\"");
  const std::string ingest = manifest("culprit-ingest",
                                      {{"completionMode", "Indexed"},
                                       {"completions", plan.shards},
                                       {"parallelism", plan.shards},
                                       {"backoffLimitPerIndex", 1},
                                       {"maxFailedIndexes", plan.shards}},
                                      pod_of(arguments, plan, "ingest", shard, words_of(plan)));
  const std::string merge =
      manifest("culprit-merge", {{"backoffLimit", 0}},
               pod_of(arguments, plan, "merge", "set -eu; cd \"$WORK\"\n" + merge_lines(plan), {}));
  return fmt::format(
      "#!/bin/sh\n"
      "# Reads a bundle in {} shards, each a pod of an Indexed Job (Kubernetes 1.29 and later), "
      "and\n"
      "# merges them into incident.db when the Job has ended, with or without all of them. To be\n"
      "# run again when a shard was lost: those that are there are kept.\n"
      "set -eu\n"
      "kubectl=${{KUBECTL:-kubectl}}\n"
      "ended() {{\n"
      "  \"$kubectl\" get job \"$1\" -o "
      "jsonpath='{{.status.conditions[?(@.status==\"True\")].type}}' |"
      " grep -qE 'Complete|Failed'\n"
      "}}\n"
      "\"$kubectl\" delete job culprit-ingest culprit-merge --ignore-not-found\n"
      "\"$kubectl\" apply -f - <<'JOB'\n{}JOB\n"
      "until ended culprit-ingest; do sleep 5; done\n"
      "\"$kubectl\" apply -f - <<'JOB'\n{}JOB\n"
      "until ended culprit-merge; do sleep 5; done\n"
      "\"$kubectl\" logs job/culprit-merge\n",
      plan.shards, ingest, merge);
}

// The place that all machines understand.
std::string absolute(const std::string& path) {
  std::error_code error;
  auto whole = std::filesystem::absolute(path, error).lexically_normal().string();
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return error ? path : whole;
}

Result<> take_hosts(const Arguments& arguments, IngestPlan& plan) {
  if (!arguments.has("where")) return {};
  if (arguments.has("shards") || arguments.has("jobs") || plan.bundles.size() != 1)
    return usage_error("with --where each host reads one shard, of one BUNDLE that lies on it")
        .hint("culprit plan ingest /var/log/job --where node[01-04] --slurm");
  Hostlist list = expand_hostlist(arguments.get("where"), store::kMostShards);
  const auto hostile = [](const std::string& host) {
    return host.empty() || !std::ranges::all_of(host, [](unsigned char c) {
             return (c < 128 && std::isalnum(c) != 0) || c == '-' || c == '.' || c == '_';
           });
  };
  if (list.broken || list.capped || list.hosts.empty() || std::ranges::any_of(list.hosts, hostile))
    return usage_error(fmt::format("'{}' is not a list of hosts", arguments.get("where")))
        .hint("--where a1,node[01-04]");
  sort_unique(list.hosts);
  plan.hosts = std::move(list.hosts);
  plan.shards = plan.hosts.size();
  return {};
}

Result<IngestPlan> plan_of(const Arguments& arguments) {
  IngestPlan plan;
  for (const std::string& path : arguments.positional()) {
    if (path == "-") return usage_error("standard input cannot be divided into shards");
    plan.bundles.push_back(absolute(path));
  }
  if (plan.bundles.empty())
    return usage_error("plan ingest needs a bundle")
        .hint("culprit plan ingest /shared/job-41207 --slurm --shards 12");
  for (const OptionSpec& option : kReadOptions)
    if (const std::string name = long_name(option); name != "threads")
      for (const std::string& value : arguments.all(name)) {
        plan.options.push_back("--" + name);
        plan.options.push_back(name == "rules" || name == "manifest" ? absolute(value) : value);
      }
  CULPRIT_TRY(jobs, arguments.number("jobs", plan.shards));
  CULPRIT_TRY(shards, arguments.number("shards", jobs));
  CULPRIT_TRY(threads, arguments.number("threads", arguments.has("jobs") ? 1 : plan.threads));
  if (shards < 1 || shards > store::kMostShards || threads < 1 || threads > 1024)
    return usage_error(
        fmt::format("--shards and --jobs take a number from 1 to {}, --threads one "
                    "from 1 to 1024",
                    store::kMostShards));
  plan.shards = shards, plan.threads = threads;
  const std::string work = arguments.has("kubernetes")
                               ? arguments.get("mount", "/shared") + "/culprit-shards"
                               : "culprit-shards";
  plan.work = absolute(arguments.get("work", work));
  CULPRIT_CHECK(take_hosts(arguments, plan));
  for (const std::string& text : plan.bundles)
    if (plan.work == text || plan.work.starts_with(text == "/" ? text : text + "/"))
      return usage_error("the shards cannot lie in their bundle: other shards would list them")
          .hint("name a folder outside of " + text + " with --work");
  std::vector<std::string> all = words_of(plan);
  all.push_back(plan.work);
  for (const std::string& text : all)
    if (text.find_first_of("\n\r") != std::string::npos)
      return usage_error("a name with a line end cannot stand in a script")
          .hint("give it a link with another name");
  return plan;
}

Result<Exit> run_plan_ingest(const Arguments& arguments) {
  const int ways = (arguments.has("slurm") ? 1 : 0) + (arguments.has("kubernetes") ? 1 : 0) +
                   (arguments.has("jobs") ? 1 : 0);
  if (ways != 1) return usage_error("plan ingest takes one of --slurm, --kubernetes and --jobs N");
  CULPRIT_TRY(plan, plan_of(arguments));
  if (arguments.has("kubernetes") && (!arguments.has("image") || !arguments.has("claim")))
    return usage_error("--kubernetes needs --image and --claim")
        .hint("the image has culprit and sh, the claim the volume of the bundle");
  print(arguments.has("slurm")        ? slurm(plan)
        : arguments.has("kubernetes") ? kubernetes(arguments, plan)
                                      : processes(plan));
  return Exit::finished;
}

constexpr auto kPlanIngestOptions = with_read_options({
    {"slurm", nullptr, "a job array, and a merge that starts when it has ended (afterany)"},
    {"kubernetes", nullptr, "an Indexed Job, and a Job that merges when it has ended"},
    {"jobs", "N", "N processes on one machine"},
    {"shards", "N", "parts of the bundle; 12 without this option"},
    {"work", "DIR",
     "where shards, incident.db and the report go, seen by all machines (default: "
     "culprit-shards)"},
    {"where", "HOSTS",
     "the bundle lies apart, on each of these hosts (node[01-04]): each reads its own"},
    {"image", "IMAGE", "with --kubernetes: an image with culprit and sh"},
    {"claim", "NAME", "with --kubernetes: the volume claim that all pods see"},
    {"mount", "DIR", "with --kubernetes: where it is mounted (default: /shared)"},
});

}  // namespace

constinit const Command kPlanIngest{
    "plan ingest",
    "a bundle read on many machines, and merged",
    "plan ingest BUNDLE... --slurm|--kubernetes|--jobs N [options]",
    "  culprit plan ingest /shared/job-41207 --slurm --shards 12 --work /shared/shards | sh\n"
    "  culprit plan ingest /var/log/job --where node[01-04] --slurm --work /shared/shards\n"
    "  culprit plan ingest logs/ --jobs 8 | sh\n\n"
    "  Prints a script, to be looked at and run; it runs nothing itself.\n",
    kPlanIngestOptions,
    run_plan_ingest};

}  // namespace culprit::cli
