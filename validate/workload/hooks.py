"""Our own hooks beside the ledger: each record is seen on its way out and on its way back, and the client's figures.

librdkafka's interceptors are for programs in C; these sit where such would: before a record is handed to the client
and when its report comes.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from validate.workload.value import CRC_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from confluent_kafka import KafkaError, Message

EVERY_MS = 500
FOLDER = "hooks"


class Hooks:
    """Sums that do not depend on the order: how many, and the checksums of all values added up."""

    def __init__(self) -> None:
        self.sent: dict[str, list[int]] = {}
        self.acknowledged: dict[str, list[int]] = {}
        self.failed = 0
        self.looks = 0
        self.most_in_flight = 0
        self.last: dict[str, Any] = {}
        """The client's own figures as they were told last."""

    @property
    def settings(self) -> dict[str, Any]:
        return {"stats_cb": self.on_statistics, "statistics.interval.ms": EVERY_MS}

    def on_send(self, topic: str, partition: int, values: Sequence[bytes | None]) -> None:
        for value in values:
            _add(self.sent, f"{topic}-{partition}", value)

    def around(
        self, report: Callable[[KafkaError | None, Message], None]
    ) -> Callable[[KafkaError | None, Message], None]:
        """The same report, seen by the hook first."""

        def hooked(error: KafkaError | None, message: Message) -> None:
            if error is None:
                _add(self.acknowledged, f"{message.topic()}-{message.partition()}", message.value())
            else:
                self.failed += 1
            report(error, message)

        return hooked

    def on_statistics(self, text: str) -> None:
        told = json.loads(text)
        self.looks += 1
        self.most_in_flight = max(self.most_in_flight, sum(b["waitresp_cnt"] for b in told["brokers"].values()))
        self.last = told

    def write(self, ledger: Path, name: str) -> None:
        (ledger / FOLDER).mkdir(exist_ok=True)
        content = {
            "sent": self.sent, "acknowledged": self.acknowledged, "failed": self.failed, "looks": self.looks,
            "most_in_flight": self.most_in_flight, "client": _figures(self.last),
        }  # fmt: skip
        (ledger / FOLDER / f"{name}.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


def _add(sums: dict[str, list[int]], place: str, value: bytes | None) -> None:
    one = sums.setdefault(place, [0, 0])
    one[0] += 1
    one[1] += zlib.crc32(value[:-CRC_WIDTH]) if value else 0


def _figures(told: dict[str, Any]) -> dict[str, Any]:
    """Of a client's many figures those that people ask for: how many, how fast, how long an answer took."""
    brokers = [one for one in told.get("brokers", {}).values() if one.get("nodeid", -1) >= 0 and one.get("tx")]
    return {
        "messages": told.get("txmsgs", 0),
        "bytes": told.get("txmsg_bytes", 0),
        "requests": sum(one["tx"] for one in brokers),
        "age_us": told.get("age", 0),
        "latency_p99_us": max((one.get("rtt", {}).get("p99", 0) for one in brokers), default=0),
    }
