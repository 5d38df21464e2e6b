#!/bin/sh
# format_test.sh ROOT: every source file is as .clang-format says (clang-format 14, other releases differ in details).
set -u
version=$(clang-format --version 2>/dev/null) || { echo "skipped: no clang-format"; exit 77; }
case $version in
  *"version 14."*) ;;
  *) echo "skipped: $version, not 14"; exit 77 ;;
esac
cd "$1" || exit 1
find lib cli tests bench \( -name '*.cpp' -o -name '*.hpp' \) -print | LC_ALL=C sort | xargs clang-format --dry-run --Werror --ferror-limit=3
