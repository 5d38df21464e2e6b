#!/bin/sh
# Diagnoses every Slurm job that failed. In slurm.conf, with this file copied to where slurmctld runs:
#
#     EpilogSlurmctld=/etc/slurm/culprit_epilog.sh
#
# It must be this epilog and not `Epilog`, which runs on every node, and whose failure drains the node. The report is
# in $REPORTS/JOBID: report.html for people, report.json (.verdict.restart) for programs, incident.db for questions.
LOGS=${CULPRIT_LOGS:-/shared/logs}            # what a job writes is in $LOGS/JOBID; `sbatch -o` names the place
REPORTS=${CULPRIT_REPORTS:-/shared/culprit}   # SlurmUser must be able to write here
SECONDS_AT_MOST=900
export PATH=/usr/local/bin:/usr/bin:/bin      # Slurm sets none

[ "${SLURM_JOB_EXIT_CODE2:-0:0}" != 0:0 ] || exit 0     # it ended well
[ -n "${SLURM_JOB_ID-}" ] && [ -e "$LOGS/$SLURM_JOB_ID" ] || exit 0
mkdir -p "$REPORTS" || exit 0

# In the background: the controller waits for its epilog before it frees the nodes.
report=$REPORTS/$SLURM_JOB_ID
nohup nice timeout "$SECONDS_AT_MOST" culprit diagnose "$LOGS/$SLURM_JOB_ID" -o "$report" -q \
  >"$report.txt" 2>"$report.err" </dev/null &
exit 0
