"""Machines of a libvirt: QEMU guests on this machine or another, through Pulumi's own provider."""
