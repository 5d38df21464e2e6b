#!/bin/sh
# Collects what only root may read, on every node of a Slurm job that failed: kernel log, state of GPUs and links. In
# slurm.conf, with this file in /etc/slurm of all nodes, executable, and culprit in /usr/local/bin or /usr/bin:
#
#     Epilog=/etc/slurm/culprit_node_epilog.sh
#
# Slurm drains a node whose Epilog fails or exceeds PrologEpilogTimeout: this one always succeeds, and ends within
# SECONDS_AT_MOST and ten more. It leaves $REPORTS/JOBID.nodes/NODE.tar.gz for culprit_epilog.sh.
LOGS=${CULPRIT_LOGS:-/shared/logs}
REPORTS=${CULPRIT_REPORTS:-/shared/culprit} # a folder that root of the nodes can write, and no user
SECONDS_AT_MOST=${CULPRIT_SECONDS:-40}
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # Slurm sets none
umask 077

case ${SLURM_JOB_ID-} in '' | *[!0-9]*) exit 0 ;; esac
node=${SLURMD_NODENAME:-$(uname -n)}
case $node in [!A-Za-z0-9]* | *[!A-Za-z0-9._-]* | '') exit 0 ;; esac

if [ "${1-}" = collect ]; then
  # A time-out has exit code 0:0, too: then the watcher of culprit_task.sh has noticed it.
  failed=${SLURM_JOB_EXIT_CODE2:-1:0}
  for one in "$LOGS/$SLURM_JOB_ID"/collected/noticed.txt "$LOGS/$SLURM_JOB_ID"/collected/restart-*/noticed.txt; do
    [ ! -e "$one" ] || failed=noticed
  done
  [ "$failed" != 0:0 ] || exit 0
  parts=$REPORTS/$SLURM_JOB_ID.nodes
  owner=$(ls -nd "$REPORTS" | awk '{ print $3 }') # SlurmUser, who is to read it
  mkdir -p "$parts" && chown "$owner" "$parts" || exit 0
  # Root runs no file that lies where another user may write; and where it may not, there may be no room.
  script=$(culprit collect --here --quick -q) || exit 0
  nice sh -c "$script" collect.sh "$parts/$node" 2>"$parts/.$node.log" &
  collector=$!
  trap 'kill "$collector"' TERM
  wait "$collector" || wait "$collector" # after a signal: it leaves what it has
  chown -hR "$owner" "$parts/$node" "$parts/$node.tar.gz" "$parts/.$node.log"
  exit 0
fi

# All of it in a child: neither a shared folder nor a driver that does not answer may hold up the node.
setsid sh "$0" collect >/dev/null 2>&1 </dev/null &
child=$!
till=$(($(date +%s) + SECONDS_AT_MOST))
while kill -0 "$child" 2>/dev/null; do
  now=$(date +%s)
  [ "$now" -lt "$till" ] || kill "$child" 2>/dev/null
  [ "$now" -lt $((till + 10)) ] || { kill -9 "-$child" 2>/dev/null; break; } # with all that it started
  sleep 1
done
exit 0
