#!/bin/bash
# boot.sh VERSION [WORD...]: boots the user-mode Linux of build/VERSION on tap0 of this network
# namespace, as root. WORDs go to its command line. It is the [start] of the target files.
#
# docs/stacks/with-tap.sh makes tap0. The mounts end with the processes: they are in a mount
# namespace.
set -eu
cd "$(dirname "$0")/build/${1:?usage: boot.sh VERSION}/root"
shift
export HERE=$PWD
exec unshare --mount bash -c '
  mount --rbind /dev "$HERE/dev"
  mount -t proc proc "$HERE/proc"
  mount -t tmpfs tmpfs "$HERE/tmp"
  export TMPDIR=/dev/shm HOME=/tmp
  exec chroot "$HERE" /usr/bin/linux.uml "$@"' \
  boot mem=96M initrd=/initrd.gz con=null con0=null,fd:1 ssl=null uml_dir=/tmp/ quiet panic=-1 \
  vec0:transport=tap,ifname=tap0,depth=128,gro=0,mac=02:00:00:77:00:02 "$@"
