"""What a stack's description means, once it has been found right: plain values, nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass

SSH_USER = "ops"
SSH_PORT = 22
# Last number of the last address in a network of 256.
HIGHEST_ADDRESS = 254


@dataclass(frozen=True)
class HostPlan:
    name: str
    roles: tuple[str, ...]
    node_id: int | None
    """Unique per kind; None for roles that count no ids."""
    rack: str | None = None
    ssh_user: str = SSH_USER
    ssh_port: int = SSH_PORT

    # Hosts that are made.
    address_index: int = 0
    """Last number of the address within the stack's network."""
    memory_bytes: int = 0
    disk_bytes: int = 0
    data_path: str = ""
    """Where the host sees its data disk."""

    # Hosts that exist.
    address: str = ""
    host_key: str = ""
    ssh_key_file: str | None = None


@dataclass(frozen=True)
class StackPlan:
    name: str
    provider: str
    network: str
    """`auto`, a network like 198.18.7.0/24, or empty for hosts that exist."""
    hosts: tuple[HostPlan, ...]
