"""One machine on OpenStack: a data volume, a port with a fixed address, a server on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
import pulumi_openstack as openstack

from infra.providers.cloud import data_options, machine_options, options

if TYPE_CHECKING:
    from infra.providers.cloud import MachineProps
    from infra.providers.openstack.lookups import FoundCloud
    from infra.providers.openstack.network import Network

SOUND = "active"
# A guest sees that much of a volume's id as the serial number of a virtio disk.
SERIAL_LETTERS = 20


class Machine(pulumi.ComponentResource):
    ident: pulumi.Output[str]
    status: pulumi.Output[str]
    address: pulumi.Output[str]

    def __init__(
        self, props: MachineProps, found: FoundCloud, network: Network, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        host, cloud = props.host, props.cloud
        super().__init__("kastellan:openstack:Machine", host.name, None, opts)
        zone = cloud.zones.get(host.rack or "")
        volume = openstack.blockstorage.Volume(
            host.name,
            name=props.name,
            size=props.disk_gib,
            volume_type=cloud.volume_type or None,
            enable_online_resize=True,
            metadata=props.marks,
            opts=data_options(self, cloud),
        )
        # With its address taken, a second server of the same name cannot come into being, whatever was killed when.
        port = openstack.networking.Port(
            host.name,
            name=props.name,
            network_id=network.network_id,
            fixed_ips=[{"subnet_id": network.subnet_id, "ip_address": props.address}],
            security_group_ids=network.security_groups_of(host),
            tags=[cloud.label, props.name],
            opts=options(self, delete_before_replace=True),
        )
        disk_rule = volume.id.apply(lambda ident: f'ENV{{ID_SERIAL}}=="*{ident[:SERIAL_LETTERS]}*"')
        server = openstack.compute.Instance(
            host.name,
            name=props.name,
            flavor_id=found.flavor_ids[host.flavor],
            image_id=found.image_id,
            availability_zone=zone,
            networks=[{"port": port.id}],
            block_devices=_disks(found.image_id, volume.id),
            scheduler_hints=[{"group": network.server_group_id}] if network.server_group_id else None,
            metadata=props.marks,
            user_data=props.user_data(disk_rule),
            opts=machine_options(self, "imageId", "userData", "blockDevices[0].uuid"),
        )
        seen = openstack.compute.get_instance_v2_output(id=server.id, opts=pulumi.InvokeOutputOptions(parent=self))
        self.ident, self.status, self.address = server.id, seen.power_state, seen.access_ip_v4
        self.register_outputs({})


def _disks(image_id: str, volume_id: pulumi.Output[str]) -> list[dict[str, pulumi.Input[object]]]:
    """The first is the flavor's own disk; the second is there at the first boot and outlives the machine."""
    own: dict[str, pulumi.Input[object]] = {
        "uuid": image_id,
        "source_type": "image",
        "destination_type": "local",
        "boot_index": 0,
        "delete_on_termination": True,
    }
    data: dict[str, pulumi.Input[object]] = {
        "uuid": volume_id,
        "source_type": "volume",
        "destination_type": "volume",
        "boot_index": -1,
        "delete_on_termination": False,
    }
    return [own, data]
