"""Debian's libvirt and QEMU in a root of their own, and a Debian image for their guests."""
