#!/bin/sh
# append.sh BUILD SET BY N EXACT OPEN WRONG ACCUSED: appends a first run to RESULTS.tsv.
# append.sh --check: checks every row of RESULTS.tsv.
# append.sh --sums: totals of the runs on material by other hands.
#
#   BUILD    the commit that ran, 7 to 40 hexadecimal digits
#   SET      what it ran on; a set has one first run, so a name occurs once
#   BY       who made the set: "other hands", "simulator" or "own"
#   N        incidents
#   EXACT    a right action and exactly the right target
#   OPEN     another answer that isolates or repairs nothing
#   WRONG    any other answer
#   ACCUSED  an innocent machine is isolated or named for repair; "-": not counted
#
# Where all four are counted they sum to N. CULPRIT_RESULTS names another file.
set -eu
file=${CULPRIT_RESULTS:-$(dirname "$0")/RESULTS.tsv}
tab=$(printf '\t')

# Prints what is wrong with the rows on standard input, a header first; status 1 if anything is.
check() {
  awk -F "$tab" '
    function bad(why) { print "line " NR ": " why; failed = 1 }
    function number(x) { return x ~ /^(0|[1-9][0-9]*)$/ }
    NR == 1 {
      if ($0 != "date\tbuild\tset\tby\tn\texact\topen\twrong\taccused") bad("not the header")
      next
    }
    NF != 9 { bad(NF " columns, not 9"); next }
    $1 !~ /^20[0-9][0-9]-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$/ { bad("not a date: " $1) }
    $1 < before { bad("dates go back: " $1) }
    { before = $1 }
    $2 != "-" && ($2 !~ /^[0-9a-f]+$/ || length($2) < 7 || length($2) > 40) {
      bad("not a commit: " $2)
    }
    $3 !~ /^[A-Za-z0-9]/ || $3 ~ / $/ { bad("not a name of a set: " $3) }
    seen[$3]++ { bad("this set had its first run: " $3) }
    $4 != "other hands" && $4 != "simulator" && $4 != "own" { bad("made by whom? " $4) }
    !number($5) || $5 == 0 { bad("not a count of incidents: " $5) }
    {
      sum = counted = 0
      for (i = 6; i <= 9; ++i) {
        if ($i == "-") continue
        if (!number($i)) { bad("not a number: " $i); next }
        sum += $i
        ++counted
      }
      if (counted == 0) bad("nothing was counted")
      if (sum > $5) bad("more answers than incidents: " sum " of " $5)
      if (counted == 4 && sum != $5) bad("the answers sum to " sum ", not " $5)
    }
    END { if (NR == 0) bad("empty"); exit failed }'
}

case ${1-} in
  --check)
    check <"$file" >&2
    exit
    ;;
  --sums)
    awk -F "$tab" '
      $4 != "other hands" { next }
      { kind = $3; sub(/ .*/, "", kind); n[kind] += $5; exact[kind] += $6; accused[kind] += $9 }
      $3 ~ /^incidents / && $3 >= "incidents 09" { late += $5; late_accused += $9 }
      END {
        print "incidents: exact " exact["incidents"] " of " n["incidents"]
        print "incidents: accused " accused["incidents"] " of " n["incidents"]
        print "incidents from 09: accused " late_accused " of " late
        print "threads: exact " exact["threads"] " of " n["threads"]
      }' "$file"
    exit
    ;;
esac

[ $# = 8 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
case $1 in -) echo "append.sh: a new row names its build" >&2; exit 1 ;; esac
case $* in *"$tab"*) echo "append.sh: a tab in a column" >&2; exit 1 ;; esac
row=$(date -u +%Y-%m-%d)
for column; do row=$row$tab$column; done
case $row in *'
'*) echo "append.sh: a line end in a column" >&2; exit 1 ;; esac
why=$({ cat "$file"; printf '%s\n' "$row"; } | check) || { printf 'append.sh: %s\n' "$why" >&2; exit 1; }
printf '%s\n' "$row" >>"$file"
