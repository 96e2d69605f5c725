"""What the machines of a stack on libvirt share: a network, a pool, the image."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pulumi
import pulumi_libvirt as libvirt

from infra.providers.cloud import options

if TYPE_CHECKING:
    from infra.plan import CloudPlan, StackPlan
    from infra.providers.libvirt.lookups import FoundCloud

POOLS = "/var/lib/libvirt/images"


class Network(pulumi.ComponentResource):
    network_name: pulumi.Input[str]
    gateway: str
    pool: pulumi.Input[str]
    image_id: pulumi.Output[str]

    def __init__(
        self, plan: StackPlan, cloud: CloudPlan, found: FoundCloud, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("kastellan:libvirt:Network", "network", None, opts)
        self.gateway = str(ipaddress.IPv4Network(found.range)[1])
        if found.network_name:
            self.network_name = found.network_name
        else:
            # Addresses are in the machines' own settings: nothing is dealt out, so nothing changes.
            network = libvirt.Network(
                "network",
                name=cloud.label,
                mode="nat",
                addresses=[found.range],
                dhcp={"enabled": False},
                dns={"enabled": bool(cloud.name_servers)},
                autostart=True,
                opts=options(self, bounded=()),
            )
            self.network_name = network.name
        if cloud.pool:
            self.pool = cloud.pool
        else:
            target = {"path": f"{POOLS}/{cloud.label}"}
            self.pool = libvirt.Pool(
                "pool", name=cloud.label, type="dir", target=target, opts=options(self, bounded=())
            ).name
        image = libvirt.Volume(
            "image",
            name=f"{cloud.label}-image",
            pool=self.pool,
            source=cloud.image,
            format="qcow2",
            # The machines' disks lie over it: another image is for machines made from then on, in a stack of its own.
            opts=options(self, bounded=(), ignore_changes=["source"]),
        )
        self.image_id = image.id
        self.register_outputs({})
