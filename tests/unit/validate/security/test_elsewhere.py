"""Rights as they are asked of: by nobody, from another host, at the broker that answers; and of brokers that are away."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.unit.validate.control import GOOD, cluster
from tests.unit.validate.security.test_rules import ANSWERED, DENIED, checked
from validate.security import authorization, authorization_rules
from validate.security.scene import ANSWER_S, FROM_THERE_S, Scene
from validate.security.stage import DENIED as DENIED_USER
from validate.security.stage import OK
from validate.security.wire import NONE, Login

if TYPE_CHECKING:
    from pathlib import Path


class Asker:
    """A session that remembers whose it is."""

    def __init__(self, who: str, where: str = "") -> None:
        self.who, self.where = who, where

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


ANYBODYS = {"name": "OPEN", "port": 9097, "protocol": "SSL", "mechanisms": [], "client_auth": "none"}


@pytest.mark.parametrize("number", range(29, 39))
@pytest.mark.parametrize(
    ("answered", "reached", "verdict", "said"),
    [
        ("", True, "passed", ""),
        ("nobody", True, "failed", "nobody at broker-1 OPEN 9097: "),
        ("elsewhere", True, "failed", "kastellan-sec-denied from broker-2: "),
        ("", False, "passed", "not tried from broker-2: closed"),
        ("kastellan-sec-denied", False, "failed", "kastellan-sec-denied: "),
    ],
)
def test_what_is_refused_is_refused_without_a_name_and_from_another_host_too(
    number: int, answered: str, reached: bool, verdict: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def session(user: str, _host: Any = None, *, via: Any = None) -> Asker:
        if via and not reached:
            raise OSError("closed")
        assert via is None or (user, via.name) == (DENIED_USER, "broker-2")
        return Asker("elsewhere" if via else user)

    def asked(session: Asker, _question: Any) -> list[int]:
        may = {"admin", answered, *([] if number in {37, 38} else [OK])}
        return ANSWERED if session.who in may else DENIED

    def nobody(_scene: Scene, target: Any) -> Asker:
        assert (target.host.name, target.listener.name) == ("broker-1", "OPEN")
        return Asker("nobody")

    home = cluster(tmp_path).brokers[0]
    stage = SimpleNamespace(
        session=session, clear=lambda: None, home=lambda: home, coordinator=lambda *_, **__: home,
        add_topic=lambda _: None, ruler=lambda: home,
    )  # fmt: skip
    monkeypatch.setattr(Scene, "stage", stage)
    monkeypatch.setattr(Scene, "session", nobody)
    monkeypatch.setattr(Scene, "admin", lambda *_: Asker("admin"))
    monkeypatch.setattr(authorization, "asked", asked)
    monkeypatch.setattr(authorization, "SETTLE_S", 0.0)
    with contextlib.closing(Scene(cluster(tmp_path, 2, listeners=[*GOOD["listeners"], ANYBODYS]))) as made:
        if number == 31:  # asked of every broker
            monkeypatch.setattr(type(made.cluster), "brokers", (made.cluster.hosts[0],))
        got, seen = checked(made, number)
    assert got == verdict, seen
    assert said in seen[0]


@pytest.mark.parametrize("number", [32, 33, 37])
def test_what_one_broker_alone_does_with_zookeeper_is_asked_of_that_one(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others would say that they are not the controller, before they look at rights."""
    ruler = cluster(tmp_path, 2).hosts[1]
    asked_at: set[tuple[str, str]] = set()

    def session(user: str, host: Any = None) -> Asker:
        return Asker(user, host.name if host else "anywhere")

    def asked(session: Asker, question: Any) -> list[int]:
        asked_at.add((question.told.partition(" ")[0], session.where))
        return DENIED if session.who == DENIED_USER or (number == 37 and session.who == OK) else ANSWERED

    stage = SimpleNamespace(
        session=session, clear=lambda: None, home=lambda: ruler, ruler=lambda: ruler, add_topic=lambda _: None
    )
    monkeypatch.setattr(Scene, "stage", stage)
    monkeypatch.setattr(Scene, "admin", lambda *_: Asker("admin"))
    monkeypatch.setattr(authorization, "asked", asked)
    monkeypatch.setattr(authorization, "strangers", lambda *_, **__: None)
    with contextlib.closing(Scene(cluster(tmp_path, 2))) as made:
        got, seen = checked(made, number)
    assert got == "passed", seen
    where = {place for told, place in asked_at if told in {"CreateTopics", "DeleteTopics", "CreatePartitions"}}
    assert where == {ruler.name}


class Ways:
    """A stage of which one broker can be away, and to which packets from other hosts are dropped."""

    def __init__(self, home: Any, away: str = "", *, dropped: bool = False) -> None:
        self._home, self._away, self._dropped = home, away, dropped
        self.tried: list[tuple[str, str]] = []
        self.admin, self.ruler, self.home = None, lambda: None, lambda: home
        self.clear, self.coordinator = lambda: None, lambda *_, **__: home

    def session(self, user: str, host: Any = None, *, via: Any = None) -> Asker:
        name = (host or self._home).name
        if name == self._away:
            raise ConnectionRefusedError("Connection refused")
        if via:
            self.tried.append((via.name, name))
            if self._dropped:
                raise TimeoutError("The handshake operation timed out")
        return Asker(user, name)


def rights(session: Any, _question: Any) -> list[int]:
    return ANSWERED if session.who in {OK, "admin"} else DENIED


def test_packets_that_are_dropped_are_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorization, "asked", rights)
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        monkeypatch.setattr(Scene, "stage", ways := Ways(made.cluster.brokers[0], dropped=True))
        for number in (29, 30, 34):
            verdict, seen = checked(made, number)
            assert verdict == "passed", seen
            assert seen[0] == "not tried from broker-2: The handshake operation timed out"
    assert ways.tried == [("broker-2", "broker-1")]


def test_who_gets_in_from_elsewhere_is_waited_for_shortly_and_then_as_long_as_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    channel = SimpleNamespace(settimeout=waited.append)

    def session(_scene: Scene, _target: Any, *, timeout_s: float) -> Any:
        waited.append(timeout_s)
        return SimpleNamespace(login=lambda *_: Login(NONE), channel=channel)

    monkeypatch.setattr(Scene, "session", session)
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        made.logged_in("u", "p", via=made.cluster.hosts[1])
        made.logged_in("u", "p")
    assert waited == [FROM_THERE_S, ANSWER_S, ANSWER_S, ANSWER_S]


@pytest.mark.parametrize("number", [31, 40, 43])
def test_a_broker_that_is_away_keeps_nobody_from_looking_at_the_others(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lax(session: Any, _question: Any) -> list[int]:
        return ANSWERED if session.where == "broker-2" else DENIED

    def ask(*_: Any) -> Any:
        return SimpleNamespace(topics=[SimpleNamespace(name="topic")])

    for module in (authorization, authorization_rules):
        monkeypatch.setattr(module, "asked", lax)
    monkeypatch.setattr(Asker, "ask", ask, raising=False)
    monkeypatch.setattr(Scene, "admin", lambda *_: Asker("admin"))
    monkeypatch.setattr(Scene, "configs", lambda *_: {})
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        monkeypatch.setattr(Scene, "stage", Ways(made.cluster.brokers[0], "broker-1"))
        verdict, seen = checked(made, number)
    assert (verdict, seen[0].startswith(f"broker-2: {DENIED_USER}") or number == 31) == ("failed", True), seen
    assert "broker-1: Connection refused" in seen


def test_one_broker_is_asked_from_elsewhere_of_what_all_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorization, "asked", rights)
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        monkeypatch.setattr(Scene, "stage", ways := Ways(made.cluster.brokers[0]))
        verdict, seen = checked(made, 31)
    assert verdict == "passed", seen
    assert ways.tried == [("broker-2", "broker-1")]
