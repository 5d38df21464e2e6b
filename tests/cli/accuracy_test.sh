#!/bin/sh
# accuracy_test.sh ROOT: bench/accuracy/RESULTS.tsv is well-formed, append.sh refuses rows that are
# not, and README.md gives the sums of the file.
set -eu
[ $# = 1 ] || { echo "usage: $0 ROOT" >&2; exit 2; }
cd "$1"
failed=0
complain() { echo "accuracy: $*"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
append=bench/accuracy/append.sh

sh $append --check || complain "RESULTS.tsv is malformed"

CULPRIT_RESULTS=$work/results.tsv
export CULPRIT_RESULTS
cp bench/accuracy/RESULTS.tsv "$CULPRIT_RESULTS"
refused() {   # WHY ARGUMENT...
  why=$1
  shift
  if sh $append "$@" 2>"$work/err"; then
    complain "accepted: $why"
  elif ! [ -s "$work/err" ]; then
    complain "refused without a reason: $why"
  fi
  cmp -s bench/accuracy/RESULTS.tsv "$CULPRIT_RESULTS" || complain "a row was written: $why"
}
refused "too few columns" 0123abc "new set" simulator 10 9 1 0
refused "no build" - "new set" simulator 10 9 1 0 0
refused "not a commit" nightly "new set" simulator 10 9 1 0 0
refused "unknown maker" 0123abc "new set" friends 10 9 1 0 0
refused "no incidents" 0123abc "new set" simulator 0 0 0 0 0
refused "not a number" 0123abc "new set" simulator 10 nine 1 0 0
refused "a sum that is too large" 0123abc "new set" simulator 10 9 1 1 -
refused "a sum that is too small" 0123abc "new set" simulator 10 8 1 0 0
refused "nothing counted" 0123abc "new set" simulator 10 - - - -
refused "a second first run" 0123abc "incidents 01" "other hands" 20 20 0 0 0
refused "a tab" 0123abc "new	set" simulator 10 9 1 0 0
refused "a line end" 0123abc "new
set" simulator 10 9 1 0 0

sh $append 0123abc "new set" "other hands" 10 8 1 1 0 || complain "a good row is refused"
printf '0123abc\tnew set\tother hands\t10\t8\t1\t1\t0\n' >"$work/wanted"
tail -n 1 "$CULPRIT_RESULTS" | cut -f2- | cmp -s - "$work/wanted" || complain "the row is not the last"
sh $append --check || complain "the file is malformed after a good row"
unset CULPRIT_RESULTS

# README.md, "Accuracy": every sum stands there as "N of M".
sed -n '/^## Accuracy/,/^## /p' README.md | tr '\n' ' ' >"$work/readme"
sh $append --sums >"$work/sums"
while read -r line; do
  figure=$(printf '%s\n' "$line" | grep -o '[0-9]* of [0-9]*$')
  grep -qF "$figure" "$work/readme" || complain "README.md does not say \"$figure\" ($line)"
done <"$work/sums"
exit $failed
