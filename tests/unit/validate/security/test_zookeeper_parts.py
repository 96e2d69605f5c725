"""Parts of the checks of ZooKeeper that need no server: whose a right is, and where nobody can look at sockets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.unit.validate.control import cluster
from validate.security.controller_zookeeper import held
from validate.security.registry import Evidence
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
