"""What can make hosts. Sibling packages share file names:

- host.py and network.py hold one Part each (a provider of existing hosts has no network); on a cloud, resources of
  that cloud's own provider: see cloud.py;
- preflight.py says what this machine and user must have: see Needs, and `preflight(plan)` for a plan.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.plan import StackPlan


class Needs(Protocol):
    """The functions of a provider's preflight.py."""

    def preflight(self, plan: StackPlan) -> None:
        """Raise unless this machine and user can make the plan now."""

    def require_user(self) -> None:
        """Raise unless this user may use the provider at all."""

    def missing_packages(self) -> list[str]:
        """Debian packages that this machine lacks for it."""

    def preparations(self) -> list[tuple[str, str, Callable[[], str]]]:
        """What takes long and can be done before: title, hint, work."""


def needs_of(provider: str) -> Needs:
    return cast("Needs", importlib.import_module(f"infra.providers.{provider}.preflight"))
