"""OpenStack needs nothing of this machine but ssh; what it must have itself is looked up there (lookups.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.providers.static.preflight import missing_packages, preparations, require_user

if TYPE_CHECKING:
    from infra.plan import StackPlan

__all__ = ["missing_packages", "preflight", "preparations", "require_user"]


def preflight(plan: StackPlan) -> None:
    """All that can be wrong lies in the cloud."""
