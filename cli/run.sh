#!/bin/sh
# sh cli/run.sh [ARGUMENT...]: build culprit in build/ as far as needed and run it; without arguments it diagnoses the
# sample bundle. The build talks on stderr only: its progress on a terminal, and its log when it fails.
#
# CULPRIT_BUILD names another folder for the build. Where this checkout cannot be written, that is a folder of the user's
# cache; a build that somebody else made here is used as long as it is newer than the sources.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

usable() { if [ -e "$1" ]; then [ -w "$1" ] && { ! [ -e "$1/run.log" ] || [ -w "$1/run.log" ]; }; else [ -w "$(dirname "$1")" ]; fi; }
up_to_date() {
  [ -x "$1" ] && [ -z "$(find "$root/CMakeLists.txt" "$root/cli" "$root/lib" "$root/rules" "$root/schemas" -newer "$1" | head -n 1)" ]
}

run() {
  if [ $# = 0 ]; then
    cd "$root"
    set -- diagnose samples/crash-one-rank
  fi
  exec "$build/culprit" "$@"
}

build=${CULPRIT_BUILD:-$root/build}
if [ -z "${CULPRIT_BUILD-}" ] && ! usable "$build"; then
  if up_to_date "$build/culprit"; then run "$@"; fi
  build=${XDG_CACHE_HOME:-${HOME:?}/.cache}/culprit/build-$(printf '%s' "$root" | cksum | cut -d' ' -f1)
fi

sh "$root/cli/setup.sh" build
mkdir -p "$build"
log=$build/run.log

export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS-pch_defines,time_macros}"   # else it keeps nothing that has a precompiled header

make_culprit() {
  if ! [ -f "$build/build.ninja" ] || ! grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$build/CMakeCache.txt" ||
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"   # what --fresh does, which CMake has since 3.24
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCULPRIT_TESTS=OFF -DCULPRIT_BENCH=OFF -DCULPRIT_WARNINGS=OFF \
      ${ccache:+-DCMAKE_CXX_COMPILER_LAUNCHER="$ccache"} || return
  fi
  cmake --build "$build" --target culprit
}

# The log into its file, and on a terminal the line that counts the steps.
show() {
  : >"$log"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    [ ! -t 2 ] || case $line in
      \[*/*\]*) printf '\r\033[K%.70s' "$line" >&2 ;;
    esac
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

ccache=$(command -v ccache) || ccache=
if ! [ -x "$build/culprit" ]; then
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null) || cores=1   # a processor of 2020 takes some 8 minutes alone
  echo "building culprit in $build, once; on $cores cores that takes about $(((8 + cores - 1) / cores)) minutes" >&2
fi
status=$build/run.status
{
  if make_culprit; then echo 0 >"$status"; else echo 1 >"$status"; fi
} 2>&1 | show
if [ "$(cat "$status")" != 0 ]; then
  cat "$log" >&2
  grep -m 1 -E '(error|Error):? ' "$log" >&2 || true
  command -v dpkg-query >/dev/null || sh "$root/cli/setup.sh" names >&2
  exit 70
fi
run "$@"
