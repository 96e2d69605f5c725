"""A secured cluster on real hosts, made by the playbooks of a copy of this checkout."""

from __future__ import annotations

import json
import logging
import re
import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Consumer, Producer

if TYPE_CHECKING:
    from tests.system.lab import Lab

TIMEOUT_S = 900
SILENT = logging.getLogger("silent")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False
_RECAP = re.compile(
    r"^(?P<host>\S+)\s+: ok=\d+\s+changed=(?P<changed>\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE
)
_RESTARTED = re.compile(r"HANDLER \[.*: Restart: (\S+)\]")
_TASK = re.compile(r"(?:TASK|HANDLER) \[(?P<task>.*)\] \**$")
_CHANGED = re.compile(r"changed: \[(?P<host>[^ \]]+)")


@dataclass(frozen=True)
class Played:
    """What a playbook did."""

    code: int
    output: str

    @property
    def changed(self) -> int:
        return sum(int(match["changed"]) for match in _RECAP.finditer(self.output))

    @property
    def restarted(self) -> list[str]:
        return _RESTARTED.findall(self.output)

    def changed_on(self, host: str) -> int:
        """What all hosts share counts for the first of them."""
        return sum(int(match["changed"]) for match in _RECAP.finditer(self.output) if match["host"] == host)

    @property
    def changing(self) -> set[tuple[str, str]]:
        """Each task that changed something, and for which host."""
        found, task = set(), ""
        for line in self.output.splitlines():
            if match := _TASK.match(line):
                task = match["task"]
            elif match := _CHANGED.match(line):
                found.add((task, match["host"]))
        return found


class Cluster:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        # What check mode foretold of virgin hosts, and what the run after it did.
        self.virgin_check: Played | None = None
        self.first_run: Played | None = None

    def play(self, name: str, *words: str, check: bool = True) -> Played:
        argv = [
            "bash",
            "-c",
            'eval "$(./kastellan env)" && exec "$@"',
            "play",
            "ansible-playbook",
            f"playbooks/{name}.yml",
        ]
        done = self.lab.run(*argv, *words, timeout_s=TIMEOUT_S, check=False)
        output = done.stdout + done.stderr
        assert not check or done.returncode == 0, output
        return Played(done.returncode, output)

    def bundle(self, user: str, *, mtls: bool = False) -> dict[str, Any]:
        name = "librdkafka-mtls.json" if mtls else "librdkafka.json"
        found: dict[str, Any] = json.loads((self.lab.state() / "clients" / user / name).read_text(encoding="utf-8"))
        return found

    def health(self) -> dict[str, Any]:
        """As playbook health writes it, which fails if anything is not well."""
        report = self.lab.folder / "health.json"
        self.play("health", "-e", f"kafka_health_file={report}")
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found

    def nodes(self) -> list[str]:
        """Hosts that run Kafka; those of an ensemble of ZooKeeper stand beside them."""
        return [host["name"] for host in self.document()["hosts"] if host["node_id"] is not None]

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.lab.state() / "cluster.json").read_text(encoding="utf-8"))
        return found


def write(client: dict[str, Any], topic: str, count: int = 1, timeout_s: float = 20) -> list[str]:
    """What the brokers said to each record: empty for an acknowledgement."""
    answers: list[str] = []
    errors: list[str] = []
    producer = Producer(
        {**client, "acks": "all", "message.timeout.ms": int(timeout_s * 1000), "error_cb": errors.append}, logger=SILENT
    )
    for number in range(count):
        producer.produce(
            topic,
            f"{number}".encode(),
            on_delivery=lambda error, _: answers.append(error.name() if error else ""),
        )
    producer.flush(timeout_s + 5)
    return answers or [str(error) for error in errors]


def read(client: dict[str, Any], topic: str, group: str, timeout_s: float = 30) -> str:
    """The first record, or why there is none."""
    errors: list[str] = []
    settings = {
        **client,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "error_cb": lambda e: errors.append(e.name()),
    }
    consumer = Consumer(settings, logger=SILENT)
    consumer.subscribe([topic])
    message = consumer.poll(timeout_s)
    consumer.close()
    if message is None:
        return ",".join(errors) or "nothing"
    error = message.error()
    return error.name() if error else "record"


PATIENCE_S = 120.0  # of a writer with one record


@dataclass
class Writer:
    """Writes with acks=all until it is stopped, and remembers what was acknowledged and how long the slowest took."""

    client: dict[str, Any]
    topic: str
    acked: set[int] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    slowest_s: float = 0.0  # from being handed over to being acknowledged, by librdkafka's own clock
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)  # others have written numbers to the topic as well
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        producer = Producer(
            {**self.client, "acks": "all", "delivery.timeout.ms": int(PATIENCE_S * 1000)}, logger=SILENT
        )
        number = 0
        while not self._stop.wait(0.01):
            producer.produce(self.topic, f"{self.mark}:{number}".encode(), on_delivery=self._answer(number))
            producer.poll(0)
            number += 1
        producer.flush(PATIENCE_S)

    def lost(self, group: str) -> set[int]:
        """What was acknowledged and is not there."""
        ours = f"{self.mark}:".encode()
        values = [value for value in read_all(self.client, self.topic, group) if value.startswith(ours)]
        return self.acked - {int(value.removeprefix(ours)) for value in values}

    def _answer(self, number: int) -> Any:
        def answer(error: Any, message: Any) -> None:
            if error:
                self.refused.append(error.name())
            else:
                self.acked.add(number)
                self.slowest_s = max(self.slowest_s, message.latency())

        return answer


def read_all(client: dict[str, Any], topic: str, group: str) -> list[bytes]:
    """Every record up to the ends of the partitions."""
    settings = {**client, "group.id": group, "auto.offset.reset": "earliest", "enable.partition.eof": True}
    consumer = Consumer(settings, logger=SILENT)
    partitions = len(consumer.list_topics(topic, timeout=20).topics[topic].partitions)
    consumer.subscribe([topic])
    found: list[bytes] = []
    ended: set[int | None] = set()
    while len(ended) < partitions:
        message = consumer.poll(30)
        assert message is not None, f"{topic} has no end"
        if message.error():
            ended.add(message.partition())
        else:
            found.append(message.value() or b"")
    consumer.close()
    return found
