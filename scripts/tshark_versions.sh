#!/usr/bin/env bash
# Runs the plugin's tests with the tshark of other Debian releases, each in a temporary directory of its own.
# Usage: scripts/tshark_versions.sh [SUITE...] [-- PYTEST_ARGUMENT...]
#   SUITE      of Debian: bookworm (4.0), trixie (4.4), forky (4.6); all three unless told
# As root, with debootstrap. MIRROR names a mirror of Debian; else it is the one that apt has here.
# Exit status: 0 all tests passed, 1 one failed, 2 wrong usage, or a tshark that could not be installed.
set -euo pipefail

say() { printf 'tshark_versions: %s\n' "$*" >&2; }
die() { say "$@"; exit 2; }

programs=(tshark sharkd dumpcap editcap capinfos)
# Also for suites that are newer than debootstrap.
recipe=${DEBOOTSTRAP_DIR:-/usr/share/debootstrap}/scripts/sid

# What debootstrap mounts is mounted in a namespace, and ends with it. tshark is left to apt: debootstrap cannot choose
# among packages that provide the same name.
install_suite() {
    unshare --mount --propagation private bash -euc '
        debootstrap --variant=minbase "$1" "$2" "$3" "$4"
        DEBIAN_FRONTEND=noninteractive chroot "$2" apt-get install -y --no-install-recommends tshark
    ' install "$1" "$2" "$mirror" "$recipe" </dev/null
}

# A script for each program of a suite, which runs it with the loader and the libraries of that suite. Without chroot,
# it sees the files of the tests, and needs no root: as root, the tests run tshark as nobody.
wrap() {
    local tree=$1 bin=$2 loader libraries program
    loader=$(printf '%s' "$tree"/lib*/ld-linux-*.so.*)
    libraries=$(printf '%s' "$tree"/usr/lib/*-linux-gnu)
    mkdir "$bin"
    for program in "${programs[@]}"; do
        printf '#!/bin/sh\nexport WIRESHARK_DATA_DIR=%q\nexec %q --library-path %q --argv0 %q %q "$@"\n' \
            "$tree/usr/share/wireshark" "$loader" "$libraries" "$program" "$tree/usr/bin/$program" >"$bin/$program"
        chmod 755 "$bin/$program"
    done
}

suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case "$1" in
        -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        -*) die "there is no option $1 (--help tells)" ;;
    esac
    suites+=("$1")
    shift
done
[ $# -eq 0 ] || shift
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie forky)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "$(id -u)" = 0 ] || die "only root can install a Debian: sudo scripts/tshark_versions.sh"
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
# The one that this host's apt has, unless told.
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sed -n 1p || true)}
[ -n "$mirror" ] || die "apt has no mirror here: name one of Debian as MIRROR"
python=.venv/bin/python
[ -x "$python" ] || python=python3

work=$(mktemp -d "${TMPDIR:-/tmp}/tshark-versions.XXXXXX")
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
status=0
for suite in "${suites[@]}"; do
    say "installing the tshark of $suite"
    install_suite "$suite" "$work/$suite" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; die "the tshark of $suite could not be installed (its words above)"; }
    wrap "$work/$suite" "$work/bin"
    say "$("$work/bin/tshark" --version 2>/dev/null | head -n 1)"
    PATH="$work/bin:$PATH" "$python" -m pytest -p no:cacheprovider tests/dissector tests/fuzz/test_capture.py "$@" || status=1
    rm -rf --one-file-system "${work:?}/$suite" "$work/bin"
done
exit "$status"
