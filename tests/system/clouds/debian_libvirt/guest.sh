#!/bin/sh
# guest.sh ROOT: makes of a fresh Debian what its own cloud images are, as far as it matters: it looks for its settings
# on a disk, has its network from them, and has never booted.
set -eu
root=$1
echo 'LABEL=root / ext4 defaults 0 1' > "$root/etc/fstab"
echo 'datasource_list: [NoCloud, None]' > "$root/etc/cloud/cloud.cfg.d/95_guest.cfg"
# Debian's images have it, too; without, cloud-init wants one that was never made.
echo 'LANG=C.UTF-8' > "$root/etc/default/locale"
chroot "$root" systemctl --quiet enable systemd-networkd.service ssh.service
# Emulated, each of these costs seconds, and there is no way out.
chroot "$root" systemctl --quiet mask \
    systemd-networkd-wait-online.service systemd-timesyncd.service \
    apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer dpkg-db-backup.timer
rm -f "$root"/etc/ssh/ssh_host_*_key "$root"/etc/ssh/ssh_host_*_key.pub "$root/etc/hostname"
: > "$root/etc/machine-id"
: > "$root/etc/resolv.conf"
