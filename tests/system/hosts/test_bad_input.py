"""Calls that cannot be meant are refused before anything changes, with what to do. Most rules are unit tests; these
need a machine, a user or a stack that is up.
"""

from __future__ import annotations

import subprocess

import pytest

from infra.providers.nspawn import registry
from tests.system.lab import Lab, machine_view

pytestmark = pytest.mark.system


def refused(lab: Lab, *words: str) -> str:
    before = machine_view(lab)
    done = lab.kastellan(*words, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    after = machine_view(lab)
    assert after["links"] == before["links"]
    assert after["loops"] == before["loops"]
    return str(done.stdout + done.stderr)


def test_a_range_in_use_is_refused(lab: Lab) -> None:
    """By the stack of another record, and by a network device that is not ours."""
    record = registry.record_of(lab.stack_id())
    assert record is not None
    with lab.described("local-taken", count=1) as path:
        text = path.read_text()
        path.write_text(text.replace("network: auto", f"network: {record.subnet}"))
        said = refused(lab, "up", "local-taken")
        assert f"{record.subnet} is in use on this machine by stack local of {lab.state()}" in said
        path.write_text(text.replace("network: auto", "network: 198.19.77.0/24"))
        subprocess.run(["ip", "link", "add", "kst-test-own", "type", "bridge"], check=True)
        try:
            subprocess.run(["ip", "address", "add", "198.19.77.9/24", "dev", "kst-test-own"], check=True)
            said = refused(lab, "up", "local-taken")
        finally:
            subprocess.run(["ip", "link", "delete", "kst-test-own"], check=True)
        assert "198.19.77.0/24 is in use on this machine by network device kst-test-own" in said
        lab.kastellan("down", "local-taken", "--yes")


def test_no_room_for_the_disks(lab: Lab) -> None:
    with lab.described("local-huge", count=2, disk="900TiB"):
        said = refused(lab, "up", "local-huge")
        assert "There is no room for the disks of 2 hosts." in said
        assert "pulumi config set" in said
        lab.kastellan("down", "local-huge", "--yes")


def test_a_misspelt_config_key_is_named(lab: Lab) -> None:
    lab.native("pulumi", "config", "set", "-s", "local", "kastellan:netwrok", "auto")
    try:
        said = refused(lab, "up")
        assert "Unknown key 'netwrok'." in said
        assert "Did you mean 'network'?" in said
    finally:
        lab.native("pulumi", "config", "rm", "-s", "local", "kastellan:netwrok")


def test_another_users_call_is_refused(lab: Lab) -> None:
    """nspawn needs root; the check stands before anything is prepared."""
    lab.folder.chmod(0o755)
    packages = next((lab.folder / ".venv/lib").glob("python3.*")) / "site-packages"
    # Debian's own Python: the one of .venv may lie in root's home.
    done = lab.run(
        "setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/python3", "-m", "cli", "up",
        check=False, PYTHONPATH=f"{lab.folder}:{packages}", PYTHONDONTWRITEBYTECODE="1",
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 1, done.stderr
    assert "The provider nspawn must run as root." in done.stderr


def test_a_state_directory_of_another_version(lab: Lab) -> None:
    mark = lab.state() / "version"
    truth = mark.read_text()
    mark.write_text("99\n")
    try:
        said = refused(lab, "up")
        assert "The state directory of stack local is of version 99, this Kastellan reads version 1." in said
    finally:
        mark.write_text(truth)


def test_a_wrong_passphrase(lab: Lab) -> None:
    file = lab.folder / ".kastellan/pulumi/passphrase"
    truth = file.read_text()
    file.write_text("another one\n")
    try:
        said = refused(lab, "up")
        assert "incorrect passphrase" in said
        assert "is not the one this stack was made with" in said
    finally:
        file.write_text(truth)


def test_a_stack_that_is_not_up_is_no_empty_inventory(lab: Lab) -> None:
    with lab.described("local-never", count=1):
        done = lab.native("ansible", "-i", "inventories/local-never", "-m", "ping", "all", check=False)
        assert done.returncode != 0
        assert (
            "There is no stack 'local-never': it is not up. Run ./kastellan up local-never" in done.stdout + done.stderr
        )
        assert "./kastellan up local-never" in refused(lab, "status", "local-never")
