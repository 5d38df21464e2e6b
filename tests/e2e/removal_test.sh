#!/bin/sh
# removal_test.sh CULPRIT INCIDENTS UNPACK: a file not collected isolates no innocent machine.
# Files of incidents whose truth is known are left out one at a time, each N-th of them
# (CULPRIT_EVERY=N, 10 by default; 1: every file).
set -u
culprit=$1 incidents=$2 unpack=$3 every=${CULPRIT_EVERY:-10}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C TZ=UTC
export LC_ALL TZ

# Numbered over all bundles, so that a bundle of few files has its turn, too.
number=0 removed=0
mkdir "$scratch/whole" "$scratch/changed"
for rest in "$incidents"/rest/*.txt.xz; do
  xz -dc "$rest" | "$unpack" "$incidents/cases" "$scratch/whole" "$(basename "$rest" .txt.xz)" || exit 1
done >"$scratch/truth.tsv"
for whole in "$scratch"/whole/*; do
  name=$(basename "$whole")
  (cd "$scratch/whole/$name" && find . -type f | sort) >"$scratch/files"
  while IFS= read -r file; do
    number=$((number + 1))
    [ $((number % every)) = 0 ] || continue
    removed=$((removed + 1))
    echo "${name}_$number $file" >>"$scratch/removed"
    cp -rl "$scratch/whole/$name" "$scratch/changed/${name}_$number"
    rm "$scratch/changed/${name}_$number/$file"
  done <"$scratch/files"
done

"$culprit" batch "$scratch/changed" -o "$scratch/out" -q >/dev/null
[ -s "$scratch/out/summary.csv" ] || { echo "there is no summary"; exit 1; }
awk -v removed="$removed" '
  function innocent_of(bundle, host,    i, n, one) {
    sub(/_[0-9]+$/, "", bundle)
    if (!(bundle in innocent)) { print bundle ": its truth is not known"; ++failures }
    n = split(innocent[bundle], one, ",")
    for (i = 1; i <= n; ++i) if (one[i] == host) return 1
    return 0
  }
  FILENAME == ARGV[1] { if ($0 !~ /^#/) { split($0, row, "\t"); innocent[row[1]] = row[5] } next }
  FILENAME == ARGV[2] { file[$1] = substr($0, length($1) + 2); next }
  FNR == 1 { next }
  {
    split($0, column, ",")
    ++judged
    if (column[3] != "isolate") next
    ++isolated
    gsub(/"/, "", column[5])
    n = split(column[5], target, "; ")
    for (i = 1; i <= n; ++i) {
      split(target[i], word, " ")
      host = word[2]
      sub(/[\/:.].*/, "", host)
      if (word[1] ~ /^(host|gpu|nic)$/ && innocent_of(column[1], host) && !told[column[1], host]++) {
        print column[1] " without " file[column[1]] ": isolates " host
        ++failures
      }
    }
  }
  END {
    print removed " files left out, " judged " verdicts, " isolated " of them isolate, " failures + 0 " isolate an innocent machine"
    exit failures + 0 > 0 || judged != removed || isolated + 0 == 0
  }' "$scratch/truth.tsv" "$scratch/removed" "$scratch/out/summary.csv"
