"""Checks of TLS against ports that are silent, closed or open: only who saw a certificate has refused it."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.security import old_server, run, tls, transport, transport_certificates
from validate.security.registry import CHECKS, Evidence
from validate.security.scene import Scene
from validate.security.strangers import Stranger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WELL = {"ssl.endpoint.identification.algorithm": "https"}
DISTRUSTED = (
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in chain (_ssl.c:1000)"
)
PATIENCE_S = 0.3


@contextlib.contextmanager
def scene_at(port: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """One broker on the loopback with one listener of TLS."""
    listener = {"name": "MTLS", "port": port, "protocol": "SSL", "mechanisms": [], "client_auth": "none"}
    host = {**GOOD["hosts"][0], "address": "127.0.0.1"}
    monkeypatch.setattr(Scene, "ca", Stranger(folder).ca)
    monkeypatch.setattr(Scene, "configs", lambda *_: WELL)
    monkeypatch.setattr(Scene, "connect", lambda _, target, *__: socket.create_connection(target.place, PATIENCE_S))
    with contextlib.closing(Scene(cluster(folder, hosts=[host], listeners=[listener]))) as made:
        yield made


def checked(scene: Scene, number: int) -> tuple[str, list[str]]:
    result = run.run_check(CHECKS[number], scene, consent=True)
    return result["verdict"], result["seen"]


@pytest.mark.parametrize("number", [4, 6, 9, 10])
def test_a_port_that_stays_silent_is_unknown(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        scene_at(server.getsockname()[1], tmp_path, monkeypatch) as scene,
    ):
        verdict, seen = checked(scene, number)
    assert verdict == "unknown"
    assert any("timed out" in line or line.endswith("silent") for line in seen), seen


@pytest.mark.parametrize("number", [9, 10])
def test_a_port_where_nobody_listens_is_unknown(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with scene_at(port, tmp_path, monkeypatch) as scene:
        verdict, seen = checked(scene, number)
    assert verdict == "unknown"
    assert "Connection refused" in seen[0]


@pytest.mark.parametrize("number", [9, 10])
def test_who_trusts_nobody_there_has_seen_the_certificate_but_not_the_twin(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate of neither authority: refused by whoever looks, so it is the twin that fails."""
    (tmp_path / "server").mkdir()
    certificate = Stranger(tmp_path / "server").issue("broker-1")
    with old_server.serving(0x0303, certificate) as port, scene_at(port, tmp_path, monkeypatch) as scene:
        verdict, seen = checked(scene, number)
    assert verdict == "unknown"
    assert seen[0].startswith("the positive twin failed"), seen


@pytest.mark.parametrize(
    ("wrong", "right", "verdict"),
    [
        (DISTRUSTED, "", "passed"),
        ("", "", "failed"),
        (DISTRUSTED, DISTRUSTED, "unknown"),
        ("The handshake operation timed out", "", "unknown"),
        ("[Errno 111] Connection refused", "", "unknown"),
        ("[Errno 104] Connection reset by peer", "", "unknown"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1000)", "", "unknown"),
    ],
)
@pytest.mark.parametrize("number", [9, 10])
def test_only_a_client_that_broke_off_at_the_certificate_has_refused_it(
    number: int, wrong: str, right: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handshake(scene: Any, _target: Any, context: str, name: str = "") -> str:
        return wrong if name.endswith(".invalid") or (number == 10 and context != str(scene.ca)) else right

    monkeypatch.setattr(tls, "context", lambda ca, *_: str(ca))
    monkeypatch.setattr(transport_certificates, "handshake", handshake)
    with scene_at(1, tmp_path, monkeypatch) as scene:
        assert checked(scene, number)[0] == verdict


@pytest.mark.parametrize(
    ("heard", "verdict"),
    [
        (tls.Greeting("silent"), "unknown"),
        (tls.Greeting("closed"), "passed"),
        (tls.Greeting("alert 70"), "passed"),
        (tls.Greeting("accepted", messages=[2]), "failed"),
    ],
)
def test_a_hello_is_refused_by_an_answer_alone(heard: tls.Greeting, verdict: str) -> None:
    see = Evidence()
    transport.turned_down(see, "broker-1", heard)
    assert see.verdict == verdict
