"""What a workload is told: one JSON file per process. It holds the client's secrets, so it is removed once read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, get_type_hints

from common.errors import UsageError
from common.names import nearest
from validate.sample import SAMPLES
from validate.workload import parts
from validate.workload.keys import MURMUR2, PREFIX, DrawnKeys, Urn, urn
from validate.workload.parts import BEYOND_ALL, PARTS, required
from validate.workload.plot import PLOTS
from validate.workload.promised import QUERIES
from validate.workload.schedule import Stage  # noqa: TC001  get_type_hints has to find it
from validate.workload.sizes import Size  # noqa: TC001
from validate.workload.value import DEFAULT_BYTES, check_names

ACKS = ("0", "1", "all")
MOST_IN_FLIGHT = 5  # requests of an idempotent producer: Kafka's own bound
STICKY = "sticky"  # the one assignment that librdkafka has not (validate.workload.sticky)


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
        if bare := [topic.name for topic in self.topics if topic.partitions < 1]:
            raise self.wrong("topics", f"has {bare[0]!r} without partitions", '"partitions": 1')

    @property
    def lanes(self) -> list[tuple[str, int]]:
        """Every topic and partition, in turn through the topics."""
        widest = max(topic.partitions for topic in self.topics)
        return [(t.name, p) for p in range(widest) for t in self.topics if p < t.partitions]

    def partitions_of(self, topic: str) -> int:
        return next(one.partitions for one in self.topics if one.name == topic)

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
        lacking = [f.name for f in known.values() if required(f) and f.name not in content]
        if lacking:
            raise UsageError(f"The {cls.kind}'s spec lacks {', '.join(lacking)}.", resolution="Add it.")
        hints = get_type_hints(cls)
        return cls(**{key: _value(cls.kind, key, given, hints[key]) for key, given in content.items()})


def _value(kind: str, key: str, given: Any, hint: Any) -> Any:
    if key == "topics" and isinstance(given, list):
        try:
            return [Topic(str(one["name"]), int(one["partitions"])) for one in given]
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise UsageError(
                f"Wrong in the {kind}'s spec: topics.",
                details=repr(error),
                resolution='Write [{"name": "kastellan-one", "partitions": 1}].',
            ) from None
    if key in PARTS and given is not None:
        return parts.parse(kind, key, given)
    words = str(hint)
    no_texts = isinstance(given, list) and "list[str]" in words and not all(isinstance(one, str) for one in given)
    if no_texts or (isinstance(given, bool) and "bool" not in words):
        pass
    elif given is None and "None" in words:
        return None
    elif isinstance(given, (int, float)) and "float" in words and abs(given) < BEYOND_ALL:  # neither is NaN
        return float(given)
    elif any(isinstance(given, t) and t.__name__ in words for t in (bool, int, str, dict, list)):
        return given
    raise UsageError(
        f"Wrong in the {kind}'s spec: {key} is {type(given).__name__}.", resolution=f"It must be {_plain(hint)}."
    )


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
    request_timeout_ms: int = 30_000  # that a broker may take to be done
    answer_timeout_ms: int | None = None  # that the client waits for it before it gives the connection up
    count: int | None = None
    block_records: int = 2000  # the most that one reservation holds
    waiting_records: int = 100_000  # sent and not reported, over all partitions
    seed: int = 0
    flush_s: float = 30.0
    roll_records: int | None = None  # over all partitions; null: no rolls
    roll_wait_ms: float = 0.0  # behind each roll
    sample: str | None = None  # rows that the values say, each sent once, in place of count records a topic
    deal: dict[str, str] = field(default_factory=dict)  # of a sample: last column -> TOPIC/PARTITION or TOPIC
    keys: int | None = None  # different keys in each partition, in turn; null: no keys
    key_prefix: str = PREFIX
    partitioner: str = MURMUR2  # where a key belongs
    drawn_keys: DrawnKeys | None = None  # of each topic: keys decide how much a partition gets
    tombstones: bool = False  # each key once, without a value
    hooks: bool = False  # counts what passes on the way out and on the way back, apart from the ledger
    shape: list[Stage] | None = None  # in place of records_per_s
    sizes: list[Size] | None = None  # in place of value_bytes
    settings: dict[str, Any] = field(default_factory=dict)  # of librdkafka, over all else

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.run_id, self.name, self.value_bytes)
        if self.acks not in ACKS:
            raise self.wrong("acks", f"is {self.acks!r}", '"acks": "all" (or "0", "1")')
        if self.idempotent and (self.acks != "all" or not 1 <= self.max_in_flight <= MOST_IN_FLIGHT):
            raise self.wrong(
                "idempotent", "needs acks all and at most 5 requests in flight", '"acks": "all", "max_in_flight": 5'
            )
        if self.records_per_s is not None and self.records_per_s <= 0:
            raise self.wrong("records_per_s", "is not above 0", '"records_per_s": 500, or null for flat out')
        if "transactional.id" in self.settings:
            raise self.wrong("settings", "ask for transactions, which this writer has not", 'kind "transformer"')
        if self.roll_records is not None and self.roll_records < 1:
            raise self.wrong("roll_records", f"is {self.roll_records}", '"roll_records": 100, or null')
        if not 1 <= self.block_records <= 100_000:  # noqa: PLR2004  a frame of the journal holds no more
            raise self.wrong("block_records", "is not within 1..100000", '"block_records": 2000')
        if self.sample is not None and self.sample not in SAMPLES:
            raise self.wrong("sample", f"is {self.sample!r}", f'"sample": one of {", ".join(SAMPLES)}')
        parts.check(self)

    @property
    def keyed(self) -> dict[str, Any] | None:
        """What the ledger has to know of the keys to write them down. Without a count, blocks say which were drawn."""
        if self.keys is None and self.drawn_keys is None:
            return None
        return {"count": self.keys, "prefix": self.key_prefix, "way": self.partitioner, "null": self.tombstones}

    def urn_of(self, topic: str) -> Urn | None:
        if self.drawn_keys is None:
            return None
        return urn(self.drawn_keys, self.partitions_of(topic), self.key_prefix, self.partitioner)

    def weight(self, topic: str, partition: int) -> float:
        """Its part of all that is sent: topics by their partitions, partitions evenly or by the keys that are drawn."""
        partitions, keys = self.partitions_of(topic), self.urn_of(topic)
        return partitions / len(self.lanes) * (1 / partitions if keys is None else keys.weights[partition])

    @property
    def mean_bytes(self) -> float:
        if self.sizes is None:
            return self.value_bytes
        return sum(size.bytes * size.share for size in self.sizes) / sum(size.share for size in self.sizes)

    def share(self, topic: str, partition: int) -> int | None:
        """Dealt to partitions in turn, so seq x partitions + partition covers 0..count-1; or by the keys drawn."""
        if self.count is None:
            return None
        partitions, keys = self.partitions_of(topic), self.urn_of(topic)
        if keys is not None:
            return keys.share(self.count, partition)
        return (self.count - partition + partitions - 1) // partitions


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
    idle_s: float | None = None  # ends after so long without a record
    places: list[str] | None = None  # TOPIC/PARTITION that it reads by its own choice, without a group's assignment
    begin: str = "committed"  # of places: also "beginning", "time"
    begin_ms: int | None = None  # time: from the first record that is not older
    rewind_after: int | None = None  # of places: once, after so many deliveries, it goes back to the beginning
    hold: str | None = None  # one of places that it pauses
    hold_after: int = 0  # deliveries, until then it reads it
    hold_until: int = 0  # deliveries, from then on it reads it again
    draw: str | None = None  # "iris": at its end it draws what it took up, into pictures/
    crash_after: int | None = None  # dies by SIGKILL of its own hand after so many deliveries
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, words in (
            ("commit", ("never", "before", "after", "auto")),
            ("isolation", ("read_committed", "read_uncommitted")),
            ("start", ("earliest", "latest")),
            ("protocol", ("classic", "consumer")),
            ("begin", ("committed", "beginning", "time")),
        ):
            if getattr(self, key) not in words:
                raise self.wrong(key, f"is {getattr(self, key)!r}", f'"{key}": "{words[-1]}" of {", ".join(words)}')
        if self.batch < 1 or self.commit_every < 1:
            raise self.wrong("batch and commit_every", "must be 1 or more", '"batch": 500, "commit_every": 500')
        if self.commit == "before" and self.commit_every > self.batch:
            raise self.wrong(
                "commit_every", "is above the batch: nobody commits ahead of what was not fetched yet",
                f'"batch": {self.batch}, "commit_every": {self.batch}',
            )  # fmt: skip
        self._check_choice()
        if self.assignment == STICKY and (
            self.commit not in {"never", "after"} or self.commit_on_revoke or self.settings
        ):
            raise self.wrong(
                "assignment sticky", "needs commits after the work and none on revoke, and takes no settings",
                '"assignment": "sticky", "commit_on_revoke": false, "commit_interval_ms": 0',
            )  # fmt: skip
        if self.assignment == STICKY and (self.places is not None or self.protocol != "classic"):
            raise self.wrong("assignment sticky", "is for members of a classic group", '"assignment": "sticky"')

    def _check_choice(self) -> None:
        """What it reads by its own choice."""
        chosen = self.places or []
        lanes = [f"{topic}/{partition}" for topic, partition in self.lanes]
        if self.places is not None and (not chosen or set(chosen) - set(lanes)):
            raise self.wrong("places", f"are {chosen}", f'"places": ["{lanes[0]}"]')
        if self.places is None and (self.begin != "committed" or self.rewind_after is not None or self.hold):
            raise self.wrong("begin, rewind_after and hold", "need places", f'"places": ["{lanes[0]}"]')
        if (self.begin == "time") != (self.begin_ms is not None):
            raise self.wrong("begin_ms", "goes with begin time", '"begin": "time", "begin_ms": 1767225600000')
        if self.hold is not None and (self.hold not in chosen or not self.hold_after < self.hold_until):
            raise self.wrong(
                "hold", f"is {self.hold!r}", f'"hold": "{lanes[0]}", "hold_after": 500, "hold_until": 2500'
            )
        if self.draw is not None and self.draw not in PLOTS:
            raise self.wrong("draw", f"is {self.draw!r}", f'"draw": one of {", ".join(PLOTS)}')


@dataclass(frozen=True, kw_only=True)
class TransformerSpec(ConsumerSpec):
    """Reads, transforms and writes in transactions. `batch` records make one; `crash_after` counts transactions."""

    kind: ClassVar[str] = "transformer"
    STAGES: ClassVar[tuple[str, ...]] = ("begin", "sent", "offsets", "commit")
    sink: str  # the one of `topics` that is written to; all others are read
    transactional_id: str
    transaction_timeout_ms: int = 30_000
    acks: str = "all"
    idempotent: bool = True
    value_bytes: int = DEFAULT_BYTES
    crash_at: str = "begin"  # with crash_after: before begin, after send, before commit, after commit was invoked
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.run_id, self.name, self.value_bytes)
        if self.acks != "all" or not self.idempotent:
            raise self.wrong(
                "acks and idempotent", "contradict transactions: Kafka has them with acks all and idempotence",
                '"acks": "all", "idempotent": true, or neither of them',
            )  # fmt: skip
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


@dataclass(frozen=True, kw_only=True)
class PipelineSpec(Spec):
    """A query of Spark's Structured Streaming from topics to a topic. `name` is that of all its lives."""

    kind: ClassVar[str] = "pipeline"
    query: str
    sink: str  # the one of `topics` that is written to; all others are read
    checkpoint: str  # folder in the ledger: who begins with that of a dead one goes on where it stood
    records_per_batch: int | None = None  # null: all there are at once
    value_bytes: int = 200
    draw: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.run_id, self.checkpoint, self.value_bytes)
        if self.query not in QUERIES:
            raise self.wrong("query", f"is {self.query!r}", f'"query": one of {", ".join(QUERIES)}')
        names = [topic.name for topic in self.topics]
        if self.sink not in names or len(names) < 2:  # noqa: PLR2004  one to read, one to write
            raise self.wrong("sink", f"is {self.sink!r}", '"sink": one of at least two topics')
        if self.draw is not None and self.draw not in PLOTS:
            raise self.wrong("draw", f"is {self.draw!r}", f'"draw": one of {", ".join(PLOTS)}')

    @property
    def inputs(self) -> list[Topic]:
        return [topic for topic in self.topics if topic.name != self.sink]
