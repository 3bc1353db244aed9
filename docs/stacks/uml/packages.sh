#!/bin/bash
# To be sourced. fetch_packages SUITE ROOT PACKAGE...: downloads packages of Debian into
# ROOT/packages, and installs nothing.
#
# They come from MIRROR, or else from the mirror of Debian that this machine's apt has, through apt
# with lists and caches of its own. Needs apt and Debian's keyring. ROOT is absolute.
fetch_packages() {
  local suite=$1 root=$2 mirror
  shift 2
  mkdir -p "$root"/{lists/partial,cache/archives/partial,packages}
  mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | grep -m 1 'debian/*$' || true)}
  [ -n "$mirror" ] || { echo "apt has no mirror of Debian here: name one as MIRROR" >&2; return 2; }
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
    "$mirror" "$suite" >"$root/sources.list"
  local options=(-qq -o "Dir::Etc::sourcelist=$root/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$root/lists" -o "Dir::Cache=$root/cache")
  apt-get "${options[@]}" update
  (cd "$root/packages" && rm -f ./*.deb &&
    apt-get "${options[@]}" -o APT::Sandbox::User=root download "$@")
}
