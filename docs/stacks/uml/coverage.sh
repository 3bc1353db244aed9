#!/bin/bash
# coverage.sh: builds a user-mode Linux 6.1 whose TCP counts pairs of branches (../coverage.c), as
# build/6.1-coverage, for 6.1-coverage.toml. It takes some minutes and 1.5 GB; kernel.sh says what
# it needs, and nothing is installed.
set -eu
here=$(dirname "$(readlink -f "$0")")
. "$here/kernel.sh"
root=$here/build/6.1-coverage

# instrument DIRECTORY OBJECT...: has these objects of a directory call the runtime at each branch.
instrument() {
  local place=$root/source/$1/Makefile each
  shift
  for each; do echo "CFLAGS_$each.o += -fsanitize-coverage=trace-pc" >>"$place"; done
}

unpack_linux "$root"
instrument net/ipv4 tcp tcp_input tcp_output tcp_timer tcp_ipv4 tcp_minisocks tcp_fastopen tcp_cong \
  tcp_rate tcp_recovery tcp_cubic syncookies inet_connection_sock
instrument net/ipv6 tcp_ipv6 syncookies
instrument net/core request_sock
# The runtime is a program of the host's, like the other files of os-Linux.
host=$root/source/arch/um/os-Linux
cp "$here/../coverage.c" "$host"
sed -i 's/^obj-y = /&coverage.o /; s/^USER_OBJS := /&coverage.o /' "$host/Makefile"
make_linux "$root" "$here/coverage.config"

# boot.sh runs the kernel in a root of its own, with the host's libc here.
mkdir -p "$root/root"/{dev,proc,tmp,usr/bin}
cp "$root/source/linux" "$root/root/usr/bin/linux.uml"
ldd "$root/source/linux" | grep -o '/[^ ]*' | while read -r each; do
  install -D "$each" "$root/root$each"
done
make_initrd "$root"
rm -rf "$root/source"
