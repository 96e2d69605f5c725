"""A stack on a cloud with Pulumi's real engine and a pretended plugin: what mocks cannot show. One life, told in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.wait import wait_until
from tests.system.clouds.pretended import Store, new_store
from tests.system.lab import SHORT_TIMEOUT_S, Lab, mentioning, new_lab
from tests.unit.infra.test_openstack import described

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long
STACK = "openstack"
PLUGIN = """#!/usr/bin/env python
from tests.system.clouds.pretended import main
main()
"""
END_ORPHANS = "from cli.repair import end_orphans; print(len(end_orphans()))"


class Cloud:
    """A checkout whose stack `openstack` is on the pretended cloud."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        folder = lab.folder / ".kastellan" / "pretended"
        folder.mkdir(parents=True)
        self.store: Store = new_store(folder / "cloud.json")
        plugin = folder / "pulumi-resource-openstack"
        plugin.write_text(PLUGIN)
        plugin.chmod(0o755)
        self.environ = {**lab.native_environ(), "PRETENDED_CLOUD": str(self.store.path), "PYTHONPATH": str(lab.folder)}
        self.environ["PATH"] = f"{self.environ['PATH']}:{folder}"
        self.environ["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        self.describe()
        self.pulumi("stack", "init", STACK)

    def describe(self, **changes: Any) -> None:
        told = {"cloud__zones": {}, "cloud__external_network": "", "cloud__login_timeout_s": 0, **changes}
        description = described(**told)
        del description["cloud"]["external_network"]
        (self.lab.folder / f"infra/stacks/{STACK}.yaml").write_text(yaml.safe_dump(description))

    def pulumi(self, *words: str, check: bool = True) -> Any:
        done = subprocess.run(
            ["pulumi", *words, "--non-interactive"], cwd=self.lab.folder, env=self.environ, capture_output=True, text=True,
            timeout=SHORT_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    def up(self, *words: str, check: bool = True) -> Any:
        return self.pulumi("up", "--yes", "--skip-preview", "--stack", STACK, *words, check=check)

    def names(self, kind: str) -> list[str]:
        return sorted(thing["name"] for thing in self.store.things.values() if thing["kind"] == kind)

    def ids(self, kind: str) -> dict[str, str]:
        return {thing["name"]: ident for ident, thing in self.store.things.items() if thing["kind"] == kind}

    def set(self, **values: Any) -> None:
        self.store.change(lambda content: content.update(values))


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with new_lab() as lab:
        lab.kastellan("test", "--help")  # prepares the packages, those for clouds too
        yield Cloud(lab)


def name_of(number: int) -> str:
    return f"kastellan-openstack-broker-{number}"


def test_a_clean_preview_makes_nothing(cloud: Cloud) -> None:
    cloud.pulumi("preview", "--stack", STACK)
    assert cloud.store.things == {}


def test_up_makes_the_stack_and_a_second_up_nothing(cloud: Cloud) -> None:
    cloud.up()
    assert cloud.names("Instance") == cloud.names("Port") == cloud.names("Volume") == [name_of(1), name_of(2)]
    hosts = json.loads(cloud.pulumi("stack", "output", "--json", "--stack", STACK).stdout)["hosts"]
    assert [(host["name"], host["address"]) for host in hosts] == [
        ("broker-1", "10.71.0.11"),
        ("broker-2", "10.71.0.12"),
    ]
    known = (cloud.lab.state(STACK) / "known_hosts").read_text().splitlines()
    assert known == [f"{host['address']} {host['host_key']}" for host in hosts]
    before = cloud.store.things
    assert cloud.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes", "--stack", STACK).returncode == 0
    assert cloud.store.things == before


def test_private_keys_are_in_the_machines_settings_and_not_readable_in_the_state(cloud: Cloud) -> None:
    server = next(thing for thing in cloud.store.things.values() if thing["kind"] == "Instance")
    assert "BEGIN OPENSSH PRIVATE KEY" in server["inputs"]["userData"]
    assert "PRIVATE KEY" not in cloud.pulumi("stack", "export", "--stack", STACK).stdout


def test_a_server_in_error_is_no_success_now_or_later(cloud: Cloud) -> None:
    cloud.set(broken=[name_of(3)])
    cloud.describe(groups__broker__count=3)
    others = cloud.ids("Instance")
    assert cloud.up(check=False).returncode != 0
    again = cloud.up(check=False)
    assert again.returncode != 0
    assert "broker-3 is not well: the cloud says error, with no address." in again.stdout
    assert "Traceback" not in again.stdout + again.stderr
    cloud.set(broken=[])
    cloud.up("--refresh")
    assert cloud.names("Instance") == [name_of(number) for number in (1, 2, 3)]
    assert {name: cloud.ids("Instance")[name] for name in others} == others


def test_a_server_deleted_behind_our_back_comes_again_on_its_volume(cloud: Cloud) -> None:
    volumes = cloud.ids("Volume")
    gone = cloud.ids("Instance")[name_of(1)]
    cloud.store.change(lambda content: content["things"].pop(gone))
    assert cloud.up(check=False).returncode != 0  # without a look it is not known, and not called well either
    cloud.up("--refresh")
    server = cloud.store.things[cloud.ids("Instance")[name_of(1)]]
    assert server["inputs"]["blockDevices"][1]["uuid"] == volumes[name_of(1)]
    assert cloud.ids("Volume") == volumes


def test_another_image_or_key_replaces_no_machine(cloud: Cloud) -> None:
    from tests.unit.infra.test_description import KEY  # noqa: PLC0415 - beside its only use

    servers = cloud.ids("Instance")
    cloud.describe(groups__broker__count=3, cloud__keys=[KEY])
    cloud.up()
    assert cloud.ids("Instance") == servers


def test_kept_data_is_not_destroyed(cloud: Cloud) -> None:
    cloud.describe(groups__broker__count=2)
    refused = cloud.up(check=False)
    assert refused.returncode != 0
    assert "protect" in refused.stdout
    assert name_of(3) in cloud.names("Volume")
    before = cloud.store.things
    down = cloud.lab.kastellan("down", STACK, "--yes", check=False, PRETENDED_CLOUD=str(cloud.store.path))
    assert down.returncode == 1
    assert "Stack openstack keeps its data: 3 volumes are protected." in down.stderr
    assert cloud.store.things == before


def test_data_goes_when_it_is_said_and_no_other_host_is_touched(cloud: Cloud) -> None:
    cloud.describe(groups__broker__count=3, keep_data=False)
    cloud.up("--refresh")
    servers = cloud.ids("Instance")
    cloud.describe(groups__broker__count=2, keep_data=False)
    cloud.up()
    assert cloud.names("Instance") == cloud.names("Volume") == cloud.names("Port") == [name_of(1), name_of(2)]
    assert all(servers[name] == ident for name, ident in cloud.ids("Instance").items())


def test_a_call_killed_while_it_makes_machines_makes_none_twice(cloud: Cloud) -> None:
    cloud.set(held=[name_of(3)])
    cloud.describe(groups__broker__count=3, keep_data=False)
    argv = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", STACK]
    log = cloud.store.path.with_suffix(".log")
    with log.open("w") as file:
        killed = subprocess.Popen(
            argv, cwd=cloud.lab.folder, env=cloud.environ, stdout=file, stderr=file, start_new_session=True
        )
    try:
        begun = wait_until(lambda: name_of(3) in cloud.names("Instance"), timeout_s=SHORT_TIMEOUT_S / 2)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert begun, log.read_text()
    cloud.set(held=[])
    # The plugins outlive their engine, as `./kastellan up` knows: the cloud's own is among them.
    ended = cloud.lab.run(".venv/bin/python", "-c", END_ORPHANS).stdout
    assert int(ended) > 0
    assert wait_until(lambda: not mentioning(cloud.lab.folder), timeout_s=SHORT_TIMEOUT_S)
    cloud.pulumi("cancel", "--yes", "--stack", STACK)
    before = cloud.store.things
    again = cloud.up("--refresh", check=False)
    assert again.returncode != 0
    stray = cloud.ids("Instance")[name_of(3)]
    assert f"openstack server delete {stray}" in again.stdout
    assert cloud.store.things == before
    cloud.store.change(lambda content: content["things"].pop(stray))
    cloud.up("--refresh")
    assert cloud.names("Instance") == [name_of(number) for number in (1, 2, 3)]


def test_all_goes_in_the_end(cloud: Cloud) -> None:
    cloud.pulumi("destroy", "--yes", "--skip-preview", "--stack", STACK)
    assert cloud.store.things == {}
    # A cloud that hangs does not hang us: what a plugin has a bound for, the engine was told one.
    bounds = cloud.store.read()["bounds"]
    assert {kind: bound for kind, bound in bounds.items() if bound != 600} == {"ServerGroup": 0}
