"""Brokers on loopback, and the modules as Ansible calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.kafka_processes import Processes, kraft
from tests.system.modules.calls import Modules

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Three combined nodes in two racks."""
    with kraft(tmp_path_factory.mktemp("kafka")) as made:
        yield made


@pytest.fixture
def modules(brokers: Processes) -> Modules:
    return Modules(brokers)
