"""Settings of all brokers at once, which the running cluster takes without a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import messages
from .connection import check_answer
from .properties_text import plain
from .reconcile import Change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .cluster import Cluster

BROKER_RESOURCE = 4
# The resource without a name is every broker; what stands there is DYNAMIC_DEFAULT_BROKER_CONFIG.
ALL_BROKERS = ""
DYNAMIC_DEFAULT = 3
SET, DELETE = 0, 1
NAME = "all brokers"


def read(cluster: Cluster) -> dict[str, str]:
    request = messages.DescribeConfigsRequest(
        resources=[(BROKER_RESOURCE, ALL_BROKERS, None)], include_synonyms=False, include_documentation=False
    )
    (result,) = cluster.ask(request).results
    check_answer("the settings of all brokers", result.error_code, result.error_message)
    return {item.name: item.value for item in result.configs if item.config_source == DYNAMIC_DEFAULT}


def plan(wanted: Mapping[str, Any], existing: Mapping[str, str]) -> list[Change]:
    """A value of null takes the setting away. What is not declared stays, since others may have set it."""
    changes = []
    for name in sorted(wanted):
        value = None if wanted[name] is None else plain(wanted[name])
        held = existing.get(name)
        if value == held:
            continue
        verb = f"set {name}={value}" if value is not None else f"take away {name}"
        before = {name: held} if held is not None else {}
        after = {name: value} if value is not None else {}
        changes.append(Change("set" if value is not None else "delete", NAME, f"{verb} on {NAME}", before, after))
    return changes


def apply(cluster: Cluster, changes: Sequence[Change], *, validate_only: bool) -> None:
    if not changes:
        return
    configs = [
        (name, SET if change.action == "set" else DELETE, change.after.get(name))
        for change in changes
        for name in {**change.before, **change.after}
    ]

    def make() -> Any:
        return messages.IncrementalAlterConfigsRequest(
            resources=[(BROKER_RESOURCE, ALL_BROKERS, configs)], validate_only=validate_only
        )

    answer = cluster.order(make, lambda found: [item.error_code for item in found.responses])
    for item in answer.responses:
        check_answer("settings of all brokers", item.error_code, item.error_message)


def unsettled(cluster: Cluster, changes: Sequence[Change]) -> list[str]:
    """Changes that a broker does not show yet."""
    held = read(cluster)
    wanted = {name: change.after.get(name) for change in changes for name in {**change.before, **change.after}}
    return [name for name, value in wanted.items() if held.get(name) != value]
