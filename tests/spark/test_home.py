"""Spark's classes are loaded beforehand, and that Spark really takes them from there is seen in the kernel's list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from validate import spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_jvm_maps_the_classes(spark: SparkSession) -> None:
    home = spark_home.ready()
    if home is None:
        pytest.skip("no home was made for this Java: python -m validate.spark_home, or it keeps no classes")
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    assert str(home / spark_home.ARCHIVE) in Path(f"/proc/{gateway.proc.pid}/maps").read_text(encoding="utf-8")
