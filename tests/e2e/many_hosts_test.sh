#!/bin/sh
# many_hosts_test.sh CULPRIT: what a cluster of thousands of machines writes takes time by its size, not by its square: each
# bundle here took minutes when one list was walked for each entry of another. The limits are for slow and busy machines.
set -u
culprit=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
LC_ALL=C TZ=UTC
export LC_ALL TZ
failures=0

# NAME BUNDLE PATTERN: the answer comes in time and holds the pattern.
diagnosed() {
  if ! timeout 60 "$culprit" diagnose "$2" >"$1.txt" 2>"$1.err"; then
    echo "$1: no answer within a minute"
    failures=$((failures + 1))
  elif ! tr '\n' ' ' <"$1.txt" | grep -q "$3"; then
    echo "$1: '$3' is missing:"
    head -8 "$1.txt"
    failures=$((failures + 1))
  fi
}
xid='kernel: NVRM: Xid (PCI:0000:52:00): 79, pid=1, GPU has fallen off the bus.'

# One fault on each of 20,000 machines, over an hour.
awk -v xid="$xid" 'BEGIN {
  for (i = 0; i < 20000; ++i) printf "Nov 21 03:%02d:%02d node-%d %s\n", i / 60 % 60, i % 60, i, xid
}' >faults.log
diagnosed faults faults.log '19992 more report the same fault'
grep -q "plan checks --hosts 'node-\[0-19999\]'" faults.txt || { echo "faults: hosts are not folded"; failures=1; }
[ "$(wc -c <faults.txt)" -lt 8192 ] || { echo "faults: the answer is long"; failures=1; }

# 12,000 machines of a job that names them, a GPU error on each, and what its ranks print.
mkdir job
awk 'BEGIN {
  printf "{\"gpus_per_node\": 8, \"hosts\": ["
  for (i = 0; i < 12000; ++i) printf "%s\"node-%d\"", i ? ", " : "", i
  print "]}"
}' >job/job.json
awk -v xid="$xid" 'BEGIN {
  for (i = 0; i < 12000; ++i) printf "Nov 21 03:%02d:%02d node-%d %s\n", i / 60 % 60, i % 60, i, xid
}' >job/kernel.log
awk 'BEGIN {
  error = "RuntimeError: CUDA error: an illegal memory access was encountered"
  for (i = 0; i < 12000; ++i) printf "[rank%d]: %s\n", i * 8, error
}' >job/train.log
diagnosed job job '12000 hosts'

# 20,000 events of a cluster, each with its own words, on one line.
awk 'BEGIN {
  printf "{\"kind\": \"EventList\", \"items\": ["
  for (i = 0; i < 20000; ++i)
    printf "%s{\"kind\": \"Event\", \"type\": \"Warning\", \"reason\": \"FailedMount\", \"message\": \"pod %d: MountVolume.SetUp failed: connection timed out\", \"lastTimestamp\": \"2026-11-21T03:%02d:%02dZ\", \"involvedObject\": {\"kind\": \"Pod\", \"name\": \"worker-%d\"}}", i ? ", " : "", i, i / 60 % 60, i % 60, i
  print "]}"
}' >events.json
diagnosed events events.json 'read 1 file'

[ $failures = 0 ]
