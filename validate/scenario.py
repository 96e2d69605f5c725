"""Scenario files: read, checked, and refused with the place of the mistake before anything is broken."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.names import nearest
from common.texts import TextError, from_yaml
from validate import act
from validate.act import Act
from validate.faults.errors import FaultError
from validate.faults.kinds import KINDS, with_defaults
from validate.form import best, mistakes
from validate.workload.schedule import Stage
from validate.workload.spec import ConsumerSpec, PipelineSpec, ProducerSpec, StorerSpec, TransformerSpec

FOLDER = Path(__file__).with_name("scenarios")
SCHEMA_FILE = Path(__file__).with_name("scenario.schema.json")
COMPUTED = ("failover", "silence")  # outage bounds made of the cluster's own time-outs
# untried: not yet seen to come out as they say on a live cluster; for who works on them.
SUITES = ("smoke", "load", "failover", "delivery", "lab", "security", "all", "untried")
# SCENARIOS' defaults: what a living workload does at least.
PROGRESS = {"acked_per_partition": 200, "phase_s": 10, "in_flight_at_bite": 100}
BOUNDS = {"phase_s": 90.0, "in_sync_s": 240.0, "catch_up_s": 90.0, "load_s": 900.0, "act_s": 120.0}
SPECS: dict[str, type[ConsumerSpec]] = {
    "consumer": ConsumerSpec,
    "transformer": TransformerSpec,
    "storer": StorerSpec,
}
SINGLE = ("broker", "leader", "follower", "controller", "coordinator")
BEYOND_SESSION_S = 5.0
# With more, one refusal followed by an out-of-order answer has librdkafka bump its epoch: what was stored without an
# acknowledgement on any other partition is then sent a second time, by the client's doing alone (ADR 0043).
IN_FLIGHT = 1


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: int
    replication: int
    config: dict[str, str]

    @property
    def min_in_sync(self) -> int:
        return int(self.config.get("min.insync.replicas", 1))

    @property
    def spare(self) -> bool:
        """Whether it stays writable with one replica less."""
        return self.replication > self.min_in_sync


@dataclass(frozen=True)
class Step:
    """One fault, or one operation, and how often."""

    fault: str | None
    operation: str | None
    target: str = "broker"
    of: tuple[str, int] | None = None
    options: dict[str, str] = field(default_factory=dict)
    in_turn: bool = False
    hold: float | str = "beyond-session"
    times: int = 1
    rest_s: float = 0.0
    bound_s: float = 900.0
    overlaps: bool = False
    """Whether it stays in place until the next step has bitten, and is held on from there."""
    sent: int = 0
    """With `overlaps`: how many records are sent between its bite and the next step."""

    def hold_s(self, session_s: float) -> float:
        return session_s + BEYOND_SESSION_S if isinstance(self.hold, str) else self.hold

    @property
    def name(self) -> str:
        return self.fault or self.operation or ""


@dataclass(frozen=True)
class Workload:
    kind: str
    records_per_s: float = 800.0
    count: int = 0
    value_bytes: int = 100
    producers: int = 1
    consumers: int = 1
    probes: bool = True
    user: str | None = None
    shape: list[dict[str, Any]] | None = None
    sizes: list[dict[str, Any]] | None = None
    drawn_keys: dict[str, Any] | None = None
    producer: dict[str, Any] = field(default_factory=dict)
    consumer: dict[str, Any] = field(default_factory=dict)

    @property
    def shape_s(self) -> float:
        """How long its stages last in all."""
        return float(sum(stage["for_s"] for stage in self.shape or ()))

    def share(self, parts: int) -> dict[str, Any]:
        """What one of so many equal writers has to send: how fast, how large, with which keys."""
        rest = {"value_bytes": self.value_bytes, "sizes": self.sizes, "drawn_keys": self.drawn_keys}
        if self.shape is None:
            return {**rest, "records_per_s": self.records_per_s / parts}
        return {**rest, "shape": [asdict(Stage(**stage).slower(parts)) for stage in self.shape]}

    @property
    def sending(self) -> dict[str, Any]:
        """The writers' settings. Idempotence is not to be had without its acks, nor several requests in flight."""
        asked: dict[str, Any] = {"acks": "all", "idempotent": True, "max_in_flight": IN_FLIGHT, **self.producer}
        return asked | ({"acks": "all", "max_in_flight": IN_FLIGHT} if asked["idempotent"] else {})


@dataclass(frozen=True)
class Twin:
    """The scenario that differs in one setting alone, and does not lose."""

    of: str
    setting: str
    """Where it stands in both files: keys joined by `/`."""


@dataclass(frozen=True)
class Expected:
    """What the file says; `validate.run.expected` makes it concrete for the cluster at hand."""

    anomalies: dict[str, Any] | str = field(default_factory=dict)
    outage: dict[str, float] | str = "measured"
    refused: bool = False
    silent: bool = False
    unchangeable: bool = False
    """Whether nobody may be able to change metadata while a fault lasts; healed, it must go again."""
    moved: bool = False
    """Whether whoever is hit must lead nothing and be in no in-sync set when the fault ends."""
    leaderless: bool = False
    """Whether some partition must have been seen without a leader."""
    unclean: list[str] = field(default_factory=list)
    """Topics whose acknowledgements are weak, for a replica that lags may lead them."""
    replicas: bool = False
    """Whether what every broker holds on its disk is compared afterwards."""
    looks: dict[str, Any] = field(default_factory=dict)
    """What is looked up besides the judge (validate.run.looks)."""


@dataclass(frozen=True)
class Scenario:
    id: str
    title: str
    teaches: str
    explanation: str
    suites: tuple[str, ...]
    topics: tuple[Topic, ...]
    workload: Workload
    steps: tuple[Step, ...]
    mix: tuple[int, tuple[Step, ...]] | None
    expect: Expected
    progress: dict[str, float]
    bounds: dict[str, float]
    modes: tuple[str, ...] = ("kraft", "zookeeper")
    brokers: int = 1
    only_on_request: bool = False
    acts: tuple[Act, ...] = ()
    twin: Twin | None = None

    @property
    def breaks(self) -> bool:
        """Whether it needs consent and ssh."""
        return any(step.fault for step in self.all_steps)

    @property
    def disturbs(self) -> bool:
        return bool(self.all_steps)

    @property
    def hits_zookeeper(self) -> bool:
        return any(step.target in {"zookeeper", "two-zookeepers"} for step in self.all_steps)

    @property
    def all_steps(self) -> tuple[Step, ...]:
        return self.steps + (self.mix[1] if self.mix else ())

    @property
    def inputs(self) -> tuple[Topic, ...]:
        """What is written by the writers and read by the members: all but what members write themselves."""
        sinks = [self.workload.consumer.get("sink"), *(act.settings.get("sink") for act in self.acts)]
        return tuple(topic for topic in self.topics if topic.name not in sinks)

    def topic(self, name: str) -> Topic:
        return next(topic for topic in self.topics if topic.name == name)

    def in_mode(self, mode: str) -> Scenario:
        """Without the rounds that cannot exist in it."""
        return replace(self, acts=tuple(one for one in self.acts if one.played_in(mode)))

    def left_out(self, mode: str) -> list[str]:
        """Those rounds, and where they are played."""
        rounds = {one.round: " or ".join(one.modes) for one in self.acts if not one.played_in(mode)}
        return [f"Round {name} is for mode {where}; it was left out." for name, where in rounds.items()]


def ids(folder: Path = FOLDER) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_all(folder: Path = FOLDER) -> list[Scenario]:
    return [load(name, folder) for name in ids(folder)]


def load(name: str, folder: Path = FOLDER) -> Scenario:
    path = folder / f"{name}.yaml"
    if not path.is_file():
        raise UsageError(
            f"There is no scenario {name!r}.",
            details="python -m validate list shows them.",
            resolution=nearest(name, ids(folder)).capitalize(),
        )
    try:
        content = from_yaml(path.read_text(encoding="utf-8"))
    except (TextError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no YAML.", details=str(error), resolution="Mend it.") from error
    return parse(name, content, place=str(path))


def parse(name: str, content: Any, *, place: str) -> Scenario:
    _check_form(content, place)
    scenario = Scenario(
        id=name,
        title=content["title"],
        teaches=content["teaches"],
        explanation=content["explanation"].strip(),
        suites=tuple(content["suites"]),
        topics=tuple(_topic(topic, entry) for topic, entry in content["topics"].items()),
        workload=Workload(**content["workload"]),
        steps=tuple(_step(entry) for entry in content.get("faults", ())),
        mix=(content["mix"]["times"], tuple(_step(x) for x in content["mix"]["of"])) if "mix" in content else None,
        expect=Expected(**content["expect"]),
        progress={**PROGRESS, **content.get("progress", {})},
        bounds={**BOUNDS, **content.get("bounds", {})},
        modes=tuple(content.get("modes", ("kraft", "zookeeper"))),
        brokers=max(content.get("brokers", 1), *(entry["replication"] for entry in content["topics"].values())),
        only_on_request=content.get("only_on_request", False),
        acts=_acts(content, place),
        twin=Twin(**content["twin"]) if "twin" in content else None,
    )
    _check_sense(scenario, place)
    return scenario


def _acts(content: dict[str, Any], place: str) -> tuple[Act, ...]:
    act.check_rounds(content.get("rounds"), place)
    return act.parse([*act.repeated(content.get("rounds")), *content.get("acts", ())], place)


def _topic(name: str, entry: dict[str, Any]) -> Topic:
    config = {key: str(value) for key, value in entry.get("config", {}).items()}
    return Topic(name, entry["partitions"], entry["replication"], config)


def _step(entry: dict[str, Any]) -> Step:
    of = None
    if "of" in entry:
        topic, _, partition = entry["of"].rpartition("/")
        of = (topic, int(partition))
    return Step(**{"fault": None, "operation": None, **entry, "of": of})


def _check_form(content: Any, place: str) -> None:
    errors = mistakes(content, SCHEMA_FILE)
    if not errors:
        return
    error = best(errors)
    where = "/".join(map(str, error.absolute_path)) or "at the top"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        unknown = min(set(error.instance) - set(known))
        raise UsageError(
            f"Wrong in {place}: unknown key {unknown!r} ({where}).", resolution=nearest(unknown, known).capitalize()
        )
    raise UsageError(
        f"Wrong in {place}: {where}.", details=error.message, resolution=f"What may stand there: {SCHEMA_FILE.name}."
    )


def _check_sense(scenario: Scenario, place: str) -> None:
    """What has the right form and can still never be done or never be met."""
    for where, step in enumerate(scenario.all_steps):
        _check_step(scenario, step, f"{place}: fault {where + 1}")
    for step in scenario.all_steps:
        if step.overlaps and (step is scenario.all_steps[-1] or step.fault is None or step.times > 1 or scenario.mix):
            _never(place, "a step overlaps with the next: it must be a fault, played once, and not the last")
    for topic in scenario.topics:
        _check_topic(topic, place)
    if scenario.expect.unchangeable and not scenario.breaks:
        _never(place, "metadata is expected to be kept by nobody, and no fault")
    if scenario.workload.kind == "bulk" and not scenario.workload.count:
        _never(place, "a bulk load needs a count")
    if (scenario.workload.kind == "clients") != bool(scenario.acts):
        _never(place, "acts and a workload of kind clients go together")
    if scenario.acts and scenario.all_steps:
        _never(place, "acts and faults are not played at the same time")
    _check_clients(scenario, place)
    _check_outage(scenario, place)
    if isinstance(scenario.expect.anomalies, dict):
        from validate.expect import parse as parse_expectation  # noqa: PLC0415  it brings Spark's modules

        parse_expectation({"anomalies": scenario.expect.anomalies}, name=place)


def _check_topic(topic: Topic, place: str) -> None:
    least = topic.config.get("min.insync.replicas", "1")
    if not least.isdecimal():
        _never(place, f"topic {topic.name} has min.insync.replicas {least!r}, which is no number")
    if topic.min_in_sync > topic.replication:
        _never(place, f"topic {topic.name} has min.insync.replicas {topic.min_in_sync}, above its replication")


def _check_clients(scenario: Scenario, place: str) -> None:
    """Settings that a workload would refuse are refused before anything is made."""
    load = scenario.workload
    if load.kind == "clients" and (load.shape or load.sizes or load.drawn_keys):
        _never(place, "shape, sizes and drawn_keys are of a workload of kind paced or bulk")
    topics = [{"name": topic.name, "partitions": topic.partitions} for topic in scenario.topics]
    shared = {"run_id": "run", "name": "client", "ledger": "ledger", "client": {}, "topics": topics}
    ProducerSpec.parse({**shared, **scenario.workload.share(scenario.workload.producers), **scenario.workload.sending})
    members = [one for one in scenario.acts if one.verb == "start"] or [Act("start", "reader")]
    for one in members:
        moment = {"begin_ms": 1} if one.at else {}
        if one.kind == "producer":
            inputs = [{"name": topic.name, "partitions": topic.partitions} for topic in scenario.inputs]
            ProducerSpec.parse({**shared, **scenario.workload.sending, "topics": inputs, **one.settings})
        elif one.kind == "pipeline":
            PipelineSpec.parse({**shared, **one.settings})
        else:
            SPECS[one.kind].parse({**shared, "group": "group", **scenario.workload.consumer, **moment, **one.settings})


def _check_outage(scenario: Scenario, place: str) -> None:
    expect = scenario.expect
    if expect.outage in COMPUTED and not any(topic.spare for topic in scenario.topics):
        _never(place, "an outage bound holds for topics with replication above min.insync.replicas: there is none")
    if expect.outage in COMPUTED and not scenario.disturbs:
        _never(place, "an outage of a failover is expected, and no fault")
    if expect.refused and all(topic.spare for topic in scenario.topics):
        _never(place, "a refusal is expected, and every topic stays writable with one replica less")
    if (expect.refused or expect.outage != "measured") and not scenario.workload.probes:
        _never(place, "outages and refusals are seen by probes, and there are none")


def _check_step(scenario: Scenario, step: Step, place: str) -> None:
    if (step.fault is None) == (step.operation is None):
        raise UsageError(f"Wrong in {place}: it needs either a fault or an operation.", resolution="For example: kill.")
    if step.fault is not None:
        if step.fault not in KINDS:
            raise UsageError(
                f"Wrong in {place}: there is no fault {step.fault!r}.",
                resolution=nearest(step.fault, KINDS).capitalize(),
            )
        try:
            with_defaults(step.fault, step.options)
        except FaultError as error:
            raise UsageError(f"Wrong in {place}: {error.brief}", details=error.details) from error
    if step.target in {"leader", "follower"}:
        if step.of is None:
            raise UsageError(f"Wrong in {place}: {step.target} of what?", resolution="of: TOPIC/PARTITION")
        topic, partition = step.of
        shapes = {t.name: t.partitions for t in scenario.topics}
        if partition >= shapes.get(topic, 0):
            raise UsageError(
                f"Wrong in {place}: there is no {topic}/{partition}.",
                details=f"Topics: {', '.join(f'{name} ({count} partitions)' for name, count in shapes.items())}.",
                resolution="Partitions count from 0.",
            )
    if step.target == "coordinator" and not scenario.workload.consumers:
        _never(place, "without a consumer there is no group, and no coordinator of it")
    once = scenario.mix is None and len(scenario.steps) == 1 and step.times == 1
    if once and step.fault and not isinstance(step.hold, str) and step.hold < scenario.progress["phase_s"]:
        _never(place, f"it holds {step.hold} s, and the phase must last {scenario.progress['phase_s']} s")


def _never(place: str, why: str) -> None:
    raise UsageError(
        f"Wrong in {place}: this can never be met.", details=f"{why}.", resolution="Change one or the other."
    )
