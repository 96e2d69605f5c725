"""Hosts without Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.hosts.checks import mark_disks
from tests.system.lab import Lab, new_lab

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def lab() -> Iterator[Lab]:
    """A copy whose stack `local` is up: four hosts, each with a file on its data disk."""
    with new_lab() as made:
        made.kastellan("up", "--until", "hosts")
        mark_disks(made)
        yield made
