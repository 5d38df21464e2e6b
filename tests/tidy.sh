#!/bin/sh
# sh tests/tidy.sh [FOLDER-OR-FILE...]: clang-tidy 14 (.clang-tidy) and clang's own warnings on the given parts of lib/ and
# cli/, all of both by default, two files at a time. Run by hand: the whole takes longer than a build. Exit 77: no clang-tidy.
set -eu
cd "$(dirname "$0")/.."
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo "skipped: no clang-tidy"; exit 77; }
[ $# -gt 0 ] || set -- lib cli
# File by file and without precompiled headers, which are g++'s.
cmake -S . -B build-tidy -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -DCULPRIT_UNITY=OFF -DCULPRIT_TESTS=OFF -DCULPRIT_BENCH=OFF >/dev/null
find "$@" -name '*.cpp' -print | LC_ALL=C sort | xargs -P "${JOBS:-2}" -n 4 "$tidy" -quiet -p build-tidy
