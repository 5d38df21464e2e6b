#!/bin/sh
# sh tests/install.sh [RELEASE...] [WAY...]: on bare Debian systems, made with debootstrap, culprit is installed in each of
# the ways that the README tells, and must give the same JSON for every sample. As root; takes an hour, most of it compilers.
#   RELEASE  bookworm, trixie (both)
#   WAY      root    sh cli/run.sh, as root, who has nothing but the checkout
#            user    the same as an ordinary user, after root has run the line that it prints
#            deb     the package of a static build
#            static  the static program alone, copied
# CULPRIT_STATIC_BUILD (build-static/) is where the static program and the package are, or are made with this system's
# compiler. CULPRIT_MIRROR names another mirror, CULPRIT_CHROOTS a folder in which the bare systems are kept for next time.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
releases= ways=
for word; do
  case $word in
    bookworm | trixie) releases="$releases $word" ;;
    root | user | deb | static) ways="$ways $word" ;;
    *) echo "usage: sh tests/install.sh [bookworm|trixie ...] [root|user|deb|static ...]" >&2; exit 2 ;;
  esac
done
: "${releases:=bookworm trixie}" "${ways:=static deb user root}"
mirror=${CULPRIT_MIRROR:-http://deb.debian.org/debian}
static=${CULPRIT_STATIC_BUILD:-$root/build-static}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! command -v unshare >/dev/null; then
  echo "skipped: this needs root, debootstrap and unshare (sh cli/setup.sh install)" >&2
  exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/culprit-install.XXXXXX")
trap 'rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
keep=${CULPRIT_CHROOTS:-$scratch}
mkdir -p "$keep"

say() { echo "install: $*" >&2; }
# inside SYSTEM COMMAND: in namespaces of its own, so that nothing stays mounted however it ends
inside() {
  unshare -m sh -c 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && cp /etc/resolv.conf "$0/etc/" && exec chroot "$0" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -c "$1"' "$1" "$2"
}
bare() {   # RELEASE FOLDER
  if ! [ -s "$keep/$1.tar" ]; then
    debootstrap --variant=minbase "$1" "$scratch/base" "$mirror" >"$scratch/debootstrap.log" 2>&1 || { tail "$scratch/debootstrap.log" >&2; exit 1; }
    tar -C "$scratch/base" -cf "$keep/$1.tar.part" . && mv "$keep/$1.tar.part" "$keep/$1.tar"
    rm -rf --one-file-system "$scratch/base"
  fi
  mkdir -p "$2"
  tar -C "$2" -xf "$keep/$1.tar"
}
checkout() {   # FOLDER OWNER
  mkdir -p "$1"
  (cd "$root" && tar --exclude='./build*' --exclude=./.git -cf - .) | tar -C "$1" --no-same-owner -xf -
}
# What is said of every sample, by PROGRAM within SYSTEM.
answers() {
  mkdir -p "$1/samples"
  cp -r "$root/samples/." "$1/samples/"
  inside "$1" "cd / && for s in samples/*/; do echo \"== \$s\"; $2 diagnose \"\$s\" --json -q || echo \"status \$?\"; done"
}
failed=0
compare() {   # NAME FILE: with the first one
  if ! [ -e "$scratch/answers" ]; then cp "$2" "$scratch/answers"; fi
  if grep -q '^status' "$2" || ! [ -s "$2" ]; then say "FAILED: $1: a sample could not be diagnosed"; failed=1
  elif cmp -s "$2" "$scratch/answers"; then say "ok: $1: $(grep -c '^==' "$2") samples, $(wc -c <"$2") bytes of JSON, as the others"
  else say "FAILED: $1: other bytes: $(cmp "$2" "$scratch/answers")"; failed=1
  fi
}

case $ways in
  *deb* | *static*)
    if ! [ -x "$static/culprit" ]; then
      say "static build in $static"
      sh "$root/cli/setup.sh" static
      cmake -S "$root" -B "$static" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCULPRIT_STATIC=ON >&2
      cmake --build "$static" >&2
    fi
    (cd "$static" && rm -f culprit_*.deb && cpack -G DEB >&2)
    if command -v lintian >/dev/null; then lintian --fail-on error,warning "$static"/culprit_*.deb >&2 || failed=1; fi ;;
esac

for release in $releases; do
  for way in $ways; do
    system=$scratch/$release-$way
    say "$release, $way"
    bare "$release" "$system"
    case $way in
      root)
        checkout "$system/opt/culprit"
        inside "$system" 'cd /opt/culprit && sh cli/run.sh' >"$scratch/log" 2>&1 || { tail -30 "$scratch/log" >&2; failed=1; continue; }
        program=/opt/culprit/build/culprit ;;
      user)
        checkout "$system/opt/culprit"
        inside "$system" 'useradd --create-home joe && chown -R joe: /opt/culprit'
        status=0
        inside "$system" 'cd /opt/culprit && su joe -c "sh cli/run.sh"' >"$scratch/log" 2>&1 || status=$?
        line=$(grep '^apt-get' "$scratch/log") || { say "FAILED: status $status, and no line for root"; cat "$scratch/log" >&2; failed=1; continue; }
        inside "$system" "$line" >"$scratch/log" 2>&1 || { tail "$scratch/log" >&2; failed=1; continue; }
        inside "$system" 'cd /opt/culprit && su joe -c "sh cli/run.sh"' >"$scratch/log" 2>&1 || { tail -30 "$scratch/log" >&2; failed=1; continue; }
        program=/opt/culprit/build/culprit ;;
      deb)
        cp "$static"/culprit_*.deb "$system/"
        inside "$system" 'apt-get install -y --no-install-recommends /culprit_*.deb' >"$scratch/log" 2>&1 || { tail "$scratch/log" >&2; failed=1; continue; }
        for file in man/man1/culprit.1.gz man/man7/culprit-ci.7.gz bash-completion/completions/culprit doc/culprit/copyright; do
          # Images of Debian leave manuals and documentation out; these systems do not.
          [ -e "$system/usr/share/$file" ] || { say "FAILED: the package brings no $file"; failed=1; }
        done
        program=/usr/bin/culprit ;;
      static)
        cp "$static/culprit" "$system/usr/local/bin/"
        program=/usr/local/bin/culprit ;;
    esac
    answers "$system" "$program" >"$scratch/$release-$way.json"
    compare "$release, $way" "$scratch/$release-$way.json"
    if [ "$way" = deb ]; then inside "$system" 'apt-get remove -y culprit && ! [ -e /usr/bin/culprit ]' >"$scratch/log" 2>&1 || { tail "$scratch/log" >&2; failed=1; }; fi
    rm -rf --one-file-system "$system"
  done
done
exit "$failed"
