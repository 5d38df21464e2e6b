#!/bin/sh
# sh cli/setup.sh build|test|ci|static|install: see to it that the Debian packages are there that building, testing, CI, a
# build with -DCULPRIT_STATIC=ON or tests/install.sh needs.
# With all of them in place it is silent and uses neither the network nor root. Exit 3: it may not install them.
# `names` prints what another distribution calls the packages of a build.
set -eu

build="g++ cmake ninja-build pkgconf libarchive-dev zlib1g-dev libboost-program-options-dev libfmt-dev libre2-dev
  libsqlite3-dev libxxhash-dev nlohmann-json3-dev libcctz-dev tzdata libeigen3-dev libisal-dev"
test="libgtest-dev librapidcheck-dev"
ci="libbenchmark-dev mandoc clang clang-format libclang-rt-dev"
static="libacl1-dev libzstd-dev liblz4-dev libxml2-dev libabsl-dev"
install="debootstrap lintian"

case "${1-}" in
  build) wanted=$build ;;
  test) wanted="$build $test" ;;
  ci) wanted="$build $test $ci" ;;
  static) wanted="$build $static" ;;
  install) wanted="$build $static $install" ;;
  names) wanted= ;;
  *) echo "usage: sh cli/setup.sh build|test|ci|static|install|names" >&2; exit 2 ;;
esac

dnf="dnf install gcc-c++ cmake ninja-build pkgconf-pkg-config libarchive-devel zlib-devel boost-devel fmt-devel re2-devel sqlite-devel xxhash-devel json-devel cctz-devel eigen3-devel isa-l-devel"
if [ "$1" = names ]; then
  echo "setup: on Fedora, and on RHEL with EPEL and CRB: $dnf"
  exit 0
fi
if ! command -v dpkg-query >/dev/null; then
  # Libraries that are missing are told by cmake.
  for tool in c++ cmake ninja pkg-config; do
    command -v "$tool" >/dev/null && continue
    echo "setup: $tool is missing; on Fedora, and on RHEL with EPEL and CRB: $dnf" >&2
    exit 3
  done
  exit 0
fi

missing=
for package in $wanted; do
  # One state a line and architecture; a removed package is "not-installed" or "config-files".
  dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ]; }; }; then
    root=sudo
  else
    echo "setup: packages are missing, and only root may install them; as root, run" >&2
    echo "apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    exit 3
  fi
fi

apt() { $root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null >&2; }
install() { apt install -y --no-install-recommends $missing; }
echo "setup: installing$missing" >&2
if apt-get install -s --no-install-recommends $missing >/dev/null 2>&1; then
  install && exit 0    # fails where the package lists are older than the archive
fi
apt update
install
