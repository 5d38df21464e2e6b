#!/bin/sh
# golden.sh FOLDER CULPRIT SAMPLES SHARED: run FOLDER/cmd in a new folder and compare what it prints with FOLDER.
#
#   cmd           one shell command line; PATH finds culprit, $SAMPLES, $SHARED (the corpus) and $HERE (FOLDER) are set
#   why           what this test is there for
#   stdout, stderr, exit   what must come out; a missing file means nothing, nothing and 0
#   needs-shared  skip the test (77) on a machine without the corpus
#   not-sanitized  leave the test out of a sanitized build
#
# Absolute paths of those folders come out as $SAMPLES, $SHARED, $HERE and $CWD, so that a golden holds on any machine.
# CULPRIT_UPDATE_GOLDEN=1 writes stdout, stderr and exit anew; git diff then shows what changed.
set -u
HERE=$1 culprit=$2 SAMPLES=$3 SHARED=$4

[ -s "$HERE/why" ] || { echo "$HERE: no why"; exit 1; }
[ -s "$HERE/cmd" ] || { echo "$HERE: no cmd"; exit 1; }
if [ -e "$HERE/needs-shared" ] && ! [ -d "$SHARED" ]; then
  echo "skipped: it needs the shared corpus, which is not on this machine"
  exit 77
fi

scratch=$(mktemp -d) || exit 1
scratch=$(cd "$scratch" && pwd -P)
trap 'chmod -R u+rwX "$scratch"; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$scratch/cwd" "$scratch/got" "$scratch/home" "$scratch/bin"
ln -s "$culprit" "$scratch/bin/culprit"

export HERE SAMPLES SHARED
(
  cd "$scratch/cwd" &&
    exec env -u NO_COLOR -u COLUMNS -u CULPRIT_UPDATE_GOLDEN -u XDG_CONFIG_HOME -u XDG_CACHE_HOME LC_ALL=C TZ=UTC TERM=dumb \
      HOME="$scratch/home" PATH="$scratch/bin:$PATH" sh "$HERE/cmd"
) </dev/null >"$scratch/raw.stdout" 2>"$scratch/raw.stderr"
echo $? >"$scratch/got/exit"

# A sed command that puts $NAME for the path; nothing for an empty path.
name_path() { [ -z "$2" ] || printf 's|%s|$%s|g\n' "$(printf '%s' "$2" | sed 's/[][\.*^$|]/\\&/g')" "$1"; }
{
  name_path HERE "$HERE"
  name_path SAMPLES "$SAMPLES"
  name_path SHARED "$SHARED"
  name_path CWD "$scratch/cwd"
} >"$scratch/sed"
for stream in stdout stderr; do LC_ALL=C sed -f "$scratch/sed" <"$scratch/raw.$stream" >"$scratch/got/$stream"; done

# A file that would say nothing, or exit 0, is left out.
[ "$(cat "$scratch/got/exit")" != 0 ] || : >"$scratch/got/exit"
status=0
for file in stdout stderr exit; do
  got=$scratch/got/$file
  if [ "${CULPRIT_UPDATE_GOLDEN-}" = 1 ]; then
    if ! [ -s "$got" ]; then
      rm -f "$HERE/$file"
    elif ! cmp -s "$got" "$HERE/$file"; then
      cp "$got" "$HERE/$file" || status=1
    fi
    continue
  fi
  cat "$HERE/$file" >"$scratch/expected" 2>/dev/null
  [ "$file" != exit ] || sed -i '/^0*$/d; $a\' "$scratch/expected"
  diff -u --label "expected $file" --label "actual $file" "$scratch/expected" "$got" || status=1
done
[ $status = 0 ] || { echo "$HERE: $(cat "$HERE/why")"; echo "if the new output is right: CULPRIT_UPDATE_GOLDEN=1 sh tests/run.sh -R golden.$(basename "$HERE")"; }
exit $status
