# ruff: noqa: TID252 - relative imports: as Ansible wants plugins
"""What role kafka needs to know of role spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..module_utils import drift

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What a drift report says of each of role spark's tasks.
REGISTERED = {
    "host": "__host_settled",
    "folders": "__spark_folders_made",
    "installation": "__spark_switched",
    "group": "__spark_group_made",
    "user": "__spark_user_made",
    "settings": "__spark_configured",
    "unit": "__spark_units_written",
    "settings with the secret": "__spark_set",
    "shared folder": "__spark_shared",
    "service": "__spark_service",
}


def spark_drift(names: list[str], hostvars: Mapping[str, Any]) -> list[str]:
    """What each task would have done, said by the host it would have done it on."""
    found = drift.of_hosts(names, hostvars, REGISTERED)
    here = [hostvars[name].get("__spark_set_here") or {} for name in names]  # once, for all of them
    return found + drift.lines([("settings of Spark's drivers here", result) for result in here])


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"spark_drift": spark_drift}
