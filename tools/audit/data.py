"""The advisories as they lie here, checked before they are believed: docs/reference/audit.md tells of their fields."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from common.errors import UsageError
from common.texts import TextError, from_json

FILE = Path(__file__).with_name("advisories.json")
KINDS = ("python", "jar")
SEVERITIES = ("low", "medium", "high", "critical")
_BOUND = re.compile(r"(<=|>=|<|>|==)\s*([0-9][\w.-]*)")
T = TypeVar("T")


@dataclass(frozen=True)
class Advisory:
    id: str
    kind: str
    package: str
    affected: tuple[str, ...]
    """Any of these: bounds joined by commas that all must hold, such as `>=2.10.0,<2.18.8`."""
    severity: str
    means: str
    source: str

    def concerns(self, package: str) -> bool:
        """A jar whose file does not tell its group is known by its artifact alone."""
        return package == self.package or (":" not in package and package == self.package.rpartition(":")[2])

    def covers(self, version: str) -> bool:
        return any(all(holds(bound, version) for bound in span.split(",")) for span in self.affected)


@dataclass(frozen=True)
class Accepted:
    """A weakness that a pin has and that is lived with; bound to the version, so that a new pin asks anew."""

    ids: tuple[str, ...]
    package: str
    version: str
    why: str


@dataclass(frozen=True)
class Data:
    as_of: dt.date
    advisories: tuple[Advisory, ...]
    accepted: tuple[Accepted, ...]


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that lead a version: 9.4.57.v20241219, 4.1.105.Final and 1.5.6-10 all begin with what counts."""
    found = []
    for part in re.split(r"[.+_-]", version):
        if not (digits := re.match(r"\d+", part)):
            break
        found.append(int(digits[0]))
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def holds(bound: str, version: str) -> bool:
    match = _BOUND.fullmatch(bound.strip())
    if match is None:
        raise ValueError(f"{bound!r} is no bound of versions: write e.g. <2.18.8 or >=2.19.0")
    mine, its = numbers(version), numbers(match[2])
    return {"<": mine < its, "<=": mine <= its, ">": mine > its, ">=": mine >= its, "==": mine == its}[match[1]]


def load(path: Path = FILE) -> Data:
    try:
        content = from_json(path.read_text(encoding="utf-8"))
        data = Data(
            dt.date.fromisoformat(content["as_of"]),
            tuple(_made(Advisory, entry) for entry in content["advisories"]),
            tuple(_made(Accepted, entry) for entry in content["accepted"]),
        )
        for advisory in data.advisories:
            _check(advisory)
        for accepted in data.accepted:
            _check_reason(accepted, {advisory.id for advisory in data.advisories})
    except (OSError, TextError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"The advisories cannot be used: {path.name}.",
            details=f"{type(error).__name__}: {error}",
            resolution="Mend the entry; docs/reference/audit.md tells what it needs.",
        ) from error
    return data


def _made(kind: type[T], entry: dict[str, Any]) -> T:
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # both are dataclasses
    if sorted(entry) != sorted(known):
        raise ValueError(f"{entry.get('id') or entry.get('package')}: the fields must be {', '.join(known)}")
    empty = [name for name, value in entry.items() if not value]
    if empty:
        raise ValueError(f"{entry.get('id') or entry.get('package')}: {empty[0]} is empty")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})


def _check(advisory: Advisory) -> None:
    if advisory.kind not in KINDS or advisory.severity not in SEVERITIES:
        raise ValueError(f"{advisory.id}: kind is one of {', '.join(KINDS)}, severity one of {', '.join(SEVERITIES)}")
    if (advisory.kind == "jar") != (":" in advisory.package):
        raise ValueError(f"{advisory.id}: a jar is named group:artifact, and nothing else is")
    advisory.covers("0")  # says so if a bound is none


def _check_reason(accepted: Accepted, known: set[str]) -> None:
    if not accepted.why.strip():
        raise ValueError(f"{accepted.package} {accepted.version}: accepted without a reason")
    for ident in accepted.ids:
        if ident not in known:
            raise ValueError(f"{accepted.package} {accepted.version}: {ident} is no advisory that lies here")
