# Processes that have a rank, as rank:pid: those that use a GPU where one does, without the shells
# that started them, and without the children that inherited both. torchrun sets RANK; what it
# inherits of srun is the number of the node then, so SLURM_PROCID counts where nothing has RANK.
run run/ranks 20 65536 root '
self=$1
having() { grep -lE "(^|[[:cntrl:]])$1=[0-9]" /proc/[0-9]*/environ 2>/dev/null; }
kind=RANK files=$(having RANK)
[ -n "$files" ] || { kind=SLURM_PROCID files=$(having SLURM_PROCID); }
rank_of() {
  tr "\0" "\n" <"/proc/$1/environ" 2>/dev/null | sed -n "s/^$kind=\([0-9][0-9]*\)$/\1/p" | head -n 1
}
trains() {
  [ -n "$(rank_of "$1")" ] || return 1
  program=$(readlink "/proc/$1/exe") || read -r program 2>/dev/null <"/proc/$1/comm"
  case ${program##*/} in # a script has its own name, and the program of its shell
    sh | ash | bash | dash | ksh* | zsh | busybox | srun | slurmstepd | timeout | tee) return 1 ;;
  esac
  [ ! -e /dev/nvidiactl ] || ls -l "/proc/$1/fd" 2>/dev/null | grep -q /dev/nvidia
}
for file in $files; do
  one=${file#/proc/} one=${one%/environ}
  [ "$one" != "$self" ] && trains "$one" || continue
  parent=$(sed -n "s/^PPid:[^0-9]*//p" "/proc/$one/status" 2>/dev/null)
  [ -n "$parent" ] && trains "$parent" || echo "$(rank_of "$one"):$one"
done
exit 0' $$
ranks=$(grep -xE '[0-9]{1,9}:[0-9]{1,9}' run/ranks)
[ -n "$ranks" ] || fact ranks "${outcome:-no process has RANK in its environment}" '/proc/*/environ'

# What the manifest shall hold of this host: its zone, its addresses, and of each rank its number,
# that on this host, and the size of the job. A number of Slurm is one of a rank only where it
# starts several tasks on a host: of one a host the program starts the ranks. No other variable of
# an environment is looked at.
run about.txt 20 65536 root "$(
  cat <<'END'
date '+zone %z'
{ ip -o addr 2>/dev/null || ifconfig -a; } | tr ' ' '\n' | awk '
  after { sub("^addr:", ""); sub("/.*", ""); if (!/^(127\.|::1$|fe80)/) print "address", $0 }
  { after = /^inet6?$/ }'
for one in $ranks; do
  tr '\0' '\n' <"/proc/${one#*:}/environ" | awk -F= '
    /^((LOCAL_)?RANK|WORLD_SIZE|SLURM_(PROCID|LOCALID|NTASKS|NNODES))=[0-9]+$/ { has[$1] = $2 }
    function of(name) { return name in has ? has[name] : "-" }
    END {
      if ("RANK" in has) print "rank", of("RANK"), of("LOCAL_RANK"), of("WORLD_SIZE")
      else if (of("SLURM_NTASKS") != of("SLURM_NNODES"))
        print "rank", of("SLURM_PROCID"), of("SLURM_LOCALID"), of("SLURM_NTASKS")
    }'
done
exit 0
END
)"
send about.txt
rm -f about.txt
