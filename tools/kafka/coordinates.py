"""The lock of one Kafka version: which jars it is made of, and their checksums."""

from __future__ import annotations

from pathlib import Path

from common.errors import UsageError
from common.names import nearest
from tools.maven import Jar, read_lines

LOCKS = Path(__file__).with_name("locks")


def versions() -> list[str]:
    return sorted(path.stem for path in LOCKS.glob("*.lock"))


def read_lock(version: str) -> list[Jar]:
    path = LOCKS / f"{version}.lock"
    if not path.is_file():
        raise UsageError(
            f"There is no lock for Kafka {version}.",
            details=f"{path} does not exist.",
            resolution=f"{nearest(version, versions()).capitalize()} To add one: python -m tools.kafka.lock {version}",
        )
    return read_lines(path)


def write_lock(version: str, jars: list[Jar]) -> Path:
    path = LOCKS / f"{version}.lock"
    lines = sorted(f"{jar.group}:{jar.artifact}:{jar.version} sha256:{jar.sha256}" for jar in jars)
    head = f"# Made by: python -m tools.kafka.lock {version}"
    path.write_text("\n".join([head, *lines, ""]), encoding="ascii")
    return path
