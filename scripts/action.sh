#!/usr/bin/env bash
# The steps of action.yml. Usage: scripts/action.sh install | judge
# SCAPY_TFO names an installed scapy-tfo; without it, `install` makes a venv of this repository.
# judge reads TFO_TARGET, TFO_APP, TFO_ARGS and TFO_OUT, and writes the job's summary and outputs.
set -euo pipefail

venv="${RUNNER_TEMP:-/tmp}/scapy-tfo"
program="${SCAPY_TFO:-$venv/bin/scapy-tfo}"

install() {
    if [ -n "${SCAPY_TFO:-}" ]; then
        echo "using $SCAPY_TFO"
        return
    fi
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet "$GITHUB_ACTION_PATH"
}

judge() {
    local words=() options=() as_root=() status=0
    if [ -n "${TFO_TARGET:-}" ]; then words+=("$TFO_TARGET"); fi
    if [ -n "${TFO_APP:-}" ]; then words+=(--app "$TFO_APP"); fi
    read -ra options <<<"${TFO_ARGS:-}" || true
    # Raw sockets need it; the stack of a target file finds its programs as before.
    if [ "$(id -u)" != 0 ]; then as_root=(sudo env "PATH=$PATH"); fi
    "${as_root[@]}" "$program" test "${words[@]}" "${options[@]}" --out "$TFO_OUT" \
        --sarif "${RUNNER_TEMP:-/tmp}/results.sarif" || status=$?
    echo "status=$status" >>"$GITHUB_OUTPUT"
    if [ -f "$TFO_OUT/results.json" ]; then
        "${as_root[@]}" cp "${RUNNER_TEMP:-/tmp}/results.sarif" "$TFO_OUT/results.sarif"
        echo "results=$TFO_OUT/results.json" >>"$GITHUB_OUTPUT"
        "$program" summary "$TFO_OUT/results.json" >>"$GITHUB_STEP_SUMMARY"
        "$program" summary --annotations "$TFO_OUT/results.json"
    else
        echo "::error title=scapy-tfo::the target was not judged (exit status $status)"
    fi
    exit "$status"
}

case "${1:-}" in
    install) install ;;
    judge) judge ;;
    *) echo "usage: $0 install | judge" >&2; exit 2 ;;
esac
