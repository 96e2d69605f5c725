"""What is declared on libvirt, and what is refused before anything is; Pulumi's mocks stand for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import KastellanError
from infra.description import plan_from
from infra.known import Known
from infra.providers.libvirt import preflight
from infra.providers.libvirt.host import mac_of
from tests.unit.infra.clouds import MockCloud, first_boot, run_program

if TYPE_CHECKING:
    from pathlib import Path

ROUTES = [{"dst": "default", "dev": "eth0"}, {"dst": "10.80.0.0/16", "dev": "wg0"}]


def described(**changes: Any) -> dict[str, Any]:
    group = {
        "prefix": "broker", "count": 2, "address": 11, "roles": ["kafka_broker"], "memory": "2GiB", "disk": "8GiB", "cpus": 3,
    }  # fmt: skip
    whole: dict[str, Any] = {
        "provider": "libvirt",
        "network": "10.71.0.0/24",
        "cloud": {"image": "debian.qcow2", "name_servers": ["192.0.2.53"]},
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
    return MockCloud({"getNodeInfo": {"memoryTotalKb": 8 * 2**20}, **answers})


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBVIRT_DEFAULT_URI", "qemu:///system")


def test_a_domain_has_its_disks_its_settings_and_its_address(tmp_path: Path) -> None:
    seen = cloud()
    outputs = run_program(seen, described(), tmp_path)
    assert [host["address"] for host in outputs["hosts"]] == ["10.71.0.11", "10.71.0.12"]
    domain = seen.made["Domain broker-2"]
    assert (domain["memory"], domain["vcpu"], domain["type"]) == (2048, 3, "kvm")
    assert domain["disks"] == [{"volumeId": f"Volume-broker-2-{which}-0123456789abcdef"} for which in ("root", "data")]
    mac = mac_of("kastellan-cloud-broker-2")
    assert domain["networkInterfaces"] == [{"networkName": "kastellan-cloud", "mac": mac}]
    settings = seen.made["CloudInitDisk broker-2"]
    assert json.loads(settings["networkConfig"])["ethernets"]["host0"] == {
        "match": {"macaddress": mac},
        "addresses": ["10.71.0.12/24"],
        "routes": [{"to": "0.0.0.0/0", "via": "10.71.0.1"}],
        "nameservers": {"addresses": ["192.0.2.53"]},
    }
    assert first_boot(settings["userData"])["hostname"] == "broker-2"
    assert seen.made["Volume broker-2-data"]["size"] == 8 * 2**30
    assert seen.made["Network network"]["dhcp"] == {"enabled": False}


def test_words_for_the_first_boot_remake_no_guest_s_settings(tmp_path: Path) -> None:
    seen = cloud()
    run_program(seen, described(), tmp_path)
    settings = seen.requests["CloudInitDisk broker-1"]
    assert list(settings.ignoreChanges) == ["userData", "networkConfig"]
    assert set(settings.ignoreChanges) <= seen.made["CloudInitDisk broker-1"].keys()


def test_emulation_is_asked_for_by_name(tmp_path: Path) -> None:
    """A machine may offer KVM that does not work; QEMU alone always does."""
    seen = cloud()
    run_program(seen, described(cloud__domain_type="qemu"), tmp_path)
    assert seen.made["Domain broker-1"]["type"] == "qemu"
    assert "cpu" not in seen.made["Domain broker-1"]


def test_a_given_network_and_pool_are_used_and_none_made(tmp_path: Path) -> None:
    seen = cloud()
    run_program(
        seen, described(network={"name": "default", "range": "192.168.122.0/24"}, cloud__pool="images"), tmp_path
    )
    assert seen.made["Domain broker-1"]["networkInterfaces"][0]["networkName"] == "default"
    assert seen.made["Volume broker-1-data"]["pool"] == "images"
    assert not [name for name in seen.made if name.startswith(("Network", "Pool"))]


@pytest.mark.parametrize(
    ("changes", "answers", "said"),
    [
        ({"groups__broker__count": 5}, {}, "The machine is too small: 5 hosts need 10GiB, it has 8GiB."),
        ({"network": "10.80.3.0/24"}, {}, "The network 10.80.3.0/24 is in use on this machine, by wg0: 10.80.0.0/16."),
        (
            {},
            {"getNodeInfo": "failed to connect: dial unix /run/libvirt-sock: connect: permission denied"},
            "The cloud does not let us in.",
        ),
        (
            {},
            {"getNodeInfo": "failed to connect: dial unix /run/libvirt-sock: connect: no such file"},
            "No libvirt answers there.",
        ),
        ({}, {"getNodeInfo": "failed to connect: dial tcp 192.0.2.1:16509: i/o timeout"}, "No libvirt answers there."),
    ],
)
def test_refused_before_anything_is_made(
    tmp_path: Path, changes: dict[str, Any], answers: dict[str, Any], said: str
) -> None:
    seen = cloud(**answers)
    with pytest.raises(KastellanError) as refusal:
        run_program(seen, described(**changes), tmp_path, routes=ROUTES)
    assert said in refusal.value.brief
    assert refusal.value.details
    assert refusal.value.resolution
    assert seen.made == {}


def test_without_kvm_emulation_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = cloud()
    with pytest.raises(KastellanError) as refusal:
        run_program(seen, described(), tmp_path, kvm=tmp_path / "none")
    assert "cloud.domain_type is kvm, and this machine has no" in refusal.value.brief
    assert "'kastellan:cloud.domain_type' qemu" in refusal.value.resolution
    assert seen.made == {}
    run_program(cloud(), described(cloud__domain_type="qemu"), tmp_path, kvm=tmp_path / "none")
    urns = [f"urn:pulumi:cloud::kastellan::a$libvirt:index/domain:Domain::broker-{n}" for n in (1, 2)]
    there = Known({urn: {"id": urn, "urn": urn} for urn in urns})
    run_program(cloud(), described(), tmp_path, kvm=tmp_path / "none", known=there)  # they were made somehow
    for elsewhere in ("qemu+ssh://ops@elsewhere/system", "qemu:///system?socket=/srv/root/run/libvirt/libvirt-sock"):
        monkeypatch.setenv("LIBVIRT_DEFAULT_URI", elsewhere)  # what it has is not seen from here
        run_program(cloud(), described(), tmp_path, kvm=tmp_path / "none")


def test_which_libvirt_must_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIBVIRT_DEFAULT_URI")
    with pytest.raises(KastellanError, match="pulumi config set libvirt:uri qemu:///system --stack cloud"):
        run_program(cloud(), described(), tmp_path)


@pytest.mark.parametrize(("has", "said"), [(16, "has 16GiB, 8GiB are asked for"), (4, "has 4GiB, 8GiB are asked for")])
def test_a_disk_of_another_size_is_refused(tmp_path: Path, has: int, said: str) -> None:
    """Less loses data; more the plugin cannot do, it would make another volume."""
    urn = "urn:pulumi:cloud::kastellan::a$libvirt:index/volume:Volume::broker-1-data"
    known = Known({"v": {"id": "v", "urn": urn, "outputs": {"size": has * 2.0**30}}})
    with pytest.raises(KastellanError, match=f"The data volume of broker-1 {said}"):
        run_program(cloud(), described(), tmp_path, known=known)
    same = Known({"v": {"id": "v", "urn": urn, "outputs": {"size": 8 * 2.0**30}}})
    run_program(cloud(), described(), tmp_path, known=same)


def image(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "image.qcow2"
    path.write_bytes(content)
    return str(path)


def qcow2(size: int) -> bytes:
    """Its first bytes: mark, version, no backing file, bits of a cluster, size of the disk."""
    return b"QFI\xfb" + bytes((0, 0, 0, 3)) + bytes(12) + bytes((0, 0, 0, 16)) + size.to_bytes(8, "big") + bytes(72)


def test_an_image_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "missing_packages", list)
    for path, said in (
        (str(tmp_path / "none.qcow2"), "there is no file"),
        (image(tmp_path, b""), "is no image in the format qcow2"),
        (image(tmp_path, b"CD001" * 100), "is no image in the format qcow2"),
    ):
        with pytest.raises(KastellanError, match=rf"cloud\.image: .*{said}"):
            preflight.preflight(plan_from("cloud", described(cloud__image=path)))
    plan = plan_from("cloud", described(cloud__image=image(tmp_path, qcow2(40 * 2**30))))
    with pytest.raises(KastellanError, match="has 40GiB, a machine's root has 20GiB"):
        preflight.preflight(plan)
    image(tmp_path, qcow2(2 * 2**30))
    preflight.preflight(plan)


def test_an_image_that_is_not_ours_to_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "missing_packages", list)
    path = image(tmp_path, qcow2(2**30))

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", path)  # root, as whom tests may run, is refused nothing

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(KastellanError, match=r"cloud\.image: .* cannot be read") as refusal:
        preflight.preflight(plan_from("cloud", described(cloud__image=path)))
    assert path in refusal.value.details
