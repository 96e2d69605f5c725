#!/bin/sh
# enter.sh LAYERS UPPER COMMAND...: runs it as PID 1 in a Debian of its own devices and processes. LAYERS are folders,
# the topmost first, with ':' between; what is written goes to UPPER/upper.
# To be called in fresh namespaces (unshare --mount --pid --net --uts): what is mounted here goes with them.
set -eu
layers=$1
upper=$2
shift 2
mkdir -p "$upper/upper" "$upper/work" "$upper/root"
root=$upper/root
mount -t overlay -o "lowerdir=$layers,upperdir=$upper/upper,workdir=$upper/work" overlay "$root"
# The machine's own devices must not be within reach: packages change their modes.
mount -t tmpfs -o mode=755 devices "$root/dev"
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"
done
mknod -m 666 "$root/dev/tty" c 5 0
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 terminals "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs memory "$root/dev/shm"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t proc processes "$root/proc"
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
exec chroot "$root" "$@"
