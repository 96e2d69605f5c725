#!/bin/sh
# The floor for four hosts: the same image, disks, keys and boots by the fewest commands, all hosts side by side.
#   hosts_bare.sh up FOLDER IMAGE NETWORK-PREFIX   prints nothing; ends when all four greet on port 22
#   hosts_bare.sh down FOLDER
set -eu
verb=$1 folder=$2

one() { # NAME ADDRESS
    dir=$folder/$1
    mkdir -p "$dir/upper/etc/ssh" "$dir/upper/etc/systemd/network" "$dir/upper/home/ops/.ssh" \
        "$dir/work" "$dir/root" "$dir/data"
    chmod 755 "$dir/upper"
    truncate -s 4G "$dir/data.img"
    mkfs.ext4 -q -F -m 0 "$dir/data.img"
    echo "$1" > "$dir/upper/etc/hostname"
    printf '127.0.0.1 localhost\n%s %s\n' "$2" "$1" > "$dir/upper/etc/hosts"
    printf '[Match]\nName=host0\n[Network]\nAddress=%s/24\nLinkLocalAddressing=no\n' "$2" \
        > "$dir/upper/etc/systemd/network/10-host0.network"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/upper/etc/ssh/ssh_host_ed25519_key"
    cp "$folder/key.pub" "$dir/upper/home/ops/.ssh/authorized_keys"
    chown -R 1000:1000 "$dir/upper/home/ops"
    # A namespace that dies with its process: the same safety, else the comparison would be of two different things.
    # shellcheck disable=SC2016 # the inner shell expands
    setsid unshare --mount --pid --fork --kill-child --mount-proc sh -c '
        mount -t tmpfs tmpfs /run
        mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$1/root"
        mount -o loop "$1/data.img" "$1/data"
        exec systemd-nspawn --quiet --keep-unit --register=no --boot --console=pipe --directory="$1/root" \
            --machine="$2" --network-bridge=kstbare --bind="$1/data:/var/lib/kafka" --resolv-conf=off \
            --timezone=off --link-journal=no' "$image" "$dir" "bare-$1" > "$dir/log" 2>&1 < /dev/null &
    echo $! > "$dir/pid"
    # Greeting and key in one look.
    tries=0
    until ssh-keyscan -T 1 -t ed25519 "$2" > "$dir/known" 2> /dev/null && [ -s "$dir/known" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || exit 1
        sleep 0.02
    done
}

case $verb in
up)
    image=$3 prefix=$4
    mkdir -p "$folder"
    ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
    ip link add kstbare type bridge
    ip address add "$prefix.1/24" dev kstbare
    ip link set kstbare up
    for number in 1 2 3 4; do
        one "b$number" "$prefix.1$number" &
        jobs="${jobs:-} $!"
    done
    for job in $jobs; do wait "$job"; done
    ;;
down)
    for pid in "$folder"/*/pid; do kill -KILL "$(cat "$pid")" || :; done
    ip link delete kstbare || :
    rm -rf "$folder"
    ;;
esac
