#!/bin/sh
# shard_plan_test.sh CULPRIT SAMPLES: the scripts of `plan ingest`, run: as processes, and against a Slurm and a
# Kubernetes that this test plays. Names are hostile, one shard dies, the repeated script makes the database complete.
# shellcheck disable=SC2016  # names are meant as they are written
set -u
culprit=$1 samples=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C TZ=UTC CULPRIT=$culprit
export LC_ALL TZ CULPRIT
failures=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}
[ -d "$samples" ] || { echo "skipped: there are no samples"; exit 77; }
cd "$scratch" || exit 1
mkdir bin
PATH=$scratch/bin:$PATH
bundle="$scratch/it's \$(touch hit) \`touch hit\` \"q\"; touch hit #"
work="$scratch/w o'rk %a \$HOME"
mkdir "$bundle"
cp -R "$samples/hang-silent-rank" "$samples/leaf-switch" "$bundle" || exit 1
"$culprit" ingest "$bundle" -d one.db -q >/dev/null || fail "one machine"
"$culprit" classify -d one.db >/dev/null

planned() {
  "$culprit" plan ingest "$bundle" --work "$work" "$@" >plan.sh || fail "plan ingest $*"
  if command -v shellcheck >/dev/null; then shellcheck -s sh plan.sh || fail "plan ingest $*: shellcheck"; fi
}
complete() {
  cmp -s one.db "$work/incident.db" || fail "$1: the database differs from that of one machine"
  rm -rf "$work"
}

# Slurm, as far as the scripts know it. DIES: the index of a task that is killed.
cat >bin/sbatch <<'X'
#!/bin/sh
array= folder=. output=/dev/null nodes=
for word in "$@"; do
  case $word in
    --array=1-*) array=${word#--array=1-} ;;
    --chdir=*) folder=${word#--chdir=} ;;
    --output=*) output=${word#--output=} ;;
    --dependency=afterany:7) ;;
    --dependency=*) echo "unknown job" >&2; exit 1 ;;
  esac
done
cat >"$0.job"
cd "$folder" || exit 1
SLURM_ARRAY_TASK_ID=0
export SLURM_ARRAY_TASK_ID
if [ -z "$array" ]; then sh "$0.job" >"$output" 2>&1; else
  while [ $SLURM_ARRAY_TASK_ID -lt "$array" ]; do
    SLURM_ARRAY_TASK_ID=$((SLURM_ARRAY_TASK_ID + 1))
    [ "$SLURM_ARRAY_TASK_ID" = "${DIES:-0}" ] || sh "$0.job" >"$SLURM_ARRAY_TASK_ID.log" 2>&1
  done
fi
echo "7;cluster"
X
# srun ... sh -c SCRIPT sh WORDS...: a task for each of the hosts that the script is for.
cat >bin/srun <<'X'
#!/bin/sh
while [ "$1" != sh ]; do shift; done
SLURM_PROCID=0
for SLURMD_NODENAME in a1 a2 a3; do
  export SLURM_PROCID SLURMD_NODENAME
  [ "$SLURMD_NODENAME" = "${DIES:-}" ] || "$@" || exit 1
  SLURM_PROCID=$((SLURM_PROCID + 1))
done
X
# Kubernetes: `apply` runs what the manifest says, for each index.
cat >bin/kubectl <<'X'
#!/bin/sh
case $1 in
  apply) python3 "$0.py" ;;
  get) echo Complete ;;
  logs) cat "$0.log" ;;
esac
X
cat >bin/kubectl.py <<'X'
import json, os, re, subprocess, sys
job = json.load(sys.stdin)
pod = job["spec"]["template"]["spec"]
container = pod["containers"][0]
env = {**os.environ, "NODE": "a1"}
def expand(text):  # as the kubelet does: $$ is $, $(NAME) a variable, anything else itself
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda m: "$" if m[0] == "$$" else env.get(m[1], m[0]), text)
for one in container["env"]:
    if "value" in one: env[one["name"]] = expand(one["value"])
words = [expand(word) for word in container["command"]]
for index in range(job["spec"].get("completions", 1)):
    env["JOB_COMPLETION_INDEX"] = str(index)
    if str(index + 1) != os.environ.get("DIES"):
        out = subprocess.run(words, env=env, stdout=subprocess.PIPE, cwd="/").stdout
        if job["metadata"]["name"] == "culprit-merge": open(os.path.dirname(sys.argv[0]) + "/kubectl.log", "wb").write(out)
X
chmod +x bin/sbatch bin/srun bin/kubectl

planned --jobs 3
sh plan.sh >out 2>err || fail "--jobs"
[ -s out ] || fail "--jobs prints no report"
complete "--jobs"

planned --slurm --shards 5
DIES=2 sh plan.sh >out 2>err || fail "--slurm with a dead shard"
grep -q 'INCOMPLETE BUNDLE' "$work/report.txt" || fail "--slurm: the report does not say that a shard is missing"
grep -q '  unread  0 lines' "$work/ledger.txt" || fail "--slurm: the ledger does not"
sh plan.sh >out 2>err || fail "--slurm, again"
complete "--slurm"

planned --slurm --where 'a[1-3]'
DIES=a3 sh plan.sh >out 2>err || fail "--where with a dead host"
grep -q 'shard-3-of-3  unread' "$work/ledger.txt" || fail "--where: the ledger does not name the missing shard"
sh plan.sh >out 2>err || fail "--where, again"
[ "$(grep -c '^a[123]/' "$work/ledger.txt")" = "$((3 * $(find "$bundle" ! -type d | wc -l)))" ] || fail "--where: not all files of all hosts"
rm -rf "$work"

if command -v python3 >/dev/null; then
  planned --kubernetes --image i --claim c --shards 4
  DIES=3 sh plan.sh >out 2>err || fail "--kubernetes with a dead shard"
  grep -q 'INCOMPLETE BUNDLE' out || fail "--kubernetes: the report does not say that a shard is missing"
  sh plan.sh >out 2>err || fail "--kubernetes, again"
  complete "--kubernetes"
else
  echo "SKIPPED: --kubernetes needs python3, which is not here"
fi
find . -name hit | grep . && fail "a name was executed"

# Refused.
for words in "" "--slurm --jobs 2" "--jobs 0" "--slurm --shards 99999999" "--slurm --where n[1-" "--slurm --where a;b" \
  "--slurm --where a1 --shards 3" "--kubernetes" "--slurm --work $samples/x"; do
  # shellcheck disable=SC2086  # words
  "$culprit" plan ingest "$samples" $words >out 2>err
  [ $? -eq 2 ] && [ ! -s out ] && grep -q 'help:' err || fail "plan ingest $words: not refused"
done
"$culprit" plan ingest "$(printf 'a\nJOB\nb')" --slurm >out 2>err
[ $? -eq 2 ] || fail "a name with a line end"

echo "$failures failures"
[ $failures -eq 0 ]
