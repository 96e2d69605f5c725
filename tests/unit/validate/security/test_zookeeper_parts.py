"""Parts of the checks of ZooKeeper that need no server: whose a right is, and where nobody can look at sockets."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.security import controller_zookeeper as checks
from validate.security import run, tls
from validate.security.controller_zookeeper import held
from validate.security.registry import CHECKS, Evidence
from validate.security.scene import Scene
from validate.security.tunnel import NoTunnel
from validate.security.zookeeper_wire import Right

if TYPE_CHECKING:
    from pathlib import Path


def test_where_there_is_no_way_to_look_nothing_is_held_and_that_is_told(tmp_path: Path) -> None:
    see = Evidence()
    (host,) = cluster(tmp_path, 1).hosts  # its service is the cluster's, not its own
    for one in (host, replace(host, service="zookeeper", login=None)):
        assert held(see, one) == {}
    assert (len(see.unsure), see.verdict) == (2, "unknown")


@pytest.mark.parametrize(
    ("scheme", "who", "world"),
    [
        ("world", "anyone", True), ("ip", "0.0.0.0/0", True), ("ip", "::/0", True), ("ip", "198.18.0.0/24", False),
        ("x509", "CN=kafka", False),
    ],
)  # fmt: skip
def test_every_address_is_the_world(scheme: str, who: str, world: bool) -> None:
    assert Right(31, scheme, who).of_the_world is world


def test_without_a_way_to_its_clients_port_the_next_server_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check 55, where ssh to the broker beside the first one carries nothing."""

    def hello(_scene: Any, _via: Any, place: tuple[str, int]) -> tls.Greeting:
        if place[0] == "away":
            raise NoTunnel("ssh to broker-1 carries no connections.")
        return tls.Greeting("accepted", messages=[tls.SERVER_HELLO])

    monkeypatch.setattr(checks, "_hello", hello)
    monkeypatch.setattr(checks, "_said", lambda _scene, _via, place, _data: b"" if place[0] == "away" else b"imok")
    monkeypatch.setattr(checks, "held", lambda *_: {})
    monkeypatch.setattr(checks, "answering", lambda _: set())
    keeper = {**GOOD["hosts"][0], "node_id": None, "roles": ["zookeeper"], "service": "zookeeper", "ports": [2182]}
    hosts = [{**keeper, "name": name, "address": name} for name in ("away", "there")]
    broker = {**GOOD["hosts"][0], "roles": ["kafka_broker"]}
    with contextlib.closing(Scene(cluster(tmp_path, mode="zookeeper", hosts=[broker, *hosts]))) as scene:
        result = run.run_check(CHECKS[55], scene, consent=True)
    assert result["verdict"] == "failed"
    assert result["seen"][0].startswith("there 2182 from ")
    assert any(line.startswith("away 2182: ssh to broker-1") for line in result["seen"])
