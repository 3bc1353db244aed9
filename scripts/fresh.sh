#!/usr/bin/env bash
# Does what README tells a new user to do, on bare Debian machines that are made for it and removed
# afterwards: once as root and once as an ordinary user, who each get a machine of their own.
# Usage: scripts/fresh.sh SUITE [--dir DIRECTORY] [--mirror URL] [--logs DIRECTORY] [--who root,user]
#   SUITE      of Debian: bookworm, trixie
#   --dir      where the machines are made, in a directory of their own (several GB; TMPDIR unless told)
#   --mirror   of Debian (unless told, the first of this machine's own that has the suite)
#   --logs     keeps what the commands printed, a file each
#   --who      root, user, or both
# It tries what is committed. PYTEST_ARGS passes on to `make test`. Exit status: 0 nothing failed, 1 something did,
# 2 wrong usage or set-up.
#
# A machine has mount and process namespaces of its own, where no mount or process outlives the
# script, and this machine's network, since apt and pip have to reach what they reach here: the
# settings of apt and pip, the proxies and the certificates of this machine are passed on.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

say() { printf 'fresh: %s\n' "$*" >&2; }
die() { printf 'fresh: %s\n' "$*" >&2; exit 2; }

packages=git,python3,python3-venv,make,ca-certificates
bundle=/etc/ssl/certs/ca-certificates.crt
# What reaches the machines of the environment; the rest of it is this machine's own business.
passed_on='^(PIP_.*|PYTEST_ARGS|(http|https|ftp|all|no)_proxy|(HTTP|HTTPS|FTP|ALL|NO)_PROXY|.*CA_BUNDLE|SSL_CERT_FILE|GIT_SSL_CAINFO)='

# --- outside: what is left to be cleaned up -------------------------------------------------------

usage() { sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

options() {
    suite="" place="${TMPDIR:-/tmp}" mirror="" logs="" who=root,user
    while [ $# -gt 0 ]; do
        case "$1" in
            -h | --help) usage; exit 0 ;;
            --dir | --mirror | --logs | --who)
                [ $# -gt 1 ] || die "$1 needs a value (--help tells)"
                case "$1" in --dir) place=$2 ;; --mirror) mirror=$2 ;; --logs) logs=$2 ;; --who) who=$2 ;; esac
                shift ;;
            -*) die "there is no option $1 (--help tells)" ;;
            *) [ -z "$suite" ] || die "one suite at a time"; suite=$1 ;;
        esac
        shift
    done
    [ -n "$suite" ] || die "which suite? scripts/fresh.sh bookworm, or trixie"
    case "$who" in root | user | root,user | user,root) ;; *) die "--who $who: root, user, or root,user" ;; esac
    [ "$(id -u)" = 0 ] || die "only root can make machines: sudo scripts/fresh.sh $suite"
}

need_debootstrap() {
    command -v debootstrap >/dev/null && return
    command -v apt-get >/dev/null || die "needs debootstrap: install it with this system's packages"
    say "installing debootstrap"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap </dev/null >/dev/null 2>&1 \
        || { apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends debootstrap </dev/null >/dev/null; } \
        || die "apt-get could not install debootstrap (its words above)"
}

# Ends all that runs below, and removes it. Harmless when called twice.
clean() {
    local attempt
    [ -z "${inside:-}" ] || kill -KILL "$inside" 2>/dev/null || true
    # What the kernel kills at the end of the namespace may write for a moment longer.
    for ((attempt = 0; attempt < 100; attempt++)); do
        rm -rf "$work" 2>/dev/null && return
        sleep 0.2
    done
    say "could not remove $work"
}

outside() {
    local status=0
    options "$@"
    need_debootstrap
    mkdir -p "$place"
    work=$(mktemp -d "$place/fresh.XXXXXX")
    chmod 755 "$work"
    [ -z "$logs" ] || { mkdir -p "$logs"; logs=$(cd "$logs" && pwd); }
    git -C "$here" bundle create -q "$work/project.bundle" HEAD || { rm -rf "$work"; die "git could not pack $here (its words above)"; }
    trap 'clean; [ -z "${guard:-}" ] || kill -KILL "$guard" 2>/dev/null' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    # The first process of the namespace takes all others with it; it goes with unshare.
    work=$work suite=$suite mirror=$mirror logs=$logs who=$who \
        unshare --mount --propagation private --pid --fork --kill-child=KILL \
        bash "${BASH_SOURCE[0]}" --inside </dev/null &
    inside=$!
    # For when this shell is killed and its trap does not run.
    (trap '' INT TERM HUP; tail --pid=$$ -f /dev/null; clean) </dev/null >/dev/null 2>&1 &
    guard=$!
    wait "$inside" || status=$?
    exit "$status"
}

# --- inside: namespaces in which nothing outlives the script --------------------------------------

# Those of apt's own sources that have the suite, the first of them.
choose_mirror() {
    local uri
    command -v apt-get >/dev/null || return 0
    while read -r uri; do
        if wget -q --spider "${uri%/}/dists/$suite/Release" 2>/dev/null; then
            printf '%s' "${uri%/}"
            return
        fi
    done < <(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u)
}

make_base() {
    local proxy=""
    if command -v apt-config >/dev/null; then
        eval "$(apt-config shell proxy Acquire::http::Proxy)"
        [ -z "$proxy" ] || export http_proxy="${http_proxy:-$proxy}"
        [ -n "$mirror" ] || mirror=$(choose_mirror)
    fi
    say "making a bare $suite with ${packages//,/, }"
    debootstrap --variant=minbase --include="$packages" "$suite" "$work/base" ${mirror:+"$mirror"} \
        >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; die "debootstrap failed (its words above)"; }
    # debootstrap downloads from where it is told; so shall what apt installs later.
    cp -L /etc/resolv.conf /etc/hosts "$work/base/etc/"
    [ ! -e "$bundle" ] || cp -L "$bundle" "$work/base$bundle"
    [ ! -e /etc/pip.conf ] || cp -L /etc/pip.conf "$work/base/etc/pip.conf"
    if command -v apt-config >/dev/null; then
        apt-config dump | grep -E '^Acquire::(http|https|ftp|Check|Max|Retries)' >"$work/base/etc/apt/apt.conf.d/90host" || true
    fi
    chroot "$work/base" useradd --create-home --shell /bin/bash tester
}

# The devices of a machine, of which a container has fewer.
mount_machine() {
    local root=$1 device
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    mkdir -p "$root/dev/net" "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    for device in null zero full random urandom tty kmsg; do
        [ -e "/dev/$device" ] || continue
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    # For all to open, as on every Debian, whatever its mode is here.
    [ ! -e /dev/net/tun ] || { mknod "$root/dev/net/tun" c 10 200 && chmod 666 "$root/dev/net/tun"; }
}

# The first process of a machine: takes it as its root (a chroot would allow no user namespaces),
# then is who runs the command.
machine() {
    local root=$1 user=$2 command=$3 home path words=()
    mount_machine "$root"
    cd "$root"
    mkdir -p old
    pivot_root . old
    cd /
    umount -l old
    path=/usr/local/bin:/usr/bin:/bin
    [ "$user" != root ] || path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    home=$(getent passwd "$user" | cut -d: -f6)
    [ "$user" = root ] || words=(setpriv --reuid="$user" --regid="$user" --init-groups)
    mapfile -t given < <(env | grep -E "$passed_on")
    cd "$home"
    exec env -i HOME="$home" USER="$user" PATH="$path" TERM=dumb LANG=C.UTF-8 "${given[@]}" \
        "${words[@]}" bash -c "$command"
}

# A command on somebody's machine, with its time and status beside its words.
run_there() {
    local name=$1 user=$2 log=$3 command=$4 status=0 began=$SECONDS
    unshare --mount --pid --fork --kill-child=KILL bash "${BASH_SOURCE[0]}" --machine "$work/$name" "$user" "$command" \
        </dev/null >"$log" 2>&1 || status=$?
    printf '%s %s\n' "$status" "$((SECONDS - began))" >"$log.status"
    return "$status"
}

inside() {
    local name user command log status=0
    # Mounts of this namespace only; a /proc that knows its processes.
    mount -t proc proc /proc
    make_base
    mkdir "$work/logs"
    for name in ${who//,/ }; do
        user=root
        [ "$name" = root ] || user=tester
        cp -a "$work/base" "$work/$name"
        cp "$work/project.bundle" "$work/$name/srv/project.bundle"
        run_there "$name" "$user" "$work/logs/$name-clone" 'git -c advice.detachedHead=false clone -q /srv/project.bundle scapy-tfo' \
            || { cat "$work/logs/$name-clone" >&2; die "git could not clone (its words above)"; }
        for command in "make demo" "make test"; do
            say "$suite, $name: $command"
            log="$work/logs/$name-${command// /-}"
            run_there "$name" "$user" "$log" "cd scapy-tfo && $command" || status=1
        done
        rm -rf "${work:?}/$name"
    done
    [ -z "$logs" ] || cp "$work"/logs/*-make-* "$logs/"
    python3 "$here/scripts/fresh_table.py" "$suite" "$work/logs"
    return "$status"
}

case "${1:-}" in
    --inside) inside ;;
    --machine) shift; machine "$@" ;;
    *) outside "$@" ;;
esac
