"""Stack local-spark, made once for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.lab import Lab, new_lab

if TYPE_CHECKING:
    from collections.abc import Iterator

STACK = "local-spark"


@pytest.fixture(scope="package")
def lab() -> Iterator[Lab]:
    with new_lab() as made:
        made.kastellan("up", STACK, "--until", "cluster")
        yield made
