"""`python -m tools.spark.bundle`: one tar of Spark and of what tasks of the load import, out of this environment.

PySpark's own package holds a whole Spark. Prints JSON: the tar, its name, and a file that is unpacked last.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import json
import platform
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from common.cache import cache_dir
from common.errors import KastellanError
from tools.sums import is_as_made, write_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK = "pyspark"
PACKAGES = ("confluent-kafka", "pyarrow")
# Of PySpark's package: what a master, a worker and an executor run.
PARTS = ("bin", "jars", "python", "sbin")
MARKER = "unpacked"
# Of a file that may be run (and of folders), and of another: those of .venv follow whoever's umask made it.
MODES = {True: 0o755, False: 0o644}


def ensure() -> dict[str, str | bool]:
    """Two callers at once pack once; what no longer is what was packed is packed again."""
    versions = {name: importlib.metadata.version(name) for name in (SPARK, *PACKAGES)}
    recipe = json.dumps(
        [versions, PARTS, sorted(MODES.values()), platform.python_version_tuple()[:2], platform.machine()]
    )
    name = f"spark-{versions[SPARK]}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    folder = cache_dir() / "spark"
    folder.mkdir(parents=True, exist_ok=True)
    tar = folder / f"{name}.tar"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = not is_as_made(tar)
        if made:
            half = tar.with_suffix(".half")
            write(half, contents())
            half.rename(tar)
            write_sum(tar)
    return {"name": name, "archive": str(tar), "marker": MARKER, "made": made}


def contents() -> Iterator[tuple[str, Path]]:
    """Place in the tar and file: spark/ as PySpark's package has it, site/ as Python finds packages."""
    for path in _files(SPARK):
        parts = path.parts
        if parts[0] == SPARK and len(parts) > 2 and parts[1] in PARTS and "__pycache__" not in parts:  # noqa: PLR2004  package, part, file
            yield str(Path("spark", *parts[1:])), Path(str(path.locate()))
    for name in PACKAGES:
        for path in _files(name):
            if path.parts[0] != ".." and "__pycache__" not in path.parts and "tests" not in path.parts:
                yield str(Path("site", path)), Path(str(path.locate()))


def _files(name: str) -> list[importlib.metadata.PackagePath]:
    return sorted(importlib.metadata.files(name) or [], key=str)


def write(target: Path, found: Iterator[tuple[str, Path]]) -> None:
    """Nothing of this machine but contents; the marker comes last, so that what was broken off is seen to be."""
    folders: set[Path] = set()
    with tarfile.open(target, "w") as tar:
        for place, path in found:
            for folder in reversed(Path(place).parents[:-1]):
                if folder not in folders:
                    folders.add(folder)
                    tar.addfile(_neutral(tarfile.TarInfo(str(folder)), tarfile.DIRTYPE))
            entry = tar.gettarinfo(str(path), place)
            with path.open("rb") as file:
                tar.addfile(_neutral(entry, entry.type), file)
        tar.addfile(tarfile.TarInfo(MARKER))


def _neutral(entry: tarfile.TarInfo, kind: bytes) -> tarfile.TarInfo:
    entry.type = kind
    entry.mode = MODES[kind == tarfile.DIRTYPE or bool(entry.mode & 0o100)]
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry


def main() -> int:
    try:
        print(json.dumps(ensure()))  # noqa: T201 - its one answer
    except KastellanError as exc:
        print(exc, file=sys.stderr)  # noqa: T201 - for whoever called
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
