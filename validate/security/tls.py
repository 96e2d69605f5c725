"""TLS looked at from below: hellos made by hand, so that no library of today refuses to speak what must be refused."""

from __future__ import annotations

import os
import ssl
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from pathlib import Path

SSL3, TLS10, TLS11, TLS12 = 0x0300, 0x0301, 0x0302, 0x0303
NAMES = {SSL3: "SSL 3.0", TLS10: "TLS 1.0", TLS11: "TLS 1.1", TLS12: "TLS 1.2"}
STRONG = (0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9)
WEAK = {
    "NULL": (0x0001, 0x0002, 0x003B, 0xC001, 0xC006, 0xC00B, 0xC010, 0xC015),
    "anonymous": (0x0018, 0x001B, 0x0034, 0x003A, 0x006C, 0x006D, 0x00A6, 0x00A7, 0xC016, 0xC017, 0xC018, 0xC019),
    "EXPORT": (0x0003, 0x0006, 0x0008, 0x000B, 0x000E, 0x0011, 0x0014, 0x0017, 0x0019),
    "RC4": (0x0004, 0x0005, 0xC002, 0xC007, 0xC00C, 0xC011),
    "DES": (0x0009, 0x000C, 0x000F, 0x0012, 0x0015, 0x001A),
    "3DES": (0x000A, 0x000D, 0x0010, 0x0013, 0x0016, 0xC003, 0xC008, 0xC00D, 0xC012),
    "CBC with SHA-1": (0x0032, 0x0033, 0x0038, 0x0039, 0xC009, 0xC00A, 0xC013, 0xC014),
    # By RSA alone, and by Diffie-Hellman keys that stand in certificates; also of Camellia, IDEA, SEED, CCM.
    "without forward secrecy": (
        0x0007,
        0x002F,
        0x0035,
        0x003C,
        0x003D,
        0x0041,
        0x0084,
        0x0096,
        0x009C,
        0x009D,
        0x00BA,
        0x00C0,
        0xC004,
        0xC005,
        0xC00E,
        0xC00F,
        0xC025,
        0xC026,
        0xC029,
        0xC02A,
        0xC02D,
        0xC02E,
        0xC031,
        0xC032,
        0xC09C,
        0xC09D,
        0xC0A0,
        0xC0A1,
    ),
}
OLD = tuple(suite for suites in WEAK.values() for suite in suites)
ALERT, HANDSHAKE = 21, 22
SILENT = "silent"
SERVER_HELLO, CERTIFICATE, CERTIFICATE_REQUEST, DONE = 2, 11, 13, 14
MOST = 256 * 1024
FLOOR = ssl.TLSVersion.TLSv1  # the lowest that this machine's OpenSSL has


@dataclass
class Greeting:
    """What came back for a hello."""

    said: str = ""
    """accepted, alert N, or how there was no answer."""
    version: int = 0
    suite: int = 0
    compression: int = 0
    messages: list[int] = field(default_factory=list)
    chain: list[bytes] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        return SERVER_HELLO in self.messages

    @property
    def asks(self) -> bool:
        """Whether the client has to show a certificate, or may."""
        return CERTIFICATE_REQUEST in self.messages

    @property
    def refused(self) -> bool:
        """An answer that is none: an alert, or the connection closed at this very hello."""
        return not self.accepted and self.said != SILENT


def hello(version: int, suites: Sequence[int], *, compressions: bytes = b"\0") -> bytes:
    listed = b"".join(struct.pack(">H", suite) for suite in suites)
    body = struct.pack(">H", version) + os.urandom(32) + b"\0"
    body += struct.pack(">H", len(listed)) + listed + bytes([len(compressions)]) + compressions
    if version != SSL3:
        extensions = _extensions()
        body += struct.pack(">H", len(extensions)) + extensions
    shake = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return struct.pack(">BHH", HANDSHAKE, min(version, TLS10), len(shake)) + shake


def _extensions() -> bytes:
    """Curves, point formats and signatures, as widely as any client would offer them."""
    groups = struct.pack(">HHHHH", 8, 0x001D, 0x0017, 0x0018, 0x0019)
    signatures = (0x0403, 0x0503, 0x0603, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201)
    named = b"".join(struct.pack(">H", one) for one in signatures)
    found = ((10, groups), (11, b"\x01\0"), (13, struct.pack(">H", len(named)) + named))
    return b"".join(struct.pack(">HH", kind, len(data)) + data for kind, data in found)


def greet(channel: socket.socket, said: bytes) -> Greeting:
    """Say a hello and hear the first flight of the answer, up to its end, an alert, or a closed door."""
    heard = Greeting()
    shakes, buffer, taken = b"", b"", 0
    try:
        channel.sendall(said)
        while DONE not in heard.messages and taken < MOST:
            part = channel.recv(16384)
            if not part:
                heard.said = heard.said or "closed"
                break
            taken += len(part)
            buffer += part
            while len(buffer) >= 5 and len(buffer) >= 5 + int.from_bytes(buffer[3:5], "big"):  # noqa: PLR2004  a record
                end = 5 + int.from_bytes(buffer[3:5], "big")
                kind, content, buffer = buffer[0], buffer[5:end], buffer[end:]
                if kind == ALERT:
                    heard.said = f"alert {content[1]}" if len(content) > 1 else "alert"
                    return heard
                if kind != HANDSHAKE:
                    heard.said = "no TLS"
                    return heard
                shakes = _shakes(heard, shakes + content)
    except TimeoutError:
        heard.said = heard.said or SILENT
    except OSError as error:
        heard.said = heard.said or f"closed ({type(error).__name__})"
    return heard


def _shakes(heard: Greeting, data: bytes) -> bytes:
    """Take whole handshake messages off the front."""
    while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[1:4], "big"):  # noqa: PLR2004  their head
        kind, size = data[0], int.from_bytes(data[1:4], "big")
        body, data = data[4 : 4 + size], data[4 + size :]
        heard.messages.append(kind)
        if kind == SERVER_HELLO:
            heard.said, heard.version = "accepted", int.from_bytes(body[:2], "big")
            at = 35 + body[34]
            heard.suite, heard.compression = int.from_bytes(body[at : at + 2], "big"), body[at + 2]
        elif kind == CERTIFICATE:
            heard.chain = _chain(body[3:])
    return data


def _chain(data: bytes) -> list[bytes]:
    found = []
    while len(data) > 3:  # noqa: PLR2004  a length
        size = int.from_bytes(data[:3], "big")
        found.append(data[3 : 3 + size])
        data = data[3 + size :]
    return found


def context(
    ca: Path | str | None, certificate: tuple[Path, Path] | None = None, *, names: bool = True
) -> ssl.SSLContext:
    """A client's. Without an authority nobody is checked; `names`: whether the host's name must fit."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = names and ca is not None
    made.verify_mode = ssl.CERT_REQUIRED if ca is not None else ssl.CERT_NONE
    if ca is not None:
        made.load_verify_locations(cafile=str(ca))
    if certificate is not None:
        made.load_cert_chain(*map(str, certificate))
    return made
