"""The lock of one Kafka version: which jars it is made of, and their checksums."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from common.errors import KastellanError, UsageError
from common.names import nearest

LOCKS = Path(__file__).with_name("locks")
_LINE = re.compile(r"(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):(?P<version>[\w.-]+) sha256:(?P<sha256>[0-9a-f]{64})")


@dataclass(frozen=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str = ""

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


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
    lines = [line for line in path.read_text(encoding="ascii").splitlines() if line and not line.startswith("#")]
    matches = [_LINE.fullmatch(line) for line in lines]
    if None in matches:
        raise KastellanError(f"{path} has a line that is no coordinate.", details=lines[matches.index(None)])
    return [Jar(**match.groupdict()) for match in matches if match]


def write_lock(version: str, jars: list[Jar]) -> Path:
    path = LOCKS / f"{version}.lock"
    lines = sorted(f"{jar.group}:{jar.artifact}:{jar.version} sha256:{jar.sha256}" for jar in jars)
    head = f"# Made by: python -m tools.kafka.lock {version}"
    path.write_text("\n".join([head, *lines, ""]), encoding="ascii")
    return path


def pom(elements: str) -> str:
    """A project that exists only to be handed to Maven: it names no repository, so the user's own mirrors count."""
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>kastellan</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>"
        f"{elements}</project>\n"
    )


def items(jars: list[Jar], tag: str) -> str:
    return "".join(
        f"<{tag}><groupId>{escape(jar.group)}</groupId><artifactId>{escape(jar.artifact)}</artifactId>"
        f"<version>{escape(jar.version)}</version></{tag}>"
        for jar in jars
    )
