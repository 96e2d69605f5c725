"""What is declared on OpenStack, and what is refused before anything is; Pulumi's mocks stand for the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from common.errors import KastellanError
from infra.known import Known
from infra.lookup import ask
from tests.unit.infra.clouds import OPERATOR, MockCloud, first_boot, run_program, state_of

if TYPE_CHECKING:
    from pathlib import Path

FLAVOR = {"ram": 4096, "vcpus": 2, "disk": 10, "id": "flavor-7"}
LIMITS = {
    "maxTotalInstances": 10, "totalInstancesUsed": 0, "maxTotalCores": 20, "totalCoresUsed": 0,
    "maxTotalRamSize": 51200, "totalRamUsed": 0, "maxServerGroupMembers": 10,
}  # fmt: skip
# What Nova says to whoever is no administrator, and asks for a project by name.
KEPT = "got 403 instead: Policy doesn't allow os_compute_api:limits:other_project to be performed."
QUOTA = {"instances": 10, "cores": 20, "ram": 51200, "serverGroupMembers": 10}
STORAGE = {"volumes": 10, "gigabytes": 1000, "perVolumeGigabytes": -1}
NO_VOLUME = "Your openstack_blockstorage_volume_v3 query returned no results"


def described(**changes: Any) -> dict[str, Any]:
    group = {
        "prefix": "broker", "count": 2, "address": 11, "roles": ["kafka_broker", "kafka_controller"], "racks": ["a", "b"],
        "flavor": "m1", "memory": "4GiB", "disk": "100GiB",
    }  # fmt: skip
    whole: dict[str, Any] = {
        "provider": "openstack",
        "network": "10.71.0.0/24",
        "cloud": {"image": "debian-12", "external_network": "public", "zones": {"a": "zone-1", "b": "zone-2"}},
        "firewall": {"operator": [OPERATOR], "listeners": [{"ports": [9092, 9094], "sources": ["10.20.0.0/16"]}]},
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
    """An OpenStack where all is well, but for `answers`."""
    well = {
        "getAvailabilityZones": {"names": ["zone-1", "zone-2"]},
        "getImage": {"id": "image-3"},
        "getFlavor": FLAVOR,
        "getPortIds": {"ids": []},
        "getVolumeV3": NO_VOLUME,
        "getAuthScope": {"projectId": "p"},
        "getLimitsV2": LIMITS,
        "getQuotaSetV2": QUOTA,
        "getQuotasetV3": STORAGE,
        "getNetwork": {"id": "external-1"},
        "getSubnet": {"id": "subnet-9", "cidr": "192.0.2.0/24", "networkId": "network-9"},
        "getInstanceV2": lambda asked: {"powerState": "active", "accessIpV4": address_of(asked["id"])},
    }
    return MockCloud({**well, **answers})


def address_of(server: str) -> str:
    return f"10.71.0.1{server.split('-')[2]}"


def test_outputs_are_those_of_any_stack(tmp_path: Path) -> None:
    outputs = run_program(cloud(), described(), tmp_path)
    assert (outputs["stack"], outputs["network"]) == ("cloud", "10.71.0.0/24")
    assert outputs["hosts"][1] == {
        "name": "broker-2", "address": "10.71.0.12", "ssh_user": "ops", "ssh_port": 22, "ssh_key_file": None,
        "host_key": "ssh-ed25519 KEY-broker-2", "node_id": 2, "roles": ["kafka_broker", "kafka_controller"], "rack": "b",
    }  # fmt: skip


def test_a_server_stands_on_its_port_and_its_volume(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(), tmp_path)
    server, port = seen.made["Instance broker-1"], seen.made["Port broker-1"]
    assert server["networks"] == [{"port": "Port-broker-1-0123456789abcdef"}]
    assert port["fixedIps"] == [{"subnetId": "Subnet-subnet-0123456789abcdef", "ipAddress": "10.71.0.11"}]
    disk = server["blockDevices"][1]
    assert (disk["uuid"], disk["deleteOnTermination"]) == ("Volume-broker-1-0123456789abcdef", False)
    assert (server["flavorId"], server["imageId"]) == ("flavor-7", "image-3")
    assert "flavorName" not in server  # by name, a flavor that is not public is not found
    assert "powerState" not in server  # asked for, a preview would show it as if it were known
    assert [seen.made[f"Instance broker-{n}"]["availabilityZone"] for n in (1, 2)] == ["zone-1", "zone-2"]
    assert server["schedulerHints"] == [{"group": "ServerGroup-hosts-0123456789abcdef"}]
    assert seen.made["ServerGroup hosts"]["policies"] == "soft-anti-affinity"
    volume = seen.made["Volume broker-1"]
    assert (volume["size"], volume["metadata"]) == (100, {"kastellan": "kastellan-cloud", "kastellan-host": "broker-1"})


def test_first_boot_has_the_pinned_key_and_knows_the_disk(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(), tmp_path)
    told = first_boot(seen.made["Instance broker-1"]["userData"])
    assert told["ssh_keys"] == {"ed25519_private": "PRIVATE-broker-1", "ed25519_public": "ssh-ed25519 KEY-broker-1"}
    assert told["users"][0]["ssh_authorized_keys"] == ["ssh-ed25519 LOGIN"]
    rules = next(file["content"] for file in told["write_files"] if "udev" in file["path"])
    assert 'ENV{ID_SERIAL}=="*Volume-broker-1-0123*"' in rules  # 20 letters, as a guest sees them


def test_exactly_the_declared_doors_are_open(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(), tmp_path)
    rules = [made for name, made in seen.made.items() if name.startswith("SecGroupRule")]
    assert {(rule["direction"], rule["protocol"]) for rule in rules} == {("ingress", "tcp")}
    assert sorted(
        (rule["securityGroupId"].split("-")[1], rule["portRangeMin"], rule["portRangeMax"],
         rule.get("remoteIpPrefix") or f"members of {rule['remoteGroupId'].split('-')[1]}")
        for rule in rules
    ) == [
        ("kafka", 9092, 9092, "10.20.0.0/16"),
        ("kafka", 9094, 9094, "10.20.0.0/16"),
        ("nodes", 22, 22, OPERATOR),
        *(("nodes", port, port, "members of nodes") for port in (9091, 9092, 9093, 9094)),
    ]  # fmt: skip
    assert seen.made["Port broker-1"]["securityGroupIds"] == [
        "SecGroup-kafka-broker-0123456789abcdef",
        "SecGroup-nodes-0123456789abcdef",
    ]


def test_a_controller_alone_has_no_listeners_for_clients(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(groups__broker__roles=["kafka_controller"]), tmp_path)
    assert seen.made["Port broker-1"]["securityGroupIds"] == ["SecGroup-nodes-0123456789abcdef"]
    assert "SecGroup kafka-broker" not in seen.made


def test_a_given_subnet_is_used_and_none_made(tmp_path: Path) -> None:
    seen = cloud(
        getInstanceV2=lambda asked: {"powerState": "active", "accessIpV4": f"192.0.2.1{asked['id'].split('-')[2]}"}
    )
    outputs = run_program(seen, described(network={"subnet": "there"}), tmp_path)
    assert outputs["network"] == "192.0.2.0/24"
    assert seen.made["Port broker-2"]["networkId"] == "network-9"
    assert not [name for name in seen.made if name.startswith(("Network network", "Subnet", "Router"))]


@pytest.mark.parametrize(
    ("status", "address", "said"),
    [
        ("error", "", "broker-1 is not well: the cloud says error, with no address."),
        ("active", "10.71.0.99", "the cloud says active, with 10.71.0.99."),
        ("shutoff", "10.71.0.11", "the cloud says shutoff"),
    ],
)
def test_a_server_that_is_not_well_is_never_success(tmp_path: Path, status: str, address: str, said: str) -> None:
    """A second plain `pulumi up` calls a server in ERROR success: the cloud is asked each time."""
    seen = cloud(getInstanceV2={"powerState": status, "accessIpV4": address})
    with pytest.raises(pulumi.RunError) as refusal:
        run_program(seen, described(groups__broker__count=1), tmp_path)
    assert said in str(refusal.value)
    assert "pulumi up --refresh --stack cloud" in str(refusal.value)


REFUSALS: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"getFlavor": "Your query returned no results"}, "groups.broker.flavor: the cloud has no 'm1'", "'kastellan:groups.broker.flavor' NAME"),
    ({}, {"getImage": "Your query returned no results"}, "cloud.image: the cloud has no 'debian-12'", "Name one"),
    ({}, {"getNetwork": "Your query returned no results"}, "cloud.external_network: the cloud has no 'public'", "Name"),
    ({"network": {"subnet": "x"}}, {"getSubnet": "Your query returned no results"}, "network.subnet: the cloud has no 'x'", "Name"),
    ({"cloud__zones": {"a": "zone-1", "b": "zone-3"}}, {}, "cloud.zones.b: the cloud has no 'zone-3'", "Did you mean"),
    ({"groups__broker__memory": "8GiB"}, {}, "Flavor m1 is too small for broker-1: it has 4096MiB, 8192MiB", "larger flavor"),
    ({}, {"getAvailabilityZones": "Authentication failed"}, "The cloud does not let us in.", "OS_CLOUD with a clouds.yaml"),
    ({}, {"getAvailabilityZones": "One of 'auth_url' or 'cloud' must be specified"}, "The cloud does not let us in.", "OS_CLOUD"),
    ({}, {"getAvailabilityZones": "No suitable endpoint could be found in the service catalog."}, "The region, or", "OS_REGION_NAME"),
    ({}, {"getAvailabilityZones": "no resource plugin 'pulumi-resource-openstack' found"}, "plugin for this cloud is not there", "pulumi plugin install"),
    ({}, {"getLimitsV2": {**LIMITS, "totalInstancesUsed": 9}}, "2 more servers are needed, 1 are left", "quota"),
    ({}, {"getLimitsV2": {**LIMITS, "maxTotalCores": 3}}, "4 more cores are needed, 3 are left", "quota"),
    ({}, {"getLimitsV2": {**LIMITS, "maxTotalRamSize": 4096}}, "8192 more MiB of memory are needed", "quota"),
    ({}, {"getLimitsV2": {**LIMITS, "maxServerGroupMembers": 1}}, "the stack needs 2 members of a server group", "cloud.spread"),
    ({}, {"getLimitsV2": KEPT, "getQuotaSetV2": {**QUOTA, "instances": 1}}, "the stack needs 2 servers, 1 are allowed", "quota"),
    ({}, {"getLimitsV2": KEPT, "getQuotaSetV2": {**QUOTA, "cores": 3}}, "the stack needs 4 cores, 3 are allowed", "quota"),
    ({}, {"getLimitsV2": KEPT, "getQuotaSetV2": {**QUOTA, "ram": 4096}}, "the stack needs 8192 MiB of memory", "quota"),
    ({}, {"getQuotasetV3": {**STORAGE, "volumes": 1}}, "the stack needs 2 volumes, 1 are allowed", "quota"),
    ({}, {"getQuotasetV3": {**STORAGE, "gigabytes": 199}}, "the stack needs 200 GiB of volumes, 199 are allowed", "quota"),
    ({}, {"getQuotasetV3": {**STORAGE, "perVolumeGigabytes": 50}}, "the stack needs 100 GiB in one volume", "quota"),
    ({}, {"getImage": {"id": "i", "diskFormat": "iso"}}, "cloud.image: 'debian-12' is an installer (iso)", "generic"),
    ({}, {"getImage": {"id": "i", "minRamMb": 5000}}, "Flavor m1 is too small for broker-1: it has 4096MiB, 5000MiB", "larger"),
    ({}, {"getImage": {"id": "i", "minDiskGb": 20}}, "its disk has 10GiB, image 'debian-12' needs 20GiB", "larger flavor"),
    ({}, {"getNetwork": {"id": "e", "subnets": ["s"]}, "getSubnet": {"id": "s", "cidr": "10.71.0.0/16"}},
     "The network 10.71.0.0/24 is in use by public, which a router would lead to: 10.71.0.0/16.", "kastellan:network"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "answers", "said", "remedy"), REFUSALS, ids=[case[2][:40] for case in REFUSALS])
def test_refused_before_anything_is_made(
    tmp_path: Path, changes: dict[str, Any], answers: dict[str, Any], said: str, remedy: str
) -> None:
    seen = cloud(**answers)
    with pytest.raises(KastellanError) as refusal:
        run_program(seen, described(**changes), tmp_path)
    assert said in refusal.value.brief
    assert remedy in f"{refusal.value.brief} {refusal.value.resolution}"
    assert refusal.value.details
    assert seen.made == {}


# As a real engine and plugin hand it on.
PREFACE = "invoke of openstack:images/getImage:getImage failed: invoking openstack:images/getImage:getImage: 1 error occurred:\n\t* "


@pytest.mark.parametrize(
    ("words", "own"),
    [(f"{PREFACE}Your query returned no results.\n\n", "Your query returned no results."), ("none", "none"), ("", "")],
)
def test_the_cloud_s_own_words_are_told_and_not_pulumi_s(words: str, own: str) -> None:
    def refuse() -> None:
        raise RuntimeError(words)

    with pytest.raises(KastellanError) as refusal:
        ask("cloud.image", "debian-21", refuse)
    assert refusal.value.details == own


def test_what_a_killed_call_left_is_named_and_not_made_twice(tmp_path: Path) -> None:
    seen = cloud(
        getPortIds={"ids": ["port-ours", "port-stray"]},
        getPort=lambda asked: {"deviceId": "server-stray" if asked["portId"] == "port-stray" else "server-ours"},
        getVolumeV3=lambda asked: {"id": "volume-stray"} if asked["name"].endswith("broker-2") else NO_VOLUME,
    )
    ours = state_of(**{"port-ours": {}, "server-ours": {}})
    with pytest.raises(KastellanError) as refusal:
        run_program(seen, described(), tmp_path, known=ours)
    assert refusal.value.brief.startswith("3 things marked kastellan-cloud are in the cloud and not in Pulumi's state")
    assert refusal.value.details.splitlines() == ["server server-stray", "port port-stray", "volume volume-stray"]
    assert "openstack server delete server-stray" in refusal.value.resolution
    assert seen.made == {}


def test_two_volumes_of_one_name_are_no_answer(tmp_path: Path) -> None:
    seen = cloud(getVolumeV3="Your openstack_blockstorage_volume_v3 query returned multiple results")
    with pytest.raises(KastellanError, match="Which volume is the one of broker-1 cannot be told"):
        run_program(seen, described(), tmp_path)


def test_a_name_that_neutron_may_not_take_is_refused_until_it_is_there(tmp_path: Path) -> None:
    longest = described(cloud__label="x" * 51, cloud__tags={"Name": "a tag like any other", "aws:x": "here"})
    run_program(cloud(), longest, tmp_path)
    seen, long = cloud(), described(cloud__label="x" * 52)
    with pytest.raises(KastellanError, match=r"x-broker-1 has 61 letters, a port's tag takes 60"):
        run_program(seen, long, tmp_path)
    assert seen.made == {}
    urns = [f"urn:pulumi:cloud::kastellan::a$openstack:networking/port:Port::broker-{n}" for n in (1, 2)]
    run_program(cloud(), long, tmp_path, known=Known({urn: {"id": urn, "urn": urn} for urn in urns}))


def test_a_smaller_volume_is_refused(tmp_path: Path) -> None:
    urn = "urn:pulumi:cloud::kastellan::a$openstack:blockstorage/volume:Volume::broker-1"
    known = Known({"v": {"id": "v", "urn": urn, "outputs": {"size": 200.0}}})
    with pytest.raises(KastellanError, match="The data volume of broker-1 has 200GiB, 100GiB are asked for"):
        run_program(cloud(), described(), tmp_path, known=known)


def test_a_network_that_this_machine_is_part_of_is_refused_until_it_is_made(tmp_path: Path) -> None:
    own = [{"dst": "default", "dev": "eth0"}, {"dst": "10.71.0.0/25", "dev": "eth1", "protocol": "kernel"}]
    with pytest.raises(KastellanError, match=r"in use on this machine, by eth1: 10\.71\.0\.0/25\."):
        run_program(cloud(), described(), tmp_path, routes=own)
    # A VPN's way to the very network that will be made.
    run_program(cloud(), described(), tmp_path, routes=[{"dst": "10.71.0.0/24", "dev": "wg0", "protocol": "static"}])
    urn = "urn:pulumi:cloud::kastellan::a$openstack:networking/network:Network::network"
    run_program(cloud(), described(), tmp_path, known=Known({"n": {"id": "n", "urn": urn}}), routes=own)


def test_a_newer_image_must_fit_new_servers_alone(tmp_path: Path) -> None:
    urns = [f"urn:pulumi:cloud::kastellan::a$openstack:compute/instance:Instance::broker-{n}" for n in (1, 2)]
    known = Known({urn: {"id": urn, "urn": urn} for urn in urns})
    newer = {"getImage": {"id": "i", "minRamMb": 5000, "minDiskGb": 20}}
    assert len(run_program(cloud(**newer), described(), tmp_path, known=known)["hosts"]) == 2
    with pytest.raises(KastellanError, match="Flavor m1 is too small for broker-3"):
        run_program(cloud(**newer), described(groups__broker__count=3), tmp_path, known=known)


def test_what_a_cloud_keeps_to_itself_stops_nobody(tmp_path: Path) -> None:
    """An ordinary user of a project: Nova's limits, and the subnets behind a way out, are for administrators."""
    seen = cloud(
        getLimitsV2=KEPT,
        getQuotaSetV2=KEPT,
        getQuotasetV3=KEPT,
        getNetwork={"id": "external-1", "subnets": ["hidden"]},
        getSubnet="Your query returned no results",
    )
    assert len(run_program(seen, described(), tmp_path)["hosts"]) == 2


def test_other_refusals_are_told_as_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(KastellanError, match="The cloud does not answer as it should"):
        run_program(cloud(getPortIds="got 503 instead: down for maintenance"), described(), tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        "got 503 instead: down for maintenance",
        "got 429 instead: slow down",
        "context deadline exceeded",
        "unrecognized data function (Invoke): openstack:compute/getQuotaSetV2:getQuotaSetV2",
    ],
)
def test_a_quota_that_is_not_told_stops_nobody_whatever_the_reason(tmp_path: Path, words: str) -> None:
    seen = cloud(getLimitsV2=words, getQuotaSetV2=words, getQuotasetV3=words)
    assert len(run_program(seen, described(), tmp_path)["hosts"]) == 2


@pytest.mark.parametrize("untold", [0, None])
def test_a_bound_that_old_clouds_do_not_send_is_none(tmp_path: Path, untold: int | None) -> None:
    """Members of a server group and the size of one volume: what was not sent arrives as 0."""
    answers: dict[str, Any] = {
        "getLimitsV2": {**LIMITS, "maxServerGroupMembers": untold},
        "getQuotasetV3": {**STORAGE, "perVolumeGigabytes": untold},
    }
    assert len(run_program(cloud(**answers), described(), tmp_path)["hosts"]) == 2
    answers["getLimitsV2"] = KEPT
    answers["getQuotaSetV2"] = {**QUOTA, "serverGroupMembers": untold}
    assert len(run_program(cloud(**answers), described(), tmp_path)["hosts"]) == 2


def test_a_plugin_that_is_not_there_is_told_with_any_question(tmp_path: Path) -> None:
    with pytest.raises(KastellanError, match="plugin for this cloud is not there"):
        run_program(cloud(getLimitsV2="no resource plugin 'pulumi-resource-openstack' found"), described(), tmp_path)


def test_without_a_group_its_quota_counts_nothing(tmp_path: Path) -> None:
    few = {"getLimitsV2": {**LIMITS, "maxServerGroupMembers": 1}}
    assert run_program(cloud(**few), described(cloud__spread="none"), tmp_path)["hosts"]


def test_servers_that_are_there_count_no_quota(tmp_path: Path) -> None:
    urns = [f"urn:pulumi:cloud::kastellan::a$openstack:compute/instance:Instance::broker-{n}" for n in (1, 2)]
    known = Known({urn: {"id": urn, "urn": urn} for urn in urns})
    seen = cloud(getLimitsV2={**LIMITS, "totalInstancesUsed": 10})
    run_program(seen, described(), tmp_path, known=known)
    assert not {"getLimitsV2", "getQuotaSetV2", "getQuotasetV3"} & {word for word, _ in seen.asked}
