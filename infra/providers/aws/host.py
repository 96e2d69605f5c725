"""One machine on AWS: a data volume, an interface with a fixed address, an instance on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
import pulumi_aws as aws

from infra.providers.cloud import data_options, machine_options, options

if TYPE_CHECKING:
    from infra.providers.aws.lookups import FoundCloud
    from infra.providers.aws.network import Network
    from infra.providers.cloud import MachineProps

SOUND = "running"
VOLUME_TYPE = "gp3"
# A word that EC2 asks for; machines of today's types name their disks themselves.
DEVICE = "/dev/sdf"


class Machine(pulumi.ComponentResource):
    ident: pulumi.Output[str]
    status: pulumi.Output[str]
    address: pulumi.Output[str]

    def __init__(
        self, props: MachineProps, found: FoundCloud, network: Network, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        host, cloud = props.host, props.cloud
        super().__init__("kastellan:aws:Machine", host.name, None, opts)
        place = found.place_of(host)
        tags = {**props.marks, "Name": props.name}
        volume = aws.ebs.Volume(
            host.name,
            availability_zone=place.zone,
            size=props.disk_gib,
            type=cloud.volume_type or VOLUME_TYPE,
            encrypted=True,
            tags=tags,
            opts=data_options(self, cloud),
        )
        # With its address taken, a second machine of the same name cannot come into being, whatever was killed when.
        port = aws.ec2.NetworkInterface(
            host.name,
            subnet_id=network.subnet_of(place),
            private_ips=[props.address],
            security_groups=network.security_groups_of(host),
            tags=tags,
            opts=options(self, delete_before_replace=True),
        )
        instance = aws.ec2.Instance(
            host.name,
            ami=found.image_id,
            instance_type=host.flavor,
            primary_network_interface={"network_interface_id": port.id},
            placement_group=network.placement_group,
            root_block_device={"encrypted": True, "volume_type": VOLUME_TYPE, "tags": tags},
            metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
            user_data=props.user_data(volume.id.apply(_disk_rule)),
            tags=tags,
            opts=machine_options(self, "ami", "userData"),
        )
        attached = aws.ec2.VolumeAttachment(
            host.name,
            device_name=DEVICE,
            instance_id=instance.id,
            volume_id=volume.id,
            stop_instance_before_detaching=True,
            opts=options(self, delete_before_replace=True),
        )
        seen = aws.ec2.get_instance_output(instance_id=instance.id, opts=pulumi.InvokeOutputOptions(parent=self))
        # Whoever waits for the machine waits for its disk too.
        self.ident = pulumi.Output.all(instance.id, attached.id).apply(lambda ids: str(ids[0]))
        self.status, self.address = seen.instance_state, seen.private_ip
        self.register_outputs({})


def _disk_rule(volume_id: str) -> str:
    """The serial number of an NVMe disk is the volume's id without its dash."""
    return f'ENV{{ID_SERIAL}}=="*{volume_id.replace("-", "")}*"'
