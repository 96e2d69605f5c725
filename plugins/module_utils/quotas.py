"""Quotas as declared and as they are, and what lies between."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import BadInputError
from .reconcile import Change, is_ignored, refuse_duplicates, short_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What stands for "all without a quota of their own", as in Kafka's own tools and logs.
DEFAULT = "<default>"
KINDS = ("user", "client-id", "ip")
RATES = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_RATES = ("connection_creation_rate",)

# Who a quota is for: pairs of kind and name, in the order of KINDS; the name is None for the default.
Entity = tuple[tuple[str, "str | None"], ...]
Values = dict[str, float]


@dataclass(frozen=True)
class QuotaChange(Change):
    entity: Entity = ()
    operations: Mapping[str, float | None] = field(default_factory=dict)
    """None takes the quota away."""


def shown(entity: Entity) -> str:
    return ", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in entity)


def parse(items: Sequence[Mapping[str, Any]]) -> dict[Entity, Values]:
    """The declared list. An absent entry is one without values."""
    entities = [_entity(item) for item in items]
    refuse_duplicates("Quotas", (shown(entity) for entity in entities))
    return {entity: _values(entity, item) for entity, item in zip(entities, items, strict=True)}


def _entity(item: Mapping[str, Any]) -> Entity:
    names = {"user": item.get("user"), "client-id": item.get("client_id"), "ip": item.get("ip")}
    if names["user"]:
        names["user"] = short_name(names["user"])
    entity = tuple((kind, None if name == DEFAULT else name) for kind, name in names.items() if name)
    if not entity or (names["ip"] and len(entity) > 1):
        raise BadInputError(
            f"A quota is for nobody: {dict(item)}." if not entity else f"A quota is for {shown(entity)} at once.",
            resolution=f"Set user, client_id, both of them, or ip; '{DEFAULT}' is all that have none of their own.",
        )
    return entity


def _values(entity: Entity, item: Mapping[str, Any]) -> Values:
    if item.get("state", "present") == "absent":
        return {}
    allowed = IP_RATES if entity[0][0] == "ip" else RATES
    values = {key: value for key, value in (item.get("quotas") or {}).items() if value is not None}
    for key, value in values.items():
        if key not in allowed:
            raise BadInputError(
                f"There is no quota {key!r} for {shown(entity)}.", resolution=f"Choose among {', '.join(allowed)}."
            )
        if not math.isfinite(value) or value < 0:
            raise BadInputError(f"The quota {key} of {shown(entity)} is {value}.", resolution="Set a number above 0.")
    if not values:
        raise BadInputError(
            f"The quota of {shown(entity)} has no values.",
            resolution=f"Set quotas with one of {', '.join(allowed)}, or state: absent.",
        )
    return values


def strays(wanted: Mapping[Entity, Values], existing: Mapping[Entity, Values], ignored: Sequence[str]) -> list[Entity]:
    """`ignored` are patterns of a user's, client's or address' name."""
    return sorted(
        (
            entity
            for entity in existing
            if entity not in wanted
            and not any(is_ignored(DEFAULT if name is None else name, ignored) for _, name in entity)
        ),
        key=shown,
    )


def plan(
    wanted: Mapping[Entity, Values], existing: Mapping[Entity, Values], *, remove: Sequence[Entity] = ()
) -> list[QuotaChange]:
    goals: dict[Entity, Values] = {**{entity: {} for entity in remove}, **wanted}
    return [
        change
        for entity in sorted(goals, key=shown)
        if (change := _change(entity, goals[entity], existing.get(entity, {})))
    ]


def _change(entity: Entity, want: Values, have: Values) -> QuotaChange | None:
    operations: dict[str, float | None] = {
        key: want.get(key) for key in sorted(want.keys() | have.keys()) if want.get(key) != have.get(key)
    }
    if not operations:
        return None
    words = [f"{key} {_number(have.get(key))} -> {_number(value)}" for key, value in operations.items()]
    return QuotaChange(
        "delete" if not want else "set",
        shown(entity),
        f"quota of {shown(entity)}: {', '.join(words)}",
        {key: have[key] for key in operations if key in have},
        {key: value for key, value in operations.items() if value is not None},
        entity=entity,
        operations=operations,
    )


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.15g}"
