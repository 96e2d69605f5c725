"""One Spark session for all tests: starting one costs seconds, judging a small ledger does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from validate import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    one = session.start(master="local[2]", scratch=str(tmp_path_factory.mktemp("spark")))
    yield one
    one.stop()
