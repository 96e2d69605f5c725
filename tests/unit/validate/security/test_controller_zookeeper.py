"""Checks 54 to 56 against a server of the test's own that speaks ZooKeeper's protocol, as it should and as it should not."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from certs import Pki, Wanted, init, utc_now
from tests.unit.validate.control import GOOD, cluster
from validate.security import controller_zookeeper as checks
from validate.security import look, run, tls
from validate.security.registry import CHECKS
from validate.security.scene import Scene
from validate.security.strangers import own_authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ELECTIONS = 3888
OWN, WORLD_READ, WORLD_ALL = (31, "x509", "CN=kafka"), (1, "world", "anyone"), (31, "world", "anyone")
TREE: dict[str, list[tuple[int, str, str]]] = {
    "/": [OWN], "/kafka": [OWN], "/kafka/brokers": [OWN, WORLD_READ], "/kafka/brokers/ids": [OWN, WORLD_READ],
    "/kafka/config": [OWN, WORLD_READ], "/kafka/config/users": [OWN], "/kafka/config/users/usercc": [OWN],
    "/kafka/consumers": [OWN],
}  # fmt: skip


@dataclass
class Keeper:
    """What a server does; the defaults are right."""

    tree: dict[str, list[tuple[int, str, str]]] = field(default_factory=lambda: dict(TREE))
    looks: bool = True
    plain: bool = False
    words: tuple[str, ...] = ("srvr",)
    trusts: tuple[str, ...] = (checks.PKI,)
    closed: str = ""
    """A node that it shows to nobody."""
    skips: int = 0
    """By how much the numbers of its answers are wrong."""
    silent: bool = False
    patience_s: float = 2.0
    port: int = 0
    beside: tuple[int, ...] = ()
    """Further ports of its process."""

    def answer(self, channel: socket.socket) -> None:
        first = channel.recv(4)
        if first.isalpha():
            four = first.decode()
            told = (
                "Mode: standalone\n"
                if four in self.words
                else f"{four} is not executed because it is not in the whitelist.\n"
            )
            channel.sendall(told.encode())
            return
        channel.recv(struct.unpack(">i", first)[0])
        self.send(channel, struct.pack(">iiq", 0, 10_000, 7) + bytes(20))
        while len(head := channel.recv(4)) == 4:
            data = channel.recv(struct.unpack(">i", head)[0])
            xid, kind = struct.unpack_from(">ii", data)
            if kind < 0:
                return
            size = struct.unpack_from(">i", data, 8)[0]
            self.send(channel, self.told(xid, kind, data[12 : 12 + size].decode()))

    def told(self, xid: int, kind: int, path: str) -> bytes:
        xid += self.skips
        rights = self.tree.get(path)
        if path == self.closed:
            return struct.pack(">iqi", xid, 0, -102)
        if rights is None:
            return struct.pack(">iqi", xid, 0, -101)
        if kind == 6:
            body = b"".join(struct.pack(">i", what) + text(scheme) + text(who) for what, scheme, who in rights)
            return struct.pack(">iqii", xid, 0, 0, len(rights)) + body
        stem = path.rstrip("/") + "/"
        names = [name.removeprefix(stem) for name in self.tree if name.startswith(stem) and name != path]
        below = sorted(name for name in names if "/" not in name)
        return struct.pack(">iqii", xid, 0, 0, len(below)) + b"".join(map(text, below))

    @staticmethod
    def send(channel: socket.socket, data: bytes) -> None:
        channel.sendall(struct.pack(">i", len(data)) + data)


def sockets(*ports: int) -> look.Look:
    lines = [f'LISTEN 0 50 *:{port} *:* users:(("java",pid=42,fd=1))' for port in ports]
    told = 'LISTEN 0 50 *:22 *:* users:(("sshd",pid=7,fd=1))'
    return look.Look(
        "zookeeper-1", look.parse("\n".join((f"{look.MARK}pid", "42", f"{look.MARK}listening", told, *lines)))
    )


def text(word: str) -> bytes:
    return struct.pack(">i", len(word)) + word.encode()


@contextlib.contextmanager
def serving(keeper: Keeper, state: Path) -> Iterator[None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own_authority(state, state / checks.PKI).issue("zookeeper-1"))
    if keeper.looks:
        context.verify_mode = ssl.CERT_REQUIRED
        for name in keeper.trusts:
            context.load_verify_locations(state / name / "ca.pem")

    def one(plain: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error), plain:
            if keeper.silent:
                while plain.recv(4096):
                    pass
            elif keeper.plain:
                keeper.answer(plain)
            else:
                with context.wrap_socket(plain, server_side=True) as channel:
                    keeper.answer(channel)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        keeper.port = server.getsockname()[1]
        threading.Thread(target=accept, daemon=True).start()
        yield
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for name in ("pki", checks.PKI):
        init(Pki(tmp_path / name), Wanted(name=f"authority in {name}"), now=utc_now())
    return tmp_path


def checked(
    number: int, keeper: Keeper, state: Path, monkeypatch: pytest.MonkeyPatch, **host: Any
) -> tuple[str, list[str]]:
    """The check, with every connection made from here."""
    monkeypatch.setattr(
        Scene,
        "reach",
        lambda _scene, _via, place, timeout_s=keeper.patience_s: socket.create_connection(place, timeout_s),
    )
    monkeypatch.setattr(
        Scene, "certificate", lambda scene, user: own_authority(scene.folder, state / "pki").issue(user)
    )
    # Nobody listens there: the port was free a moment ago.
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setattr(checks, "ADMIN_SERVER", free.getsockname()[1])
    with serving(keeper, state):
        monkeypatch.setattr(checks, "take_sockets", lambda _: sockets(keeper.port, *keeper.beside))
        own = {**GOOD["hosts"][0], "name": "zookeeper-1", "address": "127.0.0.1", "node_id": None,
               "roles": ["zookeeper"], "service": "zookeeper", "ports": [keeper.port], **host}  # fmt: skip
        at_hand = cluster(state, mode="zookeeper", hosts=[{**GOOD["hosts"][0], "roles": ["kafka_broker"]}, own])
        with contextlib.closing(Scene(at_hand)) as scene:
            result = run.run_check(CHECKS[number], scene, consent=True)
    return result["verdict"], result["seen"]


@pytest.mark.parametrize("number", [54, 55, 56])
def test_a_server_as_the_role_makes_it_passes(number: int, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(number, Keeper(), state, monkeypatch)[0] == "passed"


@pytest.mark.parametrize(
    ("path", "rights", "said"),
    [
        ("/", [OWN, WORLD_READ], "/: the world may read it"),
        ("/kafka/consumers", [OWN, WORLD_READ], "/kafka/consumers: the world may read it"),
        ("/kafka/config/users/usercc", [OWN, WORLD_READ], "/kafka/config/users/usercc: the world may read it"),
        ("/kafka/config/users", [WORLD_READ], "/kafka/config/users: the world may read it"),
        ("/kafka/brokers/ids", [WORLD_ALL], "/kafka/brokers/ids: the world may change it"),
        ("/kafka/brokers/ids", [WORLD_READ, (4, "world", "anyone")], "/kafka/brokers/ids: the world may change it"),
        ("/kafka/delegation_token", [OWN, WORLD_READ], "/kafka/delegation_token: the world may read it"),
        ("/stray", [WORLD_ALL], "/stray: the world may change it"),
    ],
)
def test_an_open_node_is_found_wherever_it_is(
    path: str, rights: list[Any], said: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict, seen = checked(54, Keeper(tree={**TREE, path: rights}), state, monkeypatch)
    assert (verdict, seen[0]) == ("failed", said)


@pytest.mark.parametrize("name", ["consumers", "delegation_token", "config"])
def test_a_topic_with_the_name_of_something_closed_is_a_topic(
    name: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = {"/kafka/brokers/topics": [OWN, WORLD_READ], f"/kafka/brokers/topics/{name}": [OWN, WORLD_READ]}
    assert checked(54, Keeper(tree=TREE | topics), state, monkeypatch)[0] == "passed"


def test_a_server_that_trusts_the_clusters_authority_as_well_is_found_out(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's certificate would open what only brokers may."""
    verdict, seen = checked(54, Keeper(trusts=(checks.PKI, "pki")), state, monkeypatch)
    assert (verdict, seen[0]) == ("failed", "zookeeper-1: that of admin in the cluster: let in")


def test_a_node_that_is_closed_to_brokers_too_is_not_known(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(54, Keeper(closed="/kafka/config"), state, monkeypatch)
    assert (verdict, seen[0]) == ("unknown", "/kafka/config and what is below it is closed to brokers, too")


def test_a_tree_without_end_is_unknown_and_what_was_open_counts(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "WALK_S", 0.0)
    verdict, seen = checked(54, Keeper(), state, monkeypatch)
    assert (verdict, seen[0]) == ("unknown", "after 0 nodes the time for looking was over")
    monkeypatch.setattr(checks, "WALK_S", 40.0)
    tree = {**TREE, "/stray": [WORLD_ALL]}
    verdict, seen = checked(54, Keeper(tree=tree, closed="/kafka"), state, monkeypatch)
    assert (verdict, seen[0]) == ("failed", "/stray: the world may change it")


def test_an_answer_to_another_question_is_no_answer(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(54, Keeper(skips=1), state, monkeypatch)
    assert (verdict, seen[0]) == ("unknown", "the answer is for another question")


def test_a_port_that_stays_silent_has_refused_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(55, Keeper(silent=True, patience_s=0.2), state, monkeypatch)
    assert verdict == "unknown"
    assert "a session in plain: silent" in seen[0]


def test_plain_words_are_tried_on_every_port(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On that of elections as well, where the clients' own is closed."""
    good, bad = Keeper(), Keeper(plain=True)
    with serving(bad, state):
        monkeypatch.setattr(checks, "keepers", lambda scene: [
            replace(host, ports=(good.port, bad.port)) for host in scene.cluster.zookeepers
        ])  # fmt: skip
        verdict, seen = checked(55, good, state, monkeypatch)
    assert verdict == "failed"
    assert seen[0].startswith(f"zookeeper-1 {bad.port}: a session in plain")


def test_without_ssh_nobody_knows_of_an_admin_server(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(56, Keeper(), state, monkeypatch, ssh=None)
    assert verdict == "unknown"
    assert "there is no ssh access to it" in seen[0]


def test_a_server_that_asks_nobody_for_a_certificate_is_found_out(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(54, Keeper(looks=False), state, monkeypatch)
    assert verdict == "failed"
    assert [line.rpartition(": ")[2] for line in seen[:3]] == ["let in"] * 3


def test_without_the_key_of_its_authority_nothing_is_known(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Keeper()
    with serving(keeper, state):
        pass
    monkeypatch.setattr(checks, "PKI", "nowhere")
    at_hand = cluster(state, mode="zookeeper", hosts=[
        {**GOOD["hosts"][0], "roles": ["kafka_broker"]},
        {**GOOD["hosts"][0], "name": "z", "node_id": None, "roles": ["zookeeper"], "ports": [1]},
    ])  # fmt: skip
    for number in (54, 56):
        with contextlib.closing(Scene(at_hand)) as scene:
            result = run.run_check(CHECKS[number], scene, consent=True)
        assert result["verdict"] == "unknown"
        assert "The key of the cluster's own authority is not at hand (nowhere)" in result["seen"][0]


def test_an_ensemble_of_somebody_else_is_not_applicable(state: Path) -> None:
    at_hand = cluster(state, mode="zookeeper")
    for number in (54, 55, 56):
        with contextlib.closing(Scene(at_hand)) as scene:
            result = run.run_check(CHECKS[number], scene, consent=True)
        assert result["verdict"] == "not-applicable"


def test_a_plain_port_is_found(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(55, Keeper(plain=True), state, monkeypatch)
    assert verdict == "failed"
    assert "a session in plain: answered" in seen[0]


def test_a_port_where_nobody_listens_has_refused_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    verdict, seen = checked(55, Keeper(), state, monkeypatch, ports=[port])
    assert verdict == "unknown"
    assert "the positive twin failed" in seen[0]


@pytest.mark.parametrize(("plain", "verdict"), [(True, "failed"), (False, "passed")])
def test_a_plain_port_that_nobody_declared_is_found(
    plain: bool, verdict: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(beside := Keeper(plain=plain), state):
        got, seen = checked(55, Keeper(beside=(beside.port,)), state, monkeypatch)
    assert got == verdict, seen
    assert not plain or f"zookeeper-1 {beside.port} from zookeeper-1: a session in plain: answered" in seen[0]


def test_a_page_on_another_port_is_found(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(_scene: Any, _via: Any, place: tuple[str, int], _data: bytes) -> bytes:
        return b"HTTP/1.1 200 OK" if place == ("127.0.0.1", 8181) else b""

    monkeypatch.setattr(checks, "_said", said)
    verdict, seen = checked(56, Keeper(beside=(8181,)), state, monkeypatch)
    assert (verdict, seen[0]) == ("failed", "zookeeper-1: an AdminServer on 8181")


@pytest.mark.parametrize("number", [55, 56])
def test_where_nobody_can_look_at_its_sockets_it_is_unknown(
    number: int, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "held", lambda see, _: see.unknown("nobody can look") or {})
    assert checked(number, Keeper(), state, monkeypatch)[0] == "unknown"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("closed", "failed"),
        ("no TLS", "failed"),
        ("silent", "unknown"),
        ("alert 70", "unknown"),
        ("timed out", "unknown"),
    ],
)
def test_members_that_speak_no_tls_to_each_other_are_found(
    said: str, verdict: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their port is there, by the host's kernel, and hangs up on a hello. Where ssh carries nothing all ports do that."""

    def hello(_scene: Any, via: Any, place: tuple[str, int]) -> tls.Greeting:
        well = carries and via.is_zookeeper and place[1] != ELECTIONS
        return tls.Greeting("accepted", messages=[tls.SERVER_HELLO]) if well else tls.Greeting(said)

    monkeypatch.setattr(checks, "keepers", lambda scene: [
        replace(host, ports=(*host.ports, ELECTIONS)) for host in scene.cluster.zookeepers * 2
    ])  # fmt: skip
    monkeypatch.setattr(checks, "_hello", hello)
    for carries in (True, False):
        got, seen = checked(56, Keeper(beside=(ELECTIONS,)), state, monkeypatch)
        assert got == (verdict if carries else "unknown"), seen
    monkeypatch.setattr(checks, "held", lambda *_: {})
    assert checked(56, Keeper(), state, monkeypatch)[0] == "unknown"


def test_a_server_that_is_away_keeps_nobody_from_looking_at_the_others(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        away = free.getsockname()[1]
    monkeypatch.setattr(checks, "keepers", lambda scene: [
        replace(host, name=name, ports=ports) for host in scene.cluster.zookeepers
        for name, ports in (("away", (away,)), (host.name, host.ports))
    ])  # fmt: skip
    verdict, seen = checked(54, Keeper(tree={**TREE, "/stray": [WORLD_ALL]}), state, monkeypatch)
    assert (verdict, seen[0]) == ("failed", "/stray: the world may change it")
    verdict, seen = checked(56, Keeper(words=("srvr", "dump")), state, monkeypatch)
    assert (verdict, seen[0]) == ("failed", "zookeeper-1: dump: answered")
    assert any(line.startswith("away: ") for line in seen)


@pytest.mark.parametrize("four", ["dump", "envi", "mntr"])
def test_a_word_too_many_is_found(four: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(56, Keeper(words=("srvr", four)), state, monkeypatch)
    assert verdict == "failed"
    assert f"zookeeper-1: {four}: answered" in seen[0]


def test_without_its_twin_a_silent_server_has_refused_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, seen = checked(56, Keeper(words=()), state, monkeypatch)
    assert verdict == "unknown"
    assert "srvr is answered" in seen[0]


def test_an_admin_server_is_found(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_said", lambda *_: b"HTTP/1.1 200 OK\r\n")
    verdict, seen = checked(56, Keeper(), state, monkeypatch)
    assert verdict == "failed"
    assert "AdminServer" in seen[0]


@pytest.mark.parametrize(("looks", "verdict"), [(True, "passed"), (False, "failed")])
def test_members_must_ask_each_other_for_a_certificate(
    looks: bool, verdict: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(looks=looks)
    monkeypatch.setattr(checks, "keepers", lambda scene: scene.cluster.zookeepers * 2)
    assert checked(56, keeper, state, monkeypatch)[0] == verdict
