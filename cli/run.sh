#!/bin/sh
# sh cli/run.sh [ARGUMENT...]: build culprit in build/ as far as needed and run it; without arguments it diagnoses the
# sample bundle. The build talks on stderr only, and only when it fails.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${CULPRIT_BUILD:-$root/build}

sh "$root/cli/setup.sh" build
mkdir -p "$build"
log=$build/run.log

export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS-pch_defines,time_macros}"   # else it keeps nothing that has a precompiled header

make_culprit() {
  if ! [ -f "$build/build.ninja" ] || ! grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$build/CMakeCache.txt" ||
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"   # what --fresh does, which CMake has since 3.24
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCULPRIT_TESTS=OFF -DCULPRIT_BENCH=OFF \
      ${ccache:+-DCMAKE_CXX_COMPILER_LAUNCHER="$ccache"} || return
  fi
  cmake --build "$build" --target culprit
}

ccache=$(command -v ccache) || ccache=
[ -x "$build/culprit" ] || echo "building culprit in $build; that takes about five minutes, once" >&2
if ! make_culprit >"$log" 2>&1; then
  cat "$log" >&2
  exit 70
fi

if [ $# = 0 ]; then
  cd "$root"
  set -- diagnose samples/crash-one-rank
fi
exec "$build/culprit" "$@"
