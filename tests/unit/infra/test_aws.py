"""What is declared on AWS, and what is refused before anything is; Pulumi's mocks stand for the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from common.errors import KastellanError
from infra.known import Known
from tests.unit.infra.clouds import OPERATOR, MockCloud, first_boot, run_program, state_of

if TYPE_CHECKING:
    from pathlib import Path

ZONES = ["eu-1a", "eu-1b"]


def described(**changes: Any) -> dict[str, Any]:
    group = {
        "prefix": "broker", "count": 2, "address": 11, "roles": ["kafka_broker", "kafka_controller"], "racks": ["a", "b"],
        "flavor": "m6i.large", "memory": "4GiB", "disk": "100GiB",
    }  # fmt: skip
    whole: dict[str, Any] = {
        "provider": "aws",
        "network": "10.71.0.0/16",
        "cloud": {"image": "debian-12-*", "zones": {"a": "eu-1b", "b": "eu-1a"}},
        "firewall": {
            "operator": [OPERATOR, "2001:db8::/64"],
            "listeners": [{"ports": [9092], "sources": ["10.20.0.0/16"]}],
        },
        "groups": {"broker": group},
    }
    for path, value in changes.items():
        place = whole
        *way, last = path.split("__")
        for step in way:
            place = place[step]
        place[last] = value
    return whole


def cloud(**answers: Any) -> MockCloud:
    """An account where all is well, but for `answers`."""
    well = {
        "getCallerIdentity": {"accountId": "1"},
        "getAvailabilityZones": {"names": ZONES},
        "getAmi": {"id": "ami-3", "architecture": "x86_64"},
        "getInstanceType": {"memorySize": 8192, "supportedArchitectures": ["x86_64"], "defaultVcpus": 2},
        "getServiceQuota": {"value": 64.0},
        "getInstanceTypeOfferings": {"locations": ZONES},
        "getInstances": {"ids": []},
        "getNetworkInterfaces": {"ids": []},
        "getEbsVolumes": {"ids": []},
        "getSubnet": lambda asked: {"id": asked["id"], "vpcId": "vpc-1", "availabilityZone": "eu-1a", "cidrBlock": "192.0.2.0/24"},
        "getInstance": lambda asked: {"instanceState": "running", "privateIp": address_of(asked["instanceId"])},
    }  # fmt: skip
    return MockCloud({**well, **answers})


def address_of(machine: str) -> str:
    number = int(machine.split("-")[2])
    return f"10.71.{(number - 1) % 2}.1{number}"


def test_each_zone_has_its_subnet_and_a_host_its_address_there(tmp_path: Path) -> None:
    seen = cloud()
    outputs = run_program(seen, described(), tmp_path)
    assert [(host["name"], host["address"], host["rack"]) for host in outputs["hosts"]] == [
        ("broker-1", "10.71.0.11", "a"),
        ("broker-2", "10.71.1.12", "b"),
    ]
    assert {(seen.made[f"Subnet {zone}"]["cidrBlock"], zone) for zone in ZONES} == {
        ("10.71.0.0/24", "eu-1b"),  # named first
        ("10.71.1.0/24", "eu-1a"),
    }
    port = seen.made["NetworkInterface broker-2"]
    assert (port["privateIps"], port["subnetId"]) == (["10.71.1.12"], "Subnet-eu-1a-0123456789abcdef")
    assert [seen.made[f"Volume broker-{n}"]["availabilityZone"] for n in (1, 2)] == ["eu-1b", "eu-1a"]


def test_a_machine_stands_on_its_interface_and_gets_its_volume(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(), tmp_path)
    machine = seen.made["Instance broker-1"]
    assert machine["primaryNetworkInterface"] == {"networkInterfaceId": "NetworkInterface-broker-1-0123456789abcdef"}
    assert machine["metadataOptions"] == {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    assert machine["tags"] == {
        "kastellan": "kastellan-cloud",
        "kastellan-host": "broker-1",
        "Name": "kastellan-cloud-broker-1",
    }
    volume = seen.made["Volume broker-1"]
    assert (volume["size"], volume["encrypted"], volume["type"]) == (100, True, "gp3")
    attached = seen.made["VolumeAttachment broker-1"]
    assert attached["instanceId"] == "Instance-broker-1-0123456789abcdef"
    assert attached["volumeId"] == "Volume-broker-1-0123456789abcdef"
    rules = next(file["content"] for file in first_boot(machine["userData"])["write_files"] if "udev" in file["path"])
    assert 'ENV{ID_SERIAL}=="*Volumebroker10123456789abcdef*"' in rules


def test_exactly_the_declared_doors_are_open(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(), tmp_path)
    rules = [made for name, made in seen.made.items() if name.startswith("SecurityGroupIngressRule")]
    assert sorted(
        (rule["securityGroupId"].split("-")[1], rule["ipProtocol"], rule["fromPort"], rule["toPort"],
         rule.get("cidrIpv4") or rule.get("cidrIpv6") or f"members of {rule['referencedSecurityGroupId'].split('-')[1]}")
        for rule in rules
    ) == [
        ("kafka", "tcp", 9092, 9092, "10.20.0.0/16"),
        ("nodes", "tcp", 22, 22, "2001:db8::/64"),
        ("nodes", "tcp", 22, 22, OPERATOR),
        *(("nodes", "tcp", port, port, "members of nodes") for port in (9091, 9092, 9093, 9094)),
    ]  # fmt: skip
    groups = [made for name, made in seen.made.items() if name.startswith("SecurityGroup ")]
    assert not any("ingress" in group for group in groups)


def test_given_subnets_are_used_and_none_made(tmp_path: Path) -> None:
    seen = cloud(
        getInstance=lambda asked: {
            "instanceState": "running",
            "privateIp": f"192.0.2.1{asked['instanceId'].split('-')[2]}",
        }
    )
    outputs = run_program(seen, described(network={"subnet": "subnet-7"}, cloud__zones={}), tmp_path)
    assert [host["address"] for host in outputs["hosts"]] == ["192.0.2.11", "192.0.2.12"]
    assert seen.made["NetworkInterface broker-1"]["subnetId"] == "subnet-7"
    assert seen.made["SecurityGroup nodes"]["vpcId"] == "vpc-1"
    assert not [name for name in seen.made if name.startswith(("Vpc", "Subnet"))]


def test_a_machine_that_does_not_run_is_never_success(tmp_path: Path) -> None:
    seen = cloud(getInstance={"instanceState": "terminated", "privateIp": ""})
    with pytest.raises(pulumi.RunError, match="broker-1 is not well: the cloud says terminated, with no address"):
        run_program(seen, described(groups__broker__count=1), tmp_path)


VPCS = {"subnet-1": "vpc-1", "subnet-2": "vpc-2"}
REFUSALS: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"getCallerIdentity": "no valid credential sources found"}, "The cloud does not let us in.", "AWS_PROFILE"),
    ({}, {"getCallerIdentity": "invalid AWS Region: eu-99"}, "The region, or the address", "AWS_REGION"),
    ({}, {"getAmi": "Your query returned no results"}, "cloud.image: the cloud has no 'debian-12-*'", "Name one"),
    ({}, {"getAmi": {"id": "a", "architecture": "arm64"}}, "cloud.image: architecture: the cloud has no 'arm64'", "x86_64"),
    ({}, {"getInstanceType": "no matching EC2 Instance Type found"}, "groups.broker.flavor: the cloud has no 'm6i.large'", "Name"),
    ({}, {"getInstanceTypeOfferings": {"locations": ["eu-1a"]}}, "flavor m6i.large: zone: the cloud has no 'eu-1b'", "eu-1a"),
    ({"cloud__zones": {"a": "eu-1c", "b": "eu-1a"}}, {}, "cloud.zones.a: the cloud has no 'eu-1c'", "Did you mean"),
    ({"groups__broker__memory": "16GiB"}, {}, "Flavor m6i.large is too small for broker-1", "larger flavor"),
    ({"groups__broker__count": 17, "cloud__spread": "strict"}, {}, "9 hosts in zone eu-1b cannot be kept apart.", "spread: soft"),
    ({}, {"getServiceQuota": {"value": 3.0}}, "the stack needs 4 vCPUs of standard machines, 3 are allowed", "larger quota"),
    ({"network": {"subnets": {"a": "subnet-1", "b": "subnet-2"}}, "cloud__zones": {}},
     {"getSubnet": lambda asked: {"id": asked["id"], "vpcId": VPCS[asked["id"]], "availabilityZone": "eu-1a", "cidrBlock": "192.0.2.0/24"}},
     "The given subnets lie in several networks.", "one VPC"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "answers", "said", "remedy"), REFUSALS, ids=[case[2][:40] for case in REFUSALS])
def test_refused_before_anything_is_made(
    tmp_path: Path, changes: dict[str, Any], answers: dict[str, Any], said: str, remedy: str
) -> None:
    seen = cloud(**answers)
    with pytest.raises(KastellanError) as refusal:
        run_program(seen, described(**changes), tmp_path)
    assert said in refusal.value.brief
    assert remedy in f"{refusal.value.details} {refusal.value.resolution}"
    assert refusal.value.details
    assert seen.made == {}


def test_what_a_killed_call_left_is_named_and_not_made_twice(tmp_path: Path) -> None:
    seen = cloud(getInstances={"ids": ["i-ours", "i-stray"]}, getEbsVolumes={"ids": ["vol-stray"]})
    with pytest.raises(KastellanError) as refusal:
        run_program(seen, described(), tmp_path, known=state_of(**{"i-ours": {}}))
    assert refusal.value.details.splitlines() == ["machine i-stray", "volume vol-stray"]
    assert "aws ec2 terminate-instances --instance-ids i-stray" in refusal.value.resolution
    assert seen.made == {}
    filters = {entry["name"]: entry["values"] for entry in dict(seen.asked)["getEbsVolumes"]["filters"]}
    # Kept volumes of hosts that are asked for no longer are nobody's strays.
    assert filters == {"tag:kastellan": ["kastellan-cloud"], "tag:kastellan-host": ["broker-1", "broker-2"]}


def test_a_network_that_this_machine_is_part_of_is_refused(tmp_path: Path) -> None:
    own = [{"dst": "10.71.3.0/24", "dev": "eth1", "protocol": "kernel"}]
    seen = cloud()
    with pytest.raises(KastellanError, match=r"The network 10\.71\.0\.0/16 is in use on this machine, by eth1"):
        run_program(seen, described(), tmp_path, routes=own)
    assert seen.made == {}


def test_quotas_that_one_may_not_ask_for_and_of_other_families_stop_nobody(tmp_path: Path) -> None:
    kept = cloud(getServiceQuota="AccessDeniedException: not authorized to perform: servicequotas:GetServiceQuota")
    assert run_program(kept, described(), tmp_path)["hosts"]
    few = cloud(getServiceQuota={"value": 1.0})
    assert run_program(few, described(groups__broker__flavor="p4d.24xlarge"), tmp_path)["hosts"]


def test_machines_that_are_there_count_no_quota(tmp_path: Path) -> None:
    urns = [f"urn:pulumi:cloud::kastellan::a$aws:ec2/instance:Instance::broker-{n}" for n in (1, 2)]
    known = Known({urn: {"id": urn, "urn": urn} for urn in urns})
    seen = cloud(getServiceQuota={"value": 3.0})
    run_program(seen, described(), tmp_path, known=known)
    assert "getServiceQuota" not in dict(seen.asked)
    with pytest.raises(KastellanError, match="the stack needs 6 vCPUs"):
        run_program(cloud(getServiceQuota={"value": 5.0}), described(groups__broker__count=3), tmp_path, known=known)


def test_a_smaller_volume_is_refused(tmp_path: Path) -> None:
    urn = "urn:pulumi:cloud::kastellan::a$aws:ebs/volume:Volume::broker-1"
    known = Known({"v": {"id": "v", "urn": urn, "outputs": {"size": 200.0}}})
    with pytest.raises(KastellanError, match="The data volume of broker-1 has 200GiB, 100GiB are asked for"):
        run_program(cloud(), described(), tmp_path, known=known)


def test_a_strict_spread_is_a_placement_group(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(cloud__spread="strict"), tmp_path)
    assert seen.made["PlacementGroup hosts"]["strategy"] == "spread"
    assert seen.made["Instance broker-1"]["placementGroup"] == "kastellan-cloud"
