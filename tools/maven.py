"""Jars by exact coordinates and checksums, fetched through the user's own Maven."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from common.errors import KastellanError
from common.run import run
from tools.sums import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TIMEOUT_S = 1200
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
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


def read_lines(path: Path) -> list[Jar]:
    """What a lock names; lines that begin with # are remarks."""
    lines = [line for line in path.read_text(encoding="ascii").splitlines() if line and not line.startswith("#")]
    matches = [_LINE.fullmatch(line) for line in lines]
    if None in matches:
        raise KastellanError(f"{path} has a line that is no coordinate.", details=lines[matches.index(None)])
    return [Jar(**match.groupdict()) for match in matches if match]


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


def copy_jars(folder: Path, libs: Path, jars: list[Jar], *, without_maven: str) -> None:
    """Exact coordinates, so that no pom of theirs and no repository they name has a say."""
    if shutil.which("mvn") is None:
        raise KastellanError(
            "There is no program mvn.",
            resolution=without_maven,
        )
    plugin = (
        "<plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>"
        f"<configuration><outputDirectory>{libs}</outputDirectory>"
        f"<artifactItems>{items(jars, 'artifactItem')}</artifactItems></configuration></plugin>"
    )
    (folder / "pom.xml").write_text(pom(f"<build><plugins>{plugin}</plugins></build>"), encoding="utf-8")
    run(
        ["mvn", "--batch-mode", "--quiet", f"{PLUGIN}:copy"],
        timeout_s=TIMEOUT_S,
        cwd=folder,
        resolution="Maven reaches no repository, or not all jars are there: a mirror is named in ~/.m2/settings.xml.",
    )


def verify(libs: Path, jars: Iterable[Jar]) -> None:
    for jar in jars:
        seen = sha256_of(libs / jar.file_name)
        if seen != jar.sha256:
            raise KastellanError(
                f"{jar.file_name} is not what the lock names.",
                details=f"SHA-256 is {seen}, the lock has {jar.sha256}.",
                resolution="Remove it from Maven's local repository and try again; if it stays, mistrust the mirror.",
            )
