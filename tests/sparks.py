"""Spark sessions of tests, each in a JVM of its own: a running JVM takes neither other jars nor other options."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext

from validate import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CORES = "local[2]"


@contextlib.contextmanager
def spark_session(**options: Any) -> Iterator[SparkSession]:
    assert SparkContext._gateway is None, "another session's JVM still runs in this process"
    one = session.start(master=CORES, **options)
    try:
        yield one
    finally:
        one.stop()
        gateway: Any = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()  # the JVM ends when its parent's pipe does
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None
