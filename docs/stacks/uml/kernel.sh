#!/bin/bash
# To be sourced. Linux 6.1 in user mode, built from Debian's package linux-source-6.1, and what it
# boots with. Needs gcc, make, flex, bison, bc, xz and python3, and here=DIRECTORY of this file.
. "$here/packages.sh"

# unpack_linux ROOT: puts the sources into ROOT/source.
unpack_linux() {
  local root=$1 each missing=()
  for each in gcc make flex bison bc xz; do command -v "$each" >/dev/null || missing+=("$each"); done
  [ ${#missing[@]} = 0 ] || { echo "install ${missing[*]} to build Linux" >&2; return 2; }
  mkdir -p "$root"
  fetch_packages bookworm "$root" linux-source-6.1
  dpkg-deb -x "$root"/packages/*.deb "$root/unpacked"
  rm -rf "$root/source" "$root/packages"
  mkdir "$root/source"
  tar -C "$root/source" --strip-components 1 -xf "$root"/unpacked/usr/src/linux-source-6.1.tar.xz
  rm -rf "$root"/{unpacked,lists,cache,sources.list}
}

# make_linux ROOT CONFIG: builds ROOT/source/linux; all that CONFIG does not name is off.
make_linux() {
  echo "building Linux, which takes minutes; the output is in $1/build.log" >&2
  {
    make -C "$1/source" ARCH=um KCONFIG_ALLCONFIG="$2" allnoconfig &&
      make -C "$1/source" ARCH=um -j"$(nproc)" linux
  } >"$1/build.log" 2>&1 || { tail -n 5 "$1/build.log" >&2; return 1; }
}

# make_initrd ROOT [NAME=FILE...]: ROOT/root/initrd.gz, with the echo servers and further files.
make_initrd() {
  local root=$1
  shift
  cc -O2 -Wall -static -o "$root/init" "$here/init.c"
  cc -O2 -Wall -static -o "$root/echo" "$here/../../echo/echo.c"
  python3 "$here/initrd.py" "$root/root/initrd.gz" "init=$root/init" "echo=$root/echo" "$@"
}
