"""Real systemd hosts on this machine: each boots a Debian of its own under systemd-nspawn.

- `image/` makes the base image once; `disk.py`, `seed.py` give a host its own disk, name, keys;
- `machine.py` starts, watches and ends a host's processes; `cgroup.py` knows which they are and limits their memory;
- `registry.py` records on this machine what was made, so that leftovers are known by record, never by name;
- `host.py`, `network.py` are the two parts that Pulumi drives.
"""
