"""Before anything is sent: are the topics there, with their partitions, for this user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from common.errors import KastellanError, UsageError
from common.wait import wait_until
from validate.workload.settings import COMMON, SILENT

if TYPE_CHECKING:
    from validate.workload.spec import Spec

TIMEOUT_S = 20.0
HEARD_S = 10.0  # brokers hear of a topic that was just made one after the other, on a busy machine seconds later


def check_topics(spec: Spec) -> None:
    """A misspelt topic or a wrong password would otherwise show as minutes of silence."""
    said: list[str] = []
    settings = {**COMMON, **spec.client, "error_cb": lambda error: said.append(f"{error.name()}: {error.str()}")}
    admin = AdminClient(settings, logger=SILENT)
    for topic in spec.topics:
        found = _heard_of(admin, topic.name, said)
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


def _heard_of(admin: AdminClient, topic: str, said: list[str]) -> Any:
    """What is said of it once the broker that is asked knows it, or of its being unknown for all that time."""
    seen = [_describe(admin, topic, said)]

    def known() -> bool:
        if seen[-1].error is None or seen[-1].error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            return True
        seen.append(_describe(admin, topic, said))
        return False

    wait_until(known, timeout_s=HEARD_S, every_s=0.2)
    return seen[-1]


def _describe(admin: AdminClient, topic: str, said: list[str]) -> Any:
    try:
        return admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
    except KafkaException as error:
        raise KastellanError(
            "The cluster does not answer.",
            details=said[-1] if said else str(error.args[0].str()),
            resolution="Is it up, is the user's password right, does its certificate belong to the pinned authority?",
        ) from None
