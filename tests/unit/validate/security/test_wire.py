"""What comes back on a socket is an answer or it is none, and never something in between."""

from __future__ import annotations

import socket
import threading

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from validate.security import wire
from validate.security.wire import NoAnswer, Session

SILENCE_S = 0.3  # of who is known to say nothing: all others have time on a busy machine
OPEN: list[socket.socket] = []  # the other ends: what nobody holds is closed


def session(*parts: bytes, close: bool = False) -> Session:
    ours, theirs = socket.socketpair()
    ours.settimeout(SILENCE_S if not (parts or close) else 5)

    def serve() -> None:
        theirs.recv(65536)
        for part in parts:
            theirs.sendall(part)
        if close:
            theirs.close()

    threading.Thread(target=serve, daemon=True).start()
    OPEN.append(theirs)
    return Session(ours)


@pytest.mark.parametrize(
    ("parts", "close", "told"),
    [
        ((), True, "closed without an answer"),
        ((), False, "silent"),
        ((b"\0\0",), True, "closed without an answer"),
        ((b"HTTP/1.0 400",), False, "no Kafka"),
        ((b"\x7f\xff\xff\xff",), False, "no Kafka"),
    ],
)
def test_no_answer_says_how(parts: tuple[bytes, ...], close: bool, told: str) -> None:
    with session(*parts, close=close) as one, pytest.raises(NoAnswer, match=told):
        one.raw(wire.HELLO)


def test_an_answer_in_pieces_is_an_answer() -> None:
    with session(b"\0\0\0\x06ka", b"st\0\0") as one:
        assert one.raw(wire.HELLO) == b"kast\0\0"


def test_an_answer_to_another_question_is_none() -> None:
    answer = b"\0\0\0\x0c" + b"\0\0\0\x02" + b"\0\0" + b"\0\0\0\0" + b"\0\0"
    with session(answer) as one, pytest.raises(NoAnswer, match="for another question"):
        one.ask(ApiVersionsRequest(), 0)
    with session(answer.replace(b"\x02", b"\x01")) as one:
        assert one.ask(ApiVersionsRequest(), 0).error_code == 0


def test_the_first_question_is_what_kafka_expects() -> None:
    assert int.from_bytes(wire.HELLO[:4], "big") == len(wire.HELLO) - 4
    assert wire.HELLO[8:12] == wire.HELLO_ID


def test_a_login_that_is_let_in_and_one_that_is_not() -> None:
    assert wire.Login(0).well
    assert str(wire.Login(58, "Authentication failed")) == "SASL_AUTHENTICATION_FAILED: Authentication failed"
