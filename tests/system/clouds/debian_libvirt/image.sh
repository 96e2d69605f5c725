#!/bin/sh
# image.sh: makes of the Debian in /tree a disk that a machine without UEFI boots from, /guest.qcow2. Runs in a root that
# has the tools. File systems are filled from outside, so nothing is mounted and no loop device is needed.
set -eu
# Mtools would refuse a size that fits no diskette's tracks.
export MTOOLS_SKIP_CHECK=1
# A system partition that syslinux reads, and the root: MiB each. The first MiB of the disk is the boot record's.
boot=200
root=3072
# No console on the screen: emulated, each line that is drawn there costs.
printf 'DEFAULT debian\nPROMPT 0\nLABEL debian\nLINUX /vmlinuz\nINITRD /initrd.img\nAPPEND %s\n' \
    'root=LABEL=root ro console=ttyS0,115200' > /syslinux.cfg
truncate --size "${boot}M" /boot.fat
mkfs.vfat -F 16 -h 2048 -n BOOT /boot.fat
for kernel in /tree/boot/vmlinuz-*; do mcopy -i /boot.fat "$kernel" ::vmlinuz; done
for initrd in /tree/boot/initrd.img-*; do mcopy -i /boot.fat "$initrd" ::initrd.img; done
mcopy -i /boot.fat /syslinux.cfg ::syslinux.cfg
syslinux --install /boot.fat

mke2fs -q -t ext4 -L root -d /tree /root.ext4 "${root}M"

truncate --size "$((1 + boot + root))M" /guest.raw
sfdisk --quiet /guest.raw <<PARTITIONS
label: dos
start=2048, size=$((boot * 2048)), type=e, bootable
start=$(((1 + boot) * 2048)), size=$((root * 2048)), type=83
PARTITIONS
dd if=/usr/lib/syslinux/mbr/mbr.bin of=/guest.raw bs=440 count=1 conv=notrunc status=none
dd if=/boot.fat of=/guest.raw bs=1M seek=1 conv=notrunc,sparse status=none
dd if=/root.ext4 of=/guest.raw bs=1M seek="$((1 + boot))" conv=notrunc,sparse status=none
qemu-img convert -O qcow2 /guest.raw /guest.qcow2
# An image without anything on it: what a machine without cloud-init looks like from outside.
qemu-img create -q -f qcow2 /blank.qcow2 64M
rm -rf /tree /boot.fat /root.ext4 /guest.raw /syslinux.cfg
