#!/bin/sh
# bare_root_test.sh CULPRIT: the script of `culprit collect --here` in a system that is busybox and nothing else: its tools,
# a /proc of its own, and in a second run no timeout(1). Exit 77: skipped, without busybox or the right to change the root.
set -u
[ $# = 1 ] || { echo "usage: $0 CULPRIT" >&2; exit 2; }
culprit=$1 failed=0
complain() { echo "bare root: $*"; failed=1; }
PATH=$PATH:/usr/sbin:/sbin chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)
busybox=$(command -v busybox) || { echo 'skipped: no busybox'; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
mkdir -p root/bin root/proc root/tmp root/dev root/etc root/work
cp "$busybox" root/bin/busybox
cp "$(command -v sleep)" root/bin/trainer # what is busybox is a shell for the collector
ldd "$busybox" root/bin/trainer 2>/dev/null | grep -o '/[^ ]*lib[^ ]*' | while read -r library; do
  mkdir -p "root${library%/*}" && cp "$library" "root$library"
done
: >root/dev/null && echo 'x' >root/etc/hostname
as_root=
[ "$(id -u)" = 0 ] || as_root='--user --map-root-user'
# shellcheck disable=SC2086
inside() { unshare $as_root --mount --pid --fork sh -c 'mount -t proc proc root/proc && mount --bind /dev root/dev && exec env -i PATH=/bin "$0" root "$@"' "$chroot" "$@"; }
inside /bin/busybox --install -s /bin 2>/dev/null && inside true || { echo 'skipped: the root cannot be changed'; exit 77; }

for run in timed untimed; do
  [ "$run" = timed ] || rm root/bin/timeout
  "$culprit" collect --here --hang | sed 's/|| sleep 10$/|| sleep 1/' >root/here.sh
  inside env RANK=5 sh -c 'trainer 30 & cd /work && RANK=7 sh /here.sh "$1"' sh "$run" 2>said || complain "$run: status $?: $(cat said)"
  "$culprit" diagnose -q "root/work/$run.tar.gz" >verdict 2>&1 || complain "$run: diagnose fails: $(cat verdict)"
  tar -xzf "root/work/$run.tar.gz" || complain "$run: no bundle"
  for file in date.txt uptime.txt ps.txt meminfo.txt df.txt proc-ranks.txt; do
    [ -s "$(echo "$run"/hosts/*/"$file")" ] || complain "$run: no $file: $(cat "$run"/hosts/*/collect-errors.txt)"
  done
  grep -q 'RANK=5' "$run"/hosts/*/proc-ranks.txt || complain "$run: the rank is not found"
  ! grep -q 'RANK=7' "$run"/hosts/*/proc-ranks.txt || complain "$run: the collector is a rank"
  [ -z "$(ls root/tmp)" ] || complain "$run: left behind: $(ls root/tmp)"
done
exit $failed
