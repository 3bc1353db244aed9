#!/bin/bash
# build.sh VERSION: fetches Debian's user-mode Linux 6.1, 6.12 or 7.2 and puts build/VERSION together.
#
# Nothing is installed (packages.sh). Needs a C compiler with a static libc, Python, apt and Debian's
# keyring.
set -eu
here=$(dirname "$(readlink -f "$0")")
cd "$here"
version=${1:?usage: build.sh 6.1|6.12|7.2}
case $version in
6.1) suite=bookworm ;;
6.12) suite=trixie ;;
7.2) suite=sid ;;
*) echo "no such version: $version" >&2; exit 2 ;;
esac
root=build/$version
mkdir -p "$root/root/dev" "$root/root/proc" "$root/root/tmp"
. ./kernel.sh
# 6.12 and 7.2 ask for a newer libc than a host may have: each kernel runs in a root of its own.
fetch_packages "$suite" "$PWD/$root" user-mode-linux libc6 libgcc-s1
for each in "$root"/packages/*.deb; do dpkg-deb -x "$each" "$root/root"; done
[ -e "$root/root/lib64" ] || ln -s usr/lib64 "$root/root/lib64"
[ -e "$root/root/lib" ] || ln -s usr/lib "$root/root/lib"
files=()
for module in crc-ccitt ipv6; do
  found=$(find "$root/root/usr/lib/uml" -name "$module.ko")
  [ -z "$found" ] || files+=("mod/$module.ko=$found")
done
make_initrd "$root" "${files[@]}"
ls -l "$root/root/initrd.gz"
