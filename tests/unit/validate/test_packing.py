"""What librdkafka packs over TLS, as strace counted it, and the client.id that is chosen for it."""

from __future__ import annotations

from typing import Any

import pytest

from validate.workload import packing
from validate.workload.producer import whole_batches
from validate.workload.spec import ProducerSpec

TOPIC = "kastellan-prof"
TOPICS = [{"name": TOPIC, "partitions": 4}]
# 24 whole batches of 244 records of 1 KiB, librdkafka 2.16: TLS records that held one value, by the length of client.id.
COUNTED = {24: 3239, 30: 2232, 38: 3098, 46: 3221, 48: 1152, 54: 2280, 60: 3143, 70: 2328, 78: 3216}


@pytest.mark.parametrize(("length", "counted"), COUNTED.items())
def test_as_many_go_alone_as_were_counted(length: int, counted: int) -> None:
    assert 24 * packing.alone(244, 1024, TOPIC, "x" * length) == pytest.approx(counted, rel=0.02)


@pytest.mark.parametrize("value_bytes", [512, 1024])
def test_a_longer_name_packs_better(value_bytes: int) -> None:
    records = 262_144 // (value_bytes + 48)
    name = packing.name("kastellan-w1", records, value_bytes, [TOPIC])
    assert name.startswith("kastellan-w1.")
    assert set(name.removeprefix("kastellan-w1")) == {packing.FILL}
    assert len(name) <= len("kastellan-w1") + packing.WIDEST
    before, after = (packing.alone(records, value_bytes, TOPIC, one) for one in ("kastellan-w1", name))
    assert after < 0.75 * before


def test_small_records_are_packed_well_as_it_is() -> None:
    assert packing.name("kastellan-w1", 1771, 100, [TOPIC]) == "kastellan-w1"


def test_a_name_is_for_all_topics_of_a_producer() -> None:
    """What is best for one topic need not be for two."""
    topics = [TOPIC, "kastellan-another-one"]

    def all_alone(name: str) -> int:
        return sum(packing.alone(244, 1024, topic, name) for topic in topics)

    name = packing.name("kastellan-w1", 244, 1024, topics)
    others = [packing.name("kastellan-w1", 244, 1024, [topic]) for topic in topics]
    assert all(all_alone(name) <= all_alone(other) for other in others)


@pytest.mark.parametrize(
    ("client", "changes", "named"),
    [
        ({"security.protocol": "SASL_SSL"}, {}, True),
        ({"security.protocol": "ssl"}, {}, True),
        ({"security.protocol": "SASL_PLAINTEXT"}, {}, False),
        ({}, {}, False),
        ({"security.protocol": "SSL"}, {"compression": "lz4"}, False),
        ({"security.protocol": "SSL"}, {"keys": 5}, False),
    ],
    ids=["sasl_ssl", "ssl", "in the clear", "default", "compressed", "keyed"],
)
def test_only_what_goes_by_tls_as_it_is_gets_a_name(
    client: dict[str, Any], changes: dict[str, Any], named: bool
) -> None:
    spec = ProducerSpec.parse(
        {
            "run_id": "r", "name": "w", "ledger": "/nowhere", "client": client, "value_bytes": 1024, "topics": TOPICS,
            **changes,
        }
    )  # fmt: skip
    told = whole_batches(spec, 244)
    assert told["batch.num.messages"] == 244
    assert ("client.id" in told) is named


def test_small_records_keep_librdkafkas_own_name() -> None:
    spec = ProducerSpec.parse(
        {"run_id": "r", "name": "w", "ledger": "/nowhere", "client": {"security.protocol": "SSL"}, "topics": TOPICS}
    )
    assert whole_batches(spec, 1771) == {"batch.num.messages": 1771}
