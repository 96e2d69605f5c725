"""librdkafka's settings, written out where its defaults are not those of Kafka's own clients."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from validate.workload.spec import ConsumerSpec, ProducerSpec, TransformerSpec

SILENT = logging.getLogger("validate.librdkafka")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False

# Between tries to connect, Kafka's own clients wait 50 ms..1 s, librdkafka 100 ms..10 s.
COMMON: dict[str, Any] = {
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1000,
    "socket.keepalive.enable": True,
    "socket.nagle.disable": True,
    "broker.address.ttl": 1000,
    "log_level": 3,
}

# An administrator's request that waits for a broker asks for a connection whenever the last try has failed, past all
# waiting between tries: a thousand a second while that broker is dead, on the machine that measures. Clients that keep
# up their connections on their own wait as they are told to.
PATIENT: dict[str, Any] = {"enable.sparse.connections": False}

# Once 100,000 records of a partition wait, librdkafka does not fetch for a second: whoever takes them up sooner stands
# still for the rest of it.
EAGER: dict[str, Any] = {"fetch.queue.backoff.ms": 10}

STORES = ("ssl.ca", "ssl.certificate", "ssl.key")

MOST_BACKOFF_MS = 300_000  # that librdkafka takes


def inlined(client: Mapping[str, Any]) -> dict[str, Any]:
    """The same login with what its files hold in place of their names: on another machine there are none."""
    made = dict(client)
    for store in STORES:
        location = made.pop(f"{store}.location", None)
        if location is None or made.get(f"{store}.pem") is not None:
            continue
        try:
            made[f"{store}.pem"] = Path(location).read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{store}.location cannot be read.", details=str(error), resolution="Name a PEM file."
            ) from None
    return made


def never_again(timeout_ms: int) -> dict[str, Any]:
    """For single shots: librdkafka sends again, uncounted, what was refused by a leader that was one no longer.

    That one may have stored the record before, so a refusal is certain only if it answers the first and only time.
    """
    later_ms = min(2 * timeout_ms, MOST_BACKOFF_MS)
    return {"retry.backoff.ms": later_ms, "retry.backoff.max.ms": later_ms}


def for_producer(spec: ProducerSpec, room: int = 0, loop: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`room`: how many may be under way, where the least of each partition comes to more than was asked for.

    `loop`: what the producing loop knows better than these defaults, and the user better still.
    """
    waiting = max(spec.waiting_records, room) + spec.block_records
    settings: dict[str, Any] = {
        **COMMON,
        "acks": spec.acks,
        "enable.idempotence": spec.idempotent,
        "max.in.flight.requests.per.connection": spec.max_in_flight,  # librdkafka: a million without idempotence
        "delivery.timeout.ms": spec.delivery_timeout_ms,  # librdkafka: 300 s, Kafka's own: 120 s
        "request.timeout.ms": spec.request_timeout_ms,
        "linger.ms": spec.linger_ms,
        "batch.size": spec.batch_bytes,  # librdkafka: 1 MB
        "batch.num.messages": max(10_000, spec.batch_bytes // int(spec.mean_bytes)),
        "compression.type": spec.compression,
        # Never full: the loop waits before that (a full queue would be a refusal that the cluster had no part in).
        "queue.buffering.max.messages": waiting + 1,
        "queue.buffering.max.kbytes": max(65_536, waiting * int(spec.mean_bytes + 128) // 512),
        "statistics.interval.ms": 0,
    }
    if spec.answer_timeout_ms is not None:
        settings["socket.timeout.ms"] = spec.answer_timeout_ms  # librdkafka: 60 s, whatever a broker is told
    if spec.retries is not None:
        settings["message.send.max.retries"] = spec.retries
        settings |= {} if spec.retries else never_again(spec.delivery_timeout_ms)
    return {**settings, **(loop or {}), **spec.client, **spec.settings}


def for_transformer(spec: TransformerSpec) -> dict[str, Any]:
    """Of its producing half; transactions bring idempotence and acks=all along."""
    return {
        **COMMON,
        "transactional.id": spec.transactional_id,
        "transaction.timeout.ms": spec.transaction_timeout_ms,
        "linger.ms": 5,
        **spec.client,
    }


def for_consumer(spec: ConsumerSpec) -> dict[str, Any]:
    settings: dict[str, Any] = {
        **COMMON,
        "group.id": spec.group,
        "auto.offset.reset": spec.start,
        "isolation.level": spec.isolation,
        "enable.auto.commit": spec.commit == "auto",
        "enable.auto.offset.store": spec.commit == "auto",
        "max.poll.interval.ms": spec.max_poll_ms,
        "group.protocol": spec.protocol,
        "fetch.wait.max.ms": 100,
        **EAGER,
        "check.crcs": True,  # librdkafka: off; Kafka's own consumer checks
    }
    if spec.commit == "auto":
        settings["auto.commit.interval.ms"] = int(spec.commit_interval_ms)
    if spec.protocol == "classic":
        settings |= {
            "session.timeout.ms": spec.session_timeout_ms,
            "heartbeat.interval.ms": spec.heartbeat_ms,
            "partition.assignment.strategy": spec.assignment,
        }
    if spec.instance_id is not None:
        settings["group.instance.id"] = spec.instance_id
    return {**settings, **spec.client, **spec.settings}
