"""What a provider must be able to do with one kind of thing: a host, a network, a stack's login files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

Props = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """An input that cannot be meant; found before anything changes."""

    field: str
    reason: str


@dataclass(frozen=True)
class Difference:
    """What must happen to a thing so that it is as described."""

    changes: bool = False
    replaces: dict[str, str] = field(default_factory=dict)
    """Field -> why it cannot be changed in place."""


class Part(ABC):
    """One kind of thing. Everything it needs is in the properties: no handles, no secrets, no state of its own."""

    def check(self, *, old: Props, new: Props) -> list[Problem]:
        """Problems with `new`, seen without changing anything. `old` is empty for a thing not made yet."""
        return []

    @abstractmethod
    def diff(self, *, old: Props, new: Props) -> Difference:
        """Compare what is there (the outputs of the last create, read or update) with what is asked."""

    @abstractmethod
    def create(self, props: Props) -> tuple[str, Props]:
        """Make it, or go on with one that an interrupted call left half made. Returns id and outputs."""

    @abstractmethod
    def read(self, ident: str, props: Props) -> Props | None:
        """The truth about it now; None if it is gone for good."""

    @abstractmethod
    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        """Change it in place."""

    @abstractmethod
    def delete(self, ident: str, props: Props) -> None:
        """Remove it; one that is not there is success."""
