"""Reads all quotas of a cluster in one answer, and sets many in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import messages, quotas
from .cluster import chunks
from .connection import check_answer
from .quotas import KINDS, Entity, QuotaChange, Values, shown
from .reconcile import Outcome, Work, refuse_failed, refuse_to_remove_all, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def plan_work(cluster: Cluster, params: Mapping[str, Any]) -> Work:
    """Read, check and plan; the cluster has checked the plan as well."""
    wanted = quotas.parse(params["quotas"])

    def look() -> tuple[list[Entity], list[QuotaChange]]:
        existing = read(cluster)
        strays = quotas.strays(wanted, existing, params["ignore_strays"])
        return strays, quotas.plan(wanted, existing, remove=strays if params["remove_strays"] else ())

    strays, changes = look()
    names = [quotas.shown(entity) for entity in strays]
    refuse_to_remove_all("quotas", declared=bool(wanted), strays=names if params["remove_strays"] else [])
    apply(cluster, changes, validate_only=True)

    def do() -> None:
        apply(cluster, changes)
        wait_for(
            lambda: [change.line for change in look()[1]],
            timeout_s=params["timeout_s"],
            what="Quotas did not come to be as planned",
            resolution="Does somebody else change them at this moment?",
        )

    return Work(Outcome(changes, names), do)
