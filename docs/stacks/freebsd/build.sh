#!/bin/bash
# build.sh [SOURCE [OUT]] - FreeBSD 13.0's TCP as a Linux program on a TAP, without DPDK. It tells
# which of its branches it takes (../coverage.c).
# SOURCE: a checkout of F-Stack v1.25, or a repository to clone it from; default: GitHub.
# OUT: default build/ beside this file. Needs git, gcc, make, awk and libssl-dev, and 400 MB.
# SAN=1 in the environment: with AddressSanitizer and UndefinedBehaviorSanitizer.
set -e
here=$(dirname "$(readlink -f "$0")")
source=${1:-https://github.com/F-Stack/f-stack.git}
out=${2:-$here/build}
mkdir -p "$out/pkgconfig" "$out/stub"
out=$(readlink -f "$out")
jobs=$(nproc)

fetch() {
    rm -rf "$out/fetched"
    if [ -e "$source/lib/Makefile" ]; then
        mkdir "$out/fetched"
        cp -R "$source/lib" "$source/freebsd" "$source/mk" "$out/fetched"
    else
        git clone -q --depth 1 --branch v1.25 --filter=blob:none --sparse "$source" "$out/fetched"
        git -C "$out/fetched" sparse-checkout set lib freebsd mk
    fi
}

# What has to be mended before FreeBSD's fast open works in F-Stack.
mend() {
    cd "$out/fetched/lib"
    # Parts of F-Stack that need DPDK, or stacks other than FreeBSD's own.
    sed -i 's/^FF_KNI=1/#&/; s/^FF_TCPHPTS=1/#&/; s/^FF_EXTRA_TCP_STACKS=1/#&/' Makefile
    # Fast open is neither compiled nor turned on.
    sed -i 's/^NETINET_SRCS+=\t\t/NETINET_SRCS+= tcp_fastopen.c /' Makefile
    echo '#define TCP_RFC7413 1' >>opt/opt_inet.h
    # The rmlock class has no lc_lock: the timer of the cookie keys would call NULL after 120 s.
    sed -i '/^struct lock_class lock_class_rm = {/i\
static void lock_rm(struct lock_object *lock, uintptr_t how);\
static uintptr_t unlock_rm(struct lock_object *lock);
/^struct lock_class lock_class_rm = {/,/^};/s/\.lc_assert = assert_rm,/& .lc_lock = lock_rm, .lc_unlock = unlock_rm,/' ff_lock.c
    # TCP tells what it executes.
    echo 'tcp_%.o: CFLAGS += -fsanitize-coverage=trace-pc' >>Makefile
    cd "$out"
    mv fetched f-stack
}

[ -d "$out/f-stack" ] || { fetch && mend; }
printf 'Name: libdpdk\nDescription: not used\nVersion: 22.11\nCflags:\nLibs:\n' >"$out/pkgconfig/libdpdk.pc"
: >"$out/stub/rte_malloc.h"
export PKG_CONFIG_PATH="$out/pkgconfig"
sanitize=()
[ -z "$SAN" ] || sanitize=(-fsanitize=address,undefined -fno-sanitize=alignment,shift,signed-integer-overflow)
lib=$out/f-stack/lib
if [ ! -f "$lib/libfstack.a" ]; then
    build=(make -s -C "$lib" HOST_OBJS= WERROR=)
    "${build[@]}" machine_includes
    # -fwrapv, as FreeBSD builds its kernel: without it no SYN-ACK of the syncache is sent again.
    "${build[@]}" -o machine_includes -j"$jobs" \
        COPTFLAGS="-O2 -g -fwrapv -fno-strict-aliasing -pipe ${sanitize[*]}" libfstack.a
fi
gcc -g -O2 -Wall -Wextra -c -o "$out/coverage.o" "$here/../coverage.c"
gcc -g -O2 -Wall -Wextra "${sanitize[@]}" -DINET -DINET6 -I"$lib" -I"$out/stub" -I"$here/../../hooks" \
    -o "$out/target" "$out/coverage.o" "$here/target.c" "$here/device.c" "$lib/ff_host_interface.c" \
    -Wl,--whole-archive "$lib/libfstack.a" -Wl,--no-whole-archive -lcrypto -lm -pthread
echo "built $out/target"
