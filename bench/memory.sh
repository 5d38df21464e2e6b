#!/bin/sh
# memory.sh BUILD [SIZE_MB...]: peak memory of `culprit diagnose` on generated logs of 100, 1000 and 4000 MB (made in
# /tmp, or $TMPDIR, and removed). Fails when one takes 200 MB or more.
set -eu
build=$1
shift
[ $# -gt 0 ] || set -- 100 1000 4000
generate=$build/bench/generate_log
[ -x "$generate" ] || generate=$(find "$build" -name generate_log -type f | head -1)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/culprit-memory-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
missed=0
for size in "$@"; do
  "$generate" "$size" 1 >"$scratch/train.log"
  begin=$(date +%s%N)
  "$build/culprit" diagnose "$scratch/train.log" --format json -q >"$scratch/out" &
  pid=$!
  # VmHWM is the kernel's own high-water mark: asking now and then misses only what comes after the last question.
  peak=0
  while status=$(cat /proc/$pid/status 2>/dev/null); do
    now=$(printf '%s\n' "$status" | sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p')
    [ -n "$now" ] || break
    [ "$now" -le "$peak" ] || peak=$now
    sleep 0.02
  done
  wait $pid
  spent=$((($(date +%s%N) - begin) / 1000000))
  rm -f "$scratch/train.log"
  verdict=met
  [ $peak -lt 204800 ] || { verdict=MISSED; missed=1; }
  printf '%6d MB: peak %4d MB, %d.%02d s   target < 200 MB   %s\n' "$size" $((peak / 1024)) $((spent / 1000)) $((spent % 1000 / 10)) "$verdict"
done
exit $missed
