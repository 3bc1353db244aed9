#!/bin/sh
# with-tap.sh COMMAND [ARGUMENT...]: run a command in a network namespace of its own, in which there is a device tap0
# without addresses. The namespace has no name, so it vanishes with the last process in it, and the device with it.
# It needs unshare, ip and /dev/net/tun; without root, user namespaces as well.
set -eu
test -w /dev/net/tun || { echo "with-tap.sh: /dev/net/tun is missing, or not writable" >&2; exit 3; }
if [ "$(id -u)" -eq 0 ]; then rights=; else rights='--user --map-root-user'; fi
# Without a link-local address this kernel has nothing to say on the device.
# shellcheck disable=SC2086 # no word is meant where there are no rights to take
exec unshare $rights --net sh -euc '
    ip link set lo up
    ip tuntap add dev tap0 mode tap
    ip link set tap0 addrgenmode none up
    exec "$@"' with-tap.sh "$@"
