"""Where things are tried by hand: a topic, a folder for the ledger, and what must be right before records flow."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from common.errors import UsageError
from common.files import write_whole
from common.wait import wait_until
from validate import groups
from validate.admin import ANSWER_S
from validate.hand import FILE
from validate.scenario import Topic
from validate.workload import journal
from validate.workload.settings import COMMON, SILENT
from validate.workplace import TOPIC_BOUND_S, Unfit, Workplace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from validate.cluster import Cluster

MADE_ANEW = "The topic was removed and made anew since; what it held is gone."
SHARE = "--join shares with them; or wait until it is over, or name another --group."


@dataclass(frozen=True)
class Bench:
    """One topic, one ledger; several clients may come and go."""

    place: Workplace
    topic: Topic
    ledger: Path
    run_id: str

    def spec(self, name: str) -> dict[str, Any]:
        """What every client is told. Each has a clock of its own: they were not started together."""
        return {
            "run_id": self.run_id,
            "name": name,
            "ledger": str(self.ledger),
            "client": self.place.settings,
            "topics": [{"name": self.topic.name, "partitions": self.topic.partitions}],
            "clock": f"{socket.gethostname()}/{name}",
        }


def prepare(cluster: Cluster, *, user: str, topic: str, make: tuple[int, int] | None, ledger: Path | None) -> Bench:
    place = Workplace(cluster, user)
    place.check_login()
    folder = ledger or cluster.state_dir / "hand" / topic
    known = known_of(folder)
    if known is not None and topic not in known["topics"]:
        raise _of_another(folder, known, f"Now it is {topic}.")
    if make is not None:
        _make(place, Topic(topic, *make, config={}))
    partitions, identity = _look(place, topic, bound_s=TOPIC_BOUND_S if make else 0.0)
    found = Topic(topic, partitions, 1, {})
    return Bench(place, found, folder, _run_of(folder, known, found, identity, user))


def _make(place: Workplace, topic: Topic) -> None:
    try:
        place.make([topic])
    except Unfit as error:
        raise UsageError(error.brief, details=error.details, resolution=error.resolution) from error
    place.await_leaders([topic])


def _look(place: Workplace, topic: str, *, bound_s: float = 0.0) -> tuple[int, str]:
    """How many partitions it has, and which topic of this name it is: one that was made anew is another.

    `bound_s`: how long the news of one that was just made may be on its way to the broker that is asked.
    """
    admin = AdminClient({**COMMON, **place.settings}, logger=SILENT)
    answers: list[Any] = []

    def known() -> bool:
        answers[:] = [admin.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_S)[topic]]
        error = answers[0].exception()
        return not isinstance(error, KafkaException) or error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART

    if not known() and bound_s:
        wait_until(known, timeout_s=bound_s, every_s=0.2)
    try:
        told = answers[0].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise place.missing("Describe", "Topic", topic) from error
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise UsageError(f"Topic {topic} cannot be looked at.", details=str(error.args[0])) from error
        raise UsageError(
            f"There is no topic {topic} for user {place.user!r}.",
            details=error.args[0].str(),
            resolution="--make PARTITIONS:REPLICATION makes it; or name one that the user may describe.",
        ) from error
    return len(told.partitions), str(told.topic_id)


def known_of(folder: Path) -> dict[str, Any] | None:
    """What is on record of a ledger by hand; None if there is none yet."""
    path = folder / FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {**found, "topics": dict(found["topics"]), "run_id": str(found["run_id"]), "user": str(found["user"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise UsageError(
            f"{folder} is no folder of a ledger.",
            details=f"{path}: {error}",
            resolution="Name another one, or a new one: --ledger DIR.",
        ) from error


def _of_another(folder: Path, known: dict[str, Any], now: str) -> UsageError:
    return UsageError(
        f"The ledger {folder} is about {', '.join(known['topics'])} as it was.",
        details=now,
        resolution="Begin a new one: --ledger DIR with another folder, or remove this one.",
    )


def check_same(place: Workplace, folder: Path, known: dict[str, Any]) -> None:
    """Before it is read back: of a topic that was made anew all records of before would count as lost."""
    (topic,) = known["topics"]
    _, identity = _look(place, topic)
    if known.get("topic_id", identity) != identity:
        raise _of_another(folder, known, MADE_ANEW)


def _run_of(folder: Path, known: dict[str, Any] | None, topic: Topic, identity: str, user: str) -> str:
    """All that is done in one folder is one run, so that it can be judged together."""
    if known is not None:
        if known["topics"] != {topic.name: topic.partitions}:
            raise _of_another(folder, known, f"Now it is {topic.name} with {topic.partitions} partitions.")
        if known.get("topic_id", identity) != identity:
            raise _of_another(folder, known, MADE_ANEW)
        return str(known["run_id"])
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-hand"
    content = {"run_id": run_id, "topics": {topic.name: topic.partitions}, "topic_id": identity, "user": user}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, json.dumps(content) + "\n")
    except OSError as error:
        raise UsageError(
            f"No ledger can be kept in {folder}.", details=str(error), resolution="Name another folder: --ledger DIR."
        ) from error
    return run_id


def free_name(ledger: Path, wanted: str | None, default: str) -> str:
    """A name belongs to one life of one process."""
    taken = {path.name.removesuffix(journal.SUFFIX) for path in (ledger / journal.FOLDER).glob(f"*{journal.SUFFIX}")}
    if wanted is None:
        return next(name for number in range(1, len(taken) + 2) if (name := f"{default}-{number}") not in taken)
    if wanted in taken:
        raise UsageError(
            f"There was a client {wanted!r} in this ledger.",
            details=f"A name belongs to one life of one process; in use: {', '.join(sorted(taken))}.",
            resolution="Take another --id, or leave it out.",
        )
    return wanted


def check_write(bench: Bench) -> None:
    bench.place.check_rights([bench.topic], None, needed=("WRITE", "DESCRIBE"))


def check_read(bench: Bench, group: str) -> None:
    bench.place.check_rights([bench.topic], group, needed=("READ", "DESCRIBE"))


def check_group(
    bench: Bench, group: str, *, instance_id: str | None, join: bool, back: bool = False, guarded: bool = False
) -> None:
    """Nobody is pushed out of a group by accident. `guarded`: brokers themselves keep two of one name apart."""
    told = groups.members(bench.place.settings, group, ANSWER_S)
    if told is None:
        _refuse_unknown(group, None if guarded else instance_id, join=join, back=back)
    else:
        refuse_members(group, told, instance_id=instance_id, join=join, back=back)


def _refuse_unknown(group: str, instance_id: str | None, *, join: bool, back: bool) -> None:
    """Of members who speak the protocol of KIP-848 it is known that they are there, and not who they are."""
    if not join:
        raise UsageError(
            f"Group {group} is in use.",
            details="Its members have the protocol of KIP-848; a new member takes partitions from them.",
            resolution=SHARE,
        )
    if instance_id is not None and not back:
        raise UsageError(
            f"Whether group {group} has a living member with the instance id {instance_id!r} is not known.",
            details="Its members have the protocol of KIP-848, and are not told; two of one name fence each other off.",
            resolution="Leave --instance-id out, take --assignment broker (brokers then look after names), or "
            "--return if nobody alive has that name.",
        )


def refuse_members(
    group: str, members: Sequence[dict[str, Any]], *, instance_id: str | None, join: bool, back: bool = False
) -> None:
    """A group counts who died without a word until its session is over: only the user can know that with `back`."""
    owner = next((m for m in members if instance_id is not None and m["group_instance_id"] == instance_id), None)
    others = [m for m in members if m is not owner]
    if owner is not None and not back:
        raise UsageError(
            f"Group {group} has a living member with the instance id {instance_id!r}.",
            details=f"It is {owner['client_id']} on {owner['client_host']}; two of one name fence each other off.",
            resolution="End it first, or take another --instance-id; if it is dead, --return comes back in its place.",
        )
    if others and not join:
        raise UsageError(
            f"Group {group} is in use: it has {len(others)} member{'s' if len(others) > 1 else ''}.",
            details="A new member takes partitions from them. One that was killed counts until its session is over.",
            resolution=SHARE,
        )
