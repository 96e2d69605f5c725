#!/bin/sh
# Runs inside mmdebstrap with the new root as $1: makes of a bare Debian a host that is logged into by key only.
set -eu
root=$1

# The login user. '*' is no password that could match, and unlike '!' it does not lock the key's login.
chroot "$root" useradd --create-home --shell /bin/bash --uid 1000 ops
chroot "$root" usermod --password '*' ops
chroot "$root" usermod --password '*' root
echo 'ops ALL=(ALL) NOPASSWD: ALL' > "$root/etc/sudoers.d/ops"
chmod 0440 "$root/etc/sudoers.d/ops"

cat > "$root/etc/ssh/sshd_config.d/kastellan.conf" <<'CONF'
PermitRootLogin no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers ops
X11Forwarding no
# No name server is reachable; a look-up would only cost its time-out.
UseDNS no
CONF
# Every host gets a key of its own when it is made.
rm -f "$root"/etc/ssh/ssh_host_*_key "$root"/etc/ssh/ssh_host_*_key.pub
cat > "$root/etc/ssh/sshd_config.d/hostkey.conf" <<'CONF'
HostKey /etc/ssh/ssh_host_ed25519_key
CONF

chroot "$root" systemctl --quiet enable systemd-networkd.service ssh.service
# Nothing to wait for: the address is fixed. Nothing to fetch: hosts have no way out.
chroot "$root" systemctl --quiet mask \
    systemd-networkd-wait-online.service systemd-resolved.service systemd-timesyncd.service \
    apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer dpkg-db-backup.timer \
    console-getty.service getty.target

mkdir -p "$root/var/log/journal"
: > "$root/etc/resolv.conf"
: > "$root/etc/machine-id"
rm -f "$root/etc/hostname"
