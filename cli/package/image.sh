#!/bin/sh
# sh cli/package/image.sh [BUILD]: the content of the container image, in BUILD/image (BUILD: build-static/, which is made
# where it is not there). No container program is needed: root/ holds one file, and with the right to change the root
# it is tried in there, where nothing else is. `podman build BUILD/image` makes the image of it.
# Exit status: 0, it runs alone; 1, it does not, or is too large; 77, it may not be tried.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$source/build-static}
most=25000000 # bytes
say() { echo "image: $*" >&2; }

if ! [ -x "$build/culprit" ]; then
  say "static build in $build"
  sh "$source/cli/setup.sh" static
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCULPRIT_STATIC=ON >&2
  cmake --build "$build" --target culprit >&2
fi
build=$(cd "$build" && pwd)
image=$build/image root=$build/image/root
rm -rf "$image"
mkdir -p "$root/usr/bin" "$root/data" "$image/tools"
cp "$source/cli/package/Containerfile" "$image/"
cp "$source/cli/ci/culprit_watch.sh" "$source/cli/ci/culprit_torchrun.sh" "$image/tools/"
strip -o "$root/usr/bin/culprit" "$build/culprit"
chmod 755 "$root/usr/bin/culprit" "$image"/tools/*

if readelf -l "$root/usr/bin/culprit" | grep -q INTERP; then
  say "$build/culprit needs libraries: configure with -DCULPRIT_STATIC=ON"
  exit 1
fi
size=$(wc -c <"$root/usr/bin/culprit")
[ "$size" -le "$most" ] || { say "$size bytes are too large for an image of $most"; exit 1; }

# inside ARGUMENT...: the program, with that folder as its root; without root by a user namespace.
if [ "$(id -u)" = 0 ]; then inside() { chroot "$root" /usr/bin/culprit "$@"; }
else inside() { unshare --user --map-root-user chroot "$root" /usr/bin/culprit "$@"; }
fi
inside version >/dev/null 2>&1 || { say "$root: $size bytes; not tried: this needs root or a user namespace"; exit 77; }
verdict=$(tar -C "$source/samples" -cf - gpu-off-bus | inside diagnose - -q | head -n 1)
case $verdict in
  'ISOLATE  gpu-ad05'*) say "$root: $size bytes; runs without any other file" ;;
  *) say "without any other file the verdict of samples/gpu-off-bus is: $verdict"; exit 1 ;;
esac
