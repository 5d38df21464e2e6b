#!/bin/sh
# sh tests/fuzz/siege.sh [MUTATIONS]: a night's siege under AddressSanitizer and UndefinedBehaviorSanitizer. MUTATIONS
# (1000000) damaged inputs are read, one process a core, at the lowest priority; the seed is the date, so that each night
# tries others. From the environment:
#   CULPRIT_BUILD    the folder of the build (build-siege)
#   CULPRIT_SEED     another seed, to repeat a night
#   CULPRIT_RUNS     inputs that each fuzz target makes (100000): one document, line or table at a time, hundreds a second;
#                    the mutations above go the whole way of a diagnosis. With clang they are led by coverage, else blind
#   CULPRIT_SECONDS  the most that each of them may take (3600), with clang
# A failure is told with the number of its mutation and the seed, and its bundle is left in build-siege/finds/.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${CULPRIT_BUILD:-$root/build-siege}
mutations=${1:-1000000}
seed=${CULPRIT_SEED:-$(date +%Y%m%d)}
cores=$(getconf _NPROCESSORS_ONLN)
fuzz=OFF
set --
if command -v clang++ >/dev/null; then
  fuzz=ON
  set -- -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
fi
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1 -D_GLIBCXX_ASSERTIONS" \
  -DCULPRIT_TESTS=ON -DCULPRIT_BENCH=OFF -DCULPRIT_SANITIZE=ON -DCULPRIT_FUZZ=$fuzz "$@" >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
targets=$(cd "$root/tests/fuzz" && ls ./*_fuzz.cpp | sed 's|^\./||; s|\.cpp$||')
[ "$fuzz" = ON ] || targets=$(printf '%s\n' $targets | sed 's/_fuzz$/_blind/')
nice ninja -C "$build" mutate $targets >>"$build.log" 2>&1 || { tail -40 "$build.log" >&2; exit 1; }
export ASAN_OPTIONS=exitcode=99:detect_stack_use_after_return=1 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
finds=$build/finds
mkdir -p "$finds"
cd "$finds"
failed=0

# The whole way of `diagnose`, in slices: memory that one leaves behind is seen in its last line.
slice=$(((mutations + cores - 1) / cores))
n=0
pids=
while [ $n -lt "$cores" ]; do
  n=$((n + 1))
  mkdir -p "$n"
  (cd "$n" && CULPRIT_SEED=$((seed * 100 + n)) CULPRIT_MUTATIONS=$slice nice -n 19 "$build/tests/e2e/mutate" "$root/samples" >log 2>&1) &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || failed=1; done
for log in */log; do printf 'siege: %s: %s\n' "${log%/log}" "$(tail -n 1 "$log")"; done

for target in $targets; do
  mkdir -p "$target"
  corpus=$root/tests/fuzz/${target%_*}
  case $target in
    *_fuzz)
      set -- "$target" "$corpus" -runs="${CULPRIT_RUNS:-100000}" -max_total_time="${CULPRIT_SECONDS:-3600}" \
        -max_len=65536 -timeout=10 -rss_limit_mb=1024 -seed="$seed" -artifact_prefix="$target/" ;;
    *) set -- "$corpus" "${CULPRIT_RUNS:-100000}" "$seed" ;;
  esac
  if nice -n 19 "$build/tests/$target" "$@" >"$target.log" 2>&1; then
    printf 'siege: %s: %s\n' "$target" "$(tail -n 1 "$target.log")"
  else
    failed=1
    tail -n 20 "$target.log"
  fi
done
[ $failed = 0 ] && echo "siege: seed $seed: nothing fell" || echo "siege: seed $seed: see $finds"
exit $failed
