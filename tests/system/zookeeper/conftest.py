"""The cluster of stack local-zookeeper, under the name that the helpers know, so that the tests of KRaft run here too."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.system.cluster.conftest import kept_cluster
from tests.system.kafka_cluster import Cluster
from tests.system.lab import Lab, copy_checkout, new_lab

if TYPE_CHECKING:
    from collections.abc import Iterator

STACK = "local-zookeeper"


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Made once; every test leaves it whole. KASTELLAN_TEST_LAB as for the tests of tests/system/cluster."""
    kept = os.environ.get("KASTELLAN_TEST_LAB")
    if kept:
        Path(kept).mkdir(exist_ok=True)
        copy_checkout(Path(kept))
        disguise(Lab(Path(kept)))
        yield kept_cluster(Path(kept), copied=True)
        return
    with new_lab() as lab:
        disguise(lab)
        lab.kastellan("up", "--until", "hosts")
        made = Cluster(lab)
        made.virgin_check = made.play("site", "--check")
        made.first_run = made.play("site")
        yield made


def disguise(lab: Lab) -> None:
    shutil.copy2(lab.folder / f"infra/stacks/{STACK}.yaml", lab.folder / "infra/stacks/local.yaml")
    shutil.rmtree(lab.folder / "inventories/local/group_vars")
    shutil.copytree(lab.folder / f"inventories/{STACK}/group_vars", lab.folder / "inventories/local/group_vars")
