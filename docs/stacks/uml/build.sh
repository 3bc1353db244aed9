#!/bin/bash
# build.sh VERSION: fetches Debian's user-mode Linux 6.1, 6.12 or 7.2 and puts build/VERSION together.
#
# The packages come from MIRROR, or else from the mirror of Debian that this machine's apt has, through
# apt with lists and caches of its own: nothing is installed. Needs a C compiler with a static libc, Python, apt and Debian's keyring.
set -eu
cd "$(dirname "$0")"
version=${1:?usage: build.sh 6.1|6.12|7.2}
case $version in
6.1) suite=bookworm ;;
6.12) suite=trixie ;;
7.2) suite=sid ;;
*) echo "no such version: $version" >&2; exit 2 ;;
esac
root=build/$version
mkdir -p "$root"/{lists/partial,cache/archives/partial,packages,root/{dev,proc,tmp}}
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | grep -m 1 'debian/*$' || true)}
[ -n "$mirror" ] || { echo "apt has no mirror of Debian here: name one as MIRROR" >&2; exit 2; }
printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
  "$mirror" "$suite" >"$root/sources.list"
here=$PWD
apt() {
  apt-get -qq -o "Dir::Etc::sourcelist=$here/$root/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o "Dir::State::lists=$here/$root/lists" -o "Dir::Cache=$here/$root/cache" "$@"
}
apt update
# 6.12 and 7.2 ask for a newer libc than a host may have: each kernel runs in a root of its own.
(cd "$root/packages" && rm -f ./*.deb && apt -o APT::Sandbox::User=root download user-mode-linux libc6 libgcc-s1)
for each in "$root"/packages/*.deb; do dpkg-deb -x "$each" "$root/root"; done
[ -e "$root/root/lib64" ] || ln -s usr/lib64 "$root/root/lib64"
[ -e "$root/root/lib" ] || ln -s usr/lib "$root/root/lib"
cc -O2 -Wall -static -o "$root/init" init.c
cc -O2 -Wall -static -o "$root/echo" ../../echo/echo.c
files=("init=$root/init" "echo=$root/echo")
for module in crc-ccitt ipv6; do
  found=$(find "$root/root/usr/lib/uml" -name "$module.ko")
  [ -z "$found" ] || files+=("mod/$module.ko=$found")
done
python3 initrd.py "$root/root/initrd.gz" "${files[@]}"
ls -l "$root/root/initrd.gz"
