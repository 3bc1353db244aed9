#!/usr/bin/env bash
# Sets up .venv and, as root on Debian or Ubuntu, the system programs the project uses.
# Usage: scripts/setup.sh [EXTRA ...]   extras of pyproject.toml to install (test, lint, boofuzz, cluster, gain, site, wheels, dev)
# PYTHON=python3.12 chooses an interpreter; SYSTEM_PACKAGES=no leaves the system's packages alone.
# A second run with nothing to do takes a few hundredths of a second.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Daemons and ip live in sbin, which an ordinary user's PATH may lack.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

log=$(mktemp)
policy=""
trap 'rm -f "$log" ${policy:+"$policy"}' EXIT

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 2; }

choose_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$candidate"
            return
        fi
    done
    return 1
}

# Each program with its package and its purpose, so that users can decide to go on without it.
programs=(
    "tshark   tshark       reading captures, the dissector's tests"
    "luacheck lua-check    checking the dissector's Lua"
    "nginx    nginx-light  judging a real web server"
    "curl     curl         judging a real client"
    "haproxy  haproxy      judging a real proxy"
    "ip       iproute2     looking into lab namespaces by hand"
)

apt_install() {
    apt-get install -y -qq --no-install-recommends "$@" </dev/null >>"$log" 2>&1
}

install_packages() {
    say "installing system packages, which takes a minute or two: $*"
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    # Only the programs nginx and haproxy are needed: their packages must not start a public service.
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        policy=/usr/sbin/policy-rc.d
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    apt-get update -qq </dev/null >"$log" 2>&1 || say "apt-get update failed; trying with the present package lists"
    # One by one after a failure: a package that a release lacks must not prevent the others.
    if ! apt_install "$@"; then
        local package failed=()
        for package in "$@"; do
            apt_install "$package" || failed+=("$package")
        done
        if [ ${#failed[@]} -gt 0 ]; then
            { grep '^E:' "$log" || tail -n 20 "$log"; } | sort -u >&2
            say "could not install ${failed[*]} (apt's message is above); going on without"
        fi
    fi
    if [ -n "$policy" ]; then
        rm -f "$policy"
        policy=""
        if [ -d /run/systemd/system ]; then
            local service
            for service in nginx haproxy; do
                case " $* " in *" $service"*) systemctl -q disable "$service" 2>/dev/null || true ;; esac
            done
        fi
    fi
}

system_packages() {
    local line program package purpose missing=() packages=()
    if [ ! -x .venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        packages+=("$venv_package")
    fi
    for line in "${programs[@]}"; do
        read -r program package purpose <<<"$line"
        command -v "$program" >/dev/null && continue
        missing+=("$program ($purpose; package $package)")
        packages+=("$package")
    done
    [ ${#packages[@]} -eq 0 ] && return
    if [ "${SYSTEM_PACKAGES:-yes}" != no ] && [ "$(id -u)" = 0 ] \
        && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then
        install_packages "${packages[@]}"
        return
    fi
    [ ${#missing[@]} -eq 0 ] && return
    say "going on without these programs, and skipping whatever needs them (as root on Debian or Ubuntu this script installs them):"
    printf 'setup:   %s\n' "${missing[@]}"
}

# Keeps what pip prints, and shows the lines that tell its progress: on a terminal, as one line.
show_progress() {
    local line shown
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        shown=""
        case "$line" in
            "Collecting "*) [ ! -t 1 ] || shown="looking up ${line#Collecting }" ;;
            *Downloading*.metadata*) ;;
            *"Downloading "*" ("*) shown="${line#*Downloading }"; shown="downloading ${shown%%-*} (${shown##*(}" ;;
            *"Building wheel for "*) shown="building ${line#*for }" ;;
            "Installing collected packages: "*) shown="installing $(wc -w <<<"${line#*: }") packages" ;;
        esac
        shown=${shown%% (from *}
        if [ -z "$shown" ]; then continue; fi
        if [ -t 1 ]; then printf '\r\033[Ksetup:   %.70s' "$shown"; else printf 'setup:   %s\n' "$shown"; fi
    done
    [ ! -t 1 ] || printf '\r\033[K'
}

virtual_environment() {
    local key extra wanted=() spec="."
    key="$(cksum <pyproject.toml) $PWD"
    # A stamp from another directory means a copied tree, whose scripts point at the old place.
    if [ -e .venv ] && { ! .venv/bin/python -c '' 2>/dev/null \
        || { [ -e .venv/.place ] && [ "$(cat .venv/.place)" != "$PWD" ]; }; }; then
        say ".venv does not work here; making a new one"
        rm -rf .venv
    fi
    if [ ! -e .venv ]; then
        say "making .venv with $("$python" --version)"
        "$python" -m venv .venv >"$log" 2>&1 || {
            cat "$log" >&2
            rm -rf .venv
            die "cannot make .venv (Python's message is above); on Debian and Ubuntu: apt-get install $venv_package"
        }
    fi
    printf '%s' "$PWD" >.venv/.place
    for extra in base "$@"; do
        [ "$(cat ".venv/.installed-$extra" 2>/dev/null)" = "$key" ] || wanted+=("$extra")
    done
    [ ${#wanted[@]} -eq 0 ] && return
    [ $# -gt 0 ] && spec=".[$(IFS=,; printf '%s' "$*")]"
    say "installing scapy-tfo and its dependencies into .venv; downloading them takes some minutes"
    : >"$log"
    .venv/bin/python -m pip install --disable-pip-version-check --no-input --progress-bar off -e "$spec" \
        </dev/null 2>&1 | show_progress || {
        tail -n 30 "$log" >&2
        die "pip could not install the Python dependencies (its message is above)"
    }
    for extra in "${wanted[@]}"; do
        printf '%s' "$key" >".venv/.installed-$extra"
    done
}

python=$(choose_python) \
    || die "Python 3.11 or later is needed; none was found as ${PYTHON:-python3, python3.13, python3.12 or python3.11}"
venv_package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
system_packages
virtual_environment "$@"
