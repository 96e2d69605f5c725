"""Descriptions of stacks on clouds that cannot be meant are refused, naming the field and a good value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from infra.description import CLOUDS, DescriptionError, load_plan, provider_of
from infra.doors import Door, doors
from infra.plan import Opening
from infra.state import ROOT
from tests.unit.infra.clouds import OPERATOR
from tests.unit.infra.test_aws import described as on_aws
from tests.unit.infra.test_description import KEY, made
from tests.unit.infra.test_libvirt import described as on_libvirt
from tests.unit.infra.test_openstack import described

if TYPE_CHECKING:
    from pathlib import Path


def plan_of(tmp_path: Path, description: Any, **overrides: Any) -> Any:
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(description))
    return load_plan("mine", folder=tmp_path, overrides=overrides)


@pytest.mark.parametrize("stack", CLOUDS)
def test_the_stacks_that_come_along_need_the_operator_alone(stack: str) -> None:
    firewall = {} if stack == "libvirt" else {"firewall": {"operator": [OPERATOR]}}
    plan = load_plan(stack, folder=ROOT / "infra/stacks", overrides={"groups": {"extra": {"count": 1}}, **firewall})
    assert [host.name for host in plan.hosts] == [f"broker-{number}" for number in range(1, 6)]
    assert plan.provider == provider_of(ROOT / "infra/stacks" / f"{stack}.yaml") == stack
    assert plan.cloud is not None
    assert (plan.cloud.keep_data, plan.cloud.label) == (True, f"kastellan-{stack}")
    if stack != "libvirt":
        with pytest.raises(DescriptionError, match=r"firewall\.operator is empty: nobody could log in"):
            load_plan(stack, folder=ROOT / "infra/stacks", overrides={})


def test_overrides_win_field_by_field(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, described(), cloud={"image": "debian-13"}, firewall={"operator": ["192.0.2.1/32"]})
    assert (plan.cloud.image, plan.cloud.external_network) == ("debian-13", "public")
    assert plan.cloud.operator == ("192.0.2.1/32",)
    assert len(plan.cloud.openings) == 1


BAD: list[tuple[dict[str, Any], str]] = [
    (described(cloud__image=None), "cloud.image is None: name it, e.g. debian-12"),
    (described(cloud__imgae="x"), "cloud.imgae is unknown: did you mean 'image'?"),
    (described(cloud__pool="x"), "cloud.pool is unknown"),
    (described(cloud__label="Team A"), "cloud.label is 'Team A': use small letters"),
    (described(cloud__label="x" * 55), "has 64 letters, a cloud takes 63: set a shorter cloud.label or prefix"),
    (described(cloud__tags={"kastellan": "x"}), "cloud.tags.kastellan is a tag that is set already"),
    (on_aws(cloud__tags={"aws:team": "x"}), "cloud.tags.aws:team is a tag that is set already"),
    (on_aws(cloud__tags={"Name": "x"}), "cloud.tags.Name is a tag that is set already"),
    (described(cloud__tags={"team": "x" * 256}), "cloud.tags.team is too long for a cloud: a name has 1 to 127 letters, a value at most 255"),
    (described(cloud__tags={"x" * 128: "y"}), "is too long for a cloud"),
    (described(cloud__tags={f"t{n}": "x" for n in range(41)}), "cloud.tags has 41 tags: clouds take no more than 40"),
    (described(cloud__keys=[KEY[:-8]]), "cloud.keys[0] is no public key"),
    (described(cloud__keys=[f"{KEY}\n{KEY}"]), "cloud.keys[0] is no public key"),
    (described(cloud__keys=["ssh-ed25519"]), "cloud.keys[0] is no public key"),
    (described(cloud__keys=["ssh-rsa " + KEY.split()[1]]), "cloud.keys[0] is no public key"),
    (described(cloud__keys=["-----BEGIN OPENSSH PRIVATE KEY-----"]), "cloud.keys[0] is no public key: copy the line of a file like ~/.ssh/id_ed25519.pub"),
    (described(cloud__keys=KEY), "cloud.keys is"),
    (described(cloud__zones={"a": "zone-1"}), "cloud.zones has no rack 'b' of broker-2: known: a."),
    (described(cloud__spread="wide"), "cloud.spread is 'wide': known: none, soft, strict."),
    (described(cloud__name_servers=["ns.example"]), "cloud.name_servers has 'ns.example': it must be an IP address"),
    (described(cloud__login_timeout_s=-1), "cloud.login_timeout_s is -1: it must be a whole number, e.g. 600"),
    (described(cloud=[]), "cloud is []: it must have fields"),
    (described(keep_data="yes"), "keep_data is 'yes': write true or false"),
    (described(network="10.71.0.0/8"), "network is '10.71.0.0/8': write a range like 10.71.0.0/24"),
    (described(network="10.0.0.0/8"), "network is 10.0.0.0/8: it must be a /16 to /24, e.g. 10.71.0.0/24"),
    (described(network="8.8.8.0/24"), "network is 8.8.8.0/24: it must be private"),
    (described(network="169.254.0.0/16"), "it must be private"),
    (described(network={}), "network has no subnet: write a range"),
    (described(network={"subnets": {"a": "x"}}), "network.subnets is unknown: did you mean 'subnet'?"),
    (described(firewall={}), "firewall.operator is empty: nobody could log in"),
    (described(firewall__operator=["0.0.0.0/0"]), "firewall.operator has 0.0.0.0/0: ssh is not opened to everybody"),
    (described(firewall__operator=["::/0"]), "ssh is not opened to everybody"),
    (described(firewall__operator=["10.0.0.1/8"]), "firewall.operator has '10.0.0.1/8': 10.0.0.1/8 has host bits set"),
    (described(firewall__operator="10.0.0.1/32"), "firewall.operator must be a list of networks"),
    (described(firewall__listeners=[{"ports": [9092]}]), "firewall.listeners[0].sources is empty: name who may connect"),
    (described(firewall__listeners=[{"sources": [OPERATOR]}]), "firewall.listeners[0].ports must be a list of ports, e.g. [9092]"),
    (described(firewall__listeners=[{"ports": [0], "sources": [OPERATOR]}]), "firewall.listeners[0].ports has 0: it must be a port"),
    (described(firewall__listeners=[{"ports": [9092], "sources": [OPERATOR], "roles": ["kafka"]}]), "firewall.listeners[0].roles has 'kafka'"),
    (described(firewall__nodes=[]), "firewall.nodes must be a list of ports"),
    (described(groups__broker__flavor=None), "groups.broker.flavor is None: name a kind of machine"),
    (described(groups__broker__cpus=2), "groups.broker.cpus is unknown"),
    (described(groups__broker__disk="1500MiB"), "the disk of broker-1 is no whole number of GiB: clouds give no others, e.g. 100GiB"),
    (described(groups__broker__address=9), "broker-1 has address .9: below .10 are the cloud's own devices, write address: 11"),
    (described(groups__broker__data_path="/var/lib/my data"), "data_path '/var/lib/my data' of broker-1: use letters"),
    (described(groups__broker__data_path="/var/lib/$(id)"), "data_path '/var/lib/$(id)' of broker-1: use letters"),
    (on_aws(network="10.71.0.0/24"), "network 10.71.0.0/24 has no room for 2 zones: each takes a /24, e.g. 10.71.0.0/16"),
    (on_aws(network={"subnets": {"a": "x"}}), "network.subnets and cloud.zones contradict each other"),
    (on_aws(network={"subnets": {"a": "x"}}, cloud__zones={}), "network.subnets has no rack 'b' of broker-2"),
    (on_libvirt(firewall={"operator": [OPERATOR]}), "provider libvirt takes no firewall: it has no security groups"),
    (on_libvirt(cloud__domain_type="xen"), "cloud.domain_type is 'xen': known: kvm, qemu."),
    (on_libvirt(network={"name": "default"}), "network is None: write a range"),
    (on_libvirt(groups__broker__cpus=0), "groups.broker.cpus is 0: it must be at least 1"),
    ({**made(), "cloud": {}}, "provider nspawn takes no cloud: that is for openstack, aws, libvirt"),
    ({**made(), "keep_data": True}, "provider nspawn takes no keep_data"),
    (made(flavor="m1"), "groups.broker.flavor is unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("description", "said"), BAD, ids=[case[1][:50] for case in BAD])
def test_bad_descriptions(tmp_path: Path, description: dict[str, Any], said: str) -> None:
    with pytest.raises(DescriptionError) as refusal:
        plan_of(tmp_path, description)
    assert said in refusal.value.brief
    assert "PRIVATE" not in str(refusal.value)
    assert "docs/reference/stacks.md" in refusal.value.resolution


def test_doors_are_the_declared_ones_by_role(tmp_path: Path) -> None:
    description = described(
        firewall={
            "operator": [OPERATOR],
            "nodes": [9091],
            "listeners": [
                {"ports": [9092], "sources": ["10.0.0.0/8"], "roles": ["kafka_broker", "zookeeper"]},
                {"ports": [9092, 9094], "sources": ["10.0.0.0/8", "2001:db8::/32"]},
            ],
        }
    )
    plan = plan_of(tmp_path, description)
    assert plan.cloud.openings[0] == Opening((9092,), ("10.0.0.0/8",), ("kafka_broker", "zookeeper"))
    both = [Door(port, source) for port in (9092, 9094) for source in ("10.0.0.0/8", "2001:db8::/32")]
    assert doors(plan, plan.cloud) == {"kafka-broker": both, "nodes": [Door(22, OPERATOR), Door(9091, "")]}


def test_ports_of_zookeepers_are_open_between_hosts_where_there_are_any(tmp_path: Path) -> None:
    assert plan_of(tmp_path, described()).cloud.node_ports == (9091, 9092, 9093, 9094)
    made = described()
    made["groups"]["keeper"] = {
        **made["groups"]["broker"],
        "prefix": "zookeeper",
        "address": 31,
        "roles": ["zookeeper"],
    }
    assert plan_of(tmp_path, made).cloud.node_ports == (2182, 2888, 3888, 9091, 9092, 9093, 9094)
