"""What can make hosts. Sibling packages share file names: host.py and network.py hold one Part each.

A provider package may have a `preflight(plan)` that raises before anything is made.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.plan import StackPlan


def preflight(plan: StackPlan) -> None:
    """Whether this machine and user can make the plan at all."""
    importlib.import_module(f"infra.providers.{plan.provider}.preflight").preflight(plan)
