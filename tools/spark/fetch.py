"""`python -m tools.spark.fetch`: the jars of Spark's Kafka source in the cache; prints their paths as a JSON list."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common.cache import cache_dir
from common.errors import KastellanError
from tools.maven import copy_jars, read_lines, verify
from tools.sums import sha256_of

if TYPE_CHECKING:
    from tools.maven import Jar

LOCK = Path(__file__).with_name("kafka-source.lock")


def ensure() -> list[Path]:
    """Two callers at once fetch once; a folder that no longer holds what the lock names is fetched again."""
    jars = read_lines(LOCK)
    libs = cache_dir() / "spark" / f"kafka-source-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    libs.parent.mkdir(parents=True, exist_ok=True)
    with libs.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_whole(libs, jars):
            shutil.rmtree(libs, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=libs.parent) as name:
                fresh = Path(name) / "libs"
                copy_jars(Path(name), fresh, jars, without_maven="On Debian: apt-get install maven.")
                verify(fresh, jars)
                fresh.rename(libs)
    return [libs / jar.file_name for jar in jars]


def _is_whole(libs: Path, jars: list[Jar]) -> bool:
    return all((libs / jar.file_name).is_file() and sha256_of(libs / jar.file_name) == jar.sha256 for jar in jars)


def main() -> int:
    try:
        print(json.dumps([str(path) for path in ensure()]))  # noqa: T201 - its one answer
    except KastellanError as exc:
        print(exc, file=sys.stderr)  # noqa: T201 - for whoever called
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
