"""What is planned for topics, and what is refused, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.module_utils import topics
from plugins.module_utils.cluster import Entry
from plugins.module_utils.errors import BadInputError
from plugins.module_utils.topics import Existing

BROKERS: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b"}
TOPIC, DEFAULT = 1, 5
LONG, LIST, BOOLEAN, INT = 5, 7, 1, 3


def existing(name: str, *replicas: tuple[int, ...], **config: Entry) -> dict[str, Existing]:
    entries = {key.replace("_", "."): entry for key, entry in config.items()}
    return {name: Existing(name, replicas, tuple(r[0] for r in replicas), entries)}


def lines(items: list[dict[str, Any]], have: dict[str, Existing], **more: Any) -> list[str]:
    wanted = topics.parse(items)
    topics.check(wanted, have, BROKERS)
    return [change.line for change in topics.plan(wanted, have, BROKERS, **more)]


def refusal(items: list[dict[str, Any]], have: dict[str, Existing] | None = None) -> str:
    with pytest.raises(BadInputError) as caught:
        lines(items, have or {})
    return str(caught.value)


def test_what_is_as_declared_needs_nothing() -> None:
    have = existing("a", (1, 2), (2, 3), retention_ms=Entry("1000", TOPIC, LONG))
    item = {"name": "a", "partitions": 2, "replication_factor": 2, "config": {"retention.ms": 1000}}
    assert lines([item], have) == []


def test_a_missing_topic_is_created_with_what_is_declared() -> None:
    item = {"name": "a", "partitions": 3, "config": {"cleanup.policy": ["compact", "delete"], "preallocate": True}}
    assert lines([item], {}) == [
        "create topic a: partitions 3, replication factor default, cleanup.policy=compact,delete, preallocate=true"
    ]


@pytest.mark.parametrize(
    ("kind", "have", "declared"),
    [
        (LONG, "1000", 1000),
        (LONG, "1000", "1000"),
        (LONG, "1000000000", 1e9),
        (BOOLEAN, "true", True),
        (BOOLEAN, "true", "True"),
        (LIST, "compact,delete", "delete, compact"),
        (LIST, "compact,delete", ["delete", "compact"]),
        (6, "0.5", 0.5),
        (6, "0.50", "0.5"),
        (2, "gzip", "gzip"),
    ],
)
def test_values_are_compared_by_what_they_mean(kind: int, have: str, declared: Any) -> None:
    assert lines([{"name": "a", "config": {"x": declared}}], existing("a", (1,), x=Entry(have, TOPIC, kind))) == []


@pytest.mark.parametrize(
    ("kind", "have", "declared"),
    [(LONG, "1000", 2000), (LONG, "1000", "x"), (2, "gzip", "GZIP"), (BOOLEAN, "true", False)],
)
def test_values_that_differ_are_set(kind: int, have: str, declared: Any) -> None:
    assert len(lines([{"name": "a", "config": {"x": declared}}], existing("a", (1,), x=Entry(have, TOPIC, kind)))) == 1


def test_a_declared_value_is_set_on_the_topic_even_if_the_default_is_the_same() -> None:
    """Else the topic would follow when somebody changes the cluster's default."""
    have = existing("a", (1,), min_insync_replicas=Entry("1", DEFAULT, INT))
    assert lines([{"name": "a", "config": {"min.insync.replicas": 1}}], have) == [
        "configure topic a: min.insync.replicas (default) -> 1"
    ]


def test_what_is_no_longer_declared_goes_back_to_the_default() -> None:
    have = existing("a", (1,), retention_ms=Entry("5", TOPIC, LONG), segment_ms=Entry("7", DEFAULT, LONG))
    assert lines([{"name": "a"}], have) == ["configure topic a: retention.ms 5 -> (default)"]


def test_throttles_of_a_move_are_left_alone() -> None:
    have = existing("a", (1,), leader_replication_throttled_replicas=Entry("*", TOPIC, LIST))
    assert lines([{"name": "a"}], have) == []


def test_of_internal_topics_only_declared_settings_are_touched() -> None:
    have = existing("__consumer_offsets", (1,), cleanup_policy=Entry("compact", TOPIC, LIST))
    item: dict[str, Any] = {"name": "__consumer_offsets"}
    assert lines([item], have) == []
    assert lines([{**item, "config": {"segment.bytes": 1}}], have) == [
        "configure topic __consumer_offsets: segment.bytes (default) -> 1"
    ]


def test_internal_topics_are_never_deleted_and_no_strays() -> None:
    assert refusal([{"name": "__consumer_offsets", "state": "absent"}]) == (
        "Topic '__consumer_offsets' is internal to Kafka: it is never deleted.\nTake it off the list."
    )
    have = existing("__consumer_offsets", (1,)) | existing("old", (1,)) | existing("mine-1", (1,))
    assert topics.strays({}, have, ["mine-*"]) == ["old"]


def test_partitions_grow_and_never_shrink() -> None:
    assert lines([{"name": "a", "partitions": 3}], existing("a", (1,))) == ["grow topic a: partitions 1 -> 3"]
    assert refusal([{"name": "a", "partitions": 1}], existing("a", (1,), (2,))) == (
        "Topic 'a' has 2 partitions, declared are 1: Kafka cannot take partitions away.\n"
        "Declare 2, or delete the topic with its data (state: absent), then create it."
    )


def test_deleting_what_is_not_there_is_nothing_to_do() -> None:
    assert lines([{"name": "a", "state": "absent"}], {}) == []
    assert lines([{"name": "a", "state": "absent"}], existing("a", (1,))) == ["delete topic a with its data"]


def test_replicas_move_before_partitions_are_added_and_settings_raised() -> None:
    item = {"name": "a", "partitions": 2, "replication_factor": 3, "config": {"min.insync.replicas": 2}}
    assert [line.split()[0] for line in lines([item], existing("a", (1,)))] == ["move", "grow", "configure"]


def test_with_fewer_replicas_min_insync_is_lowered_first() -> None:
    have = existing("a", (1, 2, 3), min_insync_replicas=Entry("2", TOPIC, INT))
    item = {"name": "a", "replication_factor": 1, "config": {"min.insync.replicas": 1}}
    assert [line.split()[0] for line in lines([item], have)] == ["configure", "move"]


def test_strays_are_removed_only_when_asked_and_before_anything_is_created() -> None:
    have = existing("old", (1,))
    assert lines([{"name": "a"}], have) == ["create topic a: partitions default, replication factor default"]
    assert lines([{"name": "a"}], have, remove=["old"])[0] == "delete topic old with its data"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"name": "a"}, {"name": "a"}], "Topics declared more than once: a.\nKeep one entry for each."),
        (
            [{"name": "a.b"}, {"name": "a_b"}],
            """Topics 'a.b' and 'a_b' collide.
Kafka takes '.' and '_' for the same in the names of its metrics.
Rename one of them.""",
        ),
        (
            [{"name": "a", "replication_factor": 5}],
            "Topic 'a': replication_factor 5 is above the number of brokers, 4.\nLower it to 4 or add a broker.",
        ),
        (
            [{"name": "a", "replication_factor": 2, "config": {"min.insync.replicas": 3}}],
            """Topic 'a': min.insync.replicas 3 is above the replication factor, 2: nobody could write with acks=all.
Lower min.insync.replicas to 1 or raise replication_factor.""",
        ),
        ([{"name": "a", "partitions": 0}], "Topic 'a': partitions is 0.\nSet 1 or more, or leave it out."),
        (
            [{"name": "a", "config": {"retention.ms": None}}],
            """Topic 'a': retention.ms has no value that Kafka could take.
Give it one, or leave it out: what is not declared goes back to the cluster's default.""",
        ),
        (
            [{"name": "orders/eu"}],
            "'orders/eu' is no name for a topic.\nUse up to 249 letters, digits, '.', '_' and '-', e.g. 'orders-eu'.",
        ),
    ],
)
def test_bad_input_is_refused_with_what_to_do(items: list[dict[str, Any]], message: str) -> None:
    assert refusal(items) == message


@pytest.mark.parametrize("name", ["", ".", "..", "ä", "a b", "a" * 250])
def test_names_that_kafka_would_not_take(name: str) -> None:
    assert "is no name for a topic" in refusal([{"name": name}])


def test_a_new_topic_must_not_collide_with_one_that_stays() -> None:
    assert "collide" in refusal([{"name": "a_b"}], existing("a.b", (1,)))
    assert lines([{"name": "a_b"}, {"name": "a.b", "state": "absent"}], existing("a.b", (1,)))[1].startswith("create")


def test_an_unchanged_topic_is_left_in_peace_while_a_broker_is_down() -> None:
    have = existing("a", (1, 2, 3, 4, 5))
    assert lines([{"name": "a", "replication_factor": 5}], have) == []


def test_an_inherited_min_insync_above_the_replication_factor_is_a_warning() -> None:
    have = existing("a", (1,), min_insync_replicas=Entry("2", DEFAULT, INT))
    assert [warning.partition(":")[0] for warning in topics.check(topics.parse([{"name": "a"}]), have, BROKERS)] == [
        "Topic 'a' has replication factor 1 and inherits min.insync.replicas 2"
    ]
