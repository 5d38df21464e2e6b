#!/bin/sh
# slurm_test.sh CULPRIT CI-FOLDER: `culprit collect` and the hooks of culprit-ci(7) on a private Slurm of twelve nodes, each
# with a host name, processes and /tmp of its own. A job that hangs until its time limit, a rank that dies of a full
# /tmp, a node that does not answer, one that dies, a collector that is stopped: there is a bundle within the limits of
# time and size, the verdict names the cause, and no hook fails a job or drains a node.
# Exit 77: skipped, without Slurm, or without the right to make namespaces.
set -u
[ $# = 2 ] || { echo "usage: $0 CULPRIT CI-FOLDER" >&2; exit 2; }
culprit=$1 hooks=$2
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd srun sbatch scontrol squeue unshare setsid; do
  command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ "$(id -u)" = 0 ] && unshare --mount --pid --uts --fork --mount-proc true 2>/dev/null ||
  { echo 'skipped: this needs root, and namespaces'; exit 77; }

scratch=$(mktemp -d /var/tmp/culprit-slurm.XXXXXX) || exit 1 # nodes have another /tmp
nodes='n1 n2 n3 n4 m1 m2 m3 m4 k1 k2 k3 k4' # each of the three jobs at a time has four
failed=0
complain() { echo "slurm: $*"; failed=1; }
pids=
clean() {
  for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
chmod 755 .
mkdir bin etc logs state munge shared shared/culprit stacks && mkdir -m 1777 shared/logs
cp "$culprit" bin/culprit && chmod 755 bin/culprit # nodes have another /tmp
SLURM_CONF=$scratch/slurm.conf PATH=$scratch/bin:$PATH TMPDIR=/tmp LC_ALL=C
export SLURM_CONF PATH TMPDIR LC_ALL
unset CULPRIT_FOLDER

# The hooks, with the folders of this test in place of the default ones.
for hook in culprit_watch:culprit_watch slurm_task:culprit_task slurm_node_epilog:culprit_node_epilog slurm_epilog:culprit_epilog; do
  sed -e "s|/shared/|$scratch/shared/|g; s|/etc/slurm/|$scratch/etc/|g; s|^export PATH=|export SLURM_CONF=$scratch/slurm.conf PATH=$scratch/bin:|" \
    -e 's|BEFORE-}" 90|BEFORE-}" 45|' "$hooks/${hook%:*}.sh" >"etc/${hook#*:}.sh"
done
chmod 755 etc/*.sh
# A py-spy that shows what the rank says of itself.
cat >bin/py-spy <<'END'
#!/bin/sh
while [ "$1" != --pid ]; do shift; done
printf 'Process %s: python train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\nThread %s (active): "MainThread"\n' "$2" "$2"
cat "STACKS/$(uname -n)"
END
sed -i "s|STACKS|$scratch/stacks|" bin/py-spy
chmod 755 bin/py-spy
for node in $nodes; do
  cat >stacks/$node <<'END'
    synchronize (torch/cuda/__init__.py:792)
    train_step (megatron/training/training.py:742)
    train (megatron/training/training.py:1220)
    <module> (pretrain_gpt.py:210)
END
done
cat >stacks/n3 <<'END'
    read (dataset/reader.py:77)
    __getitem__ (dataset/reader.py:41)
    next (torch/utils/data/dataloader.py:630)
    train_step (megatron/training/training.py:733)
    train (megatron/training/training.py:1220)
    <module> (pretrain_gpt.py:210)
END

port=$((20000 + $$ % 20000))
controller=$(uname -n)
cat >slurm.conf <<END
ClusterName=culprit
SlurmctldHost=$controller(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool-%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd-%n.pid
SlurmctldLogFile=$scratch/logs/slurmctld.log
SlurmdLogFile=$scratch/logs/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=0
JobRequeue=0
KillWait=4
WaitTime=0
InactiveLimit=0
MessageTimeout=5
SlurmdTimeout=25
TaskProlog=$scratch/etc/culprit_task.sh
TaskEpilog=$scratch/etc/culprit_task.sh
Epilog=$scratch/etc/culprit_node_epilog.sh
EpilogSlurmctld=$scratch/etc/culprit_epilog.sh
END
number=1
for node in $nodes; do
  number=$((number + 1))
  echo "NodeName=$node NodeHostname=$node NodeAddr=127.0.0.1 Port=$((port + number)) CPUs=4 RealMemory=500" >>slurm.conf
done
echo 'PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP' >>slurm.conf

chmod 700 munge
head -c 1024 /dev/urandom >munge/key
chmod 400 munge/key
munged --force --foreground --key-file="$scratch/munge/key" --socket="$scratch/munge.sock" --pid-file="$scratch/munge/pid" \
  --seed-file="$scratch/munge/seed" --log-file="$scratch/logs/munged.log" --num-threads=1 >/dev/null 2>&1 &
pids="$pids $!"
for_seconds() { # SECONDS COMMAND...: until it holds
  till=$(($(date +%s) + $1)); shift
  while ! "$@"; do
    [ "$(date +%s)" -lt "$till" ] || return 1
    sleep 0.3
  done
}
for_seconds 10 [ -S munge.sock ] || { echo 'skipped: munged does not start'; exit 77; }
slurmctld -D >logs/slurmctld.out 2>&1 &
pids="$pids $!"
for node in $nodes; do
  unshare --mount --pid --uts --fork --kill-child --mount-proc sh -c '
    hostname "$1"
    mount -t tmpfs -o size=256k,mode=1777 tmp /tmp
    mount -t tmpfs -o size=80m,mode=1777 shm /dev/shm
    exec slurmd -D -N "$1"' sh $node >"logs/$node.out" 2>&1 &
  pids="$pids $!"
  echo $! >"state/$node.pid"
done
idle() { [ "$(sinfo -h -N -o %t | grep -c '^idle$')" = "$1" ]; }
for_seconds 30 idle 12 || { echo 'skipped: slurm does not come up'; tail -n 3 logs/*; exit 77; }


has() { # FILE TEXT
  grep -q -- "$2" "$1" 2>/dev/null || complain "$trial: $1 has no '$2'"
}
# What a job does: each rank says where it is, and does what it is told on this node, or waits.
cat >bin/rank.sh <<'END'
#!/bin/sh
for step in 100 101 102 103 104 105; do
  echo "$(date -u '+%Y-%m-%d %H:%M:%S,000') [rank$SLURM_PROCID]: iteration $step/ 5000 | elapsed time per iteration (ms): 500.0 | lm loss: 2.31"
  sleep 0.5
done
[ ! -x "$0.$(uname -n)" ] || exec "$0.$(uname -n)"
exec sleep 600
END
cat >bin/rank.sh.k4 <<'END'
#!/bin/sh
# With a kernel's own error, and what Python makes of it.
[ ! -e /dev/shm/second ] || exec sleep 600
head -c 1000000 /dev/zero >/tmp/checkpoint
cat >&2 <<'TRACE'
Traceback (most recent call last):
  File "/opt/llm/pretrain.py", line 310, in <module>
    torch.save(state, "/tmp/checkpoint/rank3.pt")
OSError: [Errno 28] No space left on device: '/tmp/checkpoint/rank3.pt'
TRACE
exit 1
END
chmod 755 bin/rank.sh*
# submit NODES SRUN-ARGUMENTS OPTION...: prints the number of the job, when its ranks run
submit() {
  on=$1 with=$2; shift 2
  number=$(sbatch --parsable --nodelist="$on" --ntasks-per-node=1 --output="$scratch/logs/job-%j.txt" "$@" <<END
#!/bin/sh
export CULPRIT_LAG=5 CULPRIT_FOLDER=$scratch/shared/logs/\$SLURM_JOB_ID
srun --output=$scratch/shared/logs/%j/rank_%t.log $with
END
  )
  said() { [ "$(cat shared/logs/"$number"/rank_*.log 2>/dev/null | grep -c 'iteration 105/')" -ge 4 ]; }
  for_seconds 30 said || complain "$trial: the job does not run: $(cat "logs/job-$number.txt")"
  echo "$number"
}
# collector JOB TIER: the script, that gives a node 20 s
collector() { culprit collect --slurm "$1" "--$2" --via srun | sed 's/^host_seconds=[0-9]*/host_seconds=20/'; }
within() { # NAME SECONDS BYTES: since $began
  took=$(($(date +%s) - began))
  [ "$took" -le "$2" ] || complain "$trial: the collector took $took s, $2 at most"
  size=$(cat "$1.tar.gz" 2>/dev/null | wc -c)
  [ "$size" -gt 1000 ] && [ "$size" -le "$3" ] || complain "$trial: a bundle of $size bytes"
}
verdict() { # FILE PATTERN
  tr -s '\n ' '  ' <"$1" | grep -qE -- "$2" || complain "$trial: the verdict is not '$2': $(head -n 6 "$1")"
}
state() { scontrol show job "$1" | grep -q "JobState=$2"; }
reported() { [ -s "shared/culprit/$1.txt" ]; }
processes() { # NODE: its namespace, from outside
  all=$(cat "state/$1.pid") next=$all
  while [ -n "$next" ]; do
    next=$(for one in $next; do cat "/proc/$one/task/$one/children"; done 2>/dev/null)
    all="$all $next"
  done
  echo $all
}

# A job that hangs, watched by the hooks alone: 15 s after its start its limit of a minute is near.
hang() {
  trial='time-out'
  job=$(submit 'n[1-4]' rank.sh --time=1 --job-name='$(touch ran)";touch ran;"')
  parts() { [ "$(find "shared/logs/$job/collected" -name '*.tar.gz' | wc -l)" = 4 ]; }
  for_seconds 50 parts || complain "$trial: nodes did not collect: $(ls "shared/logs/$job/collected")"
  state "$job" RUNNING || complain "$trial: the job was over when they had collected"
  culprit diagnose -q "shared/logs/$job" >hang.txt
  verdict hang.txt '^ISOLATE n3, rank 2 '
  scontrol update JobId="$job" EndTime=now # Slurm looks twice a minute
  has "shared/logs/$job/collected/noticed.txt" 'the time limit of the job is near'
  for_seconds 90 reported "$job" || { complain "$trial: no report: $(cat "shared/culprit/$job.err")"; return; }
  state "$job" TIMEOUT || complain "$trial: $(scontrol show job "$job" | grep JobState)"
  [ "$(find "shared/culprit/$job.nodes" -name 'n?.tar.gz' | wc -l)" = 4 ] || complain "$trial: the epilogs of the nodes left $(ls "shared/culprit/$job.nodes")"
  has "shared/culprit/$job.nodes/scheduler/scontrol-job.txt" 'JobState=TIMEOUT'
  ! grep -q task-epilog "logs/job-$job.txt" || complain "$trial: $(cat "logs/job-$job.txt")"
  verdict "shared/culprit/$job.txt" '^[A-Z ]* .*(n3|rank 2)'
  verdict "shared/culprit/$job.before.txt" '^ISOLATE n3, rank 2 '
}

# A rank dies of a full /tmp: its end is held back, the others collect, too.
full() {
  trial='full /tmp'
  job=$(submit 'k[1-4]' "--kill-on-bad-exit=1 $scratch/etc/culprit_watch.sh rank.sh")
  for_seconds 90 reported "$job" || { complain "$trial: no report: $(cat "shared/culprit/$job.err")"; return; }
  [ "$(find "shared/logs/$job/collected" -name 'k?.tar.gz' | wc -l)" = 4 ] || complain "$trial: nodes left $(ls "shared/logs/$job/collected")"
  has "shared/logs/$job/collected/noticed.txt" 'k4: rank.sh ended with status 1'
  [ -s "shared/culprit/$job.nodes/k4.tar.gz" ] || complain "$trial: the epilog of k4 left nothing"
  verdict "shared/culprit/$job.txt" '^REPAIR k4 .*no space left on device.*Free space on k4'
}

# A node that dies: Slurm notices it when its daemon is silent, and ends the job.
dead() {
  trial='dead node'
  for node in 1 2 3 4; do : >"/proc/$(processes k$node | cut -d ' ' -f 2)/root/dev/shm/second"; done
  job=$(submit 'k[1-4]' rank.sh)
  kill -9 "$(cat state/k2.pid)"
  began=$(date +%s)
  collector "$job" quick >dead.sh
  sh dead.sh dead 2>dead.said && complain "$trial: exit 0 though a node is dead"
  within dead 40 2000000
  tar -xzf dead.tar.gz
  has dead/collect-errors.txt '^k2'
  for node in k1 k3 k4; do [ -s "dead/hosts/$node/ps.txt" ] || complain "$trial: nothing of $node"; done
  for_seconds 90 reported "$job" || { complain "$trial: no report: $(cat "shared/culprit/$job.err")"; return; }
  state "$job" NODE_FAIL || complain "$trial: $(scontrol show job "$job" | grep JobState)"
  verdict "shared/culprit/$job.txt" '^[A-Z ]* .*k2'
}

# A collector that is stopped half-way; then a node whose processes are all stopped: it answers nothing, and is no reason
# to wait. Slurm gives it up a little later.
stuck() {
  trial='stopped half-way'
  job=$(submit 'm[1-4]' rank.sh)
  collector "$job" hang >part.sh
  sh part.sh part 2>part.said &
  arrived() { [ -n "$(find part/hosts -name 'pyspy-rank*' 2>/dev/null)" ]; }
  for_seconds 20 arrived || complain "$trial: nothing arrives"
  kill $!
  wait $! && complain "$trial: exit 0"
  has part/job.json '"collected_at"'
  [ "$(wc -l <part.said)" = 4 ] || complain "$trial: it says: $(cat part.said)"
  culprit diagnose -q part >part.txt 2>&1 || complain "$trial: a bundle that cannot be read: $(cat part.txt)"
  # srun kills what runs there at once, so that a folder may stay behind, and little in it.
  over() { for one in $(processes m1); do ! tr '\0' ' ' <"/proc/$one/cmdline" 2>/dev/null | grep -q 'sh -s host' || return 1; done; }
  for_seconds 30 over || complain "$trial: the collector runs on on m1"
  root=/proc/$(processes m1 | cut -d ' ' -f 2)/root
  left=$(du -sk "$root"/tmp/culprit-collect.* "$root"/dev/shm/culprit-collect.* 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')
  [ "$left" -lt 1000 ] || complain "$trial: $left kB left on the node"

  trial='stuck node'
  # shellcheck disable=SC2046
  kill -STOP $(processes m3)
  began=$(date +%s)
  collector "$job" hang >stuck.sh
  sh stuck.sh stuck 2>stuck.said && complain "$trial: exit 0 though a node does not answer"
  within stuck 45 2000000
  tar -xzf stuck.tar.gz
  has stuck/collect-errors.txt '^m3	'
  for node in m1 m2 m4; do
    [ "$(find "stuck/hosts/$node" -name 'pyspy-rank*' | wc -l)" = 2 ] || complain "$trial: stacks of $node: $(find "stuck/hosts/$node" -name 'pyspy-rank*')"
  done
  for_seconds 90 reported "$job" || { complain "$trial: no report: $(cat "shared/culprit/$job.err")"; return; }
  verdict "shared/culprit/$job.txt" '^ISOLATE m3'
}

(hang; exit $failed) & first=$!
(full; dead; exit $failed) & second=$!
(stuck; exit $failed) & third=$!
for one in $first $second $third; do wait "$one" || failed=1; done
trial='in the end'
[ -z "$(find . -name ran)" ] || complain 'the name of a job was executed'
drained=$(sinfo -h -N -o '%N %T %E' | grep -E 'drain|rollback' | grep -vE '^(k2|m3) ')
[ -z "$drained" ] || complain "drained: $drained"
exit $failed
