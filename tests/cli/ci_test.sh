#!/bin/sh
# ci_test.sh CULPRIT SAMPLES CI-FOLDER: the shell of the examples of culprit-ci(7), in the surroundings that Slurm,
# Kubernetes, torchrun, GitLab and GitHub make for it; tests/e2e/slurm_test.sh has a real Slurm. The collector of the
# watcher is a short one here: collect_test.sh runs the whole.
set -u
culprit=$1 samples=$2 examples=$3
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" && ln -s "$culprit" "$scratch/bin/culprit"
ln -s "$examples/culprit_watch.sh" "$scratch/bin/"
PATH=$scratch/bin:$PATH
failures=0
check() {   # WHAT COMMAND...
  what=$1; shift
  "$@" || { echo "failed: $what"; failures=$((failures + 1)); }
}
# The lines of the first block scalar ("- |", "run: |"), without their indent.
shell_of() {
  awk 'on && /[^ ]/ { match($0, /^ */); if (!indent) indent = RLENGTH; if (RLENGTH < indent) exit }
       on { print substr($0, indent + 1) }
       /(- |run: )\|$/ { on = 1 }' "$1"
}
for_seconds() {   # SECONDS COMMAND...: until it holds
  left=$1; shift
  while ! "$@"; do
    left=$((left - 1)); [ "$left" -gt 0 ] || return 1
    sleep 1
  done
}
at=$scratch/at
place() { rm -rf "$at"; mkdir "$at"; cd "$at" || exit 1; }
absent() { for file; do [ ! -s "$file" ] || return 1; done; }

# GitLab: a failed job is status 1, a job without trouble 0; what cannot be read is told.
place
shell_of "$examples/gitlab.yml" >script
check "gitlab: there is a script" grep -q 'culprit diagnose' script
cp -r "$samples/gpu-off-bus" logs
sh -eu script >out 2>&1; status=$?
check "gitlab: status 1, not $status" [ "$status" = 1 ]
check "gitlab: the verdict is shown" grep -q '^ISOLATE' out
check "gitlab: a JUnit report" grep -q '<testsuite' report/report.junit.xml
place
shell_of "$examples/gitlab.yml" >script
sh -eu script >out 2>&1; status=$?
check "gitlab: without logs status 3, not $status" [ "$status" = 3 ]
check "gitlab: without logs no verdict" grep -q 'no answer (status 3)' out

# GitHub runs `run:` with `bash -e`.
if command -v jq >/dev/null; then
  place
  shell_of "$examples/github.yml" >script
  cp -r "$samples/gpu-off-bus" logs
  GITHUB_STEP_SUMMARY=$PWD/summary GITHUB_OUTPUT=$PWD/output sh -e script >out 2>&1; status=$?
  check "github: status 0, not $status" [ "$status" = 0 ]
  check "github: the summary" grep -q 'gpu-ad05' summary
  check "github: a host to be isolated is no reason for another try as it is" [ ! -e output ]
fi

# Slurm: after a failed job there is a report, and the epilog itself always succeeds, at once.
place
mkdir logs
cp -r "$samples/gpu-off-bus" logs/4711
sed "s|^export PATH=|&$scratch/bin:|" "$examples/slurm_epilog.sh" >epilog.sh
epilog() { env -i SLURM_JOB_ID="$1" SLURM_JOB_EXIT_CODE2="$2" CULPRIT_LOGS="$PWD/logs" CULPRIT_REPORTS="$PWD/reports" sh epilog.sh; }
check "slurm: a job that ended well" epilog 4711 0:0
check "slurm: it leaves no report" [ ! -e reports ]
check "slurm: a job without logs" epilog 4712 1:0
check "slurm: a job that failed" epilog 4711 1:0
check "slurm: a report" for_seconds 60 [ -s reports/4711/report.json ]
check "slurm: the verdict" for_seconds 60 grep -q '^ISOLATE' reports/4711.txt
check "slurm: nothing on stderr" [ ! -s reports/4711.err ]

# Behind a link of a user there may be what only SlurmUser may read.
mv logs/4711 secret && ln -s ../secret logs/4713 && mkdir logs/4711
check "slurm: a link in place of the folder" epilog 4713 1:0
sleep 2
check "slurm: it is not followed" [ ! -e reports/4713 ]

check "slurm: what is no job" epilog '../4711;touch ran' 1:0
check "slurm: it runs nothing" [ ! -e ran ]

# The watcher. Its collector writes what it was asked, waits, and leaves what it has when it is stopped.
mkdir "$scratch/fake"
cat >"$scratch/fake/culprit" <<'END'
#!/bin/sh
case $1 in
  collect) cat <<'SCRIPT'
mkdir "$1" || exit 2
trap 'echo part >"$1/part"; exit 1' TERM
echo "${RANK-none}" >"$1/rank"
for file in /proc/[0-9]*/comm; do read -r comm <"$file"; [ "$comm" != sleep ] || echo "$comm"; done 2>/dev/null >"$1/alive"
sleep "$SLOW" & wait $!
: >"$1.tar.gz"
SCRIPT
    ;;
  diagnose) echo "diagnosed $2"; sleep "${SLOW_REPORT:-0}" ;;
esac
END
chmod +x "$scratch/fake/culprit"
watching() { exec env PATH="$scratch/fake:$PATH" CULPRIT_FOLDER="$PWD/job" CULPRIT_NODE=n1 SLOW="${SLOW:-0}" $shell "$examples/culprit_watch.sh" "$@"; }
watch() { (watching "$@"); }
trials() { # of one shell
  failures=0 at=$scratch/at-${shell%% *}
  place
  echo input | watch sh -c 'cat; exit 0' >out 2>err; status=$?
  check "watch, $shell: success stays success, not $status" [ "$status" = 0 ]
  check "watch, $shell: nothing is said, and nothing collected" absent err job/collected/noticed.txt
  check "watch, $shell: the command has its input" grep -q input out
  RANK=3 watch sh -c 'exit 7' 2>err; status=$?
  check "watch, $shell: the status of the command, not $status" [ "$status" = 7 ]
  check "watch, $shell: it was collected" [ -e job/collected/n1.tar.gz ]
  check "watch, $shell: the collector is no rank" grep -q none job/collected/n1/rank
  check "watch, $shell: where the rank ran is kept" grep -q '^RANK=3$' job/collected/hosts/n1/proc-rank3-pid*.txt
  check "watch, $shell: others are told" grep -q 'n1: sh ended with status 7' job/collected/noticed.txt
  (watch sh -c 'kill -9 $$') 2>err
  status=$?
  check "watch, $shell: the signal of the command, not $status" [ "$status" = 137 ]

  # A command that is stopped lives until the collector is done, and that has an end.
  place
  SLOW=60 CULPRIT_TERM_SECONDS=2 watching sh -c 'trap "echo stopped; exit 3" TERM; sleep 30 & echo $! >sleeper; wait' >out 2>err &
  for_seconds 10 [ -s sleeper ]
  sleep 0.5
  kill $!
  wait $!; status=$?
  check "watch, $shell: after SIGTERM the status of the command, not $status" [ "$status" = 3 ]
  check "watch, $shell: it could say good-bye" grep -q stopped out
  check "watch, $shell: the collector was stopped in time" [ -s job/collected/n1/part ]
  check "watch, $shell: it saw the command alive" grep -q sleep job/collected/n1/alive
  kill "$(cat sleeper)"

  # Queued again by Slurm: what the last run left in the same folder is no reason, and hides nothing.
  place
  mkdir -p job/collected/.n1 job/collected/ended-0 && : >job/collected/.n1/done
  : >job/collected/noticed.txt && : >job/collected/ended-0/7
  SLURM_RESTART_COUNT=1 CULPRIT_LAG=1 watch sh -c 'sleep 5' 2>err
  check "watch, $shell: a second run is no failure" absent err job/collected/restart-1/noticed.txt
  SLURM_RESTART_COUNT=1 watch sh -c 'exit 7' 2>err
  check "watch, $shell: a second run is collected" [ -e job/collected/restart-1/n1.tar.gz ]

  # Near the end of its time, and when another node says so: collected, and not stopped.
  for reason in end noticed ended; do
    place
    soon=
    case $reason in
      end) soon=$(($(date +%s) + 50)) ;;
      noticed) mkdir -p job/collected && : >job/collected/noticed.txt ;;
      ended) mkdir -p job/collected/ended-0 && : >job/collected/ended-0/7 ;;
    esac
    CULPRIT_END=$soon CULPRIT_LAG=1 watch sh -c 'sleep 9' 2>err; status=$?
    check "watch, $shell, $reason: status 0, not $status" [ "$status" = 0 ]
    check "watch, $shell, $reason: collected while it ran" grep -q sleep job/collected/n1/alive
  done
  exit "$failures"
}
stalled() { # a minute without output
  failures=0 at=$scratch/at-stalled
  place
  CULPRIT_STALL=1 watch sh -c 'sleep 70' 2>err
  check "watch: no output is a reason" grep -q 'no output for 1 minutes' job/collected/noticed.txt
  check "watch: for a collection while it runs" grep -q sleep job/collected/n1/alive
  exit "$failures"
}
shell=sh
stalled &
running=$!
for shell in dash 'busybox sh' bash; do
  command -v "${shell%% *}" >/dev/null || { echo "skipped: no $shell"; continue; }
  trials &
  running="$running $!"
done
shell=sh
# Whatever is wrong with the hook, the command runs and its status counts.
place
check "watch: a folder that cannot be" env CULPRIT_FOLDER=/proc/nothing CULPRIT_SECONDS=x PATH="$scratch/fake:$PATH" sh "$examples/culprit_watch.sh" true
env CULPRIT_FOLDER=/proc/nothing PATH="$scratch/fake:$PATH" sh "$examples/culprit_watch.sh" sh -c 'exit 5' 2>err; status=$?
check "watch: its failure, not $status" [ "$status" = 5 ]
check "watch: without a folder" sh "$examples/culprit_watch.sh" true
mkdir empty
check "watch: without culprit" env CULPRIT_FOLDER="$PWD/job" PATH="$PWD/empty:/usr/bin:/bin" sh "$examples/culprit_watch.sh" true
env CULPRIT_FOLDER="$PWD/job" CULPRIT_NODE='a;touch ran/../$(touch ran)' PATH="$scratch/fake:$PATH" SLOW=0 sh "$examples/culprit_watch.sh" false 2>err
check "watch: a hostile name of a node runs nothing" [ ! -e ran ]
check "watch: and is collected under another" [ -n "$(find job/collected -name 'node-[0-9]*.tar.gz')" ]
# A report that does not end.
place
SLOW_REPORT=60 CULPRIT_REPORT=$PWD/report CULPRIT_GRACE=0 CULPRIT_REPORT_SECONDS=2 watch false 2>err; status=$?
check "watch: a report that does not end, status 1, not $status" [ "$status" = 1 ]
check "watch: it was begun" grep -q "diagnosed $PWD/job" report.txt

# torchrun starts what PYTHON_EXEC names, kills the other workers of its node when one dies, and fails.
place
cat >"$scratch/fake/torchrun" <<'END'
#!/bin/sh
while [ "$1" != train.py ]; do shift; done
for RANK in 0 1; do
  export RANK
  setsid "$PYTHON_EXEC" -u "$@" &
  echo $! >"pid.$RANK"
done
while kill -0 "$(cat pid.1)" 2>/dev/null; do sleep 0.2; done
wait "$(cat pid.1)"; echo "rank 1: $?" >result
kill -- "-$(cat pid.0)"
exit 1
END
cat >"$scratch/fake/python3" <<'END'
#!/bin/sh
[ "$RANK" = 0 ] && { trap 'echo "rank 0 stopped" >>result; kill $!; exit 1' TERM; sleep 60 & wait; }
sleep 1
exit 9
END
chmod +x "$scratch/fake/torchrun" "$scratch/fake/python3"
CULPRIT_FOLDER=$PWD/job CULPRIT_NODE=n1 SLOW=2 PATH=$scratch/fake:$PATH CULPRIT_REPORT=$PWD/report CULPRIT_GRACE=0 \
  sh "$examples/culprit_torchrun.sh" --nproc-per-node=2 train.py --lr 1 2>err; status=$?
check "torchrun: its status, not $status" [ "$status" = 1 ]
check "torchrun: the worker's" grep -q 'rank 1: 9' result
check "torchrun: the other worker lived while it was collected" grep -q sleep job/collected/n1/alive
check "torchrun: and was stopped then" grep -q 'rank 0 stopped' result
check "torchrun: it was diagnosed" grep -q diagnosed report.txt

# A Slurm task: settings that the user made stay, and the job without a folder is let be. A real Slurm: tests/e2e.
place
task() { env -i PATH="$scratch/fake:/usr/bin:/bin" CULPRIT_LOGS="$PWD/logs" CULPRIT_WATCH=/bin/true SLURM_JOB_ID="$1" SLURM_STEP_ID=0 SLURM_LOCALID=1 NCCL_DEBUG=INFO sh "$examples/slurm_task.sh"; }
check "slurm task: without a folder nothing is said" [ -z "$(task 4711)" ]
mkdir logs
check "slurm task: the recorders are written into the folder" [ "$(task 4711 | grep -c "^export TORCH_.*=$PWD/logs/4711/")" = 2 ]
check "slurm task: a setting of the user stays" [ "$(task 4711 | grep -c 'export NCCL_DEBUG=')" = 0 ]
check "slurm task: what is no job" [ -z "$(task '../x')" ]

# The node's epilog: within its time, whatever the collector does, and only for jobs that failed.
place
mkdir -p reports logs
sed "s|^export PATH=|&$scratch/fake:|" "$examples/slurm_node_epilog.sh" >node_epilog.sh
node_epilog() { env -i SLOW="${SLOW:-0}" CULPRIT_SECONDS=2 SLURMD_NODENAME="$2" SLURM_JOB_ID="$1" SLURM_JOB_EXIT_CODE2="$3" CULPRIT_LOGS="$PWD/logs" CULPRIT_REPORTS="$PWD/reports" sh node_epilog.sh; }
check "node epilog: a job that ended well" node_epilog 1 n1 0:0
check "node epilog: leaves nothing" [ ! -e reports/1.nodes ]
check "node epilog: a job that failed" node_epilog 2 n1 1:0
check "node epilog: is collected" [ -e reports/2.nodes/n1.tar.gz ]
mkdir -p logs/3/collected && : >logs/3/collected/noticed.txt
check "node epilog: a time-out" node_epilog 3 n1 0:0
check "node epilog: is collected, too" [ -e reports/3.nodes/n1.tar.gz ]
SLOW=60 check "node epilog: a collector that does not end" node_epilog 4 n1 1:0
check "node epilog: leaves what it has" [ -s reports/4.nodes/n1/part ]
check "node epilog: a hostile name" node_epilog 5 '$(touch ran)/../x' 1:0
check "node epilog: runs nothing" [ ! -e ran ]
check "node epilog: collects nothing" [ ! -e reports/5.nodes ]

# Kubernetes: the pod ends as the training did, and says why.
place
shell_of "$examples/kubernetes.yaml" >script
cp -r "$samples/gpu-off-bus" logs.d
pod() { env LOGS="$PWD/volume" TERMINATION_LOG="$PWD/message" HOSTNAME=training-0 JOB_COMPLETION_INDEX="$1" GRACE=0 CULPRIT_TIER=quick CULPRIT_FOLDER="$PWD/volume/bundle" CULPRIT_NODE=training-0 TRAIN="$2" sh script >out 2>&1; }
pod 0 "cat $samples/gpu-off-bus/hosts/gpu-ad05/dmesg_T.txt"; status=$?
check "kubernetes: success stays success, not $status" [ "$status" = 0 ]
check "kubernetes: no message then" [ ! -e message ]
cat >train <<'T'
cat "$1"; exit 7
T
pod 0 "sh train $samples/gpu-off-bus/hosts/gpu-ad05/dmesg_T.txt"; status=$?
check "kubernetes: the status of the training, not $status" [ "$status" = 7 ]
check "kubernetes: the output is still shown" grep -q 'fallen off the bus' out
check "kubernetes: the termination message" grep -q 'GPU' message
check "kubernetes: a report in the volume" [ -s volume/report/report.html ]
rm -f message
pod 1 "sh train $samples/gpu-off-bus/hosts/gpu-ad05/dmesg_T.txt"
check "kubernetes: the other pods do not diagnose" [ ! -e message ]
check "kubernetes: the node was collected" [ -s volume/bundle/collected/training-0.tar.gz ]
# SIGTERM reaches the training, whose first process in the container is the shell.
cat >train <<'T'
trap 'echo saved; exit 5' TERM
: >started
sleep 30 & wait
T
rm -rf volume
(trap - TERM; exec env LOGS="$PWD/volume" TERMINATION_LOG="$PWD/message" HOSTNAME=training-1 JOB_COMPLETION_INDEX=1 GRACE=0 CULPRIT_TIER=quick CULPRIT_TERM_SECONDS=2 CULPRIT_FOLDER="$PWD/volume/bundle" CULPRIT_NODE=training-1 TRAIN="sh train" sh script >out 2>&1) &
stopped=$!
for_seconds 20 [ -e started ]
kill "$stopped"
wait "$stopped"; status=$?
check "kubernetes: after SIGTERM the status of the training, not $status" [ "$status" = 5 ]
check "kubernetes: it could say good-bye" grep -q saved volume/bundle/training-1.log

for trial in $running; do wait "$trial" || failures=$((failures + 1)); done
if command -v shellcheck >/dev/null; then
  check "shellcheck" shellcheck -s sh -S warning "$examples"/*.sh
else
  echo 'skipped: no shellcheck'
fi

[ "$failures" = 0 ] && echo "the examples do what they say"
exit "$failures"
