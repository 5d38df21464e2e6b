#!/bin/sh
# incidents.sh FOLDER PREFIX CULPRIT UNPACK: compare answers to incidents with those in FOLDER/answers.
#
# Diagnoses the cases whose names begin with PREFIX; FOLDER/answers has the judged answers. Works in
# ./PREFIX, which is left behind if an answer differs: bundles/, reports in out/.
# CULPRIT_UPDATE_GOLDEN=1 writes FOLDER/answers/PREFIX.txt anew; incidents_floor.sh bounds that.
set -u
folder=$1 prefix=$2 culprit=$3 unpack=$4
family=$(printf '%.1s' "$prefix")
answers=$folder/answers/$family.txt
rest=$folder/rest/$family.txt.xz
LC_ALL=C TZ=UTC
export LC_ALL TZ

rm -rf "./$prefix"
mkdir -p "$prefix/bundles"
{ [ ! -e "$rest" ] || xz -dc "$rest"; } |
  "$unpack" "$folder/cases" "$prefix/bundles" "$prefix" >"$prefix/truth.tsv" || exit 1
"$culprit" batch "$prefix/bundles" -o "$prefix/out" -q >/dev/null
awk -f "$folder/judge.awk" "$prefix/truth.tsv" FS=, "$prefix/out/summary.csv" >"$prefix/got"

if [ "$prefix" != "$family" ]; then   # some of a family: its last line, the count, is another one
  sed -i '$d' "$prefix/got"
  grep "^$prefix" "$answers" >"$prefix/expected"
elif [ "${CULPRIT_UPDATE_GOLDEN-}" = 1 ]; then
  cmp -s "$prefix/got" "$answers" || cp "$prefix/got" "$answers" || exit 1
  rm -r "./$prefix"
  exit
else
  cp "$answers" "$prefix/expected"
fi
if diff -u --label expected --label actual "$prefix/expected" "$prefix/got" >"$prefix/diff"; then
  rm -r "./$prefix"
  exit
fi
cat "$prefix/diff"
for name in $(sed -n '2,$s/^+\([a-z][0-9][^ ]*\) .*/\1/p' "$prefix/diff" | head -n 5); do
  echo "$name"
  sed -n '/^truth: /,/^innocent:/s/^/  /p' "$folder/cases/$name.txt"
  "$culprit" diagnose "$prefix/bundles/$name" | sed -n '1,25s/^/  | /p'
done
echo "the bundles and reports are in $PWD/$prefix"
echo "if the new answers are right: CULPRIT_UPDATE_GOLDEN=1 sh tests/run.sh -R incidents"
exit 1
