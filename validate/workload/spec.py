"""What a workload is told: one JSON file per process. It holds the client's secrets, so it is removed once read."""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_type_hints

from common.errors import UsageError
from common.names import nearest
from validate.workload.keys import Dealt, Keys, dealt
from validate.workload.schedule import Stage
from validate.workload.sizes import Size
from validate.workload.value import DEFAULT_BYTES, check_names

if TYPE_CHECKING:
    from pathlib import Path

ACKS = ("0", "1", "all")
# What is told as objects of their own, and an example of each.
PARTS: dict[str, tuple[type[Any], str]] = {
    "shape": (Stage, '{"for_s": 10, "records_per_s": 500, "to_per_s": 5000}'),
    "sizes": (Size, '{"bytes": 100, "share": 0.9}'),
    "keys": (Keys, '{"count": 1000, "skew": 1.0}'),
}
MOST_KEYS = 1_000_000


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: int


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What every kind of workload is told."""

    kind: ClassVar[str]
    run_id: str
    name: str
    ledger: str
    client: dict[str, Any] = field(repr=False)
    topics: list[Topic]
    clock: str | None = None
    clock_offset_ns: int | None = None
    outlive_parent: bool = False

    def __post_init__(self) -> None:
        if not self.topics:
            raise self.wrong("topics", "is empty", '"topics": [{"name": "kastellan-one", "partitions": 1}]')

    @property
    def lanes(self) -> list[tuple[str, int]]:
        """Every topic and partition, in turn through the topics."""
        widest = max(topic.partitions for topic in self.topics)
        return [(t.name, p) for p in range(widest) for t in self.topics if p < t.partitions]

    def wrong(self, key: str, what: str, good: str) -> UsageError:
        return UsageError(f"Wrong in the {self.kind}'s spec: {key} {what}.", resolution=f"For example: {good}.")

    @classmethod
    def parse(cls, content: Any) -> Self:
        if not isinstance(content, dict):
            raise UsageError(f"The {cls.kind}'s spec is no JSON object.", resolution='Write {"run_id": ...}.')
        known = {f.name: f for f in fields(cls)}
        for key in content:
            if key not in known:
                raise UsageError(f"The {cls.kind}'s spec has an unknown key {key!r}.", resolution=nearest(key, known))
        lacking = [f.name for f in known.values() if _required(f) and f.name not in content]
        if lacking:
            raise UsageError(f"The {cls.kind}'s spec lacks {', '.join(lacking)}.", resolution="Add it.")
        hints = get_type_hints(cls)
        return cls(**{key: _value(cls.kind, key, given, hints[key]) for key, given in content.items()})


def _required(found: Any) -> bool:
    return found.default is MISSING and found.default_factory is MISSING


def _value(kind: str, key: str, given: Any, hint: Any) -> Any:
    if key == "topics" and isinstance(given, list):
        try:
            return [Topic(str(one["name"]), int(one["partitions"])) for one in given]
        except (TypeError, KeyError, ValueError) as error:
            raise UsageError(
                f"Wrong in the {kind}'s spec: topics.",
                details=repr(error),
                resolution='Write [{"name": "kastellan-one", "partitions": 1}].',
            ) from None
    if key in PARTS and given is not None:
        return [_part(kind, key, one) for one in given] if isinstance(given, list) else _part(kind, key, given)
    words = str(hint)
    if isinstance(given, bool) and "bool" not in words:
        pass
    elif given is None and "None" in words:
        return None
    elif isinstance(given, (int, float)) and "float" in words:
        return float(given)
    elif any(isinstance(given, t) and t.__name__ in words for t in (bool, int, str, dict, list)):
        return given
    raise UsageError(
        f"Wrong in the {kind}'s spec: {key} is {type(given).__name__}.", resolution=f"It must be {_plain(hint)}."
    )


def _part(kind: str, key: str, given: Any) -> Any:
    """One stage, size or deal of keys."""
    made, example = PARTS[key]
    place = f"Wrong in the {kind}'s spec: {key}"
    known = {f.name: f for f in fields(made)}
    if not isinstance(given, dict):
        raise UsageError(f"{place} is {type(given).__name__}.", resolution=f"For example: {example}.")
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{place} has an unknown key {name!r}.", resolution=nearest(name, known).capitalize())
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        whole = "float" in str(known[name].type) or isinstance(value, int)
        if not (number and whole) and not (value is None and not _required(known[name])):
            raise UsageError(f"{place}: {name} is {value!r}.", resolution=f"For example: {example}.")
    if lacking := [f.name for f in known.values() if _required(f) and f.name not in given]:
        raise UsageError(f"{place} lacks {', '.join(lacking)}.", resolution=f"For example: {example}.")
    return made(**given)


def _plain(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint))


@dataclass(frozen=True, kw_only=True)
class ProducerSpec(Spec):
    """`records_per_s` of null is as fast as it goes, `count` (per topic) of null is until stopped."""

    kind: ClassVar[str] = "producer"
    acks: str = "all"
    idempotent: bool = True
    max_in_flight: int = 5  # requests of one connection
    retries: int | None = None
    records_per_s: float | None = None  # over all partitions
    value_bytes: int = DEFAULT_BYTES
    linger_ms: float = 5.0
    batch_bytes: int = 262_144
    compression: str = "none"
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    count: int | None = None
    block_records: int = 1000  # the most that one reservation holds
    waiting_records: int = 100_000  # sent and not reported, over all partitions
    seed: int = 0
    flush_s: float = 30.0
    roll_records: int | None = None  # over all partitions; null: no rolls
    roll_wait_ms: float = 0.0  # behind each roll
    shape: list[Stage] | None = None  # in place of records_per_s
    sizes: list[Size] | None = None  # in place of value_bytes
    keys: Keys | None = None  # null: records have none and are dealt to partitions in turn
    settings: dict[str, Any] = field(default_factory=dict)  # of librdkafka, over all else

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.run_id, self.name, self.value_bytes)
        if self.acks not in ACKS:
            raise self.wrong("acks", f"is {self.acks!r}", '"acks": "all" (or "0", "1")')
        if self.idempotent and (self.acks != "all" or not 1 <= self.max_in_flight <= 5):  # noqa: PLR2004  Kafka's own bound
            raise self.wrong(
                "idempotent", "needs acks all and at most 5 requests in flight", '"acks": "all", "max_in_flight": 5'
            )
        if self.records_per_s is not None and self.records_per_s <= 0:
            raise self.wrong("records_per_s", "is not above 0", '"records_per_s": 500, or null for flat out')
        if self.roll_records is not None and self.roll_records < 1:
            raise self.wrong("roll_records", f"is {self.roll_records}", '"roll_records": 100, or null')
        if not 1 <= self.block_records <= 100_000:  # noqa: PLR2004  a frame of the journal holds no more
            raise self.wrong("block_records", "is not within 1..100000", '"block_records": 1000')
        self._check_shape()
        self._check_sizes()
        self._check_keys()

    def _check_shape(self) -> None:
        good = PARTS["shape"][1]
        if self.shape is None:
            return
        if not isinstance(self.shape, list) or not self.shape:
            raise self.wrong("shape", "is no list of stages", f'"shape": [{good}]')
        if self.records_per_s is not None or self.roll_records is not None:
            raise self.wrong("shape", "stands beside records_per_s or roll_records", "one of them alone")
        for stage in self.shape:
            if min(stage.for_s, stage.records_per_s, stage.last_per_s, 1 if stage.burst is None else stage.burst) <= 0:
                raise self.wrong("shape", "has a time, a rate or a burst that is not above 0", good)

    def _check_sizes(self) -> None:
        if self.sizes is None:
            return
        if not isinstance(self.sizes, list) or not self.sizes:
            raise self.wrong("sizes", "is no list", f'"sizes": [{PARTS["sizes"][1]}]')
        for size in self.sizes:
            check_names(self.run_id, self.name, size.bytes)
            if size.share <= 0:
                raise self.wrong("sizes", f"has a share of {size.share:g}", f"a share above 0: {PARTS['sizes'][1]}")

    def _check_keys(self) -> None:
        if self.keys is None:
            return
        if not isinstance(self.keys, Keys) or not 1 <= self.keys.count <= MOST_KEYS or self.keys.skew < 0:
            raise self.wrong("keys", f"is not one count of 1..{MOST_KEYS} and a skew from 0 on", PARTS["keys"][1])
        for topic in self.topics:
            for partition, weight in enumerate(dealt(self.keys, topic.partitions).weights):
                if not weight:
                    what = f"count is {self.keys.count}: none of them belongs in {topic.name}-{partition}"
                    raise self.wrong("keys", what, f"more keys, as {PARTS['keys'][1]}")

    def keys_of(self, topic: str) -> Dealt | None:
        return None if self.keys is None else dealt(self.keys, self._partitions(topic))

    def weight(self, topic: str, partition: int) -> float:
        """Its part of all that is sent: topics by their partitions, partitions evenly or by their keys."""
        partitions = self._partitions(topic)
        keys = self.keys_of(topic)
        return partitions / len(self.lanes) * (1 / partitions if keys is None else keys.weights[partition])

    @property
    def mean_bytes(self) -> float:
        if self.sizes is None:
            return self.value_bytes
        return sum(size.bytes * size.share for size in self.sizes) / sum(size.share for size in self.sizes)

    def share(self, topic: str, partition: int) -> int | None:
        """Records are dealt to partitions in turn: seq x partitions + partition covers 0..count-1. Or by their keys."""
        if self.count is None:
            return None
        keys, partitions = self.keys_of(topic), self._partitions(topic)
        if keys is not None:
            return keys.share(self.count, partition)
        return (self.count - partition + partitions - 1) // partitions

    def _partitions(self, topic: str) -> int:
        return next(t.partitions for t in self.topics if t.name == topic)


@dataclass(frozen=True, kw_only=True)
class ConsumerSpec(Spec):
    """`commit`: never, before (ahead of the work), after (it), auto. `work_ms` is what one record costs."""

    kind: ClassVar[str] = "consumer"
    group: str
    instance_id: str | None = None
    isolation: str = "read_committed"
    start: str = "earliest"
    commit: str = "after"
    commit_every: int = 500
    commit_interval_ms: float = 1000.0  # after: no later than this, once there is something
    commit_on_revoke: bool = True  # after: what was worked on, when partitions are taken away
    batch: int = 500
    poll_ms: int = 200
    work_ms: float = 0.0
    fetched_wait_ms: float = 0.0  # behind each fetch, before the work
    batch_wait_ms: float = 0.0  # behind each batch
    obey: bool = False  # records quit, crash and wait do so to it
    obey_wait_ms: float = 10_000.0  # how long a record `wait` takes
    show_bytes: int | None = None  # of each value told on standard output; null: none
    session_timeout_ms: int = 45_000
    heartbeat_ms: int = 3_000
    max_poll_ms: int = 300_000
    assignment: str = "range"
    protocol: str = "classic"  # or consumer (KIP-848): brokers assign, session and heartbeat are theirs
    count: int | None = None  # ends after so many deliveries; null: until stopped
    crash_after: int | None = None  # dies by SIGKILL of its own hand after so many deliveries
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, words in (
            ("commit", ("never", "before", "after", "auto")),
            ("isolation", ("read_committed", "read_uncommitted")),
            ("start", ("earliest", "latest")),
            ("protocol", ("classic", "consumer")),
        ):
            if getattr(self, key) not in words:
                raise self.wrong(key, f"is {getattr(self, key)!r}", f'"{key}": "{words[-1]}" of {", ".join(words)}')
        if self.batch < 1 or self.commit_every < 1:
            raise self.wrong("batch and commit_every", "must be 1 or more", '"batch": 500, "commit_every": 500')


@dataclass(frozen=True, kw_only=True)
class TransformerSpec(ConsumerSpec):
    """Reads, transforms and writes in transactions. `batch` records make one; `crash_after` counts transactions."""

    kind: ClassVar[str] = "transformer"
    STAGES: ClassVar[tuple[str, ...]] = ("begin", "sent", "offsets", "commit")
    sink: str  # the one of `topics` that is written to; all others are read
    transactional_id: str
    transaction_timeout_ms: int = 30_000
    value_bytes: int = DEFAULT_BYTES
    crash_at: str = "begin"  # with crash_after: before begin, after send, before commit, after commit was invoked
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.run_id, self.name, self.value_bytes)
        names = [topic.name for topic in self.topics]
        if self.sink not in names or len(names) < 2:  # noqa: PLR2004  one to read, one to write
            raise self.wrong("sink", f"is {self.sink!r}", '"sink": one of at least two topics')
        if self.crash_at not in self.STAGES:
            raise self.wrong("crash_at", f"is {self.crash_at!r}", f'"crash_at": one of {", ".join(self.STAGES)}')
        if self.isolation != "read_committed":
            raise self.wrong("isolation", f"is {self.isolation!r}", '"isolation": "read_committed"')

    @property
    def inputs(self) -> list[Topic]:
        return [topic for topic in self.topics if topic.name != self.sink]


@dataclass(frozen=True, kw_only=True)
class StorerSpec(ConsumerSpec):
    """Stores results and offsets in one transaction of a database. `crash_after` counts those."""

    kind: ClassVar[str] = "storer"
    STAGES: ClassVar[tuple[str, ...]] = ("begin", "stored", "committed")
    crash_at: str = "begin"  # with crash_after: before anything is stored, before the database's commit, after it

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.crash_at not in self.STAGES:
            raise self.wrong("crash_at", f"is {self.crash_at!r}", f'"crash_at": one of {", ".join(self.STAGES)}')


@dataclass(frozen=True, kw_only=True)
class ProbeSpec(Spec):
    """A witness: `running` keeps its clients, `fresh` makes new ones for every round of probes."""

    kind: ClassVar[str] = "probe"
    witness: str
    kinds: list[str] = field(default_factory=lambda: ["write", "read"])
    interval_ms: int = 500
    timeout_ms: int = 3_000
    value_bytes: int = DEFAULT_BYTES
    seed: int = 0
    flush_s: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.run_id, self.name, self.value_bytes)
        if self.witness not in {"running", "fresh"}:
            raise self.wrong("witness", f"is {self.witness!r}", '"witness": "fresh" (or "running")')
        if not self.kinds or set(self.kinds) - {"write", "read"}:
            raise self.wrong("kinds", f"is {self.kinds!r}", '"kinds": ["write", "read"]')
        if self.interval_ms < 1 or self.timeout_ms < 1:
            raise self.wrong("interval_ms and timeout_ms", "must be above 0", '"interval_ms": 500, "timeout_ms": 3000')


def take(path: Path) -> Any:
    """The file's content; the file is gone afterwards, whatever it held."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"The spec {str(path)!r} cannot be read.", details=str(error), resolution="Name a file."
        ) from None
    path.unlink()
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"The spec {str(path)!r} is no JSON.", details=str(error), resolution="Mend it.") from None
