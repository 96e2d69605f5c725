"""What is planned for quotas, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from plugins.module_utils import quotas
from plugins.module_utils.errors import BadInputError

if TYPE_CHECKING:
    from plugins.module_utils.quotas import Entity, Values

ALICE: Entity = (("user", "alice"),)


def lines(items: list[dict[str, Any]], existing: dict[Entity, Values], **more: Any) -> list[str]:
    return [change.line for change in quotas.plan(quotas.parse(items), existing, **more)]


def entry(**more: Any) -> dict[str, Any]:
    return {"user": "alice", "quotas": {"producer_byte_rate": 1024.0}} | more


def test_what_is_there_needs_nothing() -> None:
    assert lines([entry()], {ALICE: {"producer_byte_rate": 1024.0}}) == []


def test_values_are_set_changed_and_taken_away() -> None:
    have = {ALICE: {"producer_byte_rate": 1.0, "request_percentage": 50.5}}
    item = entry(quotas={"producer_byte_rate": 1024.0, "consumer_byte_rate": 1e9, "request_percentage": None})
    assert lines([item], have) == [
        """quota of user alice: consumer_byte_rate none -> 1000000000, producer_byte_rate 1 -> 1024, \
request_percentage 50.5 -> none"""
    ]


@pytest.mark.parametrize(
    ("item", "entity"),
    [
        ({"user": "User:alice"}, ALICE),
        ({"client_id": "c"}, (("client-id", "c"),)),
        ({"client_id": "c", "user": "alice"}, (("user", "alice"), ("client-id", "c"))),
        ({"user": "<default>"}, (("user", None),)),
        ({"user": "<default>", "client_id": "<default>"}, (("user", None), ("client-id", None))),
    ],
)
def test_who_a_quota_is_for(item: dict[str, Any], entity: Entity) -> None:
    assert list(quotas.parse([{**item, "quotas": {"consumer_byte_rate": 1.0}}])) == [entity]


def test_addresses_have_a_quota_of_their_own() -> None:
    assert lines([{"ip": "<default>", "quotas": {"connection_creation_rate": 20.0}}], {}) == [
        "quota of ip <default>: connection_creation_rate none -> 20"
    ]


def test_absent_takes_everything_away_once() -> None:
    item = {"user": "alice", "state": "absent"}
    assert lines([item], {ALICE: {"producer_byte_rate": 1.0}}) == ["quota of user alice: producer_byte_rate 1 -> none"]
    assert lines([item], {}) == []


def test_strays_are_named_and_removed_when_asked() -> None:
    have: dict[Entity, Values] = {
        ALICE: {"producer_byte_rate": 1.0},
        (("ip", None),): {"connection_creation_rate": 1.0},
    }
    assert quotas.strays({}, have, ["al*"]) == [(("ip", None),)]
    assert quotas.strays({}, have, ["<default>"]) == [ALICE]
    assert lines([], have, remove=[ALICE]) == ["quota of user alice: producer_byte_rate 1 -> none"]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([entry(), entry(user="User:alice")], "Quotas declared more than once: user alice."),
        ([entry(user=None)], "A quota is for nobody"),
        ([entry(ip="10.0.0.1")], "A quota is for user alice, ip 10.0.0.1 at once."),
        ([entry(quotas={})], "The quota of user alice has no values."),
        (
            [entry(quotas={"connection_creation_rate": 1.0})],
            "There is no quota 'connection_creation_rate' for user alice",
        ),
        ([{"ip": "10.0.0.1", "quotas": {"producer_byte_rate": 1.0}}], "There is no quota 'producer_byte_rate' for ip"),
        ([entry(quotas={"producer_byte_rate": -1.0})], "The quota producer_byte_rate of user alice is -1.0."),
        ([entry(quotas={"producer_byte_rate": float("nan")})], "is nan."),
    ],
)
def test_bad_input_is_refused(items: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        quotas.parse(items)
    assert message in str(caught.value)
    assert caught.value.resolution
