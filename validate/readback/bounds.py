"""From where to where each partition is read: asked once, after healing, and fixed from then on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType

from common.errors import UnreadableError
from common.wait import wait_until
from validate.workload.settings import COMMON, SILENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Place = tuple[str, int]
ASK_TIMEOUT_S = 30.0
READ_COMMITTED = "read_committed"


@dataclass(frozen=True)
class Bounds:
    """One row of `log_bounds`."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    high_watermark: int
    isolation: str = READ_COMMITTED
    cleanup_policy: str = "delete"
    topic_id: str | None = None
    read_to: int | None = None

    @property
    def place(self) -> Place:
        return self.topic, self.partition


@dataclass(frozen=True)
class Taken:
    bounds: list[Bounds]
    problems: list[str]


def take(client: Mapping[str, Any], topics: Iterable[tuple[str, int]], *, wait_s: float) -> Taken:
    """Bounds of every partition that has a leader; whatever is open or missing after the wait is told."""
    admin = _admin(client)
    shapes = dict(topics)
    facts = _facts(admin, list(shapes))
    places = [(topic, p) for topic, count in shapes.items() for p in range(count)]
    asked: dict[str, dict[Place, int | str]] = {}

    def settled() -> bool:
        nonlocal admin
        asked.update(_ask(admin, places))
        if any(isinstance(answer, str) for answers in asked.values() for answer in answers.values()):
            # A client goes on asking by the epochs of leaders that are gone, and is refused each time.
            admin = _admin(client)
            return False
        return all(asked["stable"][p] == asked["high"][p] for p in places)

    wait_until(settled, timeout_s=wait_s, every_s=0.2)
    bounds, problems = [], []
    for place in places:
        answers = [asked[kind][place] for kind in ("start", "stable", "high")]
        wrong = next((answer for answer in answers if isinstance(answer, str)), None)
        if wrong is not None:
            problems.append(f"{place[0]}-{place[1]} cannot be read: {wrong}")
            continue
        start, stable, high = (int(answer) for answer in answers)
        if stable < high:
            problems.append(f"{place[0]}-{place[1]} has an open transaction: {high - stable} offsets are not decided")
        policy, topic_id = facts[place[0]]
        bounds.append(Bounds(*place, start, stable, high, cleanup_policy=policy, topic_id=topic_id))
    return Taken(bounds, problems)


def _admin(client: Mapping[str, Any]) -> AdminClient:
    return AdminClient({**COMMON, **client}, logger=SILENT)


def _ask(admin: AdminClient, places: list[Place]) -> dict[str, dict[Place, int | str]]:
    questions = {
        "start": (OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED),  # type: ignore[no-untyped-call]
        "stable": (OffsetSpec.latest(), IsolationLevel.READ_COMMITTED),  # type: ignore[no-untyped-call]
        "high": (OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED),  # type: ignore[no-untyped-call]
    }
    answers: dict[str, dict[Place, int | str]] = {}
    for name, (spec, isolation) in questions.items():
        wanted = {TopicPartition(*place): spec for place in places}
        futures = admin.list_offsets(wanted, isolation_level=isolation, request_timeout=ASK_TIMEOUT_S)
        answers[name] = {(found.topic, found.partition): _answer(future) for found, future in futures.items()}
    return answers


def _answer(future: Any) -> int | str:
    try:
        offset = int(future.result(timeout=ASK_TIMEOUT_S + 5).offset)
    except KafkaException as error:
        return f"{error.args[0].name()} ({error.args[0].str()})"
    # librdkafka hands out -1001 without an error for a partition whose leader did not answer.
    return offset if offset >= 0 else "its leader named no offset"


def _facts(admin: AdminClient, topics: list[str]) -> dict[str, tuple[str, str]]:
    """What is read about a topic as a whole: how it is cleaned, and which topic of that name it is."""
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    configs = admin.describe_configs(resources, request_timeout=ASK_TIMEOUT_S)
    described = admin.describe_topics(TopicCollection(topics), request_timeout=ASK_TIMEOUT_S)
    facts = {}
    for resource, future in configs.items():
        topic = resource.name
        try:
            policy = future.result(timeout=ASK_TIMEOUT_S + 5)["cleanup.policy"].value
            topic_id = str(described[topic].result(timeout=ASK_TIMEOUT_S + 5).topic_id)
        except KafkaException as error:
            raise UnreadableError(
                f"What kind of topic {topic} is cannot be read.",
                details=f"{error.args[0].name()}: {error.args[0].str()}",
                resolution=f"The reading user needs DESCRIBE and DESCRIBE_CONFIGS on topic {topic}, and it must exist.",
            ) from None
        facts[topic] = (policy, topic_id)
    return facts
