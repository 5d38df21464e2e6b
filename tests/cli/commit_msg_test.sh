#!/bin/sh
# commit_msg_test.sh HOOK: which subjects of commits .githooks/commit-msg takes.
set -eu
[ $# = 1 ] || { echo "usage: $0 HOOK" >&2; exit 2; }
hook=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
x60=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
u60=$(printf '%s' "$x60" | sed 's/x/ü/g')

# Each message as printf takes it.
taken() {
  printf "$1" >"$work/message"
  sh "$hook" "$work/message" 2>"$work/err" || { echo "commit-msg: refused: $1: $(cat "$work/err")"; failed=1; }
}
refused() {
  printf "$1" >"$work/message"
  if sh "$hook" "$work/message" 2>"$work/err"; then
    echo "commit-msg: taken: $1"
    failed=1
  elif ! [ -s "$work/err" ]; then
    echo "commit-msg: refused without a reason: $1"
    failed=1
  fi
}
taken 'decide: rank a host fault before its effects\n'
taken 'decide, rules: name traits\n\nBecause.\n'
taken 'culprit-ingest(1): describe bundles\n'
taken "decide: 678 $x60"'\n'
taken "decide: 678 $u60"'\n'
taken '# a remark\n\ndecide: name traits\n# another\n'
taken 'Merge branch "a"\n'
taken 'fixup! decide: name traits\n'
refused '\n'
refused '# only a remark\n'
refused 'Name traits\n'
refused 'decide:name traits\n'
refused 'decide: \n'
refused 'decide: name traits.\n'
refused 'decide: name traits\nBecause.\n'
refused "decide: 6789 $x60"'\n'
refused 'What a review found: hosts; ranks\n'
exit $failed
