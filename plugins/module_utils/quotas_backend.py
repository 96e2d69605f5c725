"""Reads all quotas of a cluster in one answer, and sets many in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import messages
from .cluster import chunks
from .connection import check_answer
from .quotas import KINDS, Entity, QuotaChange, Values, shown
from .reconcile import refuse_failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster

# The controller of KRaft takes at most 10,000 records a request; an entity has up to four quotas.
ENTITIES_A_REQUEST = 2_000


def read(cluster: Cluster) -> dict[Entity, Values]:
    """All entities that have a quota."""
    answer = cluster.ask(messages.DescribeClientQuotasRequest(components=[], strict=False))
    check_answer("the list of quotas", answer.error_code, answer.error_message)
    found = {}
    for entry in answer.entries or []:
        names = {part.entity_type: part.entity_name for part in entry.entity}
        entity = tuple((kind, names[kind]) for kind in KINDS if kind in names)
        found[entity] = {value.key: value.value for value in entry.values}
    return found


def apply(cluster: Cluster, changes: Sequence[QuotaChange], *, validate_only: bool = False) -> None:
    for batch in chunks(changes, ENTITIES_A_REQUEST):
        answer = cluster.order(
            lambda batch=batch: messages.AlterClientQuotasRequest(  # type: ignore[misc]
                entries=[
                    (list(change.entity),
                     [(key, value or 0.0, value is None) for key, value in change.operations.items()])
                    for change in batch
                ],
                validate_only=validate_only,
            ),
            lambda answer: (entry.error_code for entry in answer.entries),
        )  # fmt: skip
        refuse_failed("quotas", [
            (shown(tuple((part.entity_type, part.entity_name) for part in entry.entity)),
             entry.error_code, entry.error_message)
            for entry in answer.entries
        ])  # fmt: skip
