#!/bin/sh
# simulate_test.sh CULPRIT: an incident of each kind and what is answered to it.
#   the same seed gives the same bytes, another one others;
#   each dump is read by the parser it is meant for (python3's pickle and json; skipped without python3);
#   no run that ended as it should is accused, and the sums of the scores add up;
#   answers of another analyser that are the truth itself are all exact, and none is without them.
# With CULPRIT_ONCE=1 each incident is diagnosed once only: for builds that are slow and the same.
set -u
culprit=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
LC_ALL=C TZ=UTC
export LC_ALL TZ
failures=0
complain() { echo "$*"; failures=$((failures + 1)); }

"$culprit" simulate --out a --seed 11 >/dev/null || complain "simulate failed"
TZ=Asia/Tokyo "$culprit" simulate --out b --seed 11 >/dev/null
diff -r a b >/dev/null || complain "the same seed gave other bytes"
find a -type f -printf '%P %T@\n' | sort >a.times
find b -type f -printf '%P %T@\n' | sort >b.times
cmp -s a.times b.times || complain "the same seed gave other times of files"
"$culprit" simulate --out c --seed 12 --kind gpu-lost --kind clean-finish --count 2 >/dev/null
[ "$(ls c | wc -l)" = 4 ] || complain "--kind and --count gave $(ls c | wc -l) incidents, not 4"
"$culprit" simulate --out a >/dev/null 2>err && complain "a folder that is not empty was accepted"
grep -q 'not empty' err || complain "no reason for a folder that is not empty: $(cat err)"
"$culprit" simulate --out d --kind gpu-los >/dev/null 2>err && complain "a misspelt kind was accepted"
grep -q 'did you mean gpu-lost' err || complain "no suggestion for a misspelt kind: $(cat err)"

kinds=$("$culprit" simulate --list | wc -l)
[ "$(ls a | wc -l)" = "$kinds" ] || complain "$(ls a | wc -l) incidents of $kinds kinds"
for word in $("$culprit" simulate --list | cut -d' ' -f1); do
  [ "$(grep -l "\"kind\": \"$word\"" a/*/truth.json | wc -l)" = 1 ] || complain "not one incident of $word"
done

if command -v python3 >/dev/null; then
  "$culprit" simulate --out dumps --seed 3 --count 6 --kind collective-mismatch --kind stopped-process --kind loader-deadlock >/dev/null
  python3 - dumps <<'PY' || complain "a dump is none that its parser reads"
import glob, json, os, pickle, sys, tarfile
folder = sys.argv[1]
pickles = jsons = stacks = 0
for path in glob.glob(folder + "/*/bundle/flight_recorder/*"):
    whole = path.endswith(".json")
    dump = json.load(open(path)) if whole else pickle.load(open(path, "rb"))
    jsons += whole
    pickles += not whole
    assert dump["version"] == "2.5" and dump["pg_config"]["0"]["desc"] == "default_pg"
    for entry in dump["entries"]:
        assert type(entry["process_group"]) is (list if whole else tuple), entry["process_group"]
        assert entry["state"] in ("completed", "scheduled") and entry["time_created_ns"] > 1e18
    done = [int(e["collective_seq_id"]) for e in dump["entries"] if e["state"] == "completed"]
    assert max(done) == int(dump["pg_status"]["0"]["last_completed_collective"])
for path in glob.glob(folder + "/*/bundle/stacks/*/*.json"):
    threads = json.load(open(path))
    assert {"pid", "thread_id", "thread_name", "os_thread_id", "active", "owns_gil", "frames"} <= threads[0].keys()
    assert all(f["name"] and f["line"] > 0 and f["filename"] for t in threads for f in t["frames"])
    stacks += 1
for path in glob.glob(folder + "/*/bundle/hosts/*.tar.gz"):
    assert all(m.isfile() for m in tarfile.open(path))
assert pickles and jsons and stacks, (pickles, jsons, stacks)
PY
else
  echo "no python3: the dumps are not read by their own parsers"
fi

"$culprit" score a --format csv >scores.csv || complain "score failed"
[ "$(wc -l <scores.csv)" = $((kinds + 1)) ] || complain "a row for each bundle is missing"
awk -F, '$2 ~ /^(clean-finish|time-limit|cancelled|preemption|silence)$/ && $3 == "accused"' scores.csv >accused
[ ! -s accused ] || complain "a run without a fault is accused: $(cat accused)"
[ -z "${CULPRIT_ONCE:-}" ] || { [ "$failures" -eq 0 ]; exit; }
"$culprit" score a | awk '
  /^KIND/ { on = 1; next }
  /^$/ { on = 0 }
  on && $1 != "all" { for (i = 2; i <= 8; ++i) sum[i] += $i }
  on { if ($2 != $3 + $5 + $6 + $7 + $8 || $4 < $3) { print "a row does not add up: " $0; bad = 1 } }
  on && $1 == "all" { for (i = 2; i <= 8; ++i) if ($i != sum[i]) { print "column " i " does not add up"; bad = 1 } }
  END { exit bad || sum[2] == 0 }' || complain "the sums do not add up"

# A bundle as an archive has the same answer, and one incident is a folder of incidents, too.
mkdir packed
folder=$(dirname "$(ls -d a/*/bundle | head -1)")
cp "$folder/truth.json" packed/
(cd "$folder" && tar -czf ../../packed/bundle.tar.gz bundle)
"$culprit" score packed --format csv | cut -d, -f2-7 | tail -1 >one
grep "^${folder#a/}," scores.csv | cut -d, -f2-7 | cmp -s - one || complain "an archive has another answer: $(cat one)"
rm packed/bundle.tar.gz
"$culprit" score packed >/dev/null 2>err && complain "a truth without a bundle was accepted"
grep -q 'no bundle beside' err || complain "no reason for a truth without a bundle: $(cat err)"
[ "$("$culprit" score b --out reports --format json | grep -c '"result"')" = "$kinds" ] || complain "no result for each bundle in JSON"
[ -f reports/bundles/incident-0001/report.html ] || complain "--out kept no reports"

# The truth as an answer.
{
  echo bundle,action,blamed,confidence
  for truth in a/*/truth.json; do
    sed -n "s/^ *\"kind\": .*/$(basename "$(dirname "$truth")")/p" "$truth"
    awk '/"right"/ { getline; gsub(/[ ",]/, ""); print }' "$truth"
    awk '/"hosts": \[$/ { getline; gsub(/[ ",]/, ""); print; exit } /"hosts": \[\]/ { print ""; exit }' "$truth"
  done | paste -d, - - - | sed 's/$/,1/'
} >truth.csv
"$culprit" score a --answers truth.csv | grep -q "^  all *$kinds *$kinds *$kinds *0 *0 *0 *0$" || complain "the truth is not exact: $("$culprit" score a --answers truth.csv | grep '^  all')"
head -1 truth.csv >nothing.csv
"$culprit" score a --answers nothing.csv | grep -q "^  all *$kinds *0 *0 *0 *0 *0 *$kinds$" || complain "no answers are not none"
echo incident-9999,none >stranger.csv
"$culprit" score a --answers stranger.csv 2>err && complain "an answer to no bundle was accepted"
grep -q "stranger.csv" err || complain "the error names no file: $(cat err)"
[ "$failures" -eq 0 ]
