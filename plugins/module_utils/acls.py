"""ACLs as declared and as they are: two sets, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import BadInputError
from .reconcile import Change, is_ignored, principal, refuse_duplicates, short_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# Words of the declaration and their numbers in Kafka's protocol.
RESOURCE_TYPES = {"topic": 2, "group": 3, "cluster": 4, "transactional_id": 5, "delegation_token": 6, "user": 7}
OPERATIONS = {
    "all": 2, "read": 3, "write": 4, "create": 5, "delete": 6, "alter": 7, "describe": 8, "cluster_action": 9,
    "describe_configs": 10, "alter_configs": 11, "idempotent_write": 12, "create_tokens": 13, "describe_tokens": 14,
    "two_phase_commit": 15,
}  # fmt: skip
PERMISSIONS = {"deny": 2, "allow": 3}
PATTERN_TYPES = {"literal": 3, "prefixed": 4}
CLUSTER_NAME = "kafka-cluster"
ANY_NAME = ANY_HOST = "*"
# What Kafka ever asks for on each kind of resource; anything else would be stored and never have an effect.
ASKED_FOR = {
    "topic": {"read", "write", "create", "delete", "describe", "alter", "describe_configs", "alter_configs"},
    "group": {"read", "describe", "delete", "describe_configs", "alter_configs"},
    "cluster": {
        "create", "cluster_action", "describe_configs", "alter_configs", "idempotent_write", "alter", "describe",
    },
    "transactional_id": {"describe", "write", "two_phase_commit"},
    "delegation_token": {"describe"},
    "user": {"create_tokens", "describe_tokens"},
}  # fmt: skip


class Acl(NamedTuple):
    """One line of Kafka's list. Words are the declaration's; the principal is complete (User:...).

    A tuple, since there are thousands of them in a set.
    """

    principal: str
    permission: str
    operation: str
    resource_type: str
    name: str
    pattern_type: str
    host: str

    def __str__(self) -> str:
        pattern = f"{self.name} (prefix)" if self.pattern_type == "prefixed" else self.name
        host = "" if self.host == ANY_HOST else f" from {self.host}"
        return f"{self.principal} {self.permission} {self.operation} on {self.resource_type} {pattern}{host}"


@dataclass(frozen=True)
class Declared:
    present: frozenset[Acl]
    absent: frozenset[Acl]


@dataclass(frozen=True)
class AclChange(Change):
    acl: Acl | None = None


def parse(items: Sequence[Mapping[str, Any]], protected: Collection[str]) -> Declared:
    """The declared list, an entry for each operation; `protected` are principals whose ACLs are never taken away."""
    acls = [(acl, item.get("state", "present")) for item in items for acl in _acls(item)]
    refuse_duplicates("ACLs", (str(acl) for acl, _ in acls))
    absent = frozenset(acl for acl, state in acls if state == "absent")
    for acl in sorted(absent):
        if acl.principal in protected:
            raise BadInputError(
                f"The ACLs of {acl.principal} are protected: {acl} is not removed.",
                resolution="Take it off the list. Protected are the user who connects and protected_principals.",
            )
    return Declared(frozenset(acl for acl, state in acls if state == "present"), absent)


def _acls(item: Mapping[str, Any]) -> list[Acl]:
    kind, pattern = item["resource_type"], item.get("pattern_type", "literal")
    name = item.get("name") or (CLUSTER_NAME if kind == "cluster" else "")
    if not name or (kind == "cluster" and (name != CLUSTER_NAME or pattern != "literal")):
        raise BadInputError(
            f"An ACL of {item['principal']!r} names no {kind}." if not name else f"There is no cluster {name!r}.",
            resolution="Leave name and pattern_type out."
            if kind == "cluster"
            else f"Set name, e.g. '{ANY_NAME}' for all.",
        )
    if pattern == "prefixed" and name == ANY_NAME:
        raise BadInputError(
            f"An ACL of {item['principal']!r} has the prefix '*', which is a name that begins with a star.",
            resolution="For all names set pattern_type: literal.",
        )
    if not item.get("operations"):
        raise BadInputError(f"An ACL of {item['principal']!r} on {kind} {name!r} has no operations.")
    refuse_duplicates(f"Operations of {item['principal']!r} on {kind} {name!r}", item["operations"])
    return [
        Acl(
            principal=principal(item["principal"]),
            permission=item.get("permission", "allow"),
            operation=_operation(operation, kind),
            resource_type=kind,
            name=name,
            pattern_type=pattern,
            host=item.get("host") or ANY_HOST,
        )
        for operation in item["operations"]
    ]


def _operation(word: str, kind: str) -> str:
    operation = word.lower()
    if operation != "all" and operation not in ASKED_FOR[kind]:
        raise BadInputError(
            f"Operation {word!r} has no meaning on a {kind}.",
            resolution=f"Choose among {', '.join(sorted(ASKED_FOR[kind]))} and all.",
        )
    return operation


def strays(
    declared: Declared, existing: Collection[Acl], *, protected: Collection[str], ignored: Sequence[str]
) -> list[Acl]:
    """What is there and not declared. `ignored` are patterns of principals, with User: or without."""
    return sorted(
        acl
        for acl in existing
        if acl not in declared.present
        and acl not in declared.absent
        and acl.principal not in protected
        and not is_ignored(acl.principal, ignored)
        and not is_ignored(short_name(acl.principal), ignored)
    )


def plan(declared: Declared, existing: Collection[Acl], *, remove: Collection[Acl] = ()) -> list[AclChange]:
    """What allows less comes first: a refusal that is new before a permission, a permission that goes before others."""
    have = set(existing)
    added = sorted(declared.present - have, key=lambda acl: (acl.permission != "deny", acl))
    removed = sorted((declared.absent & have) | set(remove), key=lambda acl: (acl.permission != "allow", acl))
    refusals = [_change("create", acl) for acl in added if acl.permission == "deny"]
    permissions = [_change("create", acl) for acl in added if acl.permission != "deny"]
    return refusals + permissions + [_change("delete", acl) for acl in removed]


def _change(action: str, acl: Acl) -> AclChange:
    side = {"present": True}
    before, after = ({}, side) if action == "create" else (side, {})
    return AclChange(action, str(acl), f"{action} ACL: {acl}", before, after, acl=acl)
