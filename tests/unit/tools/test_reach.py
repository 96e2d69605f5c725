"""Who swallows what is sent is told from who answers, within a bound."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tools.pulumi import reach

if TYPE_CHECKING:
    from collections.abc import Iterator

# Far more than a look on loopback takes, far less than the minute that Pulumi waits.
SOON_S = 20


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", reach.OVERRIDES):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def swallowing() -> Iterator[str]:
    """Takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/file"


@pytest.fixture
def refusing() -> Iterator[str]:
    """Answers every request with 501."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/file"
        server.shutdown()
        thread.join()


def test_silence_is_no_answer(swallowing: str) -> None:
    began_s = time.monotonic()
    assert not reach.is_reached([swallowing, swallowing], bound_s=0.2)
    assert time.monotonic() - began_s < SOON_S


def test_any_word_is_an_answer_also_beside_a_silent_one(swallowing: str, refusing: str) -> None:
    assert reach.is_reached([swallowing, refusing], bound_s=SOON_S)


def test_a_closed_port_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/file"
    assert not reach.is_reached([url], bound_s=SOON_S)


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    free, asking = threading.Event(), []

    def hang(*_: Any, **__: Any) -> None:
        asking.append(threading.current_thread())
        free.wait(SOON_S)
        raise socket.gaierror

    monkeypatch.setattr("socket.getaddrinfo", hang)
    began_s = time.monotonic()
    try:
        assert not reach.is_reached(["http://plugins.example/file"], bound_s=0.2)
        assert time.monotonic() - began_s < SOON_S
    finally:
        free.set()
        for thread in asking:
            thread.join()
    assert asking, "it was the resolver that hung"


def test_mirrors_of_the_user_are_left_to_pulumi(swallowing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(reach.OVERRIDES, "^https://github.com=https://mirror.example")
    assert reach.is_reached([swallowing], bound_s=SOON_S)
