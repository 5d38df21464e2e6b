#!/bin/sh
# collect_test.sh CULPRIT: runs the scripts of `culprit collect` in each shell that is there, against fake hosts: one that
# answers, one whose nvidia-smi never ends, one that never answers, one that refuses, and names that would run something.
# What comes out is read by `culprit diagnose`.
set -u
[ $# = 1 ] || { echo "usage: $0 CULPRIT" >&2; exit 2; }
culprit=$1
failed=0
complain() { echo "collect: $*"; failed=1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
FAKE=$scratch TMPDIR=$scratch
export FAKE TMPDIR
mkdir bin
fake() { { echo '#!/bin/sh'; cat; } >"bin/$1"; chmod +x "bin/$1"; }

fake reached <<'END'
# HOST COMMAND...: what every way to a host does in the end.
host=$1; shift
echo "$host: $*" | head -c 200 >>"$FAKE/reached.log"
case $host in
  node-3) exec sleep 600 ;;
  node-4) echo "ssh: connect to host node-4 port 22: Connection refused" >&2; exit 255 ;;
  node-66) cat >/dev/null; exec cat "$FAKE/hostile.tar" ;; # what it sends is its own
esac
FAKE_HOST=$host; export FAKE_HOST
exec sh -c "$*"
END
fake ssh <<'END'
while [ "$1" != -- ]; do shift; done
shift
exec reached "$@"
END
fake pdsh <<'END'
while [ "$1" != -w ]; do shift; done
shift
exec reached "$@" </dev/null
END
cp bin/pdsh bin/clush
fake srun <<'END'
for word; do case $word in --nodelist=*) host=${word#*=} ;; esac; done
while case $1 in --*) true ;; *) false ;; esac; do shift; done
exec reached "$host" "$@"
END
fake uname <<'END'
[ "$1" = -n ] && echo "${FAKE_HOST:-node-1}" || exec /bin/uname "$@"
END
fake date <<'END'
# Its own zone a host; of a zone of half an hour no machine is that runs the tests.
case $* in *%z*) [ "${FAKE_HOST:-}" != node-2 ] || TZ=IST-5:30; export TZ ;; esac
exec /bin/date "$@"
END
fake ip <<'END'
echo '1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever'
echo '2: eth0    inet 10.20.30.40/24 brd 10.20.30.255 scope global eth0\       valid_lft forever'
echo '2: eth0    inet6 fd00::40/64 scope global \       valid_lft forever'
echo '2: eth0    inet6 fe80::1/64 scope link \       valid_lft forever'
END
fake dmesg <<'END'
[ "$*" = -T ] || exit 1
[ "${FAKE_HOST:-}" != node-2 ] || echo '[Fri Nov 27 03:39:53 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=1812, GPU has fallen off the bus.'
echo '[Fri Nov 27 03:39:52 2026] usb 1-1: new device'
END
fake nvidia-smi <<'END'
# Behind a limit of time, what it started still holds its output open, as a process that cannot be killed does.
[ "${FAKE_HOST:-}" != node-2 ] || { setsid sleep 40 & exec sleep 40; }
echo 'Failed to initialize NVML: Insufficient Permissions' >&2
exit 4
END
fake py-spy <<'END'
echo 'Error: Permission Denied: Try running again with elevated permissions' >&2
exit 1
END
fake scontrol <<'END'
case "$*" in
  'show job 41207') cat <<JOB
JobId=41207 JobName=train
   UserId=me($(id -u)) GroupId=me(0) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=node-[1-4]
   Command=/x/train.sh --wandb-api-key abcdef0123456789
   StdErr=$FAKE/secret.out
   StdOut=$FAKE/slurm-41207.out
JOB
    ;;
  'show hostnames node-[1-4]')
    printf 'node-%s\n' 1 2 3 4
    printf '%s\n' "a;touch $FAKE/ran" "\$(touch\${IFS}$FAKE/ran)" "\`touch $FAKE/ran\`" -oProxyCommand=x '*' ../../x ''
    ;;
  *) exit 1 ;;
esac
END
fake kubectl <<'END'
case "$*" in
  *'--output name') case "$*" in *training.kubeflow.org*) printf 'pod/node-%s\n' 1 2 '$(touch ran)' ;; esac ;;
  exec*) while [ "$1" != --namespace ]; do shift; done; shift 2; pod=$1; shift 2; exec reached "$pod" "$@" ;;
  *'get pods -o wide') printf 'NAME     READY   STATUS   RESTARTS   AGE   IP         NODE     NOMINATED NODE   READINESS GATES\nnode-1   0/1     Error    0          3h    10.0.0.1   gpu-07   <none>           <none>\n' ;;
  *logs*) echo 'RuntimeError: of a pod' ;;
  *describe*) printf 'Name: node-1\n    Environment:\n      HF_TOKEN:  hunter2hunter2\n      MAX_TOKENS:  4096\n' ;;
  *) exit 1 ;;
esac
END
PATH=$scratch/bin:$PATH
export PATH
echo 'step 12: loss 3.2' >slurm-41207.out
ln -s slurm-41207.out secret.out # what a user names need not be what he may read

# A rank on this host, with what nobody may read.
# What torchrun inherits of srun is no number of a rank, and the shell around it is no rank.
mkdir -p home/.cache/torch && echo of-home >home/.cache/torch/comm_lib_trace_rank_3 && echo of-run >run_rank_3
env HOME="$scratch/home" TORCHCOMM_FR_DUMP_TEMP_FILE=run_rank_ SLURM_PROCID=5 RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 NCCL_DEBUG=WARN TORCH_AUTH_TOKEN=hunter2hunter2 sh -c '
  (echo "iteration 7" >rank.log; exec sleep 600 >>rank.log) & echo $! >rank.pid; wait' &
shell_of_rank=$!
while [ ! -s rank.pid ]; do sleep 0.1; done
rank=$(cat rank.pid)
trap 'kill $rank $shell_of_rank 2>/dev/null; rm -rf "$scratch"' EXIT

# What a hostile host sends: a clock which runs something, a pipe and a link.
mkdir sent
echo "1 HOME[\$(touch\${IFS}$FAKE/ran)]" >sent/clock.txt
printf '%s\n' 'address 10.0.0.9","x":["' 'address 10.0.0.9' 'zone +08:00$(touch ran)' 'rank 1"} - 8' 'rank 9 - 8' >sent/about.txt
mkfifo sent/ip-addr.txt
ln -s /dev/zero sent/dmesg.txt
tar -cf hostile.tar -C sent .

# A script, with limits that a test can wait for, and a busy machine can keep.
host_seconds=120
script() { # FILE OPTION...
  file=$1; shift
  "$culprit" collect "$@" >"$file" || complain "no script of: $*"
  sed -i -e "s/^host_seconds=[0-9]*/host_seconds=$host_seconds/" -e 's/^\(observe nvidia-smi[^ ]*\) 20 /\1 5 /' -e 's/|| sleep 10$/|| sleep 1/' "$file"
}
# bundle NAME: unpacked; one must be there.
bundle() {
  [ -s "$1.tar.gz" ] || { complain "$shell: no $1.tar.gz"; return; }
  tar -xzf "$1.tar.gz" || complain "$shell: $1.tar.gz cannot be read"
}
has() { # FILE TEXT
  grep -q -- "$2" "$1" 2>/dev/null || complain "$shell: $1 has no '$2'"
}
lacks() {
  ! grep -rq -- "$2" "$1" || complain "$shell: $1 has '$2'"
}

slurm_job() {
  host_seconds=45 # one host takes them all
  script slurm.sh --slurm 41207
  $shell slurm.sh slurm 2>slurm.said && complain "$shell: exit 0 though hosts did not answer"
  bundle slurm
  has slurm/collect-errors.txt 'node-3	no answer within'
  has slurm/collect-errors.txt 'node-4	exit 255: ssh: connect to host node-4'
  has slurm/collect-errors.txt 'oProxyCommand=x	not the name of a host'
  has slurm/hosts/node-1/collect-errors.txt 'nvidia-smi-q.txt	exit 4	Failed to initialize NVML: Insufficient Permissions'
  has slurm/hosts/node-2/collect-errors.txt 'nvidia-smi-q.txt	.*time limit of 5 s'
  has slurm/hosts/node-2/dmesg.txt 'fallen off the bus'
  has slurm/hosts/node-1/output/rank3-fd1.log 'iteration 7'
  has slurm/hosts/node-1/proc-ranks.txt RANK=3
  [ "$(grep -c '^== pid' slurm/hosts/node-1/proc-ranks.txt)" = 1 ] || complain "$shell: $(grep -c '^== pid' slurm/hosts/node-1/proc-ranks.txt) processes are ranks, not 1"
  has slurm/scheduler/output/slurm-41207.out 'step 12'
  has slurm/job.json '"hosts": \["node-1", "node-2", "node-3", "node-4"\]'
  has slurm/job.json '"node-2": {"timezone": "+05:30", "ahead": \[-[0-9]*, [0-9]*\]}'
  # One machine plays all hosts here: a rank of two hosts is one of two jobs.
  lacks slurm/job.json '"ranks"'
  [ -z "$(find slurm -name about.txt)" ] || complain "$shell: about.txt stays"
  has slurm/clocks.txt '^node-2	'
  has slurm/clocks.txt '^node-1	-[0-9]*	[0-9]*$'
  lacks slurm hunter2
  lacks slurm abcdef0123456789
  [ ! -e slurm/scheduler/output/secret.out ] || complain "$shell: a link was followed"
  "$culprit" diagnose -q slurm.tar.gz >verdict 2>&1 || complain "$shell: diagnose fails: $(cat verdict)"
  has verdict 'ISOLATE  node-2'
  lacks verdict 'unknown key'
}

hang_via() {
  script "hang-$1.sh" --hosts node-1 --hang --via "$1"
  $shell "hang-$1.sh" "hang-$1" 2>/dev/null || complain "$shell: --via $1 fails"
  bundle "hang-$1"
  for at in 1 2; do
    [ -s "hang-$1/hosts/node-1/snapshot-$at/proc-rank3-pid$rank.txt" ] || complain "$shell, $1: no snapshot $at"
  done
  has "hang-$1/hosts/node-1/flight-recorder/comm_lib_trace_rank_3" of-home
  has "hang-$1/hosts/node-1/flight-recorder/run_rank_3" of-run
  has "hang-$1/job.json" '"node-1": \[{"rank": 3, "local_rank": 1}\]'
  has "hang-$1/job.json" '"world_size": 8,'
  has "hang-$1/job.json" '"node-1": \["10.20.30.40", "fd00::40"\]'
  has "hang-$1/hosts/node-1/collect-errors.txt" "pyspy-rank3-pid$rank.txt	exit 1	Error: Permission Denied"
}

by_srun() {
  host_seconds=45
  script srun.sh --slurm 41207 --via srun
  $shell srun.sh srun 2>/dev/null
  bundle srun
  [ -s srun/hosts/node-1/dmesg.txt ] || complain "$shell: srun collects nothing"
}

a_hang() {
  for via in ssh pdsh clush; do
    (hang_via $via; exit $failed) &
    echo $! >"$via.pid"
  done
  for via in ssh pdsh clush; do
    wait "$(cat $via.pid)" || failed=1
  done
  # What the manifest says is used, without a remark.
  "$culprit" diagnose -q hang-ssh.tar.gz -o hang-report >verdict 2>&1
  lacks verdict 'job.json:'
  "$culprit" sql -d hang-report/incident.db "SELECT host, local_rank, source FROM rank WHERE rank = 3" >placed 2>&1
  has placed 'node-1.*1.*manifest'
  # What the collector could not do is not what happened to the job.
  "$culprit" diagnose -q hang-ssh.tar.gz >verdict 2>&1 || complain "$shell: diagnose fails: $(cat verdict)"
  lacks verdict 'Permission Denied'
}

# Of what a host sends nothing runs, and nothing is waited for.
hostile_host() {
  script hostile.sh --hosts node-66,node-1
  AT_ONCE=1 $shell hostile.sh hostile 2>/dev/null
  bundle hostile
  has hostile/collect-errors.txt 'node-66	its clock says no time'
  has hostile/job.json '"node-66": \["10.0.0.9"\]'
  lacks hostile/job.json 'touch'
  lacks hostile/job.json '"ranks"'
  "$culprit" diagnose -q hostile.tar.gz >verdict 2>&1
  lacks verdict 'job.json:'
  has hostile/hosts/node-1/dmesg.txt 'new device'
  [ -z "$(find hostile ! -type f ! -type d)" ] || complain "$shell: what is no file was kept"
}

pods() {
  script pods.sh --kubernetes training/llama
  $shell pods.sh pods 2>/dev/null
  bundle pods
  has pods/collect-errors.txt 'not the name of a host'
  has pods/hosts/node-1/stdout.log 'of a pod'
  has pods/scheduler/describe-pods.txt 'MAX_TOKENS:  4096'
  lacks pods hunter2
}

# Stopped half-way, what is there is a bundle.
stopped() {
  script stopped.sh --hosts 'node-[1-3]'
  $shell stopped.sh stopped 2>stopped.said &
  for second in $(seq 60); do
    sleep 1
    [ ! -s stopped/hosts/node-1/dmesg.txt ] || break
  done
  kill $!
  wait $!
  has stopped.said stopped
  has stopped.said 'asking 3 hosts'
  [ "$(wc -l <stopped.said)" = 4 ] || complain "$shell: a stopped collector says: $(cat stopped.said)"
  has stopped/job.json '"collected_at"'
  has stopped/hosts/node-1/dmesg.txt usb
  [ ! -e stopped/.collect ] || complain "$shell: the working folder stays"
  "$culprit" diagnose -q stopped >/dev/null 2>&1 || complain "$shell: a stopped bundle cannot be read"
}

# Killed, it leaves its working folder: that is no evidence. What it says to type next can be typed.
killed() {
  script killed.sh --hosts 'node-[1-3]'
  setsid $shell killed.sh "it's;killed" 2>/dev/null &
  for second in $(seq 60); do
    sleep 1
    [ ! -s "it's;killed/hosts/node-1/dmesg.txt" ] || break
  done
  kill -9 -$!
  wait $! 2>/dev/null
  [ -e "it's;killed/.collect/host.sh" ] || complain "$shell: it was over before it was killed"
  "$culprit" ingest -q -d killed.db "it's;killed" >/dev/null || complain "$shell: a killed bundle cannot be read"
  "$culprit" sql -d killed.db 'SELECT path FROM member' >members
  has members 'hosts/node-1/dmesg.txt'
  lacks members '[.]collect/'
  rm -rf culprit-collect.* # of the hosts, which were killed with it
  script next.sh --hosts node-1
  $shell next.sh "it's;next" 2>next.said
  next=$(sed -n 's/.*next: culprit diagnose //p' next.said)
  eval "set -- $next"
  [ -s "$1" ] || complain "$shell: cannot be typed: $next"
}

# Where there is no timeout(1), commands are killed all the same.
no_timeout() {
  mkdir tools
  for tool in sh tar head date wc mkdir rm sleep cat dirname sed grep tr cp mv awk find id ps ip ls sort readlink gzip df tail; do
    path=$(command -v $tool) && ln -s "$path" tools/$tool
  done
  ln -s "$scratch/bin/uname" "$scratch/bin/dmesg" tools/
  printf '#!/bin/sh\nsleep 40\n' >tools/nvidia-smi
  chmod +x tools/nvidia-smi
  script here.sh --here
  run=$(command -v "${shell%% *}")
  case $shell in *' '*) run="$run ${shell#* }" ;; esac
  (PATH=$PWD/tools; $run here.sh untimed 2>/dev/null) || complain "$shell: fails without timeout(1)"
  bundle untimed
  has untimed/hosts/node-1/collect-errors.txt 'nvidia-smi-q.txt	time limit of 5 s'
  has untimed/hosts/node-1/dmesg.txt usb
}

# No room: it ends by itself and says so. A tiny file system needs root.
full_disk() {
  mkdir -p tiny
  mount -t tmpfs -o size=32k,mode=755 tiny tiny 2>/dev/null || { echo "skipped: no small file system can be mounted"; return; }
  script here.sh --here
  $shell here.sh tiny/out 2>full.said && complain "$shell: exit 0 on a full disk"
  has full.said 'disk full'
  umount tiny
  mount -t tmpfs -o size=4k,mode=755 tiny tiny
  TMPDIR=$scratch/tiny $shell here.sh elsewhere 2>/dev/null || complain "$shell: a full TMPDIR is not passed over"
  umount tiny
  bundle elsewhere
  [ -s elsewhere/hosts/node-1/dmesg.txt ] || complain "$shell: nothing is collected where TMPDIR is full"
}

# All at once, each in a folder of its own: they mostly wait.
trials='slurm_job by_srun a_hang hostile_host pods stopped killed no_timeout full_disk'
of_shell() { # FOLDER: all trials of one shell; what they complain of is printed
  mkdir "$1" && cd "$1" || exit 1
  for trial in $trials; do
    mkdir "$trial"
    (cd "$trial" && TMPDIR=$scratch/$1/$trial && $trial; exit $failed) >"$trial.said" 2>&1 &
    echo $! >"$trial.pid"
  done
  for trial in $trials; do
    wait "$(cat $trial.pid)" || failed=1
    cat "$trial.said"
    for left in "$trial"/culprit-collect.*; do [ ! -e "$left" ] || complain "$shell: left behind: $left"; done
  done
  exit $failed
}
for shell in dash 'busybox sh' bash; do
  name=${shell%% *}
  command -v "$name" >/dev/null || { echo "skipped: no $shell"; continue; }
  (of_shell "$name") >"$name.said" 2>&1 &
  echo $! >"$name.pid"
done
for name in dash busybox bash; do
  [ -f "$name.pid" ] || continue
  wait "$(cat "$name.pid")" || failed=1
  cat "$name.said"
done
[ ! -e ran ] || complain 'a name or a clock of a host was executed'

if command -v shellcheck >/dev/null; then
  for options in '--slurm 1 --full' '--kubernetes a/b --full' '--hosts a --via pdsh' '--here --hang'; do
    "$culprit" collect $options >checked.sh
    shellcheck -s sh -S warning checked.sh || complain "shellcheck: $options"
  done
else
  echo 'skipped: no shellcheck'
fi
exit $failed
