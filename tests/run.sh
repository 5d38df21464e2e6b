#!/bin/sh
# sh tests/run.sh [CTEST-ARGUMENT...]: build with the tests in build-test/ and run them all. From the environment:
#   CULPRIT_BUILD      another folder
#   CULPRIT_WERROR, CULPRIT_SANITIZE, CULPRIT_BENCH   ON for the CMake option of that name; CULPRIT_WARNINGS  OFF for it
#   CULPRIT_UPDATE_GOLDEN=1   write down what the golden tests print now; git diff shows what changed
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${CULPRIT_BUILD:-$root/build-test}

sh "$root/cli/setup.sh" test
mkdir -p "$build"
log=$build/run.log
ccache=$(command -v ccache) || ccache=

export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS-pch_defines,time_macros}"   # else it keeps nothing that has a precompiled header

make_tests() {
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"   # what --fresh does, which CMake has since 3.24
  fi
  set -- -DCMAKE_BUILD_TYPE=Release
  # Sanitizers want line numbers and the asserts of the standard library. Optimising sanitized code triples the build and
  # gains nothing here: what walks much has -O3 anyway.
  [ "${CULPRIT_SANITIZE:-OFF}" != ON ] ||
    set -- -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1 -D_GLIBCXX_ASSERTIONS"
  cmake -S "$root" -B "$build" -G Ninja "$@" -DCULPRIT_TESTS=ON -DCULPRIT_BENCH="${CULPRIT_BENCH:-OFF}" \
    -DCULPRIT_WERROR="${CULPRIT_WERROR:-OFF}" -DCULPRIT_WARNINGS="${CULPRIT_WARNINGS:-ON}" -DCULPRIT_SANITIZE="${CULPRIT_SANITIZE:-OFF}" \
    ${ccache:+-DCMAKE_CXX_COMPILER_LAUNCHER="$ccache"} || return
  cmake --build "$build"
}

[ -f "$build/build.ninja" ] || echo "building culprit and its tests in $build; that takes minutes, once" >&2
if ! make_tests >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi

# Where memory was allocated is told by four frames: more cost a tenth of the time. Stack frames that are used after their
# function returned are looked for where inputs are damaged (tests/fuzz, tests/e2e): a fifth of the time everywhere else.
export ASAN_OPTIONS="${ASAN_OPTIONS-exitcode=99:detect_stack_use_after_return=0:malloc_context_size=4}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-exitcode=99:print_stacktrace=1}"
# Some tests wait for hosts that do not answer, or for a private Slurm: they take no core.
export CTEST_PARALLEL_LEVEL="${CTEST_PARALLEL_LEVEL-$(($(nproc) + 2))}"
cd "$build"
exec ctest --output-on-failure --no-tests=error --timeout 300 --output-junit "$build/junit.xml" "$@"
