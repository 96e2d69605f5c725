"""Before anything is sent: are the topics there, with their partitions, for this user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from common.errors import KastellanError, UsageError
from validate.workload.settings import COMMON, SILENT

if TYPE_CHECKING:
    from validate.workload.spec import Spec

TIMEOUT_S = 20.0


def check_topics(spec: Spec) -> None:
    """A misspelt topic or a wrong password would otherwise show as minutes of silence."""
    said: list[str] = []
    settings = {**COMMON, **spec.client, "error_cb": lambda error: said.append(f"{error.name()}: {error.str()}")}
    admin = AdminClient(settings, logger=SILENT)
    for topic in spec.topics:
        found = _describe(admin, topic.name, said)
        if found.error is not None:
            raise UsageError(
                f"Topic {topic.name} cannot be used.",
                details=f"{found.error.name()}: {found.error.str()}",
                resolution="Create it, or give the user DESCRIBE, READ and WRITE on it.",
            )
        if len(found.partitions) != topic.partitions:
            raise UsageError(
                f"Topic {topic.name} has {len(found.partitions)} partitions, not {topic.partitions}.",
                resolution="Mend the spec, or make the topic again with the right shape.",
            )


def _describe(admin: AdminClient, topic: str, said: list[str]) -> Any:
    try:
        return admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
    except KafkaException as error:
        raise KastellanError(
            "The cluster does not answer.",
            details=said[-1] if said else str(error.args[0].str()),
            resolution="Is it up, is the user's password right, does its certificate belong to the pinned authority?",
        ) from None
