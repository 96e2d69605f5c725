"""Checks of logins on a broker made up for them: what it says, and how late."""

from __future__ import annotations

import contextlib
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.security import authentication, run, tls
from validate.security.registry import CHECKS, Evidence
from validate.security.scene import NoWay, Scene
from validate.security.transport_certificates import turned_away
from validate.security.wire import LOGIN_FAILED, NONE, Login, NoAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFUSED, LET_IN = Login(LOGIN_FAILED, "Authentication failed"), Login(NONE)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(Scene, "password", lambda *_: "right")
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        yield made


def checked(scene: Scene, number: int) -> tuple[str, list[str]]:
    result = run.run_check(CHECKS[number], scene, consent=True)
    return result["verdict"], result["seen"]


@pytest.mark.parametrize(
    ("wrong", "right", "verdict"),
    [
        ((0.12, REFUSED), (0.02, LET_IN), "passed"),
        ((0.12, REFUSED), (0.11, LET_IN), "failed"),  # a slow broker is no delay
        ((0.12, REFUSED), (0.02, REFUSED), "unknown"),
        ((0.12, LET_IN), (0.02, LET_IN), "failed"),
    ],
)
def test_a_failed_login_is_late_against_right_ones_alone(
    wrong: Any, right: Any, verdict: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "timed", lambda *said: right if said[-1] == "right" else wrong)
    assert checked(scene, 22)[0] == verdict


def test_delays_are_measured_at_every_broker(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(_scene: Scene, target: Any, _user: str, password: str) -> tuple[float, Login]:
        prompt = password == "right" or target.host.name == "broker-3"  # noqa: S105  nobody's
        return 0.02 if prompt else 0.12, LET_IN if password == "right" else REFUSED  # noqa: S105

    monkeypatch.setattr(authentication, "timed", timed)
    verdict, seen = checked(scene, 22)
    assert (verdict, seen[0]) == ("failed", "broker-3: failed ones are over after 20 ms, 0 ms later")


@pytest.mark.parametrize(
    ("used", "asks", "verdict", "said"),
    [
        ("BROKER", True, "passed", "brokers are spoken to by listener BROKER"),
        ("CLIENT", True, "failed", "brokers are spoken to by listener CLIENT"),
        (None, True, "failed", "brokers are spoken to by listener None"),
        ("BROKER", False, "failed", "does not ask for a certificate"),
    ],
)
def test_brokers_must_use_the_listener_that_is_theirs_and_it_must_ask_for_certificates(
    used: str | None, asks: bool, verdict: str, said: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is closed and asks for certificates shows nothing of brokers that speak to each other elsewhere."""
    heard = tls.Greeting("accepted", messages=[tls.SERVER_HELLO, *([tls.CERTIFICATE_REQUEST] if asks else [])])
    session = SimpleNamespace(alive=lambda: True, offers=lambda _: (34, []))
    monkeypatch.setattr(Scene, "configs", lambda *_: {"inter.broker.listener.name": used})
    monkeypatch.setattr(Scene, "certificate", lambda *_: None)
    monkeypatch.setattr(Scene, "ca", None)
    monkeypatch.setattr(Scene, "connect", lambda *_: socket.socket())
    monkeypatch.setattr(Scene, "session", lambda *_, **__: contextlib.nullcontext(session))
    monkeypatch.setattr(authentication, "answering", lambda _: set())
    monkeypatch.setattr(tls, "greet", lambda *_: heard)
    got, seen = checked(scene, 28)
    assert got == verdict, seen
    assert said in seen[0]


SILENT = "silent until the time was over"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("closed without an answer", "passed"),
        (SILENT, "unknown"),
        ("[Errno 111] Connection refused", "unknown"),
        ("timed out", "unknown"),
        ("", "failed"),
    ],
)
def test_silence_and_dead_ports_are_no_refusals(said: str, verdict: str) -> None:
    see = Evidence()
    turned_away(see, "broker-1", said)
    assert see.verdict == verdict


class Broker:
    """In place of a session: it says the same to whatever it is asked."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def no_answer(self, *_: Any) -> Any:
        raise NoAnswer(self.why)

    ask = login = no_answer


def talking(monkeypatch: pytest.MonkeyPatch, why: str, twin: str = "") -> None:
    """Brokers that answer nobody, and this way; where nothing else is asked all is well."""
    monkeypatch.setattr(Scene, "session", lambda *_, **__: Broker(why))
    monkeypatch.setattr(Scene, "admin", lambda *_: SimpleNamespace(ask=lambda *_: SimpleNamespace(topics=[1])))
    monkeypatch.setattr(Scene, "stage", SimpleNamespace(acls=list, clear=lambda: None))
    monkeypatch.setattr(authentication, "right_login", lambda *_: None)
    monkeypatch.setattr(authentication, "certificate_for", lambda *_: None)
    monkeypatch.setattr(authentication, "greeted", lambda *_: twin)


@pytest.mark.parametrize("number", [19, 26])
def test_who_is_not_answered_is_refused_only_by_somebody_who_closes(
    number: int, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking(monkeypatch, "closed without an answer")
    assert checked(scene, number)[0] == "passed"
    talking(monkeypatch, SILENT)
    assert checked(scene, number)[0] == "unknown"


def test_each_listener_that_answers_nobody_without_a_name_has_its_twin(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking(monkeypatch, "closed without an answer", twin="[Errno 111] Connection refused")
    verdict, seen = checked(scene, 26)
    assert verdict == "unknown"
    assert seen[0].startswith("the positive twin failed: broker-1 CLIENT 9092")


class Door:
    """A listener that lets in whom it should, or anybody, or answers without a login."""

    def __init__(self, listener: str, lax: str) -> None:
        self.lax = listener == lax

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def login(self, _mechanism: str, _user: str, password: str) -> Login:
        return LET_IN if self.lax or password == "right" else REFUSED  # noqa: S105  nobody's

    def offers(self, mechanism: str) -> tuple[int, list[str]]:
        return (0, []) if self.lax or mechanism.startswith("SCRAM") else (33, ["SCRAM-SHA-512", "SCRAM-SHA-256"])

    def ask(self, *_: Any) -> Any:
        if not self.lax:
            raise NoAnswer("closed without an answer")
        return SimpleNamespace(brokers=[])


@pytest.mark.parametrize("number", [17, 18, 19, 20, 21])
@pytest.mark.parametrize("lax", ["", "CLIENT", "PARTNERS"])
def test_every_listener_for_logins_is_tried(
    number: int, lax: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = GOOD["listeners"]
    monkeypatch.setattr(Scene, "password", lambda *_: "right")
    monkeypatch.setattr(Scene, "session", lambda _, target, *__: Door(target.listener.name, lax))
    monkeypatch.setattr(Scene, "admin", lambda *_: SimpleNamespace(ask=lambda *_: SimpleNamespace(brokers=[1])))
    monkeypatch.setattr(authentication, "greeted", lambda *_: "")
    listeners = [first, {**first, "name": "PARTNERS", "port": 9096}, *others]
    with contextlib.closing(Scene(cluster(tmp_path, listeners=listeners))) as made:
        verdict, seen = checked(made, number)
    assert verdict == ("failed" if lax else "passed"), seen
    assert lax != "PARTNERS" or all("PARTNERS" in line for line in seen[:4]), seen


class Keeps:
    """A stage whose old passwords still open some doors."""

    def __init__(self, lax: str) -> None:
        self.lax, self.passwords = lax, 0

    def add_user(self, _user: str) -> str:
        self.passwords += 1
        return "right" if self.passwords > 1 else "old"

    def lets_in(self, _user: str, password: str, _host: Any, door: Any) -> bool:
        return password != "right" and door.name == self.lax  # noqa: S105  nobody's

    def await_everywhere(self, _user: str) -> None:
        pass

    remove_users = await_everywhere

    def clear(self) -> None:
        pass


@pytest.mark.parametrize("number", [24, 25])
@pytest.mark.parametrize(
    ("mechanisms", "lax", "endless", "verdict"),
    [
        (["SCRAM-SHA-512"], "", "", "passed"),
        (["SCRAM-SHA-512"], "CLIENT", "", "failed"),
        (["SCRAM-SHA-512"], "PARTNERS", "", "failed"),
        (["SCRAM-SHA-512"], "", "PARTNERS", "failed"),
        # The proof's own users have no password for it, the administrator has.
        (["SCRAM-SHA-256"], "", "", "passed"),
        (["SCRAM-SHA-256"], "", "PARTNERS", "failed"),
        (["PLAIN"], "", "PARTNERS", "passed"),
    ],
)  # fmt: skip
def test_what_was_changed_or_removed_is_tried_at_every_listener(
    number: int, mechanisms: list[str], lax: str, endless: str, verdict: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def tried(_scene: Scene, user: str, password: str, _host: Any, mechanism: str, door: Any) -> Login:
        assert (user == "admin") is (mechanism == "SCRAM-SHA-256")
        assert password == "right"  # noqa: S105  nobody's
        return Login(NONE, "", 0 if door.name == endless else 3_600_000)

    first, *others = GOOD["listeners"]
    monkeypatch.setattr(Scene, "password", lambda *_: "right")
    monkeypatch.setattr(Scene, "stage", Keeps(lax))
    monkeypatch.setattr(authentication, "tried_login", tried)
    monkeypatch.setattr(authentication, "TAKES_EFFECT_S", 0.0)
    listeners = [first, {**first, "name": "PARTNERS", "port": 9096, "mechanisms": mechanisms}, *others]
    with contextlib.closing(Scene(cluster(tmp_path, listeners=listeners))) as made:
        if number == 25:
            monkeypatch.setattr(Scene.stage, "passwords", -1)  # it makes one alone
            verdict = "failed" if lax else "passed"
        got, seen = checked(made, number)
    assert got == verdict, seen
    assert got == "passed" or not (lax or endless).startswith("P") or "PARTNERS" in seen[0]


def test_a_broker_that_is_away_keeps_no_other_from_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def session(_scene: Scene, target: Any, *_: Any) -> Door:
        if target.host.name == "broker-1":
            raise TimeoutError("timed out")
        return Door(target.listener.name, "CLIENT" if target.host.name == "broker-3" else "")

    monkeypatch.setattr(Scene, "password", lambda *_: "right")
    monkeypatch.setattr(Scene, "session", session)
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        for number in (17, 18, 20):
            verdict, seen = checked(made, number)
            assert (verdict, seen[0].partition(":")[0]) == ("failed", "broker-3"), seen
            assert "broker-1: timed out" in seen


def test_a_broker_that_refuses_the_connection_ends_no_loop(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check 19 goes on to the next one, and finds it open."""

    def tried(_scene: Scene, _user: str, _password: str, host: Any, *_: Any) -> Login:
        if host.name == "broker-1":
            raise ConnectionRefusedError("Connection refused")
        return LET_IN

    monkeypatch.setattr(authentication, "tried_login", tried)
    verdict, seen = checked(scene, 19)
    assert (verdict, seen[0]) == ("failed", "broker-2: user '', a password: let in")
    assert "broker-1: Connection refused" in seen


def test_a_twin_that_cannot_be_asked_ends_no_loop(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check 26: what is open at the next listener is seen."""

    def session(_scene: Scene, target: Any, *_: Any) -> Any:
        if target.host.name == "broker-1":
            raise NoAnswer("closed")
        return contextlib.nullcontext(SimpleNamespace(ask=lambda *_: SimpleNamespace(topics=[])))

    def greeted(*_: Any) -> str:
        raise NoWay("There is no certificate of 'admin' at hand.")

    monkeypatch.setattr(Scene, "session", session)
    monkeypatch.setattr(authentication, "greeted", greeted)
    monkeypatch.setattr(authentication, "certificate_for", lambda *_: None)
    verdict, seen = checked(scene, 26)
    assert verdict == "failed", seen
    assert seen[0].startswith("broker-2 ")
