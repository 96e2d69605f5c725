"""What all clouds have in common, as far as it shows in what is asked of Pulumi's engine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from infra.known import Known
from tests.unit.infra import test_aws, test_libvirt, test_openstack
from tests.unit.infra.clouds import run_program

if TYPE_CHECKING:
    from pathlib import Path

CLOUDS: dict[str, Any] = {"openstack": test_openstack, "aws": test_aws, "libvirt": test_libvirt}
DATA = {"openstack": "Volume broker-1", "aws": "Volume broker-1", "libvirt": "Volume broker-1-data"}
MACHINE = {"openstack": "Instance broker-1", "aws": "Instance broker-1", "libvirt": "Domain broker-1"}
OURS = ("kastellan:", "pulumi-python:", "pulumi:")


@pytest.fixture(params=CLOUDS)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LIBVIRT_DEFAULT_URI", "qemu:///system")
    return str(request.param)


def run_cloud(provider: str, tmp_path: Path, **changes: Any) -> Any:
    module = CLOUDS[provider]
    seen = module.cloud()
    run_program(seen, module.described(**changes), tmp_path, known=Known({}))
    return seen


def test_data_is_protected_and_outlives_its_machine(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path)
    volume, machine = seen.requests[DATA[provider]], seen.requests[MACHINE[provider]]
    assert (volume.protect, volume.retainOnDelete) == (True, True)
    assert (machine.protect, machine.retainOnDelete) == (False, False)
    # One name, one address, one disk: the old machine goes first.
    assert machine.deleteBeforeReplace


def test_destroying_data_needs_saying_so(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path, keep_data=False)
    volume = seen.requests[DATA[provider]]
    assert (volume.protect, volume.retainOnDelete) == (False, False)


# What Terraform's providers have no bound for, by what Pulumi says when it is given one.
UNBOUNDED: dict[str, dict[str, set[str]]] = {
    "openstack": {"SecGroup": {"create"}, "SecGroupRule": {"create"}, "ServerGroup": {"create", "delete"}},
    "libvirt": {
        **{kind: {"create", "delete"} for kind in ("Volume", "Network", "Pool", "CloudInitDisk")},
        "Domain": {"delete"},
    },
    "aws": {},
}


def test_nothing_may_take_for_ever(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path)
    for name, request in seen.requests.items():
        if request.type.startswith(OURS):
            continue
        bounds = {kind for kind in ("create", "delete") if getattr(request.customTimeouts, kind)}
        assert bounds == {"create", "delete"} - UNBOUNDED[provider].get(name.split()[0], set()), name


def test_what_counts_at_the_first_boot_alone_replaces_no_machine(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path)
    settled = {
        "openstack": ["imageId", "userData", "blockDevices[0].uuid"],
        "aws": ["ami", "userData"],
        "libvirt": [],
    }
    assert list(seen.requests[MACHINE[provider]].ignoreChanges) == settled[provider]


def test_one_more_host_touches_no_other(provider: str, tmp_path: Path) -> None:
    """And back: what is asked for the others is the same to the letter."""
    three = run_cloud(provider, tmp_path, groups__broker__count=3).made
    four = run_cloud(provider, tmp_path, groups__broker__count=4).made
    del three["KnownHosts known-hosts"], four["KnownHosts known-hosts"]
    more = {name for name in four if name not in three}
    assert more
    assert all("broker-4" in name for name in more)
    assert {name: four[name] for name in three} == three


def test_private_keys_are_secret_in_the_state(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path)
    assert list(seen.requests["HostKey broker-1"].additionalSecretOutputs) == ["private_key"]


def test_names_and_marks_tell_whose_it_is(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path, cloud__label="team-a")
    machine = seen.made[MACHINE[provider]]
    assert (machine.get("name") or machine["tags"]["Name"]) == "team-a-broker-1"


def test_the_login_is_waited_for_at_the_address_that_the_cloud_confirmed(provider: str, tmp_path: Path) -> None:
    seen = run_cloud(provider, tmp_path)
    arrival = seen.made["Arrival broker-1"]
    machine = seen.made["KnownHosts known-hosts"]["hosts"][0]
    assert (arrival["address"], arrival["host_key"]) == (machine["address"], machine["key"])
    assert arrival["machine"] == f"{MACHINE[provider].replace(' ', '-')}-0123456789abcdef"
    assert (arrival["timeout_s"], arrival["data_path"]) == (600, "/var/lib/kafka")


def test_large_packages_are_not_imported_for_other_stacks() -> None:
    code = (
        "import sys, infra.program, infra.providers as p; p.needs_of('aws'); p.needs_of('openstack');"
        "print([m for m in sys.modules if m.startswith(('pulumi_aws', 'pulumi_openstack', 'pulumi_libvirt'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
