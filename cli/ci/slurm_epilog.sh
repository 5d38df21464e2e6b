#!/bin/sh
# Diagnoses every Slurm job that failed or reached its time limit. In slurm.conf, with this file copied to where
# slurmctld runs, executable:
#
#     EpilogSlurmctld=/etc/slurm/culprit_epilog.sh
#
# The report is in $REPORTS/JOBID: report.html for people, report.json (.verdict.restart) for programs, incident.db for
# questions; of a job that Slurm ended, $REPORTS/JOBID.before is how it stood before that. It reads the folder of the job,
# what culprit_node_epilog.sh left in $REPORTS/JOBID.nodes, and the records of the scheduler.
LOGS=${CULPRIT_LOGS:-/shared/logs}            # what a job writes is in $LOGS/JOBID; `sbatch -o` names the place
REPORTS=${CULPRIT_REPORTS:-/shared/culprit}   # SlurmUser must be able to write here, and nobody else but root
SECONDS_AT_MOST=900
export PATH=/usr/local/bin:/usr/bin:/bin      # Slurm sets none

case ${SLURM_JOB_ID-} in '' | *[!0-9]*) exit 0 ;; esac
logs=$LOGS/$SLURM_JOB_ID report=$REPORTS/$SLURM_JOB_ID parts=$REPORTS/$SLURM_JOB_ID.nodes

# A user can make the folder of a job: behind a link there may be what SlurmUser can read, and he cannot.
plain() { [ -e "$1" ] && [ ! -L "$1" ]; }

if [ "${1-}" != diagnose ]; then
  # In a session of its own: the controller waits for its epilog before it frees the nodes, and kills what the epilog
  # leaves behind. $(...) lasts until the output is closed below.
  [ -z "$(setsid sh "$0" diagnose </dev/null 2>/dev/null &)" ]
  exit 0
fi
exec >/dev/null 2>&1

# A time-out has exit code 0:0, too. The state tells it, once the epilogs of the nodes are over.
asked=0
while state=$(timeout 10 scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p' | head -n 1)
  [ "$state" = COMPLETING ] && [ "$asked" -lt 24 ]; do
  asked=$((asked + 1))
  sleep 5
done
case ${SLURM_JOB_EXIT_CODE2:-0:0},$state in
  0:0, | 0:0,COMPLETED) rm -rf "$parts"; exit 0 ;;
  0:0,CANCELLED) plain "$logs" && plain "$logs/collected" || { rm -rf "$parts"; exit 0; } ;;
esac
if [ -n "$state" ] && mkdir -p "$parts/scheduler"; then # without what may hold a secret
  timeout 10 scontrol show job "$SLURM_JOB_ID" | grep -vE '^ *(Command|Comment|AdminComment|SystemComment)=' >"$parts/scheduler/scontrol-job.txt"
  timeout 10 scontrol show node "${SLURM_JOB_NODELIST-}" | grep -vE '^ *(Comment|Extra)=' >"$parts/scheduler/scontrol-nodes.txt"
fi
diagnosed() { # REPORT BUNDLE...
  to=$1; shift
  nice timeout "$SECONDS_AT_MOST" culprit diagnose "$@" -o "$to" -q >"$to.txt" 2>"$to.err" </dev/null
}
# What the nodes saw before Slurm ended it: the end by a time limit explains itself, and hides why nothing went on.
case $state in TIMEOUT | CANCELLED | DEADLINE)
  last=$logs/collected most=0 # of a job that was queued again, the last run
  for run in "$last"/restart-?*; do
    n=${run##*-}
    case $n in *[!0-9]* | ??????*) continue ;; esac
    [ "$n" -le "$most" ] || ! plain "$run" || { most=$n last=$run; }
  done
  ! plain "$logs" || ! plain "$logs/collected" || diagnosed "$report.before" "$last"
  ;;
esac
set --
for place in "$logs" "$parts"; do ! plain "$place" || set -- "$@" "$place"; done
[ $# -gt 0 ] && mkdir -p "$REPORTS" || exit 0
diagnosed "$report" "$@"
