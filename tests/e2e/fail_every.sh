#!/bin/sh
# sh tests/e2e/fail_every.sh [BUILD [NAME...]]: each of the first 2000 calls of each series of fail_nth fails in turn, and
# 2000 of all where there are more: some 40,000 runs of the program, an hour of a processor; CI tries a sample. BUILD
# (build-test) is a folder with a build, NAME a series ("classify, killed"); without one, all, the shortest first. The
# programs are copied first, so that a build may go on beside it. Prints what failed, a line a series, and at the end how
# many series failed; that is 0, or the exit status is 1.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$root/build-test}" && pwd)
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- "diagnose --json" stacks classify ingest diagnose "ingest of two" "classify, killed" \
  "ingest of an archive, reading" "diagnose, reading" "ingest of two, reading" "diagnose, killed" "ingest of two, killed" \
  "classify, reading" "classify, memory" "diagnose, memory" "ingest of an archive, memory" "ingest of two, memory"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "$build/culprit" "$build/tests/e2e/fail_nth" "$build/tests/e2e/libfail_calls.so" "$copy/"
failed=0
for name; do
  start=$(date +%s)
  CULPRIT_FAIL_CALLS=2000 nice -n 19 "$copy/fail_nth" "$copy/culprit" "$root/samples" "$copy/libfail_calls.so" "$name" ||
    failed=$((failed + 1))
  echo "  $name: $(($(date +%s) - start)) s"
done
echo "series that failed: $failed"
[ "$failed" = 0 ]
