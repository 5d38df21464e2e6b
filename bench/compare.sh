#!/bin/sh
# compare.sh BUILD [SIZE_MB] [FOLDER] [ROUNDS]: culprit against cat and ripgrep on one generated log (1024 MB, in /tmp),
# in one run on one machine; then the ratios against their targets (1 when one is missed). Figures of two machines do not
# compare; ratios of one run do.
#
# All read the same file from a warm cache, in turns: a round runs every command once, the first round does not count,
# and each command keeps its best of the others (5), so that a busy neighbour spoils a round and not a command. Beside
# the time on the clock stands the processor time, which says more on a machine with other work: MB/s by both.
#
# Why `cat | cat`: `cat > /dev/null` writes nothing, so it costs one copy out of the page cache, which no program that
# looks at the bytes gets below. `cat | cat` is the least that handing the bytes to another program costs: what a log
# pays that passes through a pipe at all. The scan is held against that, and both are shown.
#
# rg gets our words (print_words), with and without case; the ratio is taken against whichever is faster, though only the
# one without case finds what our search finds. It prints counts, so it pays for no output. Its times hold its start-up,
# as those of `culprit ingest` do; the search and the scan are timed within a program that has started.
set -eu
build=$1 size=${2:-1024} folder=${3:-/tmp} rounds=${4:-5}
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
echo "$((bytes / 1000000)) MB of log, $(wc -l <"$log") lines, $(wc -l <"$scratch/words") phrases; best of $rounds"

# children: processor seconds of all commands so far
children() { times >"$scratch/times"; awk 'NR == 2 { gsub("s", ""); split($1, u, "m"); split($2, s, "m"); print u[1] * 60 + u[2] + s[1] * 60 + s[2] }' "$scratch/times"; }

# once NAME COMMAND: adds "clock processor" rates of one run to the results of NAME. awk, unlike the shell's own $(times),
# is a child too: it is counted in both readings and falls out but for a millisecond.
once() {
  rm -f "$scratch"/*.db*
  children >"$scratch/before"
  begin=$(date +%s%N)
  sh -c "$2" >"$scratch/out" 2>"$scratch/err" || { cat "$scratch/err" >&2; echo "failed: $2" >&2; exit 1; }
  spent=$(($(date +%s%N) - begin))
  children >"$scratch/after"
  awk -v b="$bytes" -v t="$spent" '{ getline after <"'"$scratch/after"'"; print b * 1000 / t, b / 1e6 / (after - $1 > 0.001 ? after - $1 : 0.001) }' "$scratch/before" >>"$scratch/rates.$1"
}
# inside NAME: the same of print_words, which takes the best of three passes itself and prints both rates first
inside() {
  "$build/bench/print_words" "$1" "$log" >"$scratch/out"
  awk '{ print $1, $3 }' "$scratch/out" >>"$scratch/rates.$1"
}

round=0
while [ $round -le "$rounds" ]; do
  once cat "cat '$log' > /dev/null"
  once pipe "cat '$log' | cat > /dev/null"
  if command -v rg >/dev/null; then
    once rg "rg -c -j1 -F -f '$scratch/words' '$log'"
    once rgi "rg -c -j1 -F -i -f '$scratch/words' '$log'"
  fi
  inside search
  inside scan
  once one "'$build/culprit' ingest '$log' -d '$scratch/x.db' --threads 1 -q"
  once two "'$build/culprit' ingest '$log' -d '$scratch/x.db' --threads 2 -q"
  [ $round -gt 0 ] || rm -f "$scratch"/rates.*
  round=$((round + 1))
done

# best NAME COLUMN
best() { sort -k"$2","$2"nr "$scratch/rates.$1" | awk -v c="$2" 'NR == 1 { printf "%d", $c }'; }
show() { [ ! -f "$scratch/rates.$1" ] || printf '%-42s %6d MB/s  %6d MB/s of processor time\n' "$2" "$(best "$1" 1)" "$(best "$1" 2)"; }
show cat "cat LOG > /dev/null"
show pipe "cat LOG | cat > /dev/null"
show rg "rg -c -j1 -F -f PHRASES LOG"
show rgi "rg -c -j1 -F -i -f PHRASES LOG"
show search "our search (print_words search LOG)"
show scan "our scan, with rules (print_words scan LOG)"
show one "culprit ingest LOG --threads 1"
show two "culprit ingest LOG --threads 2"

missed=0
# target NAME A B TENTHS: A/B should be at least TENTHS/10, by the clock
target() {
  line=$(awk -v a="$(best "$2" 1)" -v b="$(best "$3" 1)" -v c="$(best "$2" 2)" -v d="$(best "$3" 2)" -v t="$4" -v n="$1" \
    'BEGIN { printf "%-34s %5.2f (processor time %5.2f)   target %.1f   %s\n", n, a / b, c / d, t / 10, (a / b >= t / 10) ? "met" : "MISSED" }')
  echo "$line"
  case $line in *MISSED) missed=1 ;; esac
}
echo
if command -v rg >/dev/null; then
  faster=rg
  [ "$(best rg 1)" -ge "$(best rgi 1)" ] || faster=rgi
  target "scan : rg" scan $faster 30
  target "ingest, 1 thread : rg" one $faster 15
else
  echo "SKIPPED: ripgrep is not here"
fi
target "scan : cat | cat" scan pipe 5
target "ingest, 2 threads : 1 thread" two one 18
exit $missed
