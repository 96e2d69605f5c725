"""Hosts that exist already: recorded, reached, never removed. Those of `local` stand in for a user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from tests.system.hosts.checks import assert_well

if TYPE_CHECKING:
    from tests.system.lab import Lab

pytestmark = pytest.mark.system


def test_existing_hosts_are_recorded_and_left_alone(lab: Lab) -> None:
    listed = [
        {
            "name": host["name"],
            "address": host["address"],
            "roles": host["roles"],
            "node_id": host["node_id"],
            "host_key": host["host_key"],
            "ssh_key_file": str(lab.state() / "ssh" / "id_ed25519"),
        }
        for host in lab.outputs()["hosts"]
    ]
    path = lab.folder / "infra/stacks/static.yaml"
    example = path.read_text()
    assert "hosts is empty" in lab.kastellan("up", "static", "--until", "hosts", check=False).stderr
    path.write_text(yaml.safe_dump({"provider": "static", "hosts": listed}))
    try:
        assert "4 hosts answer." in lab.kastellan("up", "static", "--until", "hosts").stdout
        assert lab.outputs("static")["network"] == ""
        lab.kastellan("status", "static")
        assert lab.ssh("broker-2", "hostname", "static") == "broker-2"
        lab.kastellan("down", "static", "--yes")
    finally:
        path.write_text(example)
    assert not lab.state("static").exists()
    assert_well(lab)


def test_a_login_key_that_is_not_there(lab: Lab) -> None:
    (host, *_) = lab.outputs()["hosts"]
    listed = {key: host[key] for key in ("name", "address", "roles", "node_id", "host_key")}
    path = lab.folder / "infra/stacks/static.yaml"
    example = path.read_text()
    path.write_text(yaml.safe_dump({"provider": "static", "hosts": [{**listed, "ssh_key_file": "/no/such/key"}]}))
    try:
        said = lab.kastellan("up", "static", "--until", "hosts", check=False).stdout
        assert "The login key of broker-1 is not there." in said
    finally:
        path.write_text(example)
        lab.kastellan("down", "static", "--yes")
