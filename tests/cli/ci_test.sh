#!/bin/sh
# ci_test.sh CULPRIT SAMPLES CI-FOLDER: the shell of the examples of culprit-ci(7), in the surroundings that Slurm,
# Kubernetes, GitLab and GitHub make for it.
set -u
culprit=$1 samples=$2 examples=$3
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" && ln -s "$culprit" "$scratch/bin/culprit"
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
place() { rm -rf "$scratch/at"; mkdir "$scratch/at"; cd "$scratch/at" || exit 1; }

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
epilog() { env -i SLURM_JOB_ID="$1" SLURM_JOB_EXIT_CODE2="$2" CULPRIT_LOGS="$PWD/logs" CULPRIT_REPORTS="$PWD/reports" sh -c "$(sed "s|^export PATH=|&$scratch/bin:|" "$examples/slurm_epilog.sh")"; }
check "slurm: a job that ended well" epilog 4711 0:0
check "slurm: it leaves no report" [ ! -e reports ]
check "slurm: a job without logs" epilog 4712 1:0
check "slurm: a job that failed" epilog 4711 1:0
check "slurm: a report" for_seconds 60 [ -s reports/4711/report.json ]
check "slurm: the verdict" for_seconds 60 grep -q '^ISOLATE' reports/4711.txt
check "slurm: nothing on stderr" [ ! -s reports/4711.err ]

# Kubernetes: the pod ends as the training did, and says why.
place
shell_of "$examples/kubernetes.yaml" >script
cp -r "$samples/gpu-off-bus" logs.d
pod() { env LOGS="$PWD/volume" TERMINATION_LOG="$PWD/message" HOSTNAME=training-0 JOB_COMPLETION_INDEX="$1" GRACE=0 TRAIN="$2" sh script >out 2>&1; }
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

[ "$failures" = 0 ] && echo "the examples do what they say"
exit "$failures"
