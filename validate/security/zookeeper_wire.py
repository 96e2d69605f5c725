"""As much of ZooKeeper's protocol as it takes to ask who may do what with which node, and four-letter words."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    import socket

READ = 1  # of READ 1, WRITE 2, CREATE 4, DELETE 8, ADMIN 16
GET_ACL, GET_CHILDREN, CLOSE = 6, 8, -11
NO_NODE, NO_AUTH = -101, -102
SESSION_MS = 10_000
ANSWER_MOST = 4 << 20
# What every client says first: no session yet, and no password of one.
HELLO = struct.pack(">iqiqi16sb", 0, 0, SESSION_MS, 0, 16, bytes(16), 0)
FRAMED_HELLO = struct.pack(">i", len(HELLO)) + HELLO


class NoRightError(Exception):
    """The node is closed to who asks."""


@dataclass(frozen=True)
class Right:
    """One entry of a node's list: what somebody may do."""

    what: int
    scheme: str
    who: str

    @property
    def of_the_world(self) -> bool:
        """By that name, or from every address."""
        return self.scheme == "world" or (self.scheme == "ip" and self.who.endswith("/0"))


class Session:
    """Bounded by the socket's own time-out."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel, self._xid = channel, 0
        channel.sendall(FRAMED_HELLO)
        answer = self._frame()
        if len(answer) < 16 or not struct.unpack_from(">q", answer, 8)[0]:  # noqa: PLR2004  up to the session's id
            raise NoAnswer("it gives no session")

    def rights(self, path: str) -> list[Right]:
        """None of them if there is no such node any more."""
        reader = _Reader(self._ask(GET_ACL, _text(path)))
        return [Right(reader.number(), reader.text(), reader.text()) for _ in range(reader.number())]

    def children(self, path: str) -> list[str]:
        reader = _Reader(self._ask(GET_CHILDREN, _text(path) + b"\0"))
        return sorted(reader.text() for _ in range(reader.number()))

    def close(self) -> None:
        self._xid += 1
        self._send(struct.pack(">ii", self._xid, CLOSE))

    def _ask(self, kind: int, body: bytes) -> bytes:
        self._xid += 1
        self._send(struct.pack(">ii", self._xid, kind) + body)
        answer = self._frame()
        xid, _, code = struct.unpack_from(">iqi", answer)
        if xid != self._xid:
            raise NoAnswer("the answer is for another question")
        if code == NO_AUTH:
            raise NoRightError
        if code not in {0, NO_NODE}:
            raise NoAnswer(f"error {code}")
        return answer[16:] if code == 0 else struct.pack(">i", 0)

    def _send(self, data: bytes) -> None:
        self._channel.sendall(struct.pack(">i", len(data)) + data)

    def _frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._take(4))
        if not 0 <= size <= ANSWER_MOST:
            raise NoAnswer(f"what came is no ZooKeeper (a length of {size})")
        return self._take(size)

    def _take(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self._channel.recv(size)
            if not part:
                raise NoAnswer("closed without an answer")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _Reader:
    """Numbers and texts as Jute writes them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        (found,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(found)

    def text(self) -> str:
        size = max(self.number(), 0)
        self._at += size
        return self._data[self._at - size : self._at].decode(errors="replace")


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def word(channel: socket.socket, four: str) -> str:
    """What it says to one of its four-letter words; it closes behind the answer."""
    channel.sendall(four.encode())
    parts: list[bytes] = []
    while sum(map(len, parts)) < ANSWER_MOST and (part := channel.recv(16384)):
        parts.append(part)
    return b"".join(parts).decode(errors="replace")
