#!/bin/sh
# determinism_test.sh CULPRIT SAMPLES: the same bundle as a folder, in every archive, with and without a folder around
# it, from standard input, in any order, on any number of threads: the same bytes of `diagnose --format json`.
# CULPRIT_BUNDLES=N: the first N samples only.
set -u
culprit=$1 samples=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C TZ=UTC
export LC_ALL TZ
failures=0 compared=0 bundles=0

skipped=
for tool in zstd zip xz; do
  command -v $tool >/dev/null || { skipped="$skipped $tool"; echo "SKIPPED: archives that need $tool, which is not here"; }
done
has() { case " $skipped " in *" $1 "*) return 1 ;; esac; }

# same WHAT ARGUMENT...: what diagnose says of it equals $scratch/expected
same() {
  what=$1
  shift
  "$culprit" diagnose --format json --quiet "$@" >"$scratch/got" 2>"$scratch/err"
  status=$?
  compared=$((compared + 1))
  if [ $status -ne 0 ] || ! cmp -s "$scratch/expected" "$scratch/got"; then
    failures=$((failures + 1))
    echo "$name: $what differs from the folder (exit $status)"
    diff "$scratch/expected" "$scratch/got" | head -12
    head -3 "$scratch/err"
  fi
}

for folder in "$samples"/*/; do
  [ -d "$folder" ] || continue
  [ $bundles -lt "${CULPRIT_BUNDLES:-1000000}" ] || break
  folder=${folder%/}
  name=$(basename "$folder")
  bundles=$((bundles + 1))
  "$culprit" diagnose --format json --quiet --threads 1 "$folder" >"$scratch/expected" || { echo "$name: diagnose fails"; failures=$((failures + 1)); continue; }
  [ -s "$scratch/expected" ] || { echo "$name: no report"; failures=$((failures + 1)); continue; }

  rm -rf "$scratch/a"
  mkdir "$scratch/a"
  parent=$(dirname "$folder")
  (cd "$folder" && tar cf "$scratch/a/bare.tar" -- *)
  (cd "$parent" && tar cf "$scratch/a/wrapped.tar" -- "$name")
  (cd "$folder" && find . -type f | shuf --random-source=/bin/sh >"$scratch/list" && tar cf "$scratch/a/shuffled.tar" --no-recursion -T "$scratch/list")
  (cd "$folder" && find . -type f | sort -r >"$scratch/list" && tar cf "$scratch/a/reversed.tar" --no-recursion -T "$scratch/list")
  same "another run" "$folder"
  for n in 1 2 4; do
    same "--threads $n" --threads $n "$folder"
    same "a tar with --threads $n" --threads $n "$scratch/a/bare.tar"
  done
  same "the folder with a slash" "$folder/"
  (cd "$folder" && same "the folder from inside" . && echo $failures >"$scratch/failures")
  failures=$(cat "$scratch/failures")
  same "standard input" - <"$scratch/a/wrapped.tar"
  for kind in bare wrapped shuffled reversed; do
    same "$kind.tar" "$scratch/a/$kind.tar"
    gzip -k "$scratch/a/$kind.tar" && same "$kind.tar.gz" "$scratch/a/$kind.tar.gz"
    has zstd && zstd -q "$scratch/a/$kind.tar" && same "$kind.tar.zst" "$scratch/a/$kind.tar.zst"
  done
  has xz && xz -k0 "$scratch/a/wrapped.tar" && same "wrapped.tar.xz" "$scratch/a/wrapped.tar.xz"
  same "standard input, gzip" - <"$scratch/a/bare.tar.gz"
  if has zip; then
    (cd "$folder" && zip -qr "$scratch/a/bare.zip" .) && same "bare.zip" "$scratch/a/bare.zip"
    (cd "$parent" && zip -qr0 "$scratch/a/wrapped.zip" "$name") && same "wrapped.zip" "$scratch/a/wrapped.zip"
    (cd "$folder" && zip -q - -@ <"$scratch/list" >"$scratch/a/reversed.zip") && same "reversed.zip" "$scratch/a/reversed.zip"
  fi
done
[ $bundles -gt 0 ] || { echo "skipped: there are no samples"; exit 77; }
echo "$bundles bundles, $compared comparisons, $failures failures"
[ $failures -eq 0 ]
