"""Everything that is pinned here: Python packages of every lock, jars of every lock, and jars that a package brings."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from common.errors import KastellanError
from tools.maven import read_lines

ROOT = Path(__file__).resolve().parents[2]
PYTHON_LOCKS = ("requirements*.lock", "tools/*/*.lock")
JAR_LOCKS = ("tools/kafka/locks/*.lock", "tools/spark/*.lock")
PYTHON, JAR = "python", "jar"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)", re.MULTILINE)
_BUNDLED = re.compile(r"(?P<artifact>.+?)-(?P<version>[0-9][\w.-]*)\.jar")


@dataclass(frozen=True, order=True)
class Pin:
    kind: str
    package: str
    """As its registry names it; of a jar `group:artifact`, or the artifact alone where its file does not say more."""
    version: str
    where: str


def all_pins(root: Path = ROOT) -> list[Pin]:
    return sorted({*python_pins(root), *jar_pins(root), *bundled_pins()})


def python_pins(root: Path) -> list[Pin]:
    pins = []
    for path in _files(root, PYTHON_LOCKS):
        text = path.read_text(encoding="utf-8")
        if "--hash=" in text:
            found = _PINNED.findall(text)
            pins += [Pin(PYTHON, name.lower(), version, _told(path, root)) for name, version in found]
    return _something(pins, "Python")


def jar_pins(root: Path) -> list[Pin]:
    pins = [
        Pin(JAR, f"{jar.group}:{jar.artifact}", jar.version, _told(path, root))
        for path in _files(root, JAR_LOCKS)
        for jar in read_lines(path)
    ]
    return _something(pins, "jars")


def bundled_pins() -> list[Pin]:
    """PySpark's wheel is one pin and three hundred jars; nothing where it is not installed."""
    spec = importlib.util.find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec and spec.origin else None
    names = sorted(path.name for path in folder.glob("*.jar")) if folder and folder.is_dir() else []
    matches = [match for name in names if (match := _BUNDLED.fullmatch(name))]
    return [Pin(JAR, match["artifact"], match["version"], "pyspark's own jars") for match in matches]


def _files(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted(path for pattern in patterns for path in root.glob(pattern))


def _told(path: Path, root: Path) -> str:
    return str(path.relative_to(root))


def _something(pins: list[Pin], what: str) -> list[Pin]:
    """An audit that finds nothing to look at has found nothing."""
    if not pins:
        raise KastellanError(
            f"No pins of {what} were found.",
            resolution="Look whether locks were moved: tools/audit/pins.py names them.",
        )
    return pins
