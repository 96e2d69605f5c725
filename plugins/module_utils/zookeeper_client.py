"""ZooKeeper's protocol as far as the roles need it: mutual TLS, and nothing but Python, so that it runs on hosts."""

from __future__ import annotations

import socket
import ssl
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSION_MS = 10_000
WORD_BYTES_MAX = 65_536
REPLY_BYTES_MAX = 8 * 2**20
ALL = 31
"""Create, delete, read, write, administer."""
NO_NODE, NO_RIGHT, THERE_ALREADY = -101, -102, -110
_CREATE, _GET_DATA, _GET_ACL, _SET_ACL, _GET_CHILDREN, _CLOSE = 1, 4, 6, 7, 8, -11
_ERRORS = {NO_RIGHT: "it does not allow that", THERE_ALREADY: "it is there already"}


class ZooKeeperError(Exception):
    """It does not answer, or refuses."""


@dataclass(frozen=True)
class Login:
    """Who connects: one PEM file of key and certificates, and whom they trust."""

    keystore: str
    ca: str
    timeout_s: float = 5.0


@dataclass(frozen=True)
class Acl:
    permissions: int
    scheme: str
    who: str


CREATOR_ALONE = (Acl(ALL, "auth", ""),)


def connect(address: str, port: int, login: Login) -> ssl.SSLSocket:
    """The address is checked against the certificate, as brokers do."""
    try:
        context = ssl.create_default_context(cafile=login.ca)
        context.load_cert_chain(login.keystore)
        plain = socket.create_connection((address, port), timeout=login.timeout_s)
    except OSError as error:
        raise ZooKeeperError(f"{address}:{port}: {error}") from error
    try:
        return context.wrap_socket(plain, server_hostname=address)
    except OSError as error:
        plain.close()
        raise ZooKeeperError(f"{address}:{port}: {error}") from error


def srvr(address: str, port: int, login: Login) -> tuple[dict[str, str], int]:
    """What a server says of itself to the word `srvr`, and how many days its certificate has left."""
    with connect(address, port, login) as connection:
        try:
            end = str((connection.getpeercert() or {})["notAfter"])
            days = (datetime.fromtimestamp(ssl.cert_time_to_seconds(end), UTC) - datetime.now(UTC)).days
            connection.sendall(b"srvr")
            text = _until_end(connection)
        except OSError as error:
            raise ZooKeeperError(f"{address}:{port}: {error}") from error
    found = dict(line.split(": ", maxsplit=1) for line in text.splitlines() if ": " in line)
    if "Mode" not in found:
        raise ZooKeeperError(text.strip() or "it closed the connection without a word")
    return found, days


def _until_end(connection: ssl.SSLSocket) -> str:
    parts: list[bytes] = []
    while sum(map(len, parts)) < WORD_BYTES_MAX and (part := connection.recv(4096)):
        parts.append(part)
    return b"".join(parts).decode(errors="replace")


class Session:
    """A session with one server; use it in `with`."""

    def __init__(self, address: str, port: int, login: Login) -> None:
        self._connection = connect(address, port, login)
        self._xid = 0
        try:
            self._send(struct.pack(">iqiq", 0, 0, SESSION_MS, 0) + _buffer(bytes(16)) + b"\0")
            self._receive()
        except ZooKeeperError:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call(_CLOSE, b"")
        except ZooKeeperError:
            pass  # it ends by itself
        finally:
            self._connection.close()

    def data(self, path: str) -> bytes | None:
        """None if there is no such node."""
        try:
            return _Reader(self._call(_GET_DATA, _text(path) + b"\0")).buffer()
        except _NoNodeError:
            return None

    def create(self, path: str, data: bytes, acl: Sequence[Acl] = CREATOR_ALONE) -> None:
        self._call(_CREATE, _text(path) + _buffer(data) + _acls(acl) + struct.pack(">i", 0))

    def acl(self, path: str) -> list[Acl] | None:
        """None if there is no such node."""
        try:
            reader = _Reader(self._call(_GET_ACL, _text(path)))
        except _NoNodeError:
            return None
        return [Acl(reader.number(), reader.text(), reader.text()) for _ in range(reader.number())]

    def set_acl(self, path: str, acl: Sequence[Acl]) -> None:
        self._call(_SET_ACL, _text(path) + _acls(acl) + struct.pack(">i", -1))

    def children(self, path: str) -> list[str]:
        reader = _Reader(self._call(_GET_CHILDREN, _text(path) + b"\0"))
        return sorted(reader.text() for _ in range(reader.number()))

    def _call(self, kind: int, body: bytes) -> bytes:
        self._xid += 1
        self._send(struct.pack(">ii", self._xid, kind) + body)
        answer = self._receive()
        _, _, code = struct.unpack(">iqi", answer[:16])
        if code == NO_NODE:
            raise _NoNodeError("there is no such node")
        if code:
            raise ZooKeeperError(_ERRORS.get(code, f"error {code}"))
        return answer[16:]

    def _send(self, message: bytes) -> None:
        try:
            self._connection.sendall(struct.pack(">i", len(message)) + message)
        except OSError as error:
            raise ZooKeeperError(f"the connection broke: {error}") from error

    def _receive(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        if not 0 <= size <= REPLY_BYTES_MAX:
            raise ZooKeeperError(f"an answer of {size} bytes")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            try:
                part = self._connection.recv(size - len(parts))
            except OSError as error:
                raise ZooKeeperError(f"the connection broke: {error}") from error
            if not part:
                raise ZooKeeperError("it closed the connection")
            parts += part
        return parts


class _NoNodeError(ZooKeeperError):
    """There is no such node."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        (value,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(value)

    def buffer(self) -> bytes:
        size = max(self.number(), 0)  # -1 is Java's null
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        return self.buffer().decode()


def _buffer(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def _text(text: str) -> bytes:
    return _buffer(text.encode())


def _acls(entries: Sequence[Acl]) -> bytes:
    made = struct.pack(">i", len(entries))
    for entry in entries:
        made += struct.pack(">i", entry.permissions) + _text(entry.scheme) + _text(entry.who)
    return made


def shown(entries: Sequence[Acl]) -> str:
    """As ZooKeeper's own shell writes it."""
    letters = {4: "c", 8: "d", 1: "r", 2: "w", 16: "a"}

    def one(entry: Acl) -> str:
        rights: Any = "".join(letter for bit, letter in letters.items() if entry.permissions & bit)
        return f"{entry.scheme}:{entry.who}:{rights}"

    return ", ".join(map(one, entries))
