"""What a stack's description means, once it has been found right: plain values, nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    group: str = ""
    """Where the description has it."""
    address_index: int = 0
    """Last number of the address within the stack's network."""
    memory_bytes: int = 0
    disk_bytes: int = 0
    data_path: str = ""
    """Where the host sees its data disk."""
    flavor: str = ""
    """Kind of machine, where a cloud sells kinds."""
    cpus: int = 0
    """How many, where they are given one by one."""
    shared: bool = False
    """Whether it sees the stack's shared folder, under the path that it has on this machine."""

    # Hosts that exist.
    address: str = ""
    host_key: str = ""
    ssh_key_file: str | None = None


@dataclass(frozen=True)
class Opening:
    """Ports of the hosts with one of `roles`, and the networks they are open to."""

    ports: tuple[int, ...]
    sources: tuple[str, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True)
class CloudPlan:
    """What a cloud must be told. A field that one of them does not know is empty there."""

    image: str
    label: str
    """Begins the name of all that is made, and marks it."""
    keys: tuple[str, ...] = ()
    """Public keys that log in besides the stack's own."""
    tags: dict[str, str] = field(default_factory=dict)
    login_timeout_s: int = 0
    """How long a new machine may take until it lets us in; 0: it is not tried."""
    keep_data: bool = True
    network: str = ""
    """Range of the network; empty: the given subnets say it."""
    subnets: dict[str, str] = field(default_factory=dict)
    """Rack -> given subnet; one under the empty name is for all hosts."""
    volume_type: str = ""
    zones: dict[str, str] = field(default_factory=dict)
    """Rack -> availability zone."""
    spread: str = ""
    external_network: str = ""
    name_servers: tuple[str, ...] = ()
    image_owners: tuple[str, ...] = ()
    pool: str = ""
    domain_type: str = ""
    operator: tuple[str, ...] = ()
    """Networks that ssh is open to."""
    openings: tuple[Opening, ...] = ()
    node_ports: tuple[int, ...] = ()
    """Open between the hosts of the stack."""


@dataclass(frozen=True)
class StackPlan:
    name: str
    provider: str
    network: str
    """`auto`, a network like 198.18.7.0/24, or empty for hosts that exist."""
    hosts: tuple[HostPlan, ...]
    cloud: CloudPlan | None = None
