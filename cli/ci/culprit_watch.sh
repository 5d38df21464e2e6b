#!/bin/sh
# Collects on this node when a training job dies, before it is torn down.
#
#     culprit_watch.sh COMMAND [ARGUMENT...]   runs COMMAND, and ends as it ends
#     culprit_watch.sh --beside PID            watches until process PID is gone
#     culprit_watch.sh --beside ranks          watches the processes that have a RANK, until SIGTERM
#
# It runs `culprit collect --here`, once a job and node, when
#   * COMMAND fails, or a rank is gone: its exit status is held back until the collector is done
#   * SIGTERM arrives: COMMAND receives it when the collector is done
#   * the time limit of the job is near
#   * the output stands still
#   * another node has noticed one of these, or somebody runs `touch $CULPRIT_FOLDER/collected/noticed.txt` (of a job
#     that Slurm has queued again, collected/restart-N/noticed.txt)
# All of it is bounded in time, and whatever fails here is one line on standard error: the job does not notice.
#
#   CULPRIT_FOLDER        folder of this job that all nodes see; without it COMMAND is run and nothing else
#   CULPRIT_SECONDS       limit of the collector on a node (45); CULPRIT_TERM_SECONDS  the same after SIGTERM (20)
#   CULPRIT_TIER          quick, hang or full (hang)
#   CULPRIT_END           when the job is ended from outside, in seconds since 1970 (Slurm is asked); CULPRIT_BEFORE
#                         collects so many seconds before (90)
#   CULPRIT_STALL         minutes without a change below CULPRIT_OUTPUT that are a hang
#   CULPRIT_LAG           seconds that a task may run on after another one has ended (30)
#   CULPRIT_REPORT        diagnoses into this folder after a failure, in CULPRIT_REPORT_SECONDS (300), and after
#                         CULPRIT_GRACE seconds in which the other nodes end (20)
#   CULPRIT_NODE          name of this node; CULPRIT_STEP, CULPRIT_TASK  numbers of this task
set -u
umask 077
loud=2 # where it is said
say() { printf 'culprit_watch: %s\n' "$*" >&"$loud"; }
case ${1-} in '' | -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;; esac

digits() { case $1 in '' | *[!0-9]* | ??????????????*) false ;; esac; }
number() { if digits "$1"; then echo "$1"; else echo "$2"; fi; }
seconds=$(number "${CULPRIT_SECONDS-}" 45)
term_seconds=$(number "${CULPRIT_TERM_SECONDS-}" 20)
before=$(number "${CULPRIT_BEFORE-}" 90)
lag=$(number "${CULPRIT_LAG-}" 30)
stall=$(number "${CULPRIT_STALL-}" 0)
tier=${CULPRIT_TIER:-hang}
node=${CULPRIT_NODE:-${SLURMD_NODENAME:-$(uname -n)}}
# The name of a file, and nothing else.
case $node in [!A-Za-z0-9]* | *[!A-Za-z0-9._-]* | '') node=node-$(printf '%s' "$node" | cksum | cut -d ' ' -f 1) ;; esac
rank=$(number "${RANK:-${SLURM_PROCID-}}" '')
task=$(number "${CULPRIT_TASK:-$rank}" 0)
place=
case ${CULPRIT_FOLDER-} in /*) place=$CULPRIT_FOLDER/collected ;; '') ;; *) say "CULPRIT_FOLDER is not absolute: $CULPRIT_FOLDER" ;; esac
# A job that is queued again has the same number and folder: what its last run left tells nothing of this one.
again=$(number "${SLURM_RESTART_COUNT-}" 0)
[ -z "$place" ] || [ "$again" = 0 ] || place=$place/restart-$again
ended=$place/ended-$(number "${CULPRIT_STEP:-${SLURM_STEP_ID-}}" 0) # tasks of one step end together
[ -z "$place" ] || command -v culprit >/dev/null || { say 'there is no culprit in PATH'; place=; }
[ -n "$place" ] || case $1 in --beside) exit 0 ;; *) exec "$@" ;; esac

gone() { # PID: no process, or one that has ended and only waits for its parent
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  case ${stat##*) } in [ZX]*) return 0 ;; esac
  return 1
}
within() { # SECONDS PID: waits for a child, and fails when it is still there
  till=$(($(date +%s) + $1))
  while ! gone "$2"; do
    [ "$(date +%s)" -lt "$till" ] || return 1
    sleep 1
  done
}

# Who may read the folder of the job may read what is put there.
share() {
  case $(ls -ld "$CULPRIT_FOLDER" 2>/dev/null) in
    ????r?[xs]r?[xt]*) umask 022 ;;
    ????r?[xs]*) umask 027 ;;
  esac
}
# Everything that touches the folder runs in a child of its own: a file system that does not answer holds up no job.
collect() { # WHY SECONDS
  share
  mkdir -p "$place" || return
  (set -C; printf '%s %s: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$node" "$1" >"$place/noticed.txt") 2>/dev/null
  mine=$place/.$node
  if ! mkdir "$mine" 2>/dev/null; then # somebody else on this node does it
    till=$(($(date +%s) + $2))
    while [ -d "$mine" ] && [ ! -e "$mine/done" ] && [ "$(date +%s)" -lt "$till" ]; do sleep 1; done
    return
  fi
  say "$1: collecting on $node, $2 s at most"
  if culprit collect --here "--$tier" -q >"$mine/collect.sh" 2>&"$loud"; then
    nice sh "$mine/collect.sh" "$place/$node" >"$mine/log" 2>&1 </dev/null 4>&- &
    collector=$!
    trap 'kill "$collector" 2>/dev/null' TERM
    within "$2" "$collector" || kill "$collector" 2>/dev/null # it leaves what it has
    within 5 "$collector" || kill -9 "$collector" 2>/dev/null
    trap - TERM
    case $(umask) in *27) chmod -R g+rX "$place/$node"* ;; *22) chmod -R go+rX "$place/$node"* ;; esac 2>/dev/null
  fi
  rm -f "$mine/collect.sh"
  : >"$mine/done"
}
held= # collected, or tried to
hold() { # WHY SECONDS
  [ -z "$held" ] || return 0
  held=yes
  collect "$1" "$2" &
  holder=$!
  within "$(($2 + 10))" "$holder" || { kill -9 "$holder" 2>/dev/null; say "the collector does not end: given up"; }
}
# Where a rank ran that is gone: the collector finds living ones.
bury() { # PID COMMAND
  share
  mkdir -p "$place/hosts/$node" &&
    printf '== pid %s\nName:\t%s\nRANK=%s\n' "$1" "${2##*/}" "$rank" >"$place/hosts/$node/proc-rank$rank-pid$1.txt"
}
# The others began a moment later; when the launcher hears of the failure, they are killed.
wait_for_others() { # SECONDS SINCE: they have begun some seconds after that
  till=$(($(date +%s) + $1)) begun=$(($2 + 8))
  while [ "$(date +%s)" -lt "$till" ]; do
    busy=
    for other in "$place"/.*/; do
      case $other in */./ | */../ | '') ;; *) [ -e "$other/done" ] || busy=yes ;; esac
    done
    [ -n "$busy" ] || [ "$(date +%s)" -lt "$begun" ] || return 0
    sleep 1
  done
}
has_ended() { # a task: those that run on for long are to be looked at
  share
  mkdir -p "$ended" 2>/dev/null && : >"$ended/$task"
}
# When Slurm ends the job: one node asks, the others read it. It prints [DAYS-][[HOURS:]MINUTES:]SECONDS, or a word.
ask_slurm() {
  [ -n "${SLURM_JOB_ID-}" ] && [ "${SLURM_NODEID:-0}" = 0 ] && [ ! -e "$place/end" ] || return
  squeue -h -j "$SLURM_JOB_ID" -o %L 2>/dev/null | awk -F '[-:]' -v now="$(date +%s)" '/^[0-9:-]+$/ {
    split("1 60 3600 86400", unit, " ")
    for (i = 0; i < NF; i++) now += unit[i + 1] * $(NF - i)
    print now }' >"$place/end"
}
# How many processes have a RANK, without their children.
ranks() {
  all=$(grep -lE '(^|[[:cntrl:]])RANK=' /proc/[0-9]*/environ 2>/dev/null | sed 's|[^0-9]||g' | tr '\n' ' ') count=0
  for one in $all; do
    read -r stat 2>/dev/null <"/proc/$one/stat" || continue
    stat=${stat##*) } parent=${stat#? } parent=${parent%% *}
    case " $all " in *" $parent "*) ;; *) count=$((count + 1)) ;; esac
  done
}

# What there is to notice while process PID runs.
notice() { # PID|ranks
  most=0 count=0 late='' started=$(date +%s) end=$(number "${CULPRIT_END-}" 0)
  share
  mkdir -p "$ended"
  ask_slurm
  while [ "$1" = ranks ] || ! gone "$1"; do
    sleep 3 >/dev/null 2>&1 4>&- & # in the background, so that a signal is answered at once
    wait $!
    [ "$end" != 0 ] || [ ! -s "$place/end" ] || end=$(number "$(head -n 1 "$place/end")" 0)
    now=$(date +%s) why=
    for other in "$ended"/*; do
      [ -e "$other" ] || continue
      : "${late:=$now}"
      [ $((now - late)) -lt "$lag" ] || why="task ${other##*/} ended $((now - late)) s ago, this one runs on"
      break
    done
    [ "$end" = 0 ] || [ "$now" -lt $((end - before)) ] || why='the time limit of the job is near'
    if [ "$stall" != 0 ] && [ $((now - started)) -ge $((stall * 60)) ] &&
      [ -z "$(find "${CULPRIT_OUTPUT:-$CULPRIT_FOLDER}" -path "$place" -prune -o -type f -mmin "-$stall" -print | head -n 1)" ]; then
      why="no output for $stall minutes"
    fi
    if [ "$1" = ranks ]; then # none is left when training ends, well or not; some is a worker that died
      last=$count
      ranks
      [ "$count" = "$last" ] && [ "$count" -lt "$most" ] && [ "$count" -gt 0 ] && why="$((most - count)) of $most ranks are gone"
      [ "$count" -le "$most" ] || most=$count
      [ "$count" -gt 0 ] || [ "$most" = 0 ] || has_ended
    fi
    [ ! -e "$place/noticed.txt" ] || why='noticed elsewhere'
    if [ -n "$why" ]; then
      hold "$why" "$seconds"
      [ "$1" = ranks ] || return 0
    fi
  done
}

report() {
  [ -n "${CULPRIT_REPORT-}" ] || return 0
  sleep "$(number "${CULPRIT_GRACE-}" 20)" # the other nodes say their last words
  nice culprit diagnose "$CULPRIT_FOLDER" -q -o "$CULPRIT_REPORT" >"$CULPRIT_REPORT.txt" 2>"$CULPRIT_REPORT.err" </dev/null
}
# The report, for no longer than its time. What it says is $CULPRIT_REPORT.txt.
conclude() {
  report &
  reporter=$!
  within "$(number "${CULPRIT_REPORT_SECONDS-}" 300)" "$reporter" || {
    # shellcheck disable=SC2046
    kill "$reporter" $(cat "/proc/$reporter/task/$reporter/children" 2>/dev/null) 2>/dev/null
    say 'the report takes too long: given up'
  }
}

stop_beside() { # PID|ranks: when training has ended well, there is nothing to do
  if [ "$1" = ranks ]; then
    ranks
    [ "$count" -gt 0 ] || [ -e "$place/noticed.txt" ] || exit 0
  fi
  hold SIGTERM "$term_seconds"
  [ "$1" != ranks ] || conclude
  exit 0
}
if [ "$1" = --beside ]; then
  unset RANK SLURM_PROCID # what runs here is no rank
  trap 'stop_beside "${2-}"' TERM
  notice "${2:?PID or ranks}"
  has_ended
  exit 0
fi

# Descriptor 3: a background command of a shell has no standard input. Where there are the tools, COMMAND does not
# outlive this shell, and its SIGINT is as it was.
exec 3<&0
front=
env --default-signal=INT,QUIT true 2>/dev/null && front='env --default-signal=INT,QUIT'
setpriv --pdeathsig KILL true 2>/dev/null && front="$front setpriv --pdeathsig KILL"
$front "$@" <&3 3<&- &
child=$!
exec 3<&-
unset RANK SLURM_PROCID # what runs here is no rank
trap 'hold SIGTERM "$term_seconds"; kill -TERM "$child" 2>/dev/null' TERM
trap 'kill -INT "$child" 2>/dev/null' INT
trap 'kill -HUP "$child" 2>/dev/null' HUP
# bash complains of a trap that runs while it reads a $(...): what is to be said goes another way.
(trap '[ -z "${holder-}" ] || kill "$holder" 2>/dev/null; exit 0' TERM; loud=4; notice "$child") >/dev/null 4>&2 2>/dev/null &
watcher=$!
while :; do
  wait "$child"
  status=$?
  ! gone "$child" || break
done
wait "$child" 2>/dev/null
last=$? # a wait that a signal ended has its status, not that of the command
[ "$last" = 127 ] || status=$last
if [ "$status" != 0 ]; then
  failed=$(date +%s) alone=$held
  if [ -n "$rank" ]; then
    bury "$child" "$1" &
    within 2 $!
  fi
  hold "$1 ended with status $status" "$seconds"
  spent=$(($(date +%s) - failed))
  if [ -z "$alone" ] && [ "$spent" -lt "$seconds" ]; then
    wait_for_others $((seconds - spent)) "$failed" &
    within $((seconds - spent + 1)) $!
  fi
  conclude
fi
kill "$watcher" 2>/dev/null
has_ended &
within 2 $!
trap - TERM INT HUP
if [ "$status" -gt 128 ]; then # by a signal, and so does this
  # shellcheck disable=SC3045
  ulimit -c 0 # no core of a shell
  kill "-$((status - 128))" $$
fi
exit "$status"
