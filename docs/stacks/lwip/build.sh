#!/bin/sh
# build.sh [SOURCE [OUT]] - lwIP 2.2.1 as a Linux program on a TAP, with AddressSanitizer and
# UndefinedBehaviorSanitizer, that tells what it executes (../coverage.c).
# SOURCE: a checkout of lwIP, or a repository to clone it from; default: GitHub.
# OUT: default build/ beside this file. Needs git, gcc.
set -e
here=$(dirname "$(readlink -f "$0")")
source=${1:-https://github.com/lwip-tcpip/lwip.git}
out=${2:-$here/build}
mkdir -p "$out"
if [ ! -e "$source/src/core/tcp.c" ]; then
    [ -d "$out/lwip" ] || git clone -q --depth 1 --branch STABLE-2_2_1_RELEASE "$source" "$out/lwip"
    source=$out/lwip
fi
gcc -g -O2 -Wall -c -o "$out/coverage.o" "$here/../coverage.c"
gcc -g -O2 -Wall -fsanitize=address,undefined -fsanitize-coverage=trace-pc -I"$here" \
    -I"$here/../../hooks" -I"$source/src/include" -I"$source/contrib/ports/unix/port/include" \
    -o "$out/target" "$out/coverage.o" "$here/target.c" \
    "$source"/src/core/*.c "$source"/src/core/ipv4/*.c "$source"/src/core/ipv6/*.c \
    "$source/src/netif/ethernet.c"
echo "built $out/target"
