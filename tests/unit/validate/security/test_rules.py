"""Checks of rules and traces on a cluster made up for them: what they take for shown, and what not."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.system.cluster import breaks_restarts
from tests.unit.validate.control import GOOD, cluster
from validate.security import authorization_rules, controller, host, run, tls, traces
from validate.security.registry import CHECKS
from validate.security.scene import Scene
from validate.security.stage import TOPIC, Acl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWERED, DENIED, UNKNOWN_TOPIC = [0], [31], [3]


class Door:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    stage = SimpleNamespace(acls=list, clear=lambda: None, session=lambda *_: Door(), admin=None)
    monkeypatch.setattr(Scene, "stage", stage)
    monkeypatch.setattr(Scene, "configs", lambda *_: {"auto.create.topics.enable": "false"})
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        yield made


def checked(scene: Scene, number: int) -> tuple[str, list[str]]:
    result = run.run_check(CHECKS[number], scene, consent=True)
    return result["verdict"], result["seen"]


@pytest.mark.parametrize("comes", [False, True])
def test_a_topic_that_comes_after_the_answer_is_seen(
    comes: bool, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers say that there is none while they make it."""
    heard: list[str] = []

    def asked(_session: Any, question: Any) -> list[int]:
        topic = question.make().topics[0][0]
        heard.append(topic)
        made = topic == TOPIC or (comes and heard.count(topic) > len(scene.cluster.brokers) + 1)
        return ANSWERED if made else UNKNOWN_TOPIC

    monkeypatch.setattr(authorization_rules, "asked", asked)
    monkeypatch.setattr(authorization_rules, "COMES_ABOUT_S", 0.5)
    verdict, seen = checked(scene, 47)
    assert verdict == ("failed" if comes else "passed"), seen


@pytest.mark.parametrize(
    ("given", "hosts", "ruled", "verdict"),
    [
        ("admin;broker-1;broker-2;broker-3;broker-4", 4, [], "passed"),
        ("admin;broker-1;broker-2;broker-3;broker-4;usercc", 4, [], "failed"),
        ("admin;broker-1;broker-2;broker-3;broker-4", 3, [], "unknown"),
        ("admin;broker-1;broker-2;broker-3;broker-4", 0, ["admin", "usercc", "validator"], "unknown"),
    ],
)
def test_super_users_need_both_witnesses(
    given: str, hosts: int, ruled: list[str], verdict: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "super.users=" + ";".join(f"User:{name}" for name in given.split(";"))
    look = SimpleNamespace(lines=lambda _: [line])
    scene.looks = {host.name: look for host in scene.cluster.hosts[:hosts]}  # type: ignore[misc]
    scene.stage.acls = lambda: [Acl(user, "Cluster", "kafka-cluster", "Alter") for user in ruled]  # type: ignore[method-assign]
    monkeypatch.setattr(Scene, "password", lambda *_: "x")
    monkeypatch.setattr(Scene, "logged_in", lambda _scene, user, *_: contextlib.nullcontext(user))
    monkeypatch.setattr(authorization_rules, "asked", lambda user, _: ANSWERED if user == "admin" else DENIED)
    got, seen = checked(scene, 45)
    assert got == verdict, seen


@pytest.mark.parametrize(
    ("users", "unnamed", "verdict", "said"),
    [
        (["admin", "usercc"], "broken off", "passed", ""),
        (["admin"], "broken off", "not-applicable", "cluster.json declares no user besides super users"),
        (["admin"], "", "failed", "no certificate: let in"),
        (["admin"], "silent", "unknown", "no certificate: silent"),
    ],
)
def test_controllers_without_an_ordinary_user_to_try(
    users: list[str], unnamed: str, verdict: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else was seen still counts: a door that is open is open, whoever there is to try it."""
    monkeypatch.setattr(Scene, "ca", tmp_path / "ca.pem")
    monkeypatch.setattr(Scene, "certificate", lambda _, user: user)
    monkeypatch.setattr(Scene, "session", lambda _scene, _target, user: contextlib.nullcontext(user))
    monkeypatch.setattr(tls, "context", lambda _ca, user: user)
    monkeypatch.setattr(controller, "greeted", lambda *_: unnamed)
    monkeypatch.setattr(controller, "asked", lambda user, _: ANSWERED if user == "admin" else DENIED)
    with contextlib.closing(Scene(cluster(tmp_path, users=users, super_users=["admin"]))) as made:
        got, seen = checked(made, 50)
    assert got == verdict, seen
    assert said in seen[0]


class TokenBroker:
    """Says its code to each request about tokens."""

    def __init__(self, codes: dict[int, int], asked: list[int]) -> None:
        self.codes, self.asked = codes, asked

    def raw(self, framed: bytes) -> bytes:
        key = int.from_bytes(framed[4:6], "big")
        self.asked.append(key)
        return framed[8:12] + self.codes[key].to_bytes(2, "big") + bytes(8)

    def alive(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("second", "value", "verdict", "said"),
    [
        ([29], None, "passed", ""),
        ([29], "false", "passed", ""),
        ([29], "true", "failed", "allow.everyone.if.no.acl.found=true"),
        (UNKNOWN_TOPIC, None, "failed", breaks_restarts.LAWS.said[43]),
    ],
    ids=["closed", "shown as closed", "shown as open", "open"],
)
def test_what_has_no_rule_is_judged_by_what_brokers_do_and_not_by_what_they_do_not_show(
    second: list[int], value: str | None, verdict: str, said: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = object()
    monkeypatch.setattr(Scene, "admin", lambda *_: admin)
    monkeypatch.setattr(Scene, "configs", lambda *_: {"allow.everyone.if.no.acl.found": value})
    monkeypatch.setattr(scene.stage, "session", lambda _user, host: contextlib.nullcontext(host))

    def asked(session: Any, _question: Any) -> list[int]:
        if session is admin:
            return UNKNOWN_TOPIC
        return second if session.name == "broker-2" else [29]

    monkeypatch.setattr(authorization_rules, "asked", asked)
    got, seen = checked(scene, 43)
    assert got == verdict, seen
    assert said in seen[0]
    assert not [line for line in seen if line.endswith("=None")]


DESCRIBE, CREATE = 41, 38


@pytest.mark.parametrize(
    ("second", "verdict", "said"),
    [
        ({DESCRIBE: 61, CREATE: 61}, "passed", ""),
        ({DESCRIBE: 0, CREATE: 61}, "failed", "broker-2: kastellan-sec-denied: DescribeDelegationToken: answered"),
        ({DESCRIBE: 61, CREATE: 0}, "failed", "broker-2: kastellan-sec-denied: CreateDelegationToken: answered"),
        ({DESCRIBE: 61, CREATE: 41}, "passed", ""),
        ({DESCRIBE: 61, CREATE: 65}, "failed", "DELEGATION_TOKEN_AUTHORIZATION_FAILED"),
    ],
    ids=["off", "on at a broker", "on at the controller", "made by another broker", "refused for another reason"],
)
def test_tokens_are_asked_of_every_broker(
    second: dict[int, int], verdict: str, said: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, list[int]] = {}

    def session(_user: str, host: Any) -> Any:
        codes = second if host.name == "broker-2" else {DESCRIBE: 61, CREATE: 61}
        return contextlib.nullcontext(TokenBroker(codes, asked.setdefault(host.name, [])))

    monkeypatch.setattr(scene.stage, "session", session)
    got, seen = checked(scene, 39)
    assert got == verdict, seen
    assert said in seen[0]
    assert sorted(asked) == [f"broker-{number}" for number in range(1, 5)]
    assert asked["broker-2"] == ([DESCRIBE] if second[DESCRIBE] == 0 else [DESCRIBE, CREATE]), (
        "no token is made for nothing"
    )


@pytest.mark.parametrize(
    ("silent", "closed", "verdict"), [("", "", "passed"), ("broker-3", "", "failed"), ("", "broker-3", "unknown")]
)
def test_denials_are_looked_for_at_every_broker(
    silent: str, closed: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = SimpleNamespace(clear=lambda: None, session=lambda *_: Door())
    monkeypatch.setattr(Scene, "stage", stage)
    monkeypatch.setattr(authorization_rules, "asked", lambda *_: [29])
    monkeypatch.setattr(authorization_rules, "_logged", lambda host, _: [] if host.name == silent else ["denied"])
    hosts = [{**host, "ssh": None if host["name"] == closed else host["ssh"]} for host in GOOD["hosts"]]
    with contextlib.closing(Scene(cluster(tmp_path, hosts=hosts))) as made:
        got, seen = checked(made, 49)
    assert got == verdict, seen
    assert seen[0].startswith(silent or closed)


@pytest.mark.parametrize(
    ("offset", "error", "verdict"),
    [(0.01, 0.01, "passed"), (0.6, 0.01, "failed"), (-0.6, 0.01, "failed"), (0.45, 0.1, "unknown"),
     (0.55, 0.1, "unknown"), (0.0, 0.6, "unknown"), (3.0, 0.6, "failed")],
)  # fmt: skip
def test_clocks_agree_only_where_that_is_known(
    offset: float, error: float, verdict: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "clock_of", lambda _: (offset, error))
    got, seen = checked(scene, 66)
    assert got == verdict, seen


FOUND = [f"{traces.KNOWN} in processes"]


@pytest.mark.parametrize(
    ("password", "found", "journal", "verdict"),
    [
        ("long-enough", FOUND, "1\n0", "passed"),
        ("", FOUND, "1\n0", "unknown"),
        ("short", FOUND, "1\n0", "unknown"),
        ("long-enough", [], "1\n0", "unknown"),
        ("long-enough", FOUND, "0\n0", "unknown"),
        ("long-enough", FOUND, "", "unknown"),
        ("long-enough", FOUND, "1\n2", "failed"),
        ("long-enough", [*FOUND, "admin in journal"], "1\n0", "failed"),
        ("long-enough", [*FOUND, "its own key /etc/kafka/ssl/keystore.pem in journal"], "1\n0", "passed"),
    ],
)
def test_no_trace_counts_only_where_traces_would_be_seen(
    password: str, found: list[str], journal: str, verdict: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scene, "password", lambda *_: password)
    monkeypatch.setattr(traces, "on_host", lambda *_: traces.OnHost(found, [], {}))
    monkeypatch.setattr(controller, "over_ssh", lambda *_, **__: journal)
    got, seen = checked(scene, 53)
    assert got == verdict, seen
