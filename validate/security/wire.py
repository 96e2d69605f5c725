"""Kafka's protocol over one socket: a question, an answer, or the way in which there was none."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from kafka.errors import for_code
from kafka.net.sasl.scram import ScramClient
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

if TYPE_CHECKING:
    import socket

ANSWER_MOST = 16 * 1024 * 1024
NONE, ILLEGAL_SASL_STATE, UNSUPPORTED_MECHANISM, LOGIN_FAILED = 0, 34, 33, 58
# ApiVersions, the first thing that every client says; its correlation id is what an answer must begin with.
HELLO = bytes.fromhex("00000013 0012 0000 6b617374 0009") + b"kastellan"
HELLO_ID = b"kast"


class NoAnswer(Exception):
    """The other side closed, reset or stayed silent; the text says which."""


@dataclass(frozen=True)
class Login:
    """What a broker said to a login."""

    code: int
    message: str = ""
    lifetime_ms: int = 0

    @property
    def well(self) -> bool:
        return self.code == NONE

    def __str__(self) -> str:
        return "let in" if self.well else f"{name_of(self.code)}: {self.message}"


def name_of(code: int) -> str:
    error = for_code(code)
    return str(getattr(error, "message", "") or error.__name__)


class Session:
    """Bounded by the socket's own time-out."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._count = 0
        self._lost = ""
        """Why nothing further may be read here: a late answer would be taken for that of the next question."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.channel.close()

    def ask(self, request: Any, version: int) -> Any:
        self._count += 1
        request.API_VERSION = version
        request.with_header(correlation_id=self._count, client_id="kastellan-security")
        answer_class = request.header.get_response_class()
        body = self.raw(bytes(request.encode(framed=True, header=True)))
        if int.from_bytes(body[:4], "big") != self._count:
            self._lost = "answered to another question"
            raise NoAnswer("the answer is for another question")
        return answer_class.decode(memoryview(bytearray(body)), header=True)

    def raw(self, framed: bytes) -> bytes:
        """The answer without its length; NoAnswer if there is none."""
        try:
            return self._raw(framed)
        except NoAnswer as why:
            self._lost = str(why)
            raise

    def _raw(self, framed: bytes) -> bytes:
        if self._lost:
            raise NoAnswer(f"after it was {self._lost}")
        try:
            self.channel.sendall(framed)
            (size,) = struct.unpack(">i", self._receive(4))
            if not 0 <= size <= ANSWER_MOST:
                raise NoAnswer(f"what came is no Kafka (a length of {size})")
            return self._receive(size)
        except TimeoutError as error:
            raise NoAnswer("silent until the time was over") from error
        except OSError as error:
            raise NoAnswer(f"broken off ({getattr(error, 'reason', None) or type(error).__name__})") from error

    def alive(self) -> bool:
        """Whether it still answers the first question of every client."""
        try:
            return bool(self.ask(ApiVersionsRequest(), 0).api_keys)
        except NoAnswer:
            return False

    def offers(self, mechanism: str) -> tuple[int, list[str]]:
        answer = self.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
        return answer.error_code, list(answer.mechanisms)

    def login(self, mechanism: str, user: str, password: str) -> Login:
        code, offered = self.offers(mechanism)
        if code:
            return Login(code, f"offered: {', '.join(offered)}")
        if mechanism == "PLAIN":
            return self._step(f"\0{user}\0{password}".encode())[0]
        client = ScramClient(user, password, mechanism)
        said, data = self._step(client.first_message())
        if not said.well:
            return said
        client.process_server_first_message(data)
        said, data = self._step(client.final_message())
        if said.well:
            client.process_server_final_message(data)
        return said

    def _step(self, data: bytes) -> tuple[Login, bytes]:
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=data), 1)
        return Login(answer.error_code, answer.error_message or "", answer.session_lifetime_ms), answer.auth_bytes

    def _receive(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self.channel.recv(size)
            if not part:
                raise NoAnswer("closed without an answer")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
