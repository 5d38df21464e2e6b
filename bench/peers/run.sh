#!/bin/sh
# run.sh BUILD [FOLDER]: culprit against other programs on the same input, in one run on one machine; the table (TSV) goes
# to standard output and to FOLDER/peers.tsv (FOLDER: /tmp). BUILD is configured with -DCULPRIT_BENCH=ON. A program that is
# not here has a row that says so. Figures of two machines do not compare; ratios of one run do.
#
# Each pair runs in turns, from a warm cache: the first round does not count, and each command keeps its best of the others
# (ROUNDS, 3), by the clock and by processor time. ratio: seconds of culprit / seconds of the other. SIZE_MB (500) is the
# size of the logs. Others search or count; culprit reads, judges and answers.
set -eu
build=$(cd "$1" && pwd) folder=$(cd "${2:-/tmp}" && pwd) rounds=${ROUNDS:-3} size=${SIZE_MB:-500}
culprit=$build/culprit
generate=$(find "$build" -name generate_log -type f | head -1)
[ -x "$culprit" ] && [ -n "$generate" ] || { echo "build culprit and generate_log first: $build" >&2; exit 2; }
scratch=$(mktemp -d "$folder/culprit-peers-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"
has() { command -v "$1" >/dev/null; }

"$generate" "$size" 1 1000000 50 >steps.log
"$generate" "$size" 1 1000000 10000 >quiet.log
cat >words <<'END'
CUDA out of memory
NVRM: Xid
Watchdog caught collective
fallen off the bus
illegal memory access
NCCL WARN
Traceback (most recent
Segmentation fault
Connection reset by peer
No space left on device
ECC error
srun: error
Killed process
uncorrectable
Input/output error
Stale file handle
END
mkdir tree
head -c 45000000 steps.log | (cd tree && split -C 2k -a 4 - rank_ && find . -type f | tail -n +20001 | xargs -r rm)
mkdir recorder
: >empty
recorder=$(find "$build" -name generate_recorder -type f | head -1)
[ -z "$recorder" ] || "$recorder" recorder 64 500 >/dev/null 2>&1 || rm -rf recorder/*
if has zstd; then
  mkdir logs
  for seed in 1 2 3 4 5 6; do "$generate" $((size / 5)) $seed 1000000 50 >logs/node$seed.log; done
  tar cf - logs | zstd -q -3 >logs.tar.zst
  rm -r logs
fi

# seconds COMMAND: by the clock and of the processor, one run
seconds() {
  begin=$(date +%s%N)
  # dash prints the times of its children in the second line
  sh -c "{ $1; } >/dev/null 2>&1 || :; times" >times
  end=$(date +%s%N)
  awk -v t=$((end - begin)) 'NR == 2 { gsub("s", ""); split($1, u, "m"); split($2, s, "m")
    printf "%.3f %.3f\n", t / 1e9, u[1] * 60 + u[2] + s[1] * 60 + s[2] }' times
}
row() { printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$@" | tee -a table; }
# pair WHAT NAME TOOL OURS THEIRS
pair() {
  has "$3" || { row "$1" "$2" - - - - "not installed"; return; }
  rm -f ours theirs
  for round in $(seq 0 "$rounds"); do
    [ "$round" -ne 1 ] || rm -f ours theirs
    seconds "$4" >>ours
    seconds "$5" >>theirs
  done
  set -- "$1" "$2" $(for side in ours theirs; do for c in 1 2; do cut -d' ' -f$c $side | sort -n | head -1; done; done)
  row "$1" "$2" "$3" "$5" "$4" "$6" "$(awk -v a="$3" -v b="$5" 'BEGIN { printf "%.2f", a / b }')"
}

row input against culprit_s other_s culprit_cpu_s other_cpu_s ratio
one="$culprit diagnose -q --threads 1" two="$culprit diagnose -q --threads 2"
search=rg scan="rg -c -j1 -F -f words"
has rg || { row "log" "ripgrep" - - - - "not installed"; search=grep scan="grep -c -F -f words"; }
pair "log, a step in 50" "$scan" $search "$one steps.log" "$scan steps.log"
pair "log, a step in 10,000" "$scan" $search "$one quiet.log" "$scan quiet.log"
pair "log, a step in 50" "culprit with two threads" "$culprit" "$one steps.log" "$two steps.log"
pair "log, a step in 10,000" "culprit with two threads" "$culprit" "$one quiet.log" "$two quiet.log"
pair "log, a step in 50" "cat | cat" cat "$one steps.log" "cat steps.log | cat"
pair "log, a step in 50" "lnav -n, errors counted" lnav "$one steps.log" "lnav -n -c ';SELECT count(*) FROM all_logs WHERE log_level = \"error\"' steps.log"
pair "tar.zst of six logs" "zstd -dc | wc -l" zstd "$two logs.tar.zst" "zstd -dc logs.tar.zst | wc -l"
pair "20,000 files of 2 kB" "find -exec cat {} +" find "$two tree" "find tree -type f -exec cat {} + | cat"
pair "64 flight recorders" "torchfrtrace" torchfrtrace "$two recorder" "torchfrtrace recorder"
pair "an empty file" "true" true "$one empty" "true"
cp table "$folder/peers.tsv"
