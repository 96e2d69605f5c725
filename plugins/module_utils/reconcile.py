"""What all reconciling modules share: a change, its diff, strays, and waiting until a change can be seen."""

from __future__ import annotations

import fnmatch
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import BadInputError, RefusedError, UnsettledError
from .messages import NO_ERROR, error_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .settings import Login

POLL_FIRST_S = 0.02
POLL_MAX_S = 0.5
# A message names so many one by one.
NAMED_MAX = 5


@dataclass(frozen=True)
class Change:
    """One step of a plan. `before` and `after` are shown in the diff: never a secret in them."""

    action: str
    name: str
    line: str
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a module reports."""

    changes: Sequence[Change] = ()
    strays: Sequence[str] = ()
    warnings: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def result(self) -> dict[str, Any]:
        return {
            "changed": bool(self.changes),
            "plan": [change.line for change in self.changes],
            "strays": list(self.strays),
            "diff": difference(self.changes),
            **self.extra,
        }


@dataclass(frozen=True)
class Work:
    """A plan, and how it is done. Making it has changed nothing."""

    outcome: Outcome
    do: Callable[[], None]
    """Applies the changes and waits until the cluster shows them."""

    def finish(self, *, check_mode: bool) -> Outcome:
        if self.outcome.changes and not check_mode:
            self.do()
        return self.outcome


def difference(changes: Sequence[Change]) -> dict[str, dict[str, Any]]:
    """Only what changes, by name, as Ansible's --diff shows it."""
    sides: dict[str, dict[str, Any]] = {"before": {}, "after": {}}
    for change in changes:
        for side, values in (("before", change.before), ("after", change.after)):
            if values:
                sides[side].setdefault(change.name, {}).update(values)
    return sides


def refuse_duplicates(kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    twice = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if twice:
        raise BadInputError(
            f"{kind} declared more than once: {', '.join(twice)}.", resolution="Keep one entry for each."
        )


def refuse_to_remove_all(kind: str, *, declared: bool, strays: Sequence[str]) -> None:
    """An empty list is far more often a mistake than a wish."""
    if strays and not declared:
        raise BadInputError(
            f"remove_strays with an empty list of {kind} would remove all {len(strays)} that the cluster has.",
            details=f"The first: {', '.join(strays[:3])}.",
            resolution="Declare what is to stay, or name what is to go with state: absent.",
        )


def is_ignored(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def short_name(principal: str) -> str:
    return principal.removeprefix("User:")


def principal(name: str) -> str:
    """Principals are declared by their short name; this alone adds the kind."""
    return name if ":" in name else f"User:{name}"


def refuse_failed(what: str, results: Sequence[tuple[str, int, str | None]]) -> None:
    """RefusedError with the first few of the items that a request was refused for."""
    failed = [(name, code, message) for name, code, message in results if code != NO_ERROR]
    if failed:
        raise RefusedError(
            f"The cluster refuses {what}: {few([name for name, _, _ in failed])}.",
            code=failed[0][1],
            details="\n".join(
                f"{name}: {error_name(code)}: {message or ''}" for name, code, message in failed[:NAMED_MAX]
            ),
            resolution="Correct what is declared for these, then run again: it goes on from here.",
        )


def few(names: Sequence[str]) -> str:
    """The first few names, and how many more."""
    return ", ".join(names[:NAMED_MAX]) + (f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else "")


def protected_principals(named: Iterable[str], login: Login | None) -> set[str]:
    """Whoever is named, and whoever connects: else a module could lock itself out."""
    return {principal(name) for name in (*named, *([login.username] if login else ()))}


def wait_for(done: Callable[[], Sequence[str]], *, timeout_s: float, what: str, resolution: str) -> None:
    """Until `done` names nothing any more. It is asked often at first, since most things take milliseconds."""
    deadline_s = time.monotonic() + timeout_s
    pause_s = POLL_FIRST_S
    while missing := done():
        if time.monotonic() > deadline_s:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")  # noqa: PLR2004
            raise UnsettledError(
                f"{what} within {timeout_s:g} s.", details=f"Still open: {shown}.", resolution=resolution
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, POLL_MAX_S)
