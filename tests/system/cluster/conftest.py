"""One secured cluster, gone with the last test of this folder: the next folder's hosts have the machine to themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparks import spark_session
from tests.system.cluster.workloads import SHAPES, Workloads, drop_topics, make_topics
from tests.system.kafka_cluster import Cluster
from tests.system.lab import Lab, copy_checkout, new_lab
from validate import readback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Made once; every test leaves it whole. With KASTELLAN_TEST_LAB=FOLDER it is made there and stays, for the next
    run of whoever is at work on a test or on what it tests."""
    kept = os.environ.get("KASTELLAN_TEST_LAB")
    if kept:
        yield kept_cluster(Path(kept))
        return
    with new_lab() as lab:
        lab.kastellan("up", "--until", "hosts")
        made = Cluster(lab)
        made.virgin_check = made.play("site", "--check")
        made.first_run = made.play("site")
        yield made


def kept_cluster(folder: Path, *, copied: bool = False) -> Cluster:
    folder.mkdir(exist_ok=True)
    if not copied:
        copy_checkout(folder)
    made = Cluster(Lab(folder))
    made.lab.kastellan("up", "--until", "cluster", timeout_s=900)
    return made


@pytest.fixture(scope="package")
def reading_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that reads Kafka and judges; its event log shows what a plan gives away."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{folder}\nspark.eventLog.compress false\n",
        encoding="ascii",
    )
    with pytest.MonkeyPatch.context() as patch:
        # Also where the caller's shell names another: then there would be no event log to look into.
        patch.setenv("SPARK_CONF_DIR", str(folder))
        with spark_session(scratch=str(folder), jars=readback.jars()) as one:
            yield one


@pytest.fixture
def work(cluster: Cluster, tmp_path: Path) -> Iterator[Workloads]:
    """Fresh topics and an empty ledger."""
    client = cluster.bundle("validator")
    drop_topics(client, list(SHAPES))
    make_topics(client, SHAPES, **{"min.insync.replicas": "2"})
    made = Workloads(tmp_path, client, {name: partitions for name, (partitions, _) in SHAPES.items()})
    yield made
    made.end()
    drop_topics(client, list(SHAPES))
