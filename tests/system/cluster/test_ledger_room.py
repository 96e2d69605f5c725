"""The disk of the ledger fills up in the middle of a load: the run says so, and what was sent until then is judged."""

from __future__ import annotations

import contextlib
import json
import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.system.cluster.test_proof import SEED, told, validate
from validate.run import room

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark, pytest.mark.long]

SPARE_MIB = 16
# 32 bytes a record in the journal of a shape, and two and a half times that is kept free: what is spare lasts for
# seven seconds or so.
SCENARIO = """
title: A load that its ledger has no room for
teaches: What the test asks.
explanation: It would go on for ten minutes; its disk would be full long before.
suites: [untried]
only_on_request: true
topics:
  kastellan-three: {partitions: 3, replication: 2, config: {min.insync.replicas: 2}}
workload: {kind: paced, shape: [{for_s: 600, records_per_s: 20000}], consumers: 0, probes: false}
expect: {anomalies: none}
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    size = room.LEAST_BYTES // room.MIB + SPARE_MIB
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "kastellan-test", str(place)], check=True)
    try:
        yield place
    finally:
        # Whoever of a failed test still writes there keeps it busy.
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextlib.contextmanager
def described(cluster: Cluster, name: str) -> Iterator[None]:
    """Gone afterwards: other tests of this cluster run all scenarios that there are."""
    path = cluster.lab.folder / f"validate/scenarios/{name}.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    try:
        yield
    finally:
        path.unlink()


def test_a_load_ends_in_time_and_its_ledger_is_whole(cluster: Cluster, small_disk: Path) -> None:
    with described(cluster, "no-room"):
        done = validate(cluster, "run", "--scenario", "no-room", "--seed", SEED, "--out", str(small_disk))
    (folder,) = small_disk.iterdir()
    entry = told(folder)["no-room"]
    assert (done.returncode, entry["verdict"]) == (2, "unknown"), done.stdout + done.stderr
    assert "The disk of the ledger is filling up: the load was ended." in entry["reasons"][0], entry["reasons"]
    summary = json.loads((folder / "verdicts/no-room.json").read_text(encoding="utf-8"))
    assert summary["problems"] == []
    assert {name: found["violation"] for name, found in summary["counts"].items() if found["violation"]} == {}
    rows = pq.read_table(folder / "ledger/no-room/sent", columns=["outcome"]).num_rows
    assert rows == summary["checked"]["sent"] == summary["acked"]["found"] > 100_000
