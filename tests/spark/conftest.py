"""One Spark session for all tests: starting one costs seconds, judging a small ledger does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sparks import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(scratch=str(tmp_path_factory.mktemp("spark"))) as one:
        yield one
