"""The parts that Pulumi drives, as far as they need no machine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dill
import pytest

from common.errors import KastellanError
from infra import login
from infra.providers.nspawn import registry, seed
from infra.providers.nspawn.host import Host
from infra.providers.nspawn.network import Network
from infra.providers.stub import PartProvider

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30
HOST = {
    "name": "broker-1", "stack_id": "0123abcd", "state_dir": "/s", "bridge": "kst-0123abcd", "address": "198.18.7.11",
    "prefix_length": 24, "memory_bytes": GIB, "disk_bytes": 4 * GIB, "data_path": "/var/lib/kafka", "authorized_key": "k",
    "shared_path": "",
}  # fmt: skip
SEEN = {**HOST, "status": "running", "host_key": "x", "memory_limited": True}


@pytest.mark.parametrize(
    ("changed", "changes", "replaces"),
    [
        ({}, False, {}),
        ({"memory_bytes": 2 * GIB}, True, {}),
        ({"disk_bytes": 8 * GIB}, True, {}),
        ({"authorized_key": "other"}, True, {}),
        ({"shared_path": "/s/shared"}, True, {"shared_path": "it is mounted when the host boots"}),
        ({"address": "198.18.8.11"}, True, {"address": "clients, certificates and the quorum know the host by it"}),
        (
            {"disk_bytes": 2 * GIB},
            True,
            {"disk_bytes": "a file system in use cannot shrink (4GiB to 2GiB); its data goes with it"},
        ),
    ],
)
def test_what_replaces_a_host_and_why(changed: dict[str, Any], changes: bool, replaces: dict[str, str]) -> None:
    difference = Host().diff(old=SEEN, new={**HOST, **changed})
    assert (difference.changes, difference.replaces) == (changes, replaces)


@pytest.mark.parametrize("status", ["stopped", "silent"])
def test_a_host_that_does_not_run_is_a_difference(status: str) -> None:
    assert Host().diff(old={**SEEN, "status": status}, new=HOST).changes


def test_a_host_that_was_made_before_there_were_shared_folders_is_no_difference() -> None:
    old = {key: value for key, value in SEEN.items() if key != "shared_path"}
    assert not Host().diff(old=old, new=HOST).changes


def test_a_range_once_taken_stays() -> None:
    """`auto` was answered when the network was made; naming that very range later changes no address."""
    made = {"stack": "local", "state_dir": "/s", "network": "auto", "subnet": "198.18.7.0/24", "status": "up"}
    asked = {"stack": "local", "state_dir": "/s", "network": "auto"}
    assert not Network().diff(old=made, new=asked).changes
    assert not Network().diff(old=made, new={**asked, "network": "198.18.7.0/24"}).replaces
    assert "network" in Network().diff(old=made, new={**asked, "network": "198.18.8.0/24"}).replaces
    assert Network().diff(old={**made, "status": "missing"}, new=asked).changes


def test_the_pickled_provider_is_an_import_path() -> None:
    """Its module, class and field are what states of earlier versions name: changing them orphans those states."""
    pickled = dill.dumps(PartProvider("infra.providers.nspawn.host:Host"), recurse=True)
    assert b"infra.providers.stub" in pickled
    assert b"PartProvider" in pickled
    assert len(pickled) < 200
    assert dill.loads(pickled).path == "infra.providers.nspawn.host:Host"  # noqa: S301 - our own bytes, just made


def test_the_stub_hides_pulumis_own_and_makes_numbers_whole() -> None:
    provider = PartProvider("infra.providers.static.host:Host")
    props = {"name": "a", "address": "192.0.2.1", "host_key": "k", "port": 22.0, "__provider": "pickle"}
    assert provider.create(props).outs == {"name": "a", "address": "192.0.2.1", "host_key": "k"}
    assert provider.diff("id", props, {**props, "address": "192.0.2.2"}).changes
    seen = provider.read("id", props).outs
    assert seen is not None
    assert seen["__provider"] == "pickle"


def test_records_survive_and_are_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    record = registry.StackRecord("0123abcd", "local", "/s", "kst-0123abcd", "198.18.7.0/24")
    registry.write(record, folder)
    registry.add_host("0123abcd", "broker-1", "198.18.7.11", folder)
    registry.add_host("0123abcd", "broker-1", "198.18.7.11", folder)
    assert registry.records(folder) == [replace(record, hosts={"broker-1": "198.18.7.11"})]
    registry.remove_host("0123abcd", "broker-1", folder)
    assert registry.record_of("0123abcd", folder) == record
    registry.forget("0123abcd", folder)
    assert not folder.exists()


def test_a_host_without_its_stacks_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KastellanError, match="has no network on this machine") as refusal:
        registry.add_host("0123abcd", "broker-1", "vb", tmp_path)
    assert "pulumi up --refresh" in refusal.value.resolution


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "x.json").write_text(json.dumps({"version": 99}))
    with pytest.raises(KastellanError, match="was written by another version"):
        registry.records(tmp_path)


def test_device_names_fit_the_kernels_limit() -> None:
    assert registry.device_of("0123abcd", "198.18.7.254") == "vb-0123abcd-254"
    assert len(registry.device_of("0123abcd", "198.18.7.254")) == 15


def test_seeding_twice_keeps_the_hosts_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed.os, "chown", lambda *_: None)  # type: ignore[attr-defined]
    seed.seed(tmp_path, HOST)
    key = seed.host_key(tmp_path)
    seed.seed(tmp_path, HOST)
    assert seed.host_key(tmp_path) == key
    assert (tmp_path / "etc/hostname").read_text() == "broker-1\n"
    assert "Address=198.18.7.11/24" in (tmp_path / "etc/systemd/network/10-host0.network").read_text()
    assert (tmp_path / seed.HOST_KEY).stat().st_mode & 0o777 == 0o600
    (tmp_path / f"{seed.HOST_KEY}.pub").unlink()  # interrupted between the two files
    seed.seed(tmp_path, HOST)
    assert seed.host_key(tmp_path) != key


def test_login_files(tmp_path: Path) -> None:
    props = {"state_dir": str(tmp_path)}
    _, outs = login.LoginKey().create(props)
    assert login.LoginKey().create(props)[1] == outs
    assert (tmp_path / "ssh/id_ed25519").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in str(outs)
    (tmp_path / "ssh/id_ed25519").unlink()
    assert login.LoginKey().read("login-key", props) is None

    hosts = [{"address": "192.0.2.1", "port": 22, "key": "k1"}, {"address": "192.0.2.2", "port": 2222, "key": "k2"}]
    known = {"state_dir": str(tmp_path), "hosts": hosts}
    login.KnownHosts().create(known)
    assert (tmp_path / "known_hosts").read_text() == "192.0.2.1 k1\n[192.0.2.2]:2222 k2\n"
    assert login.KnownHosts().read("known-hosts", known) == known
    (tmp_path / "known_hosts").write_text("192.0.2.1 evil\n")
    assert login.KnownHosts().read("known-hosts", known) is None
