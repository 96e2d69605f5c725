"""Stack local-spark, made once for all tests of this folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.system.lab import Lab, copy_checkout, new_lab
from tests.system.spark.running import STACK

if TYPE_CHECKING:
    from collections.abc import Iterator

UP_TIMEOUT_S = 600


@pytest.fixture(scope="package")
def lab() -> Iterator[Lab]:
    """With KASTELLAN_TEST_LAB=FOLDER it is made there and stays, as the cluster of tests/system/cluster does."""
    kept = os.environ.get("KASTELLAN_TEST_LAB")
    if kept:
        made = Lab(Path(kept))
        made.folder.mkdir(exist_ok=True)
        copy_checkout(made.folder)
        made.kastellan("up", STACK, "--until", "cluster", timeout_s=UP_TIMEOUT_S)
        yield made
        return
    with new_lab() as made:
        made.kastellan("up", STACK, "--until", "cluster", timeout_s=UP_TIMEOUT_S)
        yield made
