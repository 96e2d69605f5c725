"""An ensemble: who may be stopped, who is restarted first, and Kafka's place in it against a stand-in."""

from __future__ import annotations

import json
import socket
import struct
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from plugins.module_utils import ensemble, node_look, zookeeper_client
from plugins.module_utils.ensemble import Member
from plugins.module_utils.zookeeper_client import CREATOR_ALONE, Acl, Login, Session, ZooKeeperError
from plugins.modules import zookeeper_founding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WORLD = Acl(31, "world", "anyone")
OWN = Acl(31, "x509", "CN=kafka")


def members(*modes: str) -> list[Member]:
    return [
        Member(f"z{at}", "a", mode=mode, problem="" if mode else "refused") for at, mode in enumerate(modes, start=1)
    ]


def test_one_of_three_may_stop() -> None:
    assert ensemble.may_stop(members("follower", "leader", "follower"), "z2") == ([], [])
    assert ensemble.not_whole(members("follower", "leader", "follower")) == []


def test_a_second_one_may_not() -> None:
    reasons, _ = ensemble.may_stop(members("", "leader", "follower"), "z3")
    assert reasons == ["The ensemble would keep 1 of 3 members; a majority needs 2 (not serving: z1)."]


def test_who_does_not_serve_may_be_restarted() -> None:
    assert ensemble.may_stop(members("", "leader", "follower"), "z1") == ([], [])


def test_one_that_does_not_serve_may_be_restarted_when_none_does() -> None:
    """Its restart takes nothing away and may be the cure; nobody would ever be let go first otherwise."""
    assert ensemble.may_stop(members("", "", ""), "z2") == ([], [])
    assert not ensemble.had_majority(ensemble.result(members("", "", "leader"))["members"])
    assert ensemble.had_majority(ensemble.result(members("", "follower", "leader"))["members"])


@pytest.mark.parametrize(
    ("full", "refused"),
    [("", False), ("123", False), ("12", False), ("1", True)],
    ids=["new", "whole", "one disk lost", "a majority without data"],
)
def test_servers_without_data_must_not_outvote_those_with_some(full: str, refused: bool) -> None:
    problems = ensemble.emptied({f"z{at}": {"transactions": str(at) in full} for at in (1, 2, 3)})
    assert bool(problems) == refused
    assert not refused or problems[0].startswith("z2, z3 without data would be a majority beside z1 with data")


def test_data_is_a_log_of_transactions(tmp_path: Path) -> None:
    """A server that was started once and never served leaves folders and a first snapshot, no log."""
    (tmp_path / "version-2").mkdir()
    (tmp_path / "version-2" / "snapshot.0").touch()
    assert not node_look.transactions([str(tmp_path)])
    (tmp_path / "version-2" / "log.1").touch()
    assert node_look.transactions([str(tmp_path / "elsewhere"), str(tmp_path)])


def test_a_single_one_may_stop_with_a_warning() -> None:
    reasons, warnings = ensemble.may_stop(members("standalone"), "z1")
    assert reasons == []
    assert warnings == ["An ensemble of 1 cannot keep a majority through any restart: Kafka waits meanwhile."]
    assert ensemble.no_majority(members("standalone")) == []


def test_the_leader_is_restarted_last_and_who_is_down_first() -> None:
    seen = ensemble.result(members("leader", "follower", "", "follower"))["members"]
    assert ensemble.restart_order(seen, ["z1", "z2", "z3"]) == ["z3", "z2", "z1"]


def test_what_is_missing_is_named() -> None:
    assert ensemble.not_whole(members("", "follower")) == [
        "z1 does not serve: refused", "the ensemble has no leader",
    ]  # fmt: skip
    assert ensemble.not_whole(members("leader", "leader")) == ["several believe that they lead: z1, z2"]
    assert ensemble.no_majority(members("", "", "leader"))[0] == "Only 1 of 3 ZooKeepers serve."
    assert ensemble.no_majority(members("", "leader", "follower")) == []


class StandIn:
    """The tree alone."""

    def __init__(self, **nodes: bytes) -> None:
        self.nodes: dict[str, bytes] = dict(nodes)
        self.acls = {path: [WORLD] for path in ("/", "/zookeeper", "/zookeeper/quota")}

    def data(self, path: str) -> bytes | None:
        return self.nodes.get(path)

    def create(self, path: str, data: bytes, acl: Sequence[Acl] = CREATOR_ALONE) -> None:
        parent = path.rpartition("/")[0]
        assert not parent or parent in self.nodes, f"{path} before {parent}"
        self.nodes[path], self.acls[path] = data, [OWN] if tuple(acl) == CREATOR_ALONE else list(acl)

    def acl(self, path: str) -> list[Acl] | None:
        return self.acls.get(path)

    def set_acl(self, path: str, acl: Sequence[Acl]) -> None:
        assert tuple(acl) == CREATOR_ALONE
        self.acls[path] = [OWN]


OPTIONS: dict[str, Any] = {
    "chroot": "/kafka", "cluster_id": "abc", "user": "admin", "scram": {"SCRAM-SHA-512": "salt"},
    "subject": "CN=kafka", "shared": False,
}  # fmt: skip


def settle(tree: StandIn, *, apply: bool = True, **changes: Any) -> list[str]:
    return zookeeper_founding.settle(tree, {**OPTIONS, **changes}, apply=apply)  # type: ignore[arg-type]


def test_founding_makes_what_is_missing_closes_what_is_open_and_then_has_nothing_to_do() -> None:
    tree = StandIn()
    announced = settle(tree, apply=False)
    assert tree.nodes == {}
    assert settle(tree) == announced
    assert announced[0] == "create /kafka"
    assert "close / (world:anyone:cdrwa)" in announced
    assert json.loads(tree.nodes["/kafka/cluster/id"]) == {"version": "1", "id": "abc"}
    assert json.loads(tree.nodes["/kafka/config/users/admin"])["config"] == {"SCRAM-SHA-512": "salt"}
    assert set(map(tuple, tree.acls.values())) == {(OWN,)}
    assert settle(tree) == []


def test_a_password_that_is_there_is_left_alone_and_a_node_that_was_opened_is_closed() -> None:
    tree = StandIn()
    settle(tree)
    tree.acls["/kafka/consumers"] = [WORLD]
    assert settle(tree, scram={"SCRAM-SHA-512": "another"}) == ["close /kafka/consumers (world:anyone:cdrwa)"]
    assert b"another" not in tree.nodes["/kafka/config/users/admin"]


def test_the_place_of_another_cluster_is_refused() -> None:
    tree = StandIn()
    settle(tree)
    before = dict(tree.nodes)
    with pytest.raises(ZooKeeperError, match="/kafka belongs to cluster abc, this one is other: set kafka_cluster_id"):
        settle(tree, cluster_id="other")
    assert tree.nodes == before


def test_without_a_chroot_the_root_is_kafkas() -> None:
    tree = StandIn()
    assert "create /cluster/id" in settle(tree, chroot="")
    assert settle(tree, chroot="") == []


def test_of_an_ensemble_that_others_use_too_nothing_is_touched_but_what_lies_below_the_chroot() -> None:
    tree = StandIn()
    plan = settle(tree, shared=True, subject="")
    assert not [line for line in plan if line.startswith("close")]
    assert {path for path in tree.acls if tree.acls[path] == [WORLD]} == {"/", "/zookeeper", "/zookeeper/quota"}
    assert settle(tree, shared=True, subject="") == []
    tree.acls["/kafka/consumers"] = [WORLD]
    assert settle(tree, shared=True, subject="") == ["close /kafka/consumers (world:anyone:cdrwa)"]


def test_what_a_chroot_lies_below_is_made_and_left_to_its_owner() -> None:
    tree = StandIn()
    assert settle(tree, chroot="/apps/eu/kafka")[:3] == ["create /apps", "create /apps/eu", "create /apps/eu/kafka"]
    assert settle(tree, chroot="/apps/eu/kafka") == []
    tree.acls["/apps"] = [WORLD]
    assert settle(tree, chroot="/apps/eu/kafka") == []


def test_a_place_that_may_not_be_made_is_told_with_who_could_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ZooKeeperError("it does not allow that")

    tree = StandIn()
    monkeypatch.setattr(tree, "create", refuse)
    with pytest.raises(ZooKeeperError, match=r"/kafka cannot be made: it does not allow that\. Who owns the ensemble"):
        settle(tree, shared=True)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The other end of a connection, without TLS."""
    near, far = socket.socketpair()
    near.settimeout(5)
    far.settimeout(5)
    monkeypatch.setattr(zookeeper_client, "connect", lambda *_: near)
    yield far
    near.close()
    far.close()


def answering(far: socket.socket, *answers: bytes) -> threading.Thread:
    def serve() -> None:
        for answer in answers:
            (size,) = struct.unpack(">i", far.recv(4))
            far.recv(size)
            far.sendall(struct.pack(">i", len(answer)) + answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_session_speaks_the_protocol(wire: socket.socket) -> None:
    connected = struct.pack(">iiqi", 0, 10_000, 7, 16) + bytes(16) + b"\0"
    data = struct.pack(">iqi", 1, 0, 0) + struct.pack(">i", 2) + b"hi"
    absent = struct.pack(">iqi", 2, 0, -101)
    acl = struct.pack(">iqi", 3, 0, 0) + struct.pack(">iii", 1, 31, 5) + b"world" + struct.pack(">i", 6) + b"anyone"
    refused = struct.pack(">iqi", 4, 0, -102)
    closed = struct.pack(">iqi", 5, 0, 0)
    thread = answering(wire, connected, data, absent, acl, refused, closed)
    with Session("a", 1, Login("k", "c")) as session:
        assert session.data("/x") == b"hi"
        assert session.data("/y") is None
        assert session.acl("/") == [WORLD]
        with pytest.raises(ZooKeeperError, match="it does not allow that"):
            session.create("/z", b"")
    thread.join()


def test_a_server_that_closes_is_an_error_that_says_so(wire: socket.socket) -> None:
    thread = threading.Thread(target=wire.shutdown, args=(socket.SHUT_RDWR,))
    thread.start()
    with pytest.raises(ZooKeeperError):
        Session("a", 1, Login("k", "c"))
    thread.join()


def test_a_member_that_gives_no_answer_is_one_that_does_not_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str, port: int, _: Login) -> tuple[dict[str, str], int]:
        if address == "gone":
            raise ZooKeeperError(f"{address}:{port}: refused")
        return {"Mode": "leader", "Zxid": "0x1", "Zookeeper version": "3.8.4-x, built"}, 300

    monkeypatch.setattr(zookeeper_client, "srvr", refuse)
    asked = [{"name": "z1", "address": "here"}, {"name": "z2", "address": "gone"}]
    one, other = ensemble.look(asked, 2182, Login("k", "c"))
    assert (one.mode, one.version, one.certificate_days) == ("leader", "3.8.4", 300)
    assert replace(other, problem="") == Member("z2", "gone")
    assert other.problem == "gone:2182: refused"
