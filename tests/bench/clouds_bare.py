"""Four hosts on OpenStack by a plain script over OpenStack's own package: the other side of clouds_bench.py.

Makes what the stack makes, each thing after the other, the servers side by side; or removes it (`remove`). Runs by the
Python of Debian's OpenStack.
"""

from __future__ import annotations

import sys
from typing import Any

import openstack

LABEL = "bare"
HOSTS = range(1, 5)
OPERATOR = "203.0.113.7/32"
CLIENTS = "10.20.0.0/16"


def make(cloud: Any) -> None:
    image = cloud.image.find_image("debian-12")
    flavor = cloud.compute.find_flavor("m1.medium")
    outside = cloud.network.find_network("public")
    network = cloud.network.create_network(name=LABEL)
    subnet = cloud.network.create_subnet(
        name=LABEL,
        network_id=network.id,
        cidr="10.72.0.0/24",
        ip_version=4,
        allocation_pools=[{"start": "10.72.0.2", "end": "10.72.0.9"}],
    )
    router = cloud.network.create_router(name=LABEL, external_gateway_info={"network_id": outside.id})
    cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
    groups = [cloud.network.create_security_group(name=f"{LABEL}-{name}") for name in ("nodes", "kafka")]
    nodes, kafka = groups
    open_door(cloud, nodes, 22, remote_ip_prefix=OPERATOR)
    for port in (9091, 9092, 9093, 9094):
        open_door(cloud, nodes, port, remote_group_id=nodes.id)
    for port in (9092, 9094):
        open_door(cloud, kafka, port, remote_ip_prefix=CLIENTS)
    apart = cloud.compute.create_server_group(name=LABEL, policies=["soft-anti-affinity"])
    volumes = [cloud.block_storage.create_volume(name=f"{LABEL}-{number}", size=100) for number in HOSTS]
    for volume in volumes:
        cloud.block_storage.wait_for_status(volume, status="available", interval=1, wait=300)
    servers = []
    for number, volume in zip(HOSTS, volumes, strict=True):
        port = cloud.network.create_port(
            name=f"{LABEL}-{number}",
            network_id=network.id,
            fixed_ips=[{"subnet_id": subnet.id, "ip_address": f"10.72.0.1{number}"}],
            security_group_ids=[group.id for group in groups],
        )
        servers.append(server(cloud, f"{LABEL}-{number}", image, flavor, port, volume, apart))
    for made in servers:
        cloud.compute.wait_for_server(made, interval=1, wait=300)


def open_door(cloud: Any, group: Any, port: int, **who: str) -> None:
    cloud.network.create_security_group_rule(
        security_group_id=group.id,
        direction="ingress",
        ethertype="IPv4",
        protocol="tcp",
        port_range_min=port,
        port_range_max=port,
        **who,
    )


def server(cloud: Any, name: str, image: Any, flavor: Any, port: Any, volume: Any, apart: Any) -> Any:
    disks = [
        {"uuid": image.id, "source_type": "image", "destination_type": "local", "boot_index": 0},
        {"uuid": volume.id, "source_type": "volume", "destination_type": "volume", "boot_index": -1},
    ]
    return cloud.compute.create_server(
        name=name,
        image_id=image.id,
        flavor_id=flavor.id,
        networks=[{"port": port.id}],
        block_device_mapping=disks,
        scheduler_hints={"group": apart.id},
        user_data="",
    )


def remove(cloud: Any) -> None:
    for number in HOSTS:
        cloud.delete_server(f"{LABEL}-{number}", wait=True)
    for number in HOSTS:
        cloud.delete_port(f"{LABEL}-{number}")
        cloud.delete_volume(f"{LABEL}-{number}")
    cloud.compute.delete_server_group(cloud.compute.find_server_group(LABEL))
    subnet = cloud.network.find_subnet(LABEL)
    cloud.network.remove_interface_from_router(cloud.network.find_router(LABEL), subnet_id=subnet.id)
    cloud.delete_router(LABEL)
    cloud.delete_network(LABEL)
    for name in ("kafka", "nodes"):
        cloud.delete_security_group(f"{LABEL}-{name}")


if __name__ == "__main__":
    {"make": make, "remove": remove}[sys.argv[1]](openstack.connect(cloud="test"))
