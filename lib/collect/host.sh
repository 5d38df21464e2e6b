# Runs on each host, from standard input, and writes nothing there but a folder that it removes.
# Each observation leaves through descriptor 3 as an entry of a tar as soon as it is there: of a
# host that stops answering, what came before is kept.
set -u
umask 077
LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
unset TAR_OPTIONS RANK SLURM_PROCID # what runs here is no rank
what=$1 host=$2 hosts=${3-}
@SETTINGS@
exec 3>&1 >/dev/null

# The first folder with room, and if any has it, with room for the largest observation: what is in
# memory may be small.
work=
for room in 67108864 65536; do
  for folder in "${TMPDIR:-/tmp}" /dev/shm /var/tmp; do
    [ -z "$work" ] || break
    free=$(df -Pk "$folder" 2>/dev/null | sed -n '2s|.* \([0-9][0-9]*\)  *[0-9]*% .*|\1|p')
    [ "$((${free:-65536} * 1024))" -ge "$room" ] || continue
    work=$folder/culprit-collect.$$
    mkdir "$work" 2>/dev/null || { work=; continue; }
    head -c 65536 /dev/zero >"$work/room" 2>/dev/null
    [ "$(wc -c <"$work/room")" -lt 65536 ] || break
    rm -rf "$work"
    work=
  done
done
[ -n "$work" ] || { echo 'no room for a file in $TMPDIR, /dev/shm and /var/tmp' >&2; exit 1; }
trap 'cd /; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT PIPE TERM
cd "$work" && mkdir run && rm room || exit 1

first=$(date +%s) n=0 at='' errors=collect-errors.txt pid='' rank='' ranks=''
end=$((first + budget))
tick=1; sleep 0.1 2>/dev/null && tick=0.1
timeout=; grace=0; timeout -k 1 1 true 2>/dev/null && timeout='timeout -k 2' grace=4
root=; [ "$(id -u)" = 0 ] || ! sudo -n true </dev/null 2>/dev/null || root='sudo -n'

# send FILE: without the end of the tar, for more may follow.
send() {
  size=$(wc -c <"$1")
  tar -cf - "$1" 2>/dev/null | head -c $(((size + 511) / 512 * 512 + 512)) >&3 || exit 1
}

# fact FILE WHAT COMMAND: what failed is worth knowing, too. Of the command its beginning: a whole
# one would look like what it prints.
fact() {
  said=
  [ ! -s "run/$n.stderr" ] || said=$(head -n 1 "run/$n.stderr" | head -c 300 | mask | tr -cd ' -~')
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$said" \
    "$(printf '%s' "$3" | tr -s '\n ' '  ' | head -c 60)" >>"$errors"
  send "$errors"
}

# ended PID SECONDS: waits for a child, and fails when it is still there. Not wait: a process that
# sleeps in a driver cannot be killed, and must not hold up the rest.
ended() {
  till=$(($(date +%s) + $2))
  while kill -0 "$1" 2>/dev/null; do
    [ "$(date +%s)" -lt "$till" ] || return 1
    sleep "$tick"
  done
}

# run FILE SECONDS BYTES HOW COMMAND [ARGUMENT]: FILE is what the command prints, and $outcome how
# it ended. HOW: with "root", as root where that needs no password; with "mask", without secrets.
run() {
  n=$((n + 1)) as='' limit='' filter=cat
  case $4 in *root*) as=$root ;; esac
  case $4 in *mask*) filter=mask ;; esac
  [ -z "$timeout" ] || limit="$timeout $2"
  given="job='$job' namespace='$namespace' host='$host' hosts='$hosts' ranks='$ranks'
pid='$pid' rank='$rank' most='$3'"
  mkdir -p "$(dirname "$1")"
  {
    {
      $as $limit sh -c "$given
$5" sh "${6-}" </dev/null &
      echo $! >"run/$n.pid"
      wait $!
      echo $? >"run/$n.status"
    } 2>"run/$n.stderr" | $filter | head -c "$3" >"$1"
  } 2>/dev/null 3>&- & # what cannot be killed must not hold the tar open
  if ended $! $(($2 + grace)); then
    status=$(cat "run/$n.status" 2>/dev/null)
    case $status in
      0) outcome= ;;
      '') outcome='no exit status: disk full?' ;;
      124 | 137) outcome="exit $status: time limit of $2 s" ;;
      *) outcome="exit $status" ;;
    esac
    [ "$(wc -c <"$1")" -lt "$3" ] || outcome="cut at $3 bytes"
  else
    outcome="time limit of $2 s"
    child=$(cat "run/$n.pid")
    child="$child $(cat "/proc/$child/task/$child/children" 2>/dev/null)"
    kill $child 2>/dev/null
    ended $! 2 || kill -9 $child 2>/dev/null
    ended $! 2 || outcome="$outcome; cannot be killed"
    cp "$1" "$1.cut" && mv "$1.cut" "$1" # of a command that still writes
  fi
  rm -f "run/$n.pid" "run/$n.status" # each takes a page where there may be few
}

# observe: the same, into the bundle. Without COMMAND it is read from standard input.
observe() {
  command=${5-$(cat)}
  if [ "$(date +%s)" -ge "$end" ]; then
    n=$((n + 1))
    fact "$at$1" 'not tried: the time for this host was over' "$command"
    return
  fi
  run "$at$1" "$2" "$3" "$4" "$command" "${6-}"
  [ ! -s "$at$1" ] || send "$at$1"
  rm -f "$at$1"
  [ -z "$outcome" ] || fact "$at$1" "$outcome" "$command"
  rm -f "run/$n.stderr"
}

# each_rank NAME SECONDS BYTES HOW COMMAND: for each process that has a rank, with $pid and $rank.
each_rank() {
  for_rank=${5-$(cat)}
  for one in $ranks; do
    rank=${one%:*} pid=${one#*:}
    observe "$1-rank$rank-pid$pid.txt" "$2" "$3" "$4" "$for_rank"
  done
  pid='' rank=''
}

# each_host FILE SECONDS BYTES HOW COMMAND: for each host of the job, with $host.
each_host() {
  for_host=${5-$(cat)}
  for host in $hosts; do observe "hosts/$host/$1" "$2" "$3" "$4" "$for_host"; done
}

# fetch FOLDER SECONDS BYTES HOW COMMAND: the ends of the files that the command names, one a line
# behind the name that each is to have.
fetch() {
  list=${5-$(cat)}
  run run/list "$2" 65536 "$4" "$list"
  [ -z "$outcome" ] || fact "$1" "$outcome" "$list"
  while IFS=' ' read -r name path; do
    case $name in '' | *[!A-Za-z0-9._-]*) name=file$n ;; esac
    observe "$1/$name" "$2" "$3" "$4" 'tail -c "$most" "$1"' "$path"
  done <run/list
}

# What may not leave the host: values behind names of secrets, and what looks like one.
mask() {
  secret='@SECRET@'
  sed -E -e "s/^($secret=).*/\1(secret)/" \
    -e "s/($secret[\"']?[[:blank:]]*[=:][[:blank:]]*\")[^\"]*/\1(secret)/g" \
    -e "s/($secret[\"']?[[:blank:]]*[=:][[:blank:]]*)[^\"',;[:blank:]]+/\1(secret)/g" \
    -e "s/(--$secret[[:blank:]]+)[^[:blank:]]+/\1(secret)/g" \
    -e 's/(^|[^A-Za-z0-9])(@PREFIXES@)[A-Za-z0-9_.-]{16,}/\1(secret)/g' \
    -e 's|(://[^/:@[:blank:]]+:)[^/@[:blank:]]+@|\1(secret)@|g'
}
