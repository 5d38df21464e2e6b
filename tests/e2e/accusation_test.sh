#!/bin/sh
# accusation_test.sh CULPRIT SAMPLES: evidence that is left out, and evidence that proves nothing, isolate no machine that the
# whole bundle does not isolate:
#   each file of a sample left out in turn;
#   an Xid without a date on a machine beside the job's;
#   a link that went down and came back long before;
#   the output of another job that failed;
#   the same files once more, in a second folder.
# CULPRIT_BUNDLES=N: the first N samples only.
set -u
culprit=$1 samples=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C TZ=UTC
export LC_ALL TZ
failures=0 runs=0 bundles=0

# The hosts that the first line isolates, one a line.
isolated() {
  "$culprit" diagnose -q "$1" 2>/dev/null | sed -n '1s/^ISOLATE  *//p' | tr ',' '\n' | sed 's/^ *//; / /d; s/ *(candidates)//' | LC_ALL=C sort -u
}

# held WHAT FOLDER: nobody is isolated there that the whole sample does not isolate
held() {
  runs=$((runs + 1))
  isolated "$2" >"$scratch/now"
  if [ -n "$(comm -13 "$scratch/base" "$scratch/now")" ]; then
    failures=$((failures + 1))
    echo "$name, $1: isolates $(comm -13 "$scratch/base" "$scratch/now" | tr '\n' ' ')"
  fi
}

for folder in "$samples"/*/; do
  [ -d "$folder" ] || continue
  [ $bundles -lt "${CULPRIT_BUNDLES:-1000000}" ] || break
  name=$(basename "$folder")
  bundles=$((bundles + 1))
  isolated "$folder" >"$scratch/base"
  rm -rf "$scratch/b"
  cp -r "$folder" "$scratch/b"

  (cd "$scratch/b" && find . -type f | LC_ALL=C sort) >"$scratch/files"
  while IFS= read -r file; do
    mv "$scratch/b/$file" "$scratch/aside"
    held "without $file" "$scratch/b"
    mv "$scratch/aside" "$scratch/b/$file"
  done <"$scratch/files"

  mkdir -p "$scratch/b/hosts/bystander-09"
  echo '[412345.678901] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.' >"$scratch/b/hosts/bystander-09/dmesg.txt"
  held "an undated Xid on another machine" "$scratch/b"
  printf '%s\n' '2026-01-03T10:00:00Z bystander-09 kernel: mlx5_core 0000:12:00.0 ib0: Link down' \
    '2026-01-03T10:00:05Z bystander-09 kernel: mlx5_core 0000:12:00.0 ib0: Link up' >"$scratch/b/hosts/bystander-09/dmesg.txt"
  held "a link that came back" "$scratch/b"
  rm -rf "$scratch/b/hosts/bystander-09"
  rmdir "$scratch/b/hosts" 2>/dev/null

  mkdir "$scratch/b/other"
  printf '%s\n' 'srun: error: bystander-09: task 3: Exited with exit code 1' \
    'slurmstepd: error: *** STEP 999991.0 ON bystander-09 CANCELLED AT 2026-01-03T10:00:00 ***' >"$scratch/b/other/slurm-999991.out"
  held "the output of another job" "$scratch/b"
  rm -rf "$scratch/b/other"

  mkdir "$scratch/twice"
  cp -r "$folder" "$scratch/twice/one"
  cp -r "$folder" "$scratch/twice/two"
  held "the same files twice" "$scratch/twice"
  rm -rf "$scratch/twice"
done
[ $bundles -gt 0 ] || { echo "skipped: there are no samples"; exit 77; }
echo "$bundles bundles, $runs changed ones, $failures failures"
[ $failures -eq 0 ]
