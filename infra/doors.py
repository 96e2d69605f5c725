"""Which ports of a stack on a cloud are open to whom: the policy, apart from how a cloud writes it down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.plan import CloudPlan, HostPlan, StackPlan

SSH_PORT = 22
# The group that every host is in.
ALL = "nodes"


@dataclass(frozen=True, order=True)
class Door:
    port: int
    source: str
    """A network; empty: the members of the group itself."""

    @property
    def name(self) -> str:
        return f"{self.port}-{self.source or 'members'}"

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.source


def doors(plan: StackPlan, cloud: CloudPlan) -> dict[str, list[Door]]:
    """Security group -> what it opens. One for all hosts, one for each role that has declared listeners and a host."""
    groups: dict[str, set[Door]] = {
        ALL: {Door(SSH_PORT, source) for source in cloud.operator} | {Door(port, "") for port in cloud.node_ports}
    }
    there = {role for host in plan.hosts for role in host.roles}
    for opening in cloud.openings:
        for role in there.intersection(opening.roles):
            opened = {Door(port, source) for port in opening.ports for source in opening.sources}
            groups.setdefault(group_of(role), set()).update(opened)
    return {group: sorted(opened) for group, opened in sorted(groups.items())}


def group_of(role: str) -> str:
    return role.replace("_", "-")


def groups_of(host: HostPlan) -> set[str]:
    """Those that a host can be in; the ones without doors are not made."""
    return {ALL, *(group_of(role) for role in host.roles)}
