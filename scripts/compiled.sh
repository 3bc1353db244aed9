#!/usr/bin/env bash
# Makes .venv-compiled: this project as a wheel whose inner loop mypyc has compiled
# (scripts/compiled_wheel.py), and the packages that its tests need. .venv stays as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'compiled: %s\n' "$*"; }
die() { printf 'compiled: %s\n' "$*" >&2; exit 2; }

python=.venv/bin/python
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
compiler=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("CC").split()[0])')
if ! command -v "$compiler" >/dev/null || [ ! -e "$headers/Python.h" ]; then
    package=$("$python" -c 'import sys; print("python%d.%d-dev" % sys.version_info[:2])')
    die "the C compiler $compiler and Python's headers ($headers/Python.h) are needed; on Debian and Ubuntu: apt-get install gcc $package"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! .venv-compiled/bin/python -m pip --version >/dev/null 2>&1; then
    "$python" -m venv --clear .venv-compiled
fi
say "compiling; this takes minutes"
HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 .venv-compiled/bin/python -m pip install \
    --disable-pip-version-check --no-input -q --force-reinstall --no-deps . </dev/null >"$log" 2>&1 &&
    .venv-compiled/bin/python -m pip install \
        --disable-pip-version-check --no-input -q 'scapy-tfo[test,boofuzz,cluster]' \
        </dev/null >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die "pip could not build or install the wheel (its message is above)"
}
say "done: .venv-compiled/bin/scapy-tfo is compiled"
