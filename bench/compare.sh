#!/bin/sh
# compare.sh BUILD [SIZE_MB] [FOLDER]: culprit against cat and ripgrep on one generated log (1024 MB, in /tmp), in one
# run on one machine, each the best of three after a warm-up; then the ratios against their targets (1 when one is
# missed). Figures of two machines do not compare; ratios of one run do.
set -eu
build=$1 size=${2:-1024} folder=${3:-/tmp}
for tool in culprit bench/print_words; do [ -x "$build/$tool" ] || { echo "build it first: $build/$tool" >&2; exit 2; }; done
generate=$build/bench/generate_log
[ -x "$generate" ] || generate=$(find "$build" -name generate_log -type f | head -1)
scratch=$(mktemp -d "$folder/culprit-compare-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
log=$scratch/train.log
"$generate" "$size" 1 >"$log"
"$build/bench/print_words" >"$scratch/words"
bytes=$(wc -c <"$log")
echo "$(nproc) cores, $(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1); load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "$((bytes / 1000000)) MB of log, $(wc -l <"$log") lines, $(wc -l <"$scratch/words") phrases"

# rate COMMAND: MB/s, best of three after one that does not count
rate() {
  best=
  for round in 0 1 2 3; do
    rm -f "$scratch"/*.db*
    begin=$(date +%s%N)
    sh -c "$1" >/dev/null 2>"$scratch/err" || { cat "$scratch/err" >&2; echo "failed: $1" >&2; return 1; }
    spent=$(($(date +%s%N) - begin))
    [ $round = 0 ] || { [ -n "$best" ] && [ "$best" -le $spent ]; } || best=$spent
  done
  echo $((bytes * 1000 / best))
}

show() { printf '%-34s %6d MB/s\n' "$1" "$2"; }
cat_rate=$(rate "cat '$log' > /dev/null"); show "cat > /dev/null" "$cat_rate"
cat_pipe=$(rate "cat '$log' | cat > /dev/null"); show "cat | cat > /dev/null" "$cat_pipe"
rg_rate=
if command -v rg >/dev/null; then
  rg_rate=$(rate "rg -c -j1 -F -f '$scratch/words' '$log'"); show "rg -c -F -f phrases" "$rg_rate"
  rg_fold=$(rate "rg -c -j1 -F -i -f '$scratch/words' '$log'"); show "rg -c -F -i -f phrases" "$rg_fold"
else
  echo "SKIPPED: ripgrep is not here"
fi
search=$("$build/bench/print_words" search "$log"); printf '%-34s %s\n' "our search" "$search"
scan=$("$build/bench/print_words" scan "$log"); printf '%-34s %s\n' "our scan, with rules" "$scan"
scan=${scan%% *}
one=$(rate "'$build/culprit' ingest '$log' -d '$scratch/x.db' --threads 1 -q"); show "culprit ingest --threads 1" "$one"
two=$(rate "'$build/culprit' ingest '$log' -d '$scratch/x.db' --threads 2 -q"); show "culprit ingest --threads 2" "$two"

missed=0
# target NAME A B TENTHS: A/B should be at least TENTHS/10
target() {
  ratio=$(($2 * 100 / $3))
  verdict=met
  [ $ratio -ge $(($4 * 10)) ] || { verdict=MISSED; missed=1; }
  printf '%-34s %3d.%02d   target %d.%d   %s\n' "$1" $((ratio / 100)) $((ratio % 100)) $(($4 / 10)) $(($4 % 10)) "$verdict"
}
echo
if [ -n "$rg_rate" ]; then
  target "scan : rg" "$scan" "$rg_rate" 30
  target "ingest, 1 thread : rg" "$one" "$rg_rate" 15
fi
target "scan : cat" "$scan" "$cat_rate" 5
target "ingest, 2 threads : 1 thread" "$two" "$one" 18
exit $missed
