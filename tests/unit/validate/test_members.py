"""When a member of a group ends: after as many as it was asked for, and when the group will never have it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError

from common.errors import KastellanError
from tests.unit.validate import test_delivery
from validate.workload import consumer
from validate.workload.spec import ConsumerSpec

if TYPE_CHECKING:
    from collections.abc import Callable


class Fetching(test_delivery.Fetching):
    def close(self) -> None:
        pass


def member(monkeypatch: pytest.MonkeyPatch, client: Callable[..., Any], **changes: Any) -> consumer.Member:
    monkeypatch.setattr(consumer, "Consumer", client)
    spec = ConsumerSpec.parse(
        {
            "run_id": "r", "name": "c", "ledger": "l", "client": {}, "topics": [{"name": "t", "partitions": 1}],
            "group": "g", **changes,
        }
    )  # fmt: skip
    home: Any = SimpleNamespace(
        journal=SimpleNamespace(append=lambda _: None), clock=SimpleNamespace(now_us=lambda: 0), signs=None
    )
    return consumer.Member(spec, home)


@pytest.mark.parametrize("count", [3, 500, 501, 1200])
def test_it_takes_up_as_many_as_it_was_asked_for(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where that is less than a batch, or no whole number of them."""
    one = member(monkeypatch, Fetching, count=count)
    one.run(lambda: False, lambda: None)
    assert sum(one.delivered.values()) == count


class Refusing(Fetching):
    """A client that is told something while it waits for records."""

    def __init__(self, settings: dict[str, Any], **_: Any) -> None:
        super().__init__(settings)
        self._tell = settings["error_cb"]
        self.looks = 0

    def poll(self, _: float) -> Any:
        self.looks += 1
        self._tell(self.error)
        return None

    error = KafkaError(KafkaError._TRANSPORT)


@pytest.mark.parametrize(
    "error",
    [
        KafkaError(KafkaError.INVALID_SESSION_TIMEOUT),
        KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED),
        KafkaError(KafkaError.FENCED_INSTANCE_ID, "Static consumer fenced", fatal=True),
    ],
    ids=lambda error: error.name(),
)
def test_a_refusal_for_good_ends_a_member(error: KafkaError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "error", error)
    one = member(monkeypatch, Refusing)
    with pytest.raises(KastellanError, match="The consumer cannot go on") as told:
        one.run(lambda: False, lambda: None)
    assert told.value.details.startswith(error.name())


def test_an_error_that_passes_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    one = member(monkeypatch, Refusing)
    one.run(lambda: one._consumer.looks > 5, lambda: None)
    assert len(one.errors) > 5


def test_another_assignment_than_the_groups_is_waited_for_as_long_as_a_dead_member_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("validate.workload.consumer.time.monotonic", lambda: now_s[0])
    monkeypatch.setattr(Refusing, "error", KafkaError(KafkaError.INCONSISTENT_GROUP_PROTOCOL))
    one = member(monkeypatch, Refusing, session_timeout_ms=6000, heartbeat_ms=2000)

    def later() -> None:
        now_s[0] += 1

    with pytest.raises(KastellanError, match="The consumer cannot go on"):
        one.run(lambda: False, later)
    assert now_s[0] - 100.0 == pytest.approx(6 + consumer.GRACE_S, abs=2)


def test_what_another_error_says_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long after a refusal that may pass, a connection that breaks is only that."""
    now_s = [100.0]
    monkeypatch.setattr("validate.workload.consumer.time.monotonic", lambda: now_s[0])
    one = member(monkeypatch, Fetching)
    one._on_error(KafkaError(KafkaError.INCONSISTENT_GROUP_PROTOCOL))
    now_s[0] += 3600
    one._on_error(KafkaError(KafkaError._TRANSPORT))
    assert one._fatal is None
