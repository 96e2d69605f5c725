"""One connection to one broker: TLS, login, and one request after the other."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from typing import TYPE_CHECKING, Any, Self

from . import messages
from .errors import KafkaModuleError, LoginError, RefusedError, UnreachableError
from .messages import NO_ERROR, SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM, error_name
from .scram import ScramError, ScramExchange

if TYPE_CHECKING:
    from .settings import Login, Settings

# Versions that every broker since 1.0 knows, so that a login needs no question about versions first.
SASL_HANDSHAKE_VERSION = 1
SASL_AUTHENTICATE_VERSION = 1
# Version 3 is the first that names finalized features.
API_VERSIONS_VERSION = 3
# A broker's answer to everything of a large cluster stays far below; junk from another kind of server does not.
ANSWER_BYTES_MAX = 1 << 30


class WrongPasswordError(LoginError):
    """The broker looked at user and password and said no. Every other failure says nothing about the password."""


class Connection:
    """Requests go out one at a time; all waiting is bounded by `timeout_s`."""

    def __init__(self, server: tuple[str, int], settings: Settings, *, timeout_s: float) -> None:
        self.server = server
        self.versions: dict[int, tuple[int, int]] = {}
        self.features: dict[str, int] = {}
        self._client_id = settings.client_id
        self._count = 0
        self._socket = _open(server, settings.tls, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def start(self, login: Login | None) -> None:
        """Ask what the broker can do, and log in."""
        answer = self.send(messages.ApiVersionsRequest(client_software_name="kastellan", client_software_version="1"),
                           version=API_VERSIONS_VERSION)  # fmt: skip
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        self.features = {item.name: item.max_version_level for item in answer.finalized_features or []}
        if login:
            self.log_in(login)

    def call(self, request: Any) -> Any:
        """Send in the newest version that both sides know."""
        key, newest = request.API_KEY, request.max_version
        lowest, highest = self.versions.get(key, (0, -1))
        if highest < 0 or lowest > newest:
            raise KafkaModuleError(
                f"The broker at {self.name} does not know {request.name.removesuffix('Request')}.",
                details=f"It offers versions {lowest} to {highest} of it." if highest >= 0 else "",
                resolution="This needs another version of Kafka, or another mode of it.",
            )
        return self.send(request, version=min(highest, newest))

    def send(self, request: Any, *, version: int) -> Any:
        self._count += 1
        request.API_VERSION = version
        request.with_header(correlation_id=self._count, client_id=self._client_id)
        answer_class = request.header.get_response_class()
        try:
            self._socket.sendall(request.encode(framed=True, header=True))
            (size,) = struct.unpack(">i", self._receive(4))
            if not 0 <= size <= ANSWER_BYTES_MAX:
                raise UnreachableError(f"{self.name} does not answer as a Kafka broker does.")
            body = self._receive(size)
        except OSError as error:
            raise UnreachableError(
                f"The connection to {self.name} broke.", details=f"{type(error).__name__}: {error}"
            ) from error
        return answer_class.decode(memoryview(body), header=True)

    def log_in(self, login: Login) -> None:
        answer = self.send(messages.SaslHandshakeRequest(mechanism=login.mechanism), version=SASL_HANDSHAKE_VERSION)
        if answer.error_code == UNSUPPORTED_SASL_MECHANISM:
            raise LoginError(
                f"{self.name} does not have {login.mechanism} turned on.",
                details=f"It offers {', '.join(answer.mechanisms) or 'no mechanism'}.",
                resolution="Choose one of those, or add it to kafka's sasl.enabled.mechanisms on that listener.",
            )
        if answer.error_code != NO_ERROR:
            raise LoginError(f"{self.name} takes no login: {error_name(answer.error_code)}.")
        if login.mechanism == "PLAIN":
            self._authenticate(f"\0{login.username}\0{login.password}".encode(), login)
            return
        exchange = ScramExchange(login.mechanism, login.username, login.password)
        try:
            final = exchange.final(self._authenticate(exchange.first(), login))
            exchange.check(self._authenticate(final, login))
        except ScramError as error:
            raise LoginError(
                f"{self.name} breaks off the login of {login.username!r}.", details=f"SCRAM: {error}."
            ) from error

    @property
    def name(self) -> str:
        return f"{self.server[0]}:{self.server[1]}"

    def _authenticate(self, payload: bytes, login: Login) -> bytes:
        answer = self.send(messages.SaslAuthenticateRequest(auth_bytes=payload), version=SASL_AUTHENTICATE_VERSION)
        if answer.error_code == SASL_AUTHENTICATION_FAILED:
            raise WrongPasswordError(
                f"{self.name} does not let {login.username!r} in.",
                details=f"{login.mechanism}: {answer.error_message}",
                resolution="Check sasl.username, sasl.password and sasl.mechanism.",
            )
        if answer.error_code != NO_ERROR:
            raise LoginError(f"{self.name} refuses the login of {login.username!r}: {error_name(answer.error_code)}.")
        return bytes(answer.auth_bytes)

    def _receive(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view, filled = memoryview(buffer), 0
        while filled < size:
            count = self._socket.recv_into(view[filled:])
            if not count:
                raise ConnectionResetError("closed by the broker")
            filled += count
        return buffer


def _open(server: tuple[str, int], tls: ssl.SSLContext | None, timeout_s: float) -> socket.socket:
    name = f"{server[0]}:{server[1]}"
    try:
        plain = socket.create_connection(server, timeout=timeout_s)
    except OSError as error:
        raise UnreachableError(f"{name} cannot be reached.", details=f"{type(error).__name__}: {error}") from error
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is None:
        return plain
    try:
        return tls.wrap_socket(plain, server_hostname=server[0])
    except ssl.SSLCertVerificationError as error:
        plain.close()
        raise LoginError(
            f"The certificate of {name} is not trusted.",
            details=error.verify_message,
            resolution="Check ssl.ca.location (or ssl.ca.pem), and that the certificate carries this name.",
        ) from error
    except OSError as error:
        plain.close()
        raise UnreachableError(
            f"No TLS with {name}.",
            details=f"{type(error).__name__}: {error}",
            resolution="Is this the port of a TLS listener, and does it want a client certificate?",
        ) from error


def check_answer(request_name: str, code: int, message: str | None) -> None:
    """RefusedError unless the code says that all is well."""
    if code != NO_ERROR:
        raise RefusedError(f"The cluster refuses {request_name}: {error_name(code)}.", code=code, details=message or "")
