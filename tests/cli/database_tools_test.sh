#!/bin/sh
# database_tools_test.sh CULPRIT SAMPLES PAGE: the examples of culprit-schema(1) for pandas and DuckDB print what the
# page says that they print. What is not on the machine is skipped by name; without either the exit status is 77.
set -u
[ $# = 3 ] || { echo "usage: $0 CULPRIT SAMPLES PAGE" >&2; exit 2; }
culprit=$1 samples=$2 page=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" && mkdir bin && ln -s "$culprit" bin/culprit || exit 1
PATH=$work/bin:$PATH
culprit diagnose "$samples/gpu-off-bus" -q -o report >/dev/null || exit 1

# Each literal block of the section is a file: an example, then what it prints.
awk '/^\.S[hs]/ { on = /pandas and DuckDB/ }
  on && /^\.Bd/ { block++; inside = 1; next }
  /^\.Ed/ { inside = 0 }
  on && inside { print > ("block." block) }' "$page"
[ -e block.6 ] || { echo "$page has no three examples"; exit 1; }

python=
for one in python3 /usr/bin/python3; do
  [ -n "$python" ] || ! "$one" -c 'import pandas' 2>/dev/null || python=$one
done
tried=0 failed=0
example() { # NUMBER COMMAND...
  wanted=block.$(($1 + 1)); shift
  tried=$((tried + 1))
  "$@" >printed 2>errors && diff -u "$wanted" printed || { cat errors; failed=1; }
}
if [ -n "$python" ]; then example 1 "$python" block.1; else echo 'skipped: no pandas'; fi
if command -v duckdb >/dev/null; then
  example 3 sh block.3
  if duckdb -c 'LOAD sqlite' >/dev/null 2>&1; then example 5 sh block.5; else echo 'skipped: DuckDB without its extension sqlite'; fi
else
  echo 'skipped: no duckdb'
fi
[ "$tried" -gt 0 ] || exit 77
exit "$failed"
