#!/bin/sh
# exit_status_test.sh CULPRIT SAMPLES: one situation a line, and the exit status that culprit(1) promises for it.
set -u
culprit=$1 samples=$2
scratch=$(mktemp -d) || exit 1
trap 'chmod -R u+rwX "$scratch"; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
mkdir bin && ln -s "$culprit" bin/culprit && PATH=$scratch/bin:$PATH
S=$samples
export S
CULPRIT_CONFIG= HOME=$scratch
export CULPRIT_CONFIG HOME
unset XDG_CONFIG_HOME
failures=0 checked=0

# expect STATUS 'COMMAND' ['TEXT that stands on stderr']
expect() {
  sh -c "$2" >out 2>err </dev/null
  got=$?
  checked=$((checked + 1))
  if [ $got != "$1" ]; then
    echo "exit status $got instead of $1: $2"
    head -4 err
    failures=$((failures + 1))
  elif [ $# = 3 ] && ! grep -qF -- "$3" err; then
    echo "stderr does not say '$3': $2"
    head -4 err
    failures=$((failures + 1))
  fi
}
# says 'TEXT': the last command printed it
says() {
  grep -qF -- "$1" out && return
  echo "stdout does not say '$1'"
  failures=$((failures + 1))
}
# nothing: the last command printed no answer
nothing() {
  [ -s out ] || return 0
  echo "there is an answer, and should be none"
  failures=$((failures + 1))
}

mkdir logs job
printf 'nothing of note\n' >logs/rank_0.log
cp -r "$S/crash-one-rank/." job/

# 0: finished, whatever was found
expect 0 'culprit diagnose $S/gpu-off-bus'
expect 0 'culprit $S/gpu-off-bus'
expect 0 'culprit -q $S/gpu-off-bus'
expect 0 'culprit --json $S/gpu-off-bus'
expect 0 'tar cf - -C $S gpu-off-bus | culprit -'
expect 0 'culprit --version'
expect 0 'culprit help diagnose'
expect 0 'culprit rules list'
expect 0 'culprit ingest $S/gpu-off-bus -d a.db'
printf 'task,hosts,outcome\nEUD,n[1-3],fail\nEUD,n[4-999999999],pass\n' >checks.csv
expect 3 'culprit plan checks solve checks.csv' 'names more than'
expect 0 'culprit classify -d a.db'
expect 0 'culprit report -d a.db'
expect 0 'culprit --format json report -d a.db'
expect 0 'culprit show -d a.db'
expect 0 'culprit collectives -d a.db'
expect 0 'culprit drift -d a.db'
expect 0 'culprit diagnose $S/clean-run --fail-on critical'

# 1: the gate
expect 1 'culprit diagnose $S/gpu-off-bus --fail-on critical'
expect 1 'culprit report -d a.db --fail-on critical'

expect 1 'culprit diagnose logs --fail-on critical'   # the cause is not known

# 2: usage, configuration, rules
expect 2 'culprit dignose' 'did you mean `culprit diagnose`?'
expect 2 'culprit'
expect 2 'culprit -v'
expect 2 'culprit diagnose'
expect 2 'culprit diagnose logs --explian'
expect 2 'culprit diagnose logs --format xml'
expect 2 'culprit diagnose logs --fail-on worse'
expect 2 'culprit diagnose logs --threads 0'
expect 2 'culprit ingest logs' 'needs a database'
expect 2 'culprit report -d logs' 'this is a folder'
expect 2 'culprit diagnose a.db' 'culprit report -d a.db'
expect 2 'culprit ingest $S/crash-one-rank -d a.db' 'this database holds another bundle'

expect 2 'culprit show nosuch -d a.db' 'there is no finding'
expect 2 'culprit plan standbi' 'standby'
printf '{"family": 1}\n' >bad-rules.json
expect 2 'culprit rules check --rules bad-rules.json' 'bad-rules.json'
expect 2 'culprit rules check bad-rules.json' '--rules bad-rules.json'
culprit ingest logs -d bare.db -q >/dev/null
expect 2 'culprit report -d bare.db' 'no verdict yet'
expect 2 'culprit ingest a.db -d b.db' 'a database that culprit made'
expect 2 'culprit formats --output logs' 'this is a folder'
expect 2 'culprit export card -d bare.db' 'no verdict yet'
expect 2 'culprit outcome cards.jsonl' 'an id'
expect 2 'culprit claim a.db' 'needs a host'
expect 2 'culprit next' 'an incident is needed'
expect 2 'culprit next a.db --script --json' 'exclude each other'
expect 2 'culprit next bare.db' 'no verdict yet'
expect 2 'culprit claim a.db --host nosuch' 'names no host'
expect 2 'culprit fleet' 'needs a fleet database'

# Cards: an outcome is written behind the card, or not at all.
expect 0 'culprit export card a.db >cards.jsonl'
id=$(sed 's/.*"id":"\([0-9a-f]*\)","tool.*/\1/' cards.jsonl)
expect 0 "culprit outcome cards.jsonl $id confirmed --cause 'the GPU'"
says ': confirmed'
expect 0 'culprit like cards.jsonl $S/gpu-off-bus'
expect 0 'culprit fleet --cards cards.jsonl'
says '1 of 1 cards have one'
expect 3 'culprit outcome cards.jsonl 0123456789abcdef confirmed' 'cards.jsonl'
[ "$(wc -l <cards.jsonl)" = 2 ] || { echo "a refused outcome was written"; failures=$((failures + 1)); }
expect 3 'culprit outcome nosuch.jsonl 0123456789abcdef confirmed' 'nosuch.jsonl'
expect 3 'culprit like logs $S/gpu-off-bus' 'cannot read'
expect 0 'culprit claim a.db --host gpu-ad05'
says 'NVRM: Xid'

# An error in JSON is one object on one line.
expect 2 'culprit dignose --json' '{"schema":"culprit.error/1","error":"usage","place":null,"reason":"'
expect 3 'culprit diagnose nosuch --format json' '"place":{"file":"nosuch"}'
expect 3 'culprit diagnose nosuch --json' '"status":3}'
[ "$(wc -l <err)" = 1 ] || { echo "an error in JSON is not one line"; failures=$((failures + 1)); }

# Configuration: the file, the environment before it, the command line before both.
mkdir -p .config/culprit
config=.config/culprit/config
expect 0 'culprit version'
printf '# of the cluster\nfail-on = critical\n[diagnose]\nformat = json\n' >$config
unset CULPRIT_CONFIG
expect 1 'culprit diagnose $S/gpu-off-bus'
says '"schema": "culprit.diagnosis/1"'
expect 1 'culprit diagnose $S/gpu-off-bus --format text'
says 'ISOLATE'
expect 0 'CULPRIT_CONFIG= culprit diagnose $S/gpu-off-bus'
says 'ISOLATE'
expect 1 'CULPRIT_FAIL_ON=distributed culprit report -d a.db'
expect 2 'CULPRIT_FAIL_ON=worse culprit report -d a.db' 'not '
expect 2 'CULPRIT_CONFIG=nosuch culprit formats' 'CULPRIT_CONFIG names a file that is not there'
printf 'threads = 2\nthread = 3\n' >$config
expect 2 'culprit formats' '.config/culprit/config:2'
expect 2 'culprit formats' "did you mean 'threads'?"
expect 0 'culprit version'
printf '[diagnos]\n' >$config
expect 2 'culprit formats' 'did you mean [diagnose]?'
printf 'threads: 2\n' >$config
expect 2 'culprit formats' '.config/culprit/config:1'
printf 'strict = perhaps\n' >$config
expect 2 'culprit diagnose logs' 'strict takes yes or no'
rm $config
export CULPRIT_CONFIG=

# --output: whole or not at all.
expect 0 'culprit diagnose $S/gpu-off-bus --json --output answer.json'
nothing
[ "$(culprit diagnose "$S/gpu-off-bus" --json | cksum)" = "$(cksum <answer.json)" ] || { echo "--output wrote another answer"; failures=$((failures + 1)); }
before=$(cksum <answer.json)
expect 3 'culprit diagnose nosuch --output answer.json'
[ "$before" = "$(cksum <answer.json)" ] && ! [ -e answer.json.part ] || { echo "an error changed the file of --output"; failures=$((failures + 1)); }
expect 3 'culprit formats --output nosuch/answer.json' 'nosuch/answer.json'
expect 2 'culprit diagnose answer.json' 'this is a report that culprit wrote'
cp answer.json job/ && expect 0 'culprit diagnose job --json' && cp out with
rm job/answer.json && expect 0 'culprit diagnose job --json'
cmp -s out with || { echo "a report in the bundle changed the answer"; failures=$((failures + 1)); }

# 3: input that cannot be read, output that cannot be written
expect 3 'culprit diagnose nosuch'
expect 3 'culprit ./nosuch'
expect 3 'culprit report -d nosuch.db'
expect 3 'culprit report -d logs/rank_0.log' 'not a database'
expect 3 'culprit diagnose - < logs' 'standard input is a folder'
expect 3 'culprit diagnose $S/gpu-off-bus >&-' 'cannot write the answer'
if [ -w /dev/full ]; then
  for words in 'diagnose $S/gpu-off-bus' 'diagnose $S/gpu-off-bus --json' help --version 'rules list' 'report -d a.db' 'show -d a.db' 'ingest $S/gpu-off-bus -d a.db' 'diagnose $S/gpu-off-bus --fail-on critical'; do
    expect 3 "culprit $words >/dev/full" 'cannot write the answer: No space left on device'
  done
  expect 0 'culprit diagnose $S/gpu-off-bus -o o 2>/dev/full'
  expect 3 'culprit formats --output /dev/full' 'No space left on device'
fi
expect 3 'culprit diagnose nosuch 2>&-'
expect 0 'culprit diagnose $S/gpu-off-bus -o o2 2>&-'
expect 0 'culprit diagnose $S/gpu-off-bus -o o3 <&-'

# 4: --strict
head -c 3000 /dev/urandom >cut && printf '\037\213\010\000' >logs/cut.log.gz && head -c 40 cut >>logs/cut.log.gz
expect 4 'culprit diagnose logs --strict'
says 'INCOMPLETE BUNDLE'
expect 0 'culprit diagnose logs'
says 'INCOMPLETE BUNDLE'
rm logs/cut.log.gz

# A refused command changes nothing.
before=$(cksum <a.db)
expect 2 'culprit diagnose logs -d a.db'
[ "$before" = "$(cksum <a.db)" ] && [ "$(ls a.db*)" = a.db ] || { echo "a refused command changed the database"; failures=$((failures + 1)); }

# What we write into the bundle is no part of it: the second answer is the first.
expect 0 'cd job && culprit diagnose . -o report --json'
cp out first
expect 0 'cd job && culprit diagnose . -o report --json'
cmp out first || { echo "our own report changed the answer"; failures=$((failures + 1)); }
says 'left out, because culprit wrote them: report/incident.db'
expect 2 'culprit diagnose job/report/report.json' 'culprit report -d job/report/incident.db'
# Nor are reports that somebody put beside the logs, without their database.
expect 0 'culprit diagnose job --json'
cp out first
cp job/report/report.* job/
culprit diagnose job --format csv >job/findings.csv 2>/dev/null
expect 0 'culprit diagnose job --json'
says 'left out, because culprit wrote them'
rm job/report.* job/findings.csv

# A database that cannot be written answers everything.
mkdir ro && cp a.db ro/ && chmod a-w ro ro/a.db
[ -w ro ] && echo "root writes everywhere: databases that cannot be written are not tried"
for words in report show classify collectives stacks drift outliers changepoints efficiency; do expect 0 "culprit $words -d ro/a.db"; done
[ -w ro ] || [ "$(cksum <ro/a.db)" = "$(cksum <a.db)" ] || { echo "a database that cannot be written was changed"; failures=$((failures + 1)); }

# A part of a bundle is said to be one.
if command -v sqlite3 >/dev/null; then
  cp a.db part.db && sqlite3 part.db "UPDATE meta SET value='ingesting' WHERE key='state'"
  for words in report show classify collectives stacks drift; do expect 0 "culprit $words -d part.db" 'this database is partial'; done
  expect 4 'culprit collectives -d part.db --strict'
  for words in classify collectives stacks drift outliers efficiency; do
    expect 0 "culprit $words -d part.db --json"
    [ ! -s out ] || says '"complete": false'
  done
  expect 0 'culprit report -d part.db'
  says 'INCOMPLETE BUNDLE'
  expect 0 'culprit classify -d part.db'
  says INCOMPLETE
  cp a.db torn.db && sqlite3 torn.db 'DELETE FROM member WHERE member_id=2'
  for words in classify collectives stacks drift outliers changepoints efficiency; do expect 3 "culprit $words -d torn.db" 'this database is damaged'; done
  cp a.db busy.db
  # Held until the file is gone, however slow the program is.
  (printf 'BEGIN EXCLUSIVE;\n.shell touch locked; n=0; while [ -e locked ] && [ $n -lt 600 ]; do sleep 0.2; n=$((n+1)); done\n' | sqlite3 busy.db) &
  while ! [ -e locked ]; do sleep 0.1; done
  expect 3 'culprit ingest $S/gpu-off-bus -d busy.db' 'another process is using this database'
  rm -f locked
  wait
else
  echo "SKIPPED: what needs sqlite3, which is not here"
fi

# A disk that fills up while a file is read: no answer, and the same command ends with the same rows afterwards.
mkdir steps
for rank in 0 1 2; do
  awk -v r=$rank 'BEGIN { for (i = 1; i <= 4000; ++i) printf " [2026-11-18 02:%02d:%02d] iteration %8d/  500000 | elapsed time per iteration (ms): %.1f | lm loss: %.6E | grad norm: 1.%d |\n", i / 60 % 60, i % 60, i, 1000 + i % 13, 8 - i / 1000, r }' >steps/rank_$rank.log
done
expect 0 'culprit ingest steps -d whole.db'
for blocks in 400 800 1200 1600 2000; do
  rm -f full.db*
  expect 3 "ulimit -f $blocks && culprit ingest steps -d full.db" '  = help: '
  nothing
  expect 0 'culprit ingest steps -d full.db'
  if command -v sqlite3 >/dev/null; then
    sqlite3 whole.db .dump >whole.sql
    sqlite3 full.db .dump | cmp - whole.sql || { echo "a full disk ($blocks blocks) left other rows"; failures=$((failures + 1)); }
  fi
done

# A word that does not exist is a misspelt one; a number alone may be of several kinds.
expect 2 'culprit explain nosuchthing' "called 'nosuchthing'"
expect 2 'culprit rules show xid79' "did you mean 'gpu_xid/79'"
expect 0 'culprit explain 9'
says 'gpu_xid/9:'
says 'SIGKILL:'

# 130, 143: stopped. Nothing arrives on the pipe, so that it is being read for sure.
mkfifo pipe
for signal in INT TERM; do
  sleep 30 >pipe &
  keeper=$!
  culprit ingest pipe -d s.db --json >out 2>err &
  reader=$!
  n=0
  while ! [ -s s.db ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
  sleep 0.3
  kill -$signal $reader
  wait $reader
  got=$?
  kill $keeper; wait $keeper 2>/dev/null
  checked=$((checked + 1))
  [ $got = $([ $signal = INT ] && echo 130 || echo 143) ] || { echo "SIG$signal: exit status $got"; failures=$((failures + 1)); }
  nothing
  grep -q "\"error\":\"interrupted\".*\"status\":$got}" err || { echo "SIG$signal: the error names another status"; failures=$((failures + 1)); }
  rm -f s.db*
done

echo "$checked situations, $failures failures"
[ $failures = 0 ]
