"""What a check is, what it saw, and the list of all of them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from common.errors import KastellanError
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from validate.security.scene import Scene

PASSED, FAILED, UNKNOWN, NOT_APPLICABLE = "passed", "failed", "unknown", "not-applicable"
# Failed, and somebody wrote down why it may.
WAIVED = "waived"
FAMILIES = ("transport", "authentication", "authorization", "controller", "host", "software")
BOUND_S = 60.0
# How many lines of what was seen a report shows; failures come first.
SHOWN = 12


class NotApplicable(Exception):
    """The check says nothing about this cluster; its reason follows from cluster.json or from missing consent."""


@dataclass
class Evidence:
    """What a check saw so far. Without one good line nothing is passed."""

    good: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What decides nothing, and a reader should know."""

    def expect(self, well: bool, told: str) -> bool:  # noqa: FBT001  the whole point is this truth
        (self.good if well else self.bad).append(told)
        return well

    def twin(self, well: bool, told: str) -> bool:  # noqa: FBT001
        """The positive twin: without it a refusal may only mean that nobody is there."""
        (self.good if well else self.unsure).append(told if well else f"the positive twin failed: {told}")
        return well

    def fine(self, told: str) -> None:
        self.good.append(told)

    def wrong(self, told: str) -> None:
        self.bad.append(told)

    def unknown(self, told: str) -> None:
        self.unsure.append(told)

    def note(self, told: str) -> None:
        self.notes.append(told)

    @property
    def verdict(self) -> str:
        if self.bad:
            return FAILED
        return PASSED if self.good and not self.unsure else UNKNOWN

    @property
    def lines(self) -> list[str]:
        every = [*self.bad, *self.unsure, *self.notes, *self.good]
        if not every:
            return ["it looked at nothing"]
        more = len(every) - SHOWN
        return every if more <= 0 else [*every[:SHOWN], f"... and {more} more of the kind"]


@contextlib.contextmanager
def apart(see: Evidence, told: str) -> Iterator[None]:
    """What cannot be seen of one host keeps nobody from looking at the others."""
    try:
        yield
    except (KastellanError, NoAnswer, OSError) as why:
        said = " ".join(str(why).split()) or type(why).__name__
        see.unknown(said if said.startswith(told) else f"{told}: {said}")


@dataclass(frozen=True)
class Check:
    number: int
    family: str
    title: str
    tried: str
    where: str
    expected: str
    fix: str
    run: Callable[[Scene, Evidence], None]
    modes: tuple[str, ...]
    intrusive: bool
    bound_s: float


CHECKS: dict[int, Check] = {}


def check(
    number: int, title: str, *, tried: str, where: str, expected: str, fix: str,
    modes: tuple[str, ...] = ("kraft", "zookeeper"), intrusive: bool = False, bound_s: float = BOUND_S,
) -> Callable[[Callable[[Scene, Evidence], None]], Callable[[Scene, Evidence], None]]:  # fmt: skip
    """`where`: from where it was tried. `intrusive`: it loads or disturbs, so it needs consent."""

    def add(function: Callable[[Scene, Evidence], None]) -> Callable[[Scene, Evidence], None]:
        family = function.__module__.rpartition(".")[2].partition("_")[0]
        if number in CHECKS or family not in FAMILIES:
            raise ValueError(f"check {number} of {function.__module__} is there twice, or in no family")
        CHECKS[number] = Check(
            number, family, title, tried, where, expected, fix, function, modes, intrusive, bound_s
        )  # fmt: skip
        return function

    return add
