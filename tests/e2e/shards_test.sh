#!/bin/sh
# shards_test.sh CULPRIT SAMPLES: a bundle read in shards and merged is, byte for byte, the database of one machine, for
# 1, 2, 7 and 64 shards, in any order, with one of them doubled, and with one lost and made up later. What cannot be
# merged is named. CULPRIT_SHARDS: other numbers of shards.
set -u
culprit=$1 samples=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C TZ=UTC
export LC_ALL TZ
failures=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}
cd "$scratch" || exit 1

# A bundle of everything that walks differently: folders, archives in archives, copies, links, names that are no text,
# damaged and empty files, sections, a database of ours.
mkdir b b/hosts b/empty
for sample in "$samples"/*/; do
  [ -d "$sample" ] || { echo "skipped: there are no samples"; exit 77; }
  name=$(basename "$sample")
  case $name in
    gpu*) (cd "$samples" && tar cf - "$name" | gzip -n >"$scratch/b/$name.tar.gz") ;;
    nan*) (cd "$samples" && tar cf "$scratch/b/$name.tar" "$name") ;;
    *) cp -R "$sample" "b/hosts/$name" ;;
  esac
done
gzip -n <b/nan-loss.tar | head -c 9000 >b/cut.tar.gz
tar cf b/hosts/inner.tar -C b gpu-off-bus.tar.gz && gzip -n b/hosts/inner.tar
ln -s ../b b/link
: >b/empty.log
: >b/named.tar
printf 'iteration 1/ 9 | elapsed time per iteration (ms): 410.2 | lm loss: 2.1\nno end' >"b/$(printf 'na\377me.log')"
printf 'START logs for container a of pod n/p-0\nNVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\nEND logs for container a of pod n/p-0\n' >b/dump.txt
head -c 300000 /dev/zero >b/zeros
"$culprit" ingest b/dump.txt -d b/own.db -q >/dev/null || fail "a database in the bundle"

# shards N DIR [options]: all of them, into DIR.
shards() {
  n=$1 dir=$2 k=0
  shift 2
  mkdir -p "$dir"
  while [ $k -lt "$n" ]; do
    k=$((k + 1))
    "$culprit" ingest b --shard $k/"$n" -d "$dir/$k.db" -q "$@" >"$dir/$k.out" || fail "shard $k/$n"
  done
}
same() { cmp -s one.db "$1" || fail "$2: the database differs from that of one machine"; }
# refused STATUS WORDS ARGUMENT...: merge fails and says so.
refused() {
  status=$1 words=$2
  shift 2
  "$culprit" merge "$@" >out 2>err
  got=$?
  [ $got -eq "$status" ] || fail "merge $*: exit $got, not $status"
  grep -q -e "$words" err || { fail "merge $*: does not say '$words'"; cat err; }
  grep -q 'help:' err || fail "merge $*: no remedy"
}

"$culprit" ingest b -d one.db -q --threads 1 >ledger || fail "one machine"
"$culprit" ingest b -d two.db -q --threads 4 >/dev/null
same two.db "four threads"

for n in ${CULPRIT_SHARDS:-1 2 7 64}; do
  shards "$n" "s$n" --threads $((n % 3 + 1))
  "$culprit" merge "s$n"/*.db -d "m$n.db" >"m$n.out" 2>"m$n.err" || { fail "merge of $n"; cat "m$n.err"; }
  same "m$n.db" "$n shards"
  cmp -s ledger "m$n.out" || fail "$n shards: the ledger differs"
  # Each file is read by exactly one: the ledgers of the shards together are that of one machine.
  [ "$n" = 1 ] || cat "s$n"/*.out | grep -v -e '^[0-9]* files, ' -e '^shard ' | sort | uniq -c | grep -v '^ *1 ' >double
  cat "s$n"/*.out | grep -v -e '^[0-9]* files, ' -e '^shard ' -e '^INCOMPLETE' | sort >all
  grep -v -e '^[0-9]* files, ' -e '^INCOMPLETE' ledger | sort | cmp -s - all || fail "$n shards: lines of the ledger are lost or doubled"
done

# The same verdict, the same report.
"$culprit" classify -d one.db -q >/dev/null && "$culprit" classify -d m7.db -q >/dev/null
"$culprit" report -d one.db --format json >one.json && "$culprit" report -d m7.db --format json >m7.json
cmp -s one.json m7.json && [ -s one.json ] || fail "the report differs"
rm one.db
"$culprit" ingest b -d one.db -q >/dev/null

# In any order, one doubled, one read by other threads.
cp s7/3.db again.db
"$culprit" merge again.db s7/7.db s7/6.db s7/5.db s7/4.db s7/3.db s7/2.db s7/1.db -d d.db >/dev/null 2>err || fail "a doubled shard"
grep -q 'shard 3/7 again' err || fail "the doubled shard is not named"
same d.db "a doubled shard"

# A shard read again is the same file.
cp s7/4.db before.db
rm s7/4.db
"$culprit" ingest b --shard 4/7 -d s7/4.db -q --threads 4 >/dev/null
cmp -s before.db s7/4.db || fail "a shard read again differs"
"$culprit" ingest b --shard 4/7 -d s7/4.db 2>&1 | grep -q 'there already' || fail "a shard that is there is read again"

# Lost, then made up.
mv s7/1.db lost.db
refused 3 'one is missing: 1' s7/*.db -d p.db
[ ! -e p.db ] || fail "a refused merge leaves a database"
"$culprit" merge s7/*.db -d p.db --partial >out 2>err || fail "a partial merge"
grep -q 'merged without shard 1' err || fail "the missing shard is not named"
units=$(sed -n 's/^shard 1\/7: \([0-9]*\) of .*/\1/p' s7/1.out)
[ "$(grep -c ' unread  0 lines ' out)" = "$units" ] || fail "not all files of the missing shard stand in the ledger as unread"
grep -q '^INCOMPLETE BUNDLE' out || fail "a partial merge does not say so"
"$culprit" merge s7/*.db -d p.db --partial --strict >/dev/null 2>&1
[ $? -eq 4 ] || fail "a partial merge with --strict"
"$culprit" classify -d p.db 2>err | grep -q INCOMPLETE || fail "a verdict on a part of the shards does not say so"
"$culprit" ingest b -d p.db >/dev/null 2>err
[ $? -eq 2 ] && grep -q 'merged without shards 1 of 7' err || fail "a partial merge is continued by ingest"
mv lost.db s7/1.db
"$culprit" merge s7/*.db -d p.db -q >/dev/null || fail "the completed merge"
same p.db "made up later"

# Cut, not a database, not a shard, of another bundle, division, rules or limits, twice and different.
head -c 70000 s7/2.db >cut.db
mv s7/2.db kept.db
refused 3 'cut.db' s7/*.db cut.db -d x.db
"$culprit" merge s7/*.db cut.db -d x.db --partial >/dev/null 2>err && grep -q 'cut.db: not merged' err || fail "a cut shard with --partial"
cp cut.db s7/2.db
"$culprit" ingest b --shard 2/7 -d s7/2.db -q >/dev/null || fail "a cut shard is not read again"
cmp -s kept.db s7/2.db || fail "a cut shard, read again"
echo hello >text.db
refused 3 'not a database' s7/*.db text.db -d x.db
refused 3 'no such database' s7/*.db none.db -d x.db
refused 2 'not a shard' s7/*.db one.db -d x.db
refused 2 'is a shard' s7/*.db -d s7/1.db
refused 2 'another incident' s7/*.db -d b/own.db
refused 2 'division into 64' s7/*.db s64/1.db -d x.db
mkdir b2 && cp b/dump.txt b2
"$culprit" ingest b2 --shard 1/7 -d foreign.db -q >/dev/null
refused 2 'another bundle' s7/*.db foreign.db -d x.db
"$culprit" ingest b --shard 1/7 -d limits.db -q --max-depth 3 >/dev/null
refused 2 'other limits' s7/*.db limits.db -d x.db
"$culprit" ingest b --shard 1/7 -d zone.db -q --timezone Asia/Singapore >/dev/null
refused 2 'another --timezone' s7/*.db zone.db -d x.db
touch -d '2026-01-01' b/empty.log
"$culprit" ingest b --shard 1/7 -d changed.db -q >/dev/null
refused 2 'other sizes or times' s7/*.db changed.db -d x.db
[ ! -e x.db ] || [ ! -e x.db.part ] || fail "a refused merge leaves its work"

# What cannot be a shard.
for bad in 0/3 4/3 3 a/b 1/2/3 1/99999999 ''; do
  "$culprit" ingest b --shard "$bad" -d x2.db >/dev/null 2>err
  [ $? -eq 2 ] && grep -q 'takes K/N' err || fail "--shard '$bad'"
done
"$culprit" ingest b --shard 1/2 -d b/inside.db >/dev/null 2>err
[ $? -eq 2 ] && grep -q 'cannot lie in its bundle' err || fail "a shard within the bundle"
"$culprit" ingest - --shard 1/2 -d x2.db </dev/null >/dev/null 2>err
[ $? -eq 2 ] || fail "a shard of standard input"
"$culprit" ingest b --shard 1/2 -d one.db >/dev/null 2>err
[ $? -eq 2 ] && grep -q 'not a shard' err || fail "a shard is written over an incident"
"$culprit" ingest b -d s7/1.db >/dev/null 2>err
[ $? -eq 2 ] && grep -q 'is shard 1/7' err || fail "a whole bundle is read into a shard"

# A limit that one machine would meet: refused, since nobody knows where it would have stopped.
for k in 1 2; do "$culprit" ingest b --shard $k/2 -d l$k.db -q --max-total-bytes 600K >/dev/null 2>&1; done
if [ -e l1.db ] && [ -e l2.db ]; then refused 3 'max-total-bytes' l1.db l2.db -d x.db; fi

# Several bundles, one an archive.
"$culprit" ingest b/hosts b/gpu-off-bus.tar.gz b2 -d one.db.several -q >/dev/null
for k in 1 2 3; do "$culprit" ingest b/hosts b/gpu-off-bus.tar.gz b2 --shard $k/3 -d v$k.db -q >/dev/null || fail "several"; done
"$culprit" merge v?.db -d v.db -q >/dev/null && cmp -s one.db.several v.db || fail "several bundles"

# A bundle that lies apart on every host: only databases travel.
"$culprit" ingest b/hosts b/gpu-off-bus.tar.gz b2 -d one.db.apart -q >/dev/null
k=0
for part in b/hosts b/gpu-off-bus.tar.gz b2; do
  k=$((k + 1))
  label=$(basename $part .tar.gz)
  "$culprit" ingest $part --shard $k/3 --where "$label" -d w$k.db -q >/dev/null || fail "--where $label"
done
"$culprit" merge w3.db w1.db w2.db -d w.db -q >/dev/null && cmp -s one.db.apart w.db || fail "--where"
refused 3 'one is missing: 2' w1.db w3.db -d w2m.db
"$culprit" merge w1.db w3.db -d w2m.db --partial 2>/dev/null | grep -q 'shard-2-of-3  unread' || fail "--where, one missing"
"$culprit" merge w?.db -d w2m.db -q >/dev/null && cmp -s one.db.apart w2m.db || fail "--where, made up"
"$culprit" ingest b2 --shard 2/3 --where hosts -d w2.db.same -q >/dev/null
refused 2 'two shards are of --where' w1.db w2.db.same w3.db -d x.db
refused 2 'do not fit together' w1.db w2.db v3.db -d x.db

# What cannot be divided is told: nobody should wait for it without knowing.
mkdir big && truncate -s 80M big/huge.log.gz && echo x >big/small.log
for k in 1 2; do "$culprit" ingest big --shard $k/2 -d g$k.db -q; done >out
[ "$(grep -c '^huge.log.gz is one unit of 83.9 MB' out)" = 1 ] || fail "a unit larger than an even share is not told"

# A kill at any moment leaves no shard, and the same command reads it.
i=0
while [ $i -lt 8 ]; do
  i=$((i + 1))
  "$culprit" ingest b --shard 2/2 -d k2.db -q >/dev/null 2>&1 &
  pid=$!
  sleep "0.0$i"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ ! -e k2.db ] || break
done
"$culprit" ingest b --shard 1/2 -d k1.db -q >/dev/null
"$culprit" ingest b --shard 2/2 -d k2.db -q >/dev/null || fail "a shard after a kill"
"$culprit" ingest b -d k.one.db -q >/dev/null
"$culprit" merge k1.db k2.db -d k.db -q >/dev/null && cmp -s k.one.db k.db || fail "a shard after a kill differs"
[ ! -e k2.db.part ] || fail "a part is left"

echo "$failures failures"
[ $failures -eq 0 ]
