#!/bin/sh
# Watches Slurm jobs from within, as their users. In slurm.conf, with this file and culprit_watch.sh in /etc/slurm of all
# nodes, executable, and culprit in /usr/local/bin or /usr/bin:
#
#     TaskProlog=/etc/slurm/culprit_task.sh
#     TaskEpilog=/etc/slurm/culprit_task.sh
#
# A job is watched when it has the folder $LOGS/JOBID, or its user may make it. When it hangs until its time limit, or
# a task ends long before the others, each node leaves collected/NODE.tar.gz there. As TaskProlog this prints settings
# that make torch leave its flight recorders there, too; a setting that the user made stays.
LOGS=${CULPRIT_LOGS:-/shared/logs}
WATCH=${CULPRIT_WATCH:-/etc/slurm/culprit_watch.sh}
export PATH=/usr/local/bin:/usr/bin:/bin:${PATH-}

case ${SLURM_JOB_ID-} in '' | *[!0-9]*) exit 0 ;; esac
export CULPRIT_FOLDER="$LOGS/$SLURM_JOB_ID" CULPRIT_NODE="${SLURMD_NODENAME-}"
export CULPRIT_STEP="${SLURM_STEP_ID:-0}" CULPRIT_TASK="${SLURM_PROCID:-0}"

# The two below run in sessions of their own: Slurm waits for this script, and kills what it leaves in its own session.
# $(...) lasts until such a session is there and has closed its output.
case ${1-} in
  watch)
    exec >/dev/null
    mkdir -p "$CULPRIT_FOLDER/collected"
    exec "$WATCH" --beside "$2" 2>>"$CULPRIT_FOLDER/collected/.$CULPRIT_NODE.log"
    ;;
  end) # the other tasks see that this one has ended
    exec >/dev/null
    place=$CULPRIT_FOLDER/collected
    case ${SLURM_RESTART_COUNT:-0} in 0 | *[!0-9]*) ;; *) place=$place/restart-$SLURM_RESTART_COUNT ;; esac
    : >"$place/ended-$CULPRIT_STEP/$CULPRIT_TASK"
    exit 0
    ;;
esac
if [ "${SLURM_SCRIPT_CONTEXT-}" = epilog_task ]; then
  [ -n "${SLURM_STEP_ID-}" ] || exit 0
  trap '' TERM # at the time limit all of a step receives it; a TaskEpilog that ends by it is an error in the job's output
  [ -z "$(setsid sh "$0" end </dev/null 2>/dev/null &)" ]
  exit 0
fi
[ -x "$WATCH" ] && command -v setsid >/dev/null && command -v culprit >/dev/null || exit 0
[ -d "$CULPRIT_FOLDER" ] || mkdir "$CULPRIT_FOLDER" 2>/dev/null
[ -d "$CULPRIT_FOLDER" ] && [ -O "$CULPRIT_FOLDER" ] && [ ! -L "$CULPRIT_FOLDER" ] || exit 0
[ -n "${SLURM_STEP_ID-}" ] || exit 0 # the batch script: its steps are watched
setting() { eval "[ -n \"\${$1-}\" ]" || printf 'export %s=%s\n' "$1" "$2"; }
setting NCCL_DEBUG WARN
setting TORCH_FR_BUFFER_SIZE 2000
setting TORCH_NCCL_DUMP_ON_TIMEOUT 1
setting TORCH_FR_DUMP_TEMP_FILE "$CULPRIT_FOLDER/nccl_trace_rank_"
setting TORCH_NCCL_DEBUG_INFO_TEMP_FILE "$CULPRIT_FOLDER/nccl_trace_rank_"
setting TORCHCOMM_FR_DUMP_TEMP_FILE "$CULPRIT_FOLDER/torchcomms_trace_rank_"
[ "${SLURM_LOCALID:-0}" = 0 ] || exit 0 # one watcher a node, beside the task that is the parent of this script
[ -z "$(setsid sh "$0" watch "$PPID" </dev/null 2>/dev/null &)" ]
exit 0
