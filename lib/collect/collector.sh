#!/bin/sh
@HEADER@
#
# usage: sh collect.sh [FOLDER]    the bundle; FOLDER.tar.gz in the end
#   AT_ONCE=@AT_ONCE@    hosts at a time
# It only reads, is safe to stop, and needs a POSIX shell, tar and head. Exit status: 0, all hosts
# answered; 1, what failed is in collect-errors.txt; 2, nothing was collected.
set -u
umask 077
LC_ALL=C
export LC_ALL
@SETTINGS@
at_once=${AT_ONCE:-@AT_ONCE@}
out=${1-culprit-$name-$(date -u +%Y%m%dT%H%M%SZ)}
case $at_once in '' | 0* | *[!0-9]*) echo 'AT_ONCE is not a number' >&2; exit 2 ;; esac
case $out in '' | -*) echo 'usage: sh collect.sh [FOLDER]' >&2; exit 2 ;; esac
mkdir -- "$out" && mkdir -- "$out/hosts" "$out/.collect" || exit 2
out=$(cd -- "$out" && pwd) || exit 2
tmp=$out/.collect script=$out/.collect/host.sh
started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
tick=1; sleep 0.1 2>/dev/null && tick=0.1
limit=; timeout -k 1 1 true 2>/dev/null && limit="timeout -k 5 $host_seconds"

# What runs on a host.
cat >"$script" <<'END_OF_HOST'
@HOST@
END_OF_HOST

# reach HOST: runs the script there; its tar comes out.
reach() {
  @REACH@
}

say() { printf '%s\n' "$*" >&2; }
quoted() { # as a shell reads it again
  case $1 in
    *[!A-Za-z0-9._/+=:,-]*) printf "'%s'\n" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s\n' "$1" ;;
  esac
}
complain() { # HOST WHAT
  printf '%s\t%s\n' "$1" "$2" | tr -cd '\t\n -~' >>"$out/collect-errors.txt"
  say "$1: $2"
}
digits() { case $1 in '' | *[!0-9]* | ????????????*) false ;; esac }
ended() { # PID SECONDS: waits for a child, and fails when it is still there
  till=$(($(date +%s) + $2))
  while kill -0 "$1" 2>/dev/null; do
    [ "$(date +%s)" -lt "$till" ] || return 1
    sleep "$tick"
  done
}
# unpack FOLDER NAME: as it comes, so that a part is there, too.
# A host sends files and folders: what else is in its tar would be followed, or waited for.
unpack() {
  head -c "$host_bytes" | tar -xof - -C "$1" 2>"$tmp/tar.$2"
  find "$1" ! -type f ! -type d -exec rm -f {} +
}

# One host, never longer than its time. It has answered when its last entry, clock.txt, is there.
collect_host() { # HOST
  mine=$1
  trap ': >"$tmp/done.$mine"' EXIT # whatever happens, its place is free again
  to=$out/hosts/$1 before=$(date +%s)
  mkdir -p "$to" || return
  {
    {
      reach "$1" 2>"$tmp/stderr.$1" &
      echo $! >"$tmp/pid.$1"
      wait $!
      echo $? >"$tmp/status.$1"
    } | unpack "$to" "$1"
  } 2>/dev/null &
  job=$!
  echo "$job" >"$tmp/job.$1"
  if ! ended $job $((host_seconds + 10)); then
    kill "$(cat "$tmp/pid.$1")" 2>/dev/null
    ended $job 2 || kill $job 2>/dev/null # tar writes what it has
    complain "$1" "no answer within $host_seconds s"
  elif [ ! -s "$to/clock.txt" ]; then
    case $(cat "$tmp/status.$1") in
      124 | 137) complain "$1" "no answer within $host_seconds s" ;;
      *) complain "$1" "exit $(cat "$tmp/status.$1"): $(head -n 1 "$tmp/stderr.$1" | head -c 300)" ;;
    esac
  elif [ -s "$tmp/tar.$1" ]; then
    complain "$1" "$(head -n 1 "$tmp/tar.$1" | head -c 300)"
  fi
  if [ -s "$to/clock.txt" ]; then
    read -r first last <"$to/clock.txt"
    # Arithmetic runs what stands in it: nothing but digits may.
    if digits "$first" && digits "$last"; then
      printf '%s\t%d\t%d\n' "$1" $((last - $(date +%s) - 1)) $((first - before + 1)) >>"$out/clocks.txt"
    else
      complain "$1" 'its clock says no time'
    fi
  fi
}

# What the scheduler knows, asked from here.
collect_job() {
  {
    {
      sh "$script" job - "$hosts" 2>"$tmp/stderr.+job" &
      echo $! >"$tmp/pid.+job"
      wait $!
    } | unpack "$out" +job
  } 2>/dev/null
}

# In quotes, with commas between: names that were checked.
json_list() {
  comma=
  for one in $1; do printf '%s"%s"' "$comma" "$one" && comma=', '; done
}
# What the hosts say of themselves in about.txt, as "HOST WORD VALUE...", and what their clocks
# showed.
said_by_hosts() {
  for host in $hosts; do
    [ -f "$out/hosts/$host/about.txt" ] &&
      head -c 65536 "$out/hosts/$host/about.txt" | sed "s/^/$host /"
  done
  awk '/^[^#]/ { print $1, "ahead", $2, $3 }' "$out/clocks.txt"
}
# Members of the manifest. A host may send anything: what is not of its form is left out. Ranks are
# left out as a whole where two hosts have the same, or the sizes of their jobs differ: a host runs
# another job, too.
json_of_hosts() {
  said_by_hosts 2>/dev/null | awk '
    function number(s) { return s ~ /^[0-9]+$/ && length(s) < 8 }
    function add(list, host, value) {
      if (host in list) value = list[host] ", " value
      list[host] = value
    }
    function print_all(name, list, open, end,    i, comma) {
      printf "  \"%s\": {", name
      for (i = 1; i <= hosts; i++)
        if (order[i] in list) {
          printf "%s\n    \"%s\": %s%s%s", comma, order[i], open, list[order[i]], end
          comma = ","
        }
      print "},"
    }
    !($1 in seen) { seen[$1] = 1; order[++hosts] = $1 }
    $2 == "address" && $3 ~ /^[0-9a-fA-F.:]+$/ && length($3) < 46 && !(($1, $3) in known) {
      known[$1, $3] = 1
      add(addresses, $1, "\"" $3 "\"")
    }
    $2 == "zone" && $3 ~ /^[+-][0-9][0-9][0-9][0-9]$/ && !($1 in zone) {
      zone[$1] = 1
      add(clocks, $1, "\"timezone\": \"" substr($3, 1, 3) ":" substr($3, 4) "\"")
    }
    $2 == "ahead" { add(clocks, $1, "\"ahead\": [" $3 ", " $4 "]") }
    $2 == "rank" && number($3) && number($5) {
      if (($3 in taken) || $3 + 0 >= $5 + 0 || (size && size != $5 + 0)) torn = 1
      taken[$3] = 1
      size = $5 + 0
      add(ranks, $1, "{\"rank\": " ($3 + 0) (number($4) ? ", \"local_rank\": " ($4 + 0) : "") "}")
    }
    END {
      print_all("addresses", addresses, "[", "]")
      print_all("clocks", clocks, "{", "}")
      if (!size || torn) exit
      printf "  \"world_size\": %d,\n", size
      print_all("ranks", ranks, "[", "]")
    }'
}
manifest() {
  {
    printf '{\n  "job": "%s",\n' "$name"
    [ -z "$job_id" ] || printf '  "job_id": "%s",\n' "$job_id"
    [ -z "$ordered" ] || printf '  "hosts": [%s],\n' "$(json_list "$hosts")"
    json_of_hosts
    printf '  "collected_at": "%s",\n  "tiers": [%s]\n}\n' "$started" "$(json_list "$tiers")"
  } >"$tmp/job.json" && mv "$tmp/job.json" "$out/job.json"
}

problem() {
  problems=$((problems + 1))
  say "$1"
}
# Also when it is stopped half-way: what is there is a bundle.
finish() {
  trap '' HUP INT TERM
  [ -z "$waiting" ] || kill $waiting 2>/dev/null # or they complain of what is ended here
  for file in "$tmp"/pid.*; do
    [ ! -s "$file" ] || [ -e "$tmp/done.${file##*/pid.}" ] || kill "$(cat "$file")" 2>/dev/null
  done
  for file in "$tmp"/job.*; do # what has come is still written
    [ ! -s "$file" ] || [ -e "$tmp/done.${file##*/job.}" ] || ended "$(cat "$file")" 2
  done
  if [ -s "$out/clocks.txt" ]; then
    printf '# host\tseconds that its clock is ahead of the collector: least\tmost\n' |
      cat - "$out/clocks.txt" >"$tmp/clocks" && mv "$tmp/clocks" "$out/clocks.txt"
  fi
  answers=0 problems=0
  for file in "$out"/hosts/*/clock.txt; do
    [ ! -s "$file" ] || answers=$((answers + 1))
    rm -f "$file"
  done
  manifest || problem 'the manifest could not be written: disk full?'
  rm -f "$out"/hosts/*/about.txt # the manifest has it
  [ ! -s "$out/collect-errors.txt" ] || problem 'what failed is in collect-errors.txt'
  [ "$answers" -eq "$count" ] || problem "only $answers of $count hosts answered to the end"
  rm -rf "$tmp"
  if [ "$1" = whole ] && tar -czf "$out.tar.gz" -C "${out%/*}/" "${out##*/}" 2>/dev/null; then
    rm -rf "$out"
    out=$out.tar.gz
  elif [ "$1" = whole ]; then
    rm -f "$out.tar.gz"
    problem 'no archive could be made, the folder stays: disk full?'
  fi
  out=$(quoted "$out")
  say "$out: $answers of $count hosts; next: culprit diagnose $out"
  [ "$1" = whole ] && [ "$problems" -eq 0 ]
  exit
}
count=0 hosts='' waiting=''
trap 'say stopped; finish part' HUP INT TERM

set -f # no name is a pattern
for host in $(
  @LIST@
); do
  case $host in
    -* | .* | *[!A-Za-z0-9._-]*) complain "$host" 'not the name of a host: left out' ;;
    *) [ ${#host} -gt 253 ] || case " $hosts " in *" $host "*) ;; *) hosts="$hosts $host" ;; esac ;;
  esac
done
set +f
[ -n "$hosts" ] || complain "$name" 'has no hosts'
manifest 2>/dev/null
set -- $hosts
say "asking $# hosts, $host_seconds s each at most, $at_once at a time; stopped, it leaves what it has"
@JOB@
for host in $hosts; do
  while :; do
    set -- "$tmp"/done.*
    [ -e "$1" ] || shift
    [ $((count - $#)) -ge "$at_once" ] || break
    sleep "$tick"
  done
  count=$((count + 1))
  collect_host "$host" &
  waiting="$waiting $!"
done
wait
waiting=
finish whole
