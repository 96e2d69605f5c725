"""A stack on Debian's own OpenStack, with the plugin that is built here: real Keystone, Nova, Neutron, Cinder and Glance.

Machines are Nova's pretended ones: they have an address and a state, and nobody logs in. One life, told in order.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING

import pytest

from tests.system.clouds.debian_openstack.cloud import debian_openstack
from tests.system.clouds.on_debian import STACK, Cloud
from tests.system.lab import new_lab

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
LABEL = f"kastellan-{STACK}"
# What the program gives a thing to go in; here nobody has that long.
LONG_BOUND, SHORT_BOUND = '"delete": "10m"', '"delete": "60s"'
# An ordinary user of a project of their own, to whom the cloud's administrator has shown an image and a flavor.
TEAM = """
import openstack, sys
cloud = openstack.connect(cloud="test")
project = cloud.identity.create_project(name="team", domain_id="default")
cloud.identity.create_user(name="member", password=sys.argv[1], domain_id="default")
cloud.grant_role("member", user="member", project="team")
cloud.add_flavor_access(cloud.get_flavor("m1.medium").id, project.id)
cloud.image.update_image(cloud.get_image("debian-12").id, visibility="public")
"""
# The longest label with which Neutron takes the names as tags: broker-1's has 60 letters.
LONG_LABEL = "kastellan-team".ljust(60 - len("-broker-1"), "x")


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with new_lab() as lab, debian_openstack() as openstack:
        lab.kastellan("test", "--help")  # prepares the packages, those for clouds too
        yield Cloud(lab, openstack)


def names(count: int) -> list[str]:
    return [f"{LABEL}-broker-{number}" for number in range(1, count + 1)]


def test_a_clean_preview_makes_nothing(cloud: Cloud) -> None:
    cloud.pulumi("preview", "--stack", STACK)
    assert cloud.servers() == {}
    assert cloud.volumes() == {}


def test_a_range_that_lies_behind_the_way_out_is_refused(cloud: Cloud) -> None:
    public = "cloud.network.find_network('public').id"
    made = f"cloud.network.create_subnet(network_id={public}, name='outside', ip_version=4, cidr='10.71.0.0/16').id"
    subnet = cloud.openstack.ask(made)
    refused = cloud.up(check=False)
    cloud.openstack.ask(f"cloud.network.delete_subnet('{subnet}')")
    assert refused.returncode != 0
    assert "The network 10.71.0.0/24 is in use by public, which a router would lead to: 10.71.0.0/16." in refused.stdout
    assert cloud.openstack.ask("[n.name for n in cloud.network.networks()]") == ["public"]


def test_who_is_nobody_makes_nothing(cloud: Cloud) -> None:
    right = cloud.lab.folder / ".kastellan" / "clouds.yaml"
    spoiled = right.with_name("spoiled.yaml")
    right.write_text(cloud.openstack.clouds_yaml.read_text())
    spoiled.write_text(right.read_text().replace("password: ", "password: not-"))
    elsewhere = right.with_name("elsewhere.yaml")
    elsewhere.write_text(right.read_text().replace(":5000/", ":5999/"))
    nobody, entry, address = cloud.nobody, "The cloud does not let us in.", "The region, or the address of the cloud"
    for told, said in (
        ({}, entry),
        ({"OS_CLOUD": "other", "OS_CLIENT_CONFIG_FILE": str(right)}, entry),
        ({"OS_CLOUD": "test", "OS_CLIENT_CONFIG_FILE": str(spoiled)}, entry),
        ({"OS_CLOUD": "test", "OS_CLIENT_CONFIG_FILE": str(right), "OS_REGION_NAME": "nowhere"}, address),
        ({"OS_CLOUD": "test", "OS_CLIENT_CONFIG_FILE": str(elsewhere)}, address),
    ):
        refused = cloud.up(check=False, environ={**nobody, **told})
        assert refused.returncode != 0, told
        assert said in refused.stdout, (told, refused.stdout)
        assert "Traceback" not in refused.stdout + refused.stderr
    assert cloud.servers() == {}


def test_up_makes_the_stack_and_a_second_up_nothing(cloud: Cloud) -> None:
    said = cloud.up()
    assert "warning" not in said.stdout + said.stderr
    servers = cloud.servers()
    assert {name: (it["status"], it["address"]) for name, it in servers.items()} == {
        name: ("ACTIVE", f"10.71.0.1{number}") for number, name in enumerate(names(4), 1)
    }
    assert sorted(cloud.volumes()) == names(4)
    began_s = time.monotonic()
    cloud.up("--expect-no-changes")
    took_s = time.monotonic() - began_s
    print(f"nothing to do: {took_s:.1f} s")  # tests/bench/clouds_bench.py has the goal: load makes it vary
    cloud.up("--refresh", "--expect-no-changes")
    assert cloud.servers() == servers


def test_servers_are_on_their_volumes_and_behind_their_doors(cloud: Cloud) -> None:
    on = cloud.attached()
    ids, volumes = cloud.ids(), cloud.volumes()
    assert on == {volumes[name]: [ids[name]] for name in names(4)}
    rules = cloud.openstack.ask(
        "sorted([r.port_range_min, r.remote_ip_prefix or 'members'] for r in cloud.network.security_group_rules()"
        " if r.direction == 'ingress' and r.port_range_min)"
    )
    assert rules == sorted(
        [[22, "203.0.113.7/32"], [9092, "10.20.0.0/16"], [9094, "10.20.0.0/16"]]
        + [[port, "members"] for port in (9091, 9092, 9093, 9094)]
    )


def test_one_more_host_touches_no_other(cloud: Cloud) -> None:
    before = cloud.ids()
    cloud.describe(5)
    cloud.up()
    after = cloud.ids()
    assert sorted(after) == names(5)
    assert {name: after[name] for name in before} == before


def test_kept_data_is_not_destroyed(cloud: Cloud) -> None:
    before = cloud.volumes()
    cloud.describe(4)
    refused = cloud.up(check=False)
    assert refused.returncode != 0
    assert "protect" in refused.stdout
    assert cloud.volumes() == before


def test_back_again_when_it_is_said(cloud: Cloud) -> None:
    cloud.describe(5, keep_data=False)
    cloud.up("--refresh")
    before = cloud.ids()
    cloud.describe(4, keep_data=False)
    cloud.up()
    assert sorted(cloud.ids()) == sorted(cloud.volumes()) == names(4)
    assert cloud.ids().items() <= before.items()


def test_a_server_in_error_is_no_success_now_or_later(cloud: Cloud) -> None:
    before = cloud.ids()
    cloud.describe(5, keep_data=False)
    cloud.set_room(there_is=False)
    assert cloud.up(check=False).returncode != 0
    assert cloud.servers()[names(5)[4]]["status"] == "ERROR"
    again = cloud.up(check=False)
    assert again.returncode != 0
    assert "broker-5 is not well: the cloud says error" in again.stdout
    assert "Traceback" not in again.stdout + again.stderr
    cloud.set_room(there_is=True)
    cloud.up("--refresh")
    servers = cloud.servers()
    assert {it["status"] for it in servers.values()} == {"ACTIVE"}
    assert before.items() <= cloud.ids().items()


def test_a_server_deleted_behind_our_back_comes_again_on_its_volume(cloud: Cloud) -> None:
    volumes, before = cloud.volumes(), cloud.ids()
    victim = names(5)[0]
    cloud.openstack.ask(f"cloud.delete_server('{before[victim]}', wait=True)")
    assert cloud.up(check=False).returncode != 0  # without a look it is not known, and not called well either
    cloud.up("--refresh")
    after = cloud.ids()
    assert cloud.attached()[volumes[victim]] == [after[victim]]
    assert cloud.volumes() == volumes
    assert {name for name in after if after[name] != before[name]} == {victim}


def test_a_machine_made_anew_has_its_volume_and_its_address(cloud: Cloud) -> None:
    volumes, before = cloud.volumes(), cloud.servers()
    anew = names(5)[1]
    cloud.up("--replace", cloud.urn_of("Instance", "broker-2"))
    after = cloud.servers()
    assert {name for name in after if after[name]["id"] != before[name]["id"]} == {anew}
    assert after[anew]["address"] == before[anew]["address"]
    assert cloud.attached()[volumes[anew]] == [after[anew]["id"]]
    assert cloud.volumes() == volumes


def test_a_call_killed_while_it_makes_a_machine_makes_none_twice(cloud: Cloud) -> None:
    cloud.describe(6, keep_data=False)
    cloud.kill_once(names(6)[5])
    cloud.pulumi("cancel", "--yes", "--stack", STACK)
    before = cloud.ids()
    again = cloud.up("--refresh", check=False)
    assert again.returncode != 0
    stray = before[names(6)[5]]
    assert f"openstack server delete {stray}" in again.stdout
    assert cloud.ids() == before
    cloud.openstack.ask(f"cloud.delete_server('{stray}', wait=True)")
    cloud.up("--refresh")
    assert sorted(cloud.ids()) == names(6)


def test_names_that_are_not_there_are_refused(cloud: Cloud) -> None:
    before = cloud.ids()
    for changes, said in (
        ({"groups__broker__flavor": "m1.medum"}, "the cloud has no 'm1.medum'"),
        ({"groups__broker__flavor": "m1.tiny"}, "Flavor m1.tiny is too small for broker-1"),
        ({"cloud__image": "debian-21"}, "cloud.image: the cloud has no 'debian-21'"),
        ({"cloud__external_network": "pubic"}, "the cloud has no 'pubic'"),
        ({"cloud__zones": {"a": "nova-2"}, "groups__broker__racks": ["a"]}, "cloud.zones.a: the cloud has no 'nova-2'"),
        ({"groups__broker__disk": "50GiB"}, "The data volume of broker-1 has 100GiB, 50GiB are asked for."),
        ({"cloud__label": "x" * 52}, "has 61 letters, a port's tag takes 60"),
        ({"cloud__keys": ["-----BEGIN OPENSSH PRIVATE KEY-----"]}, "cloud.keys[0] is no public key"),
    ):
        cloud.describe(7, keep_data=False, **changes)
        refused = cloud.up(check=False)
        assert refused.returncode != 0
        assert said in refused.stdout
    assert cloud.ids() == before


def test_a_full_quota_is_told_before_anything_is_made(cloud: Cloud) -> None:
    before = cloud.ids()
    cloud.describe(7, keep_data=False)
    for service, less, more, said in (
        ("compute", "instances=6", "instances=-1", "The quota has no room: 1 more servers are needed, 0 are left."),
        ("compute", "cores=13", "cores=-1", "The quota has no room: 2 more cores are needed, 1 are left."),
        ("volume", "volumes=6", "volumes=10", "The quota is too small: the stack needs 7 volumes, 6 are allowed."),
    ):
        cloud.openstack.ask(f"str(cloud.set_{service}_quotas('admin', {less}))")
        refused = cloud.up(check=False)
        cloud.openstack.ask(f"str(cloud.set_{service}_quotas('admin', {more}))")
        assert refused.returncode != 0
        assert said in refused.stdout, refused.stdout
    assert cloud.ids() == before


def test_a_zone_that_is_there_is_used(cloud: Cloud) -> None:
    cloud.describe(7, keep_data=False, cloud__zones={"a": "nova"}, groups__broker__racks=["a"])
    told = cloud.pulumi("preview", "--diff", "--stack", STACK).stdout
    assert re.search(r'availabilityZone *: "nova"', told), told  # of broker-7: the others are in that zone already


def test_a_larger_disk_grows_in_its_place(cloud: Cloud) -> None:
    servers, volumes = cloud.ids(), cloud.volumes()
    cloud.describe(6, keep_data=False, groups__broker__disk="101GiB")
    cloud.up()
    assert (cloud.ids(), cloud.volumes()) == (servers, volumes)
    assert set(cloud.openstack.ask("[v.size for v in cloud.block_storage.volumes()]")) == {101}


def test_an_ordinary_user_of_a_project_needs_no_more_rights(cloud: Cloud) -> None:
    """Quotas in use, for one, Nova tells administrators only. By the variables OS_*, without a clouds.yaml."""
    password = secrets.token_urlsafe(16)
    cloud.openstack.run("python3", "-W", "ignore", "-c", TEAM, password)
    team = Cloud(cloud.lab, cloud.openstack, "team")
    team.environ = {
        **team.nobody, "OS_AUTH_URL": "http://127.0.0.1:5000/v3", "OS_USERNAME": "member", "OS_PASSWORD": password,
        "OS_PROJECT_NAME": "team", "OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": "test",
    }  # fmt: skip
    told = {"keep_data": False, "cloud__label": LONG_LABEL}
    cloud.openstack.ask("str(cloud.set_compute_quotas('team', instances=1))")
    team.describe(2, **told)
    refused = team.up(check=False)
    assert "The quota is too small: the stack needs 2 servers, 1 are allowed." in refused.stdout
    team.describe(1, **told)
    team.up()
    team.up("--refresh", "--expect-no-changes")
    mine = "[s.name for s in cloud.compute.servers(all_projects=True) if s.name.startswith('kastellan-team')]"
    assert cloud.openstack.ask(mine) == [f"{LONG_LABEL}-broker-1"]
    team.pulumi("destroy", "--yes", "--skip-preview", "--stack", "team")
    assert cloud.openstack.ask(mine) == []


def test_a_destroy_that_cannot_end_does_end(cloud: Cloud) -> None:
    """What somebody else hangs on a network keeps it there: the bounds that Pulumi was given bite."""
    cloud.describe(6, keep_data=False, groups__broker__disk="101GiB")
    code = cloud.lab.folder / "infra/providers/cloud.py"
    assert LONG_BOUND in code.read_text()
    code.write_text(code.read_text().replace(LONG_BOUND, SHORT_BOUND))
    cloud.up()  # the bounds are written into the state
    network = f"cloud.network.find_network('{LABEL}').id"
    port = cloud.openstack.ask(f"cloud.network.create_port(network_id={network}, name='stranger').id")
    ended = cloud.pulumi("destroy", "--yes", "--skip-preview", "--stack", STACK, check=False)
    cloud.openstack.ask(f"cloud.network.delete_port('{port}')")
    assert ended.returncode != 0
    assert cloud.servers() == {}


def test_all_goes_in_the_end(cloud: Cloud) -> None:
    cloud.describe(6, keep_data=False)
    cloud.pulumi("destroy", "--yes", "--skip-preview", "--stack", STACK)
    assert cloud.servers() == {}
    assert cloud.volumes() == {}
    left = "[n.name for n in cloud.network.networks()] + [r.name for r in cloud.network.routers()]"
    assert cloud.openstack.ask(left) == ["public"]
    assert cloud.openstack.ask("[p.name for p in cloud.network.ports()]") == []
