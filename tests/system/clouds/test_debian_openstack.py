"""A stack on Debian's own OpenStack, with the plugin that is built here: real Keystone, Nova, Neutron, Cinder and Glance.

Machines are Nova's pretended ones: they have an address and a state, and nobody logs in. One life, told in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.wait import wait_until
from tests.system.clouds.debian_openstack.cloud import DebianOpenStack, complaints, debian_openstack
from tests.system.lab import Lab, mentioning, new_lab
from tests.unit.infra.test_openstack import described
from tools.pulumi.plugins import ensure_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
STACK = "openstack"
LABEL = "kastellan-openstack"
UP_TIMEOUT_S = 600
END_ORPHANS = "from cli.repair import end_orphans; print(len(end_orphans()))"


class Cloud:
    """A checkout whose stack `openstack` is on Debian's OpenStack."""

    def __init__(self, lab: Lab, openstack: DebianOpenStack) -> None:
        self.lab = lab
        self.openstack = openstack
        # What the caller's shell knows of a cloud of their own must not get in.
        native = {name: value for name, value in lab.native_environ().items() if not name.startswith("OS_")}
        self.environ = {**native, **openstack.environ, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
        print(f"Plugin: {ensure_plugin('openstack', self.environ)}")
        self.describe(4)
        self.pulumi("stack", "init", STACK)

    def describe(self, count: int, **changes: Any) -> None:
        told = {
            "cloud__zones": {}, "cloud__login_timeout_s": 0, "groups__broker__count": count,
            "groups__broker__flavor": "m1.medium", "groups__broker__racks": [], **changes,
        }  # fmt: skip
        (self.lab.folder / f"infra/stacks/{STACK}.yaml").write_text(yaml.safe_dump(described(**told)))

    def pulumi(self, *words: str, check: bool = True) -> Any:
        done = subprocess.run(
            self.openstack.argv("pulumi", *words, "--non-interactive"), cwd=self.lab.folder, env=self.environ,
            capture_output=True, text=True, timeout=UP_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if check and done.returncode != 0:
            pytest.fail(f"{words}\n{done.stdout}\n{done.stderr}\n{complaints(self.openstack.upper)}")
        return done

    def up(self, *words: str, check: bool = True) -> Any:
        return self.pulumi("up", "--yes", "--skip-preview", "--stack", STACK, *words, check=check)

    def servers(self) -> dict[str, dict[str, str]]:
        """By name: id, status and address."""
        found = self.openstack.ask(
            "[[s.name, s.id, s.status, ''.join(a['addr'] for net in s.addresses.values() for a in net)]"
            " for s in cloud.compute.servers()]"
        )
        assert len({name for name, *_ in found}) == len(found), found
        return {name: {"id": ident, "status": status, "address": address} for name, ident, status, address in found}

    def ids(self) -> dict[str, str]:
        return {name: server["id"] for name, server in self.servers().items()}

    def volumes(self) -> dict[str, str]:
        return dict(self.openstack.ask("[[v.name, v.id] for v in cloud.block_storage.volumes()]"))

    def attached(self) -> dict[str, list[str]]:
        """Volume -> servers that have it."""
        return dict(
            self.openstack.ask(
                "[[v.id, [a['server_id'] for a in v.attachments]] for v in cloud.block_storage.volumes()]"
            )
        )

    def set_room(self, *, there_is: bool) -> None:
        """Without, Nova finds no machine to put a server on, and calls that ERROR."""
        verb = "enable" if there_is else "disable"
        self.openstack.ask(
            f"[cloud.compute.{verb}_service(s, s.host, s.binary).status for s in cloud.compute.services()"
            " if s.binary == 'nova-compute']"
        )

    def kill_once(self, name: str) -> None:
        """`pulumi up`, killed with all its processes when the server is there and the state does not know it yet."""
        log = self.lab.folder / ".kastellan" / "killed.log"
        argv = self.openstack.argv("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", STACK)
        with log.open("w") as file:
            killed = subprocess.Popen(
                argv, cwd=self.lab.folder, env=self.environ, stdout=file, stderr=file, start_new_session=True
            )
        try:
            begun = wait_until(lambda: name in self.ids(), timeout_s=UP_TIMEOUT_S)
        finally:
            os.killpg(killed.pid, signal.SIGKILL)
            killed.wait()
        assert begun, log.read_text()
        # The plugins outlive their engine, as `./kastellan up` knows: the cloud's own is among them.
        assert int(self.lab.run(".venv/bin/python", "-c", END_ORPHANS).stdout) > 0
        assert wait_until(lambda: not mentioning(self.lab.folder), timeout_s=UP_TIMEOUT_S)


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
    ):
        cloud.describe(7, keep_data=False, **changes)
        refused = cloud.up(check=False)
        assert refused.returncode != 0
        assert said in refused.stdout
    assert cloud.ids() == before


def test_all_goes_in_the_end(cloud: Cloud) -> None:
    cloud.describe(6, keep_data=False)
    cloud.pulumi("destroy", "--yes", "--skip-preview", "--stack", STACK)
    assert cloud.servers() == {}
    assert cloud.volumes() == {}
    left = "[n.name for n in cloud.network.networks()] + [r.name for r in cloud.network.routers()]"
    assert cloud.openstack.ask(left) == ["public"]
    assert cloud.openstack.ask("[p.name for p in cloud.network.ports()]") == []
