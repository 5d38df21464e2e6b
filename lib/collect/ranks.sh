
# Processes that have a rank, as rank:pid: those that use a GPU where one does, without the
# children that inherited both.
run run/ranks 20 65536 root '
self=$1
rank_of() {
  tr "\0" "\n" <"/proc/$1/environ" 2>/dev/null |
    sed -n "s/^RANK=\([0-9][0-9]*\)$/\1/p; s/^SLURM_PROCID=\([0-9][0-9]*\)$/\1/p" | head -n 1
}
trains() {
  [ -n "$(rank_of "$1")" ] || return 1
  [ ! -e /dev/nvidiactl ] || ls -l "/proc/$1/fd" 2>/dev/null | grep -q /dev/nvidia
}
for file in $(grep -lE "(^|[[:cntrl:]])(RANK|SLURM_PROCID)=" /proc/[0-9]*/environ 2>/dev/null); do
  one=${file#/proc/} one=${one%/environ}
  [ "$one" != "$self" ] && trains "$one" || continue
  parent=$(sed -n "s/^PPid:[^0-9]*//p" "/proc/$one/status" 2>/dev/null)
  [ -n "$parent" ] && trains "$parent" || echo "$(rank_of "$one"):$one"
done
exit 0' $$
ranks=$(grep -xE '[0-9]{1,9}:[0-9]{1,9}' run/ranks)
[ -n "$ranks" ] || fact ranks "${outcome:-no process has RANK in its environment}" '/proc/*/environ'
