#!/bin/sh
# Runs one host: joins its control groups, mounts its disks where only it sees them, boots it, boots it again after a
# reboot (systemd-nspawn ends there). All mounts and the loop device go with the processes: they live in a mount
# namespace of their own, below a process whose death ends them all.
#
#   supervise.sh outer MACHINE BRIDGE DATA_PATH SHARED_PATH GROUP_FOLDER...     in the machine's folder
#
# SHARED_PATH: a folder of this machine that the host sees under the same path; empty: none.
set -eu
stage=$1 machine=$2 bridge=$3 data_path=$4 shared_path=$5
shift 5

case $stage in
outer)
    # One runner per host, whoever starts a second one: two mounts of one disk would destroy it.
    exec 9> running
    flock --nonblock 9 || exit 75
    for group in "$@"; do echo $$ > "$group/cgroup.procs"; done
    echo $$ > pid
    exec unshare --mount --pid --fork --kill-child --mount-proc --propagation slave \
        "$0" inner "$machine" "$bridge" "$data_path" "$shared_path"
    ;;
inner)
    # systemd-nspawn leaves files in /run; here they go with this namespace.
    mount -t tmpfs -o mode=0755 tmpfs /run
    mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root
    mount -o loop data.img data
    # ':' parts source and target of a bind.
    source=$(printf '%s' "$PWD/data" | sed 's/:/\\:/g')
    [ -z "$shared_path" ] || set -- --bind="$(printf '%s' "$shared_path" | sed 's/:/\\:/g')"
    while :; do
        # One that was killed between making its wire and moving it in left it outside.
        ip link delete "vb-$machine" 2> /dev/null || :
        status=0
        systemd-nspawn --quiet --keep-unit --register=no --boot --console=pipe --directory=root --machine="$machine" \
            --network-bridge="$bridge" --bind="$source:$data_path" --resolv-conf=off --timezone=off --link-journal=no "$@" \
            9>&- || status=$?
        [ "$status" -eq 133 ] || exit "$status"
    done
    ;;
esac
