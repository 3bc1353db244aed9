#!/bin/bash
# time-travel.sh COMMAND...: runs a command as root of a user-mode Linux 6.1 whose clock jumps when
# nothing is left to do (time-travel=inf-cpu): computing takes no time there, waiting does.
#
#   docs/stacks/uml/time-travel.sh scapy-tfo gain latency --link netem --awake none --json found.json
#
# Its files are this machine's, and COMMAND runs in the current directory; /tmp, /run and /dev are
# its own, so that what is to stay goes elsewhere. The exit status is COMMAND's. The first time it
# builds the kernel from Debian's package linux-source-6.1 (packages.sh), which takes two minutes and
# 1.6 GB on two cores. Run it as root; it needs gcc, make, flex, bison, bc, xz and python3.
set -eu
[ $# -gt 0 ] || { echo "usage: time-travel.sh COMMAND..." >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "time-travel.sh: run it as root" >&2; exit 2; }
here=$(dirname "$(readlink -f "$0")")
root=$here/build/time-travel
kernel=$root/source/linux
memory=${MEMORY:-1G}

. "$here/kernel.sh"
if [ ! -x "$kernel" ]; then
  unpack_linux "$root"
  make_linux "$root" "$here/time-travel.config"
fi
# One directory for each run: two may go on at a time.
run=$(mktemp -d "$root/run.XXXXXX")
trap 'rm -rf "$run"' EXIT
cat >"$run/init" <<END
#!/bin/bash
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
ln -s /proc/self/fd /dev/fd
mkdir /dev/shm && mount -t tmpfs tmpfs /dev/shm
/sbin/ip link set lo up
export PATH=$(printf %q "$PATH:/usr/sbin:/sbin") HOME=/root
cd $(printf %q "$PWD")
set -o pipefail
# Through a pipe: a program on the console of the kernel draws as on a terminal.
$(printf '%q ' "$@") </dev/null 2>&1 | cat
echo \$? >$(printf %q "$run/status")
exec python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)'  # RB_POWER_OFF
END
chmod +x "$run/init"
"$kernel" mem="$memory" rootfstype=hostfs rw init="$run/init" time-travel=inf-cpu \
  con=null con0=fd:0,fd:1 ssl=null uml_dir="$run/" quiet panic=-1 </dev/null | grep -av '^reboot: ' || true
exit "$(cat "$run/status" 2>/dev/null || echo 1)"
