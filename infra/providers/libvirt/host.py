"""One machine on libvirt: a disk over the image, a data disk, the first-boot settings, a domain of them."""

from __future__ import annotations

import hashlib
import ipaddress
import json
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_libvirt as libvirt

from infra.providers.cloud import data_options, machine_options, options
from infra.providers.libvirt.preflight import ROOT_BYTES

if TYPE_CHECKING:
    from infra.providers.cloud import MachineProps
    from infra.providers.libvirt.lookups import FoundCloud
    from infra.providers.libvirt.network import Network

SOUND = "running"
# The second disk that is named in a domain.
DISK_RULE = 'KERNEL=="vdb"'
# Locally administered addresses, as QEMU's own begin.
MAC_PREFIX = "52:54:00"


class Machine(pulumi.ComponentResource):
    ident: pulumi.Output[str]
    status: pulumi.Output[str]
    address: pulumi.Output[str]

    def __init__(
        self, props: MachineProps, found: FoundCloud, network: Network, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        host, cloud = props.host, props.cloud
        super().__init__("kastellan:libvirt:Machine", host.name, None, opts)
        root = libvirt.Volume(
            f"{host.name}-root",
            name=f"{props.name}-root",
            pool=network.pool,
            base_volume_id=network.image_id,
            size=ROOT_BYTES,
            opts=options(self, bounded=(), delete_before_replace=True),
        )
        data = libvirt.Volume(
            f"{host.name}-data",
            name=f"{props.name}-data",
            pool=network.pool,
            size=host.disk_bytes,
            opts=data_options(self, cloud, bounded=()),
        )
        mac = mac_of(props.name)
        settings = libvirt.CloudInitDisk(
            host.name,
            name=f"{props.name}-settings.iso",
            pool=network.pool,
            user_data=props.user_data(DISK_RULE),
            meta_data=json.dumps({"instance-id": props.name, "local-hostname": host.name}),
            network_config=json.dumps(network_config(props, found.range, network.gateway, mac)),
            opts=machine_options(self, "userData", "networkConfig", bounded=()),
        )
        domain = libvirt.Domain(
            host.name,
            name=props.name,
            type=cloud.domain_type,
            memory=host.memory_bytes // 2**20,
            vcpu=host.cpus,
            cpu={"mode": "host-passthrough"} if cloud.domain_type == "kvm" else None,
            cloudinit=settings.id,
            disks=[{"volume_id": root.id}, {"volume_id": data.id}],
            network_interfaces=[{"network_name": network.network_name, "mac": mac}],
            consoles=[{"type": "pty", "target_port": "0", "target_type": "serial"}],
            autostart=True,
            running=True,
            opts=machine_options(self, bounded=("create",)),
        )
        self.ident = domain.id
        # libvirt cannot be asked by Pulumi how a domain does; whether it lets us in says more (infra/arrival.py).
        self.status = domain.running.apply(lambda running: SOUND if running else "stopped")
        self.address = domain.id.apply(lambda _: props.address)
        self.register_outputs({})


def mac_of(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return ":".join((MAC_PREFIX, digest[0:2], digest[2:4], digest[4:6]))


def network_config(props: MachineProps, network: str, gateway: str, mac: str) -> dict[str, Any]:
    """For cloud-init, version 2."""
    prefix = ipaddress.IPv4Network(network).prefixlen
    card: dict[str, Any] = {
        "match": {"macaddress": mac},
        "addresses": [f"{props.address}/{prefix}"],
        # Every renderer of cloud-init knows these words; `default` some learned late.
        "routes": [{"to": "0.0.0.0/0", "via": gateway}],
    }
    if props.cloud.name_servers:
        card["nameservers"] = {"addresses": list(props.cloud.name_servers)}
    return {"version": 2, "ethernets": {"host0": card}}
