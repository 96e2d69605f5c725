"""How a cluster is reached: librdkafka's names for settings, read once and checked."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
DEFAULT_PORT = 9092
HIGHEST_PORT = 65535

# The options of `client` in every module's argument spec; anything else is refused by Ansible, with these names.
CLIENT_OPTIONS: dict[str, dict[str, Any]] = {
    "bootstrap.servers": {"type": "str"},
    "client.id": {"type": "str", "default": "kastellan"},
    "enable.ssl.certificate.verification": {"type": "bool", "default": True},
    "sasl.mechanism": {"type": "str", "aliases": ["sasl.mechanisms"]},
    "sasl.password": {"type": "str", "no_log": True},
    "sasl.username": {"type": "str"},
    "security.protocol": {"type": "str", "default": "PLAINTEXT"},
    "ssl.ca.location": {"type": "path"},
    "ssl.ca.pem": {"type": "str"},
    "ssl.certificate.location": {"type": "path"},
    "ssl.certificate.pem": {"type": "str"},
    "ssl.endpoint.identification.algorithm": {"type": "str", "default": "https", "choices": ["https", "none"]},
    "ssl.key.location": {"type": "path"},
    "ssl.key.password": {"type": "str", "no_log": True},
    "ssl.key.pem": {"type": "str", "no_log": True},
}
SECRET_OPTIONS = tuple(name for name, spec in CLIENT_OPTIONS.items() if spec.get("no_log"))


@dataclass(frozen=True)
class Login:
    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Settings:
    servers: tuple[tuple[str, int], ...]
    tls: ssl.SSLContext | None
    login: Login | None
    client_id: str = "kastellan"


def read_settings(bootstrap_servers: Sequence[str] | None, client: Mapping[str, Any] | None) -> Settings:
    client = {name: value for name, value in (client or {}).items() if value is not None}
    servers = [*(bootstrap_servers or [])] or client.get("bootstrap.servers", "").split(",")
    protocol = client.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise BadInputError(
            f"security.protocol {protocol!r} is unknown.", resolution=f"Choose one of {', '.join(PROTOCOLS)}."
        )
    return Settings(
        servers=tuple(parse_server(server.strip()) for server in servers if server.strip()) or _no_servers(),
        tls=_tls(client) if protocol.endswith("SSL") else None,
        login=_login(client) if protocol.startswith("SASL") else None,
        client_id=client.get("client.id", "kastellan"),
    )


def parse_server(server: str) -> tuple[str, int]:
    """`broker-1:9092`, `[::1]:9092`, or without the port."""
    host, colon, port = server.rpartition(":")
    if not colon or server.endswith("]"):
        host, port = server, str(DEFAULT_PORT)
    name = host.strip("[]")
    if not name or not (port.isascii() and port.isdecimal()) or not 1 <= int(port[:6]) <= HIGHEST_PORT:
        raise BadInputError(
            f"{server!r} is no address of a broker.", resolution="Write host:port, e.g. broker-1.example.org:9092."
        )
    return name, int(port)


def _no_servers() -> tuple[tuple[str, int], ...]:
    raise BadInputError(
        "No brokers are named.", resolution="Set bootstrap_servers, e.g. 'broker-1:9092,broker-2:9092'."
    )


def _login(client: Mapping[str, Any]) -> Login:
    mechanism = client.get("sasl.mechanism", "")
    if mechanism not in MECHANISMS:
        raise BadInputError(
            f"sasl.mechanism {mechanism!r} is not among those that these modules speak.",
            resolution=f"Choose one of {', '.join(MECHANISMS)}, or connect with a certificate (security.protocol SSL).",
        )
    missing = [name for name in ("sasl.username", "sasl.password") if not client.get(name)]
    if missing:
        raise BadInputError(f"{' and '.join(missing)} not set.", resolution="SASL needs both, without a default.")
    return Login(mechanism, client["sasl.username"], client["sasl.password"])


def _tls(client: Mapping[str, Any]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(
            cafile=client.get("ssl.ca.location"),
            cadata=client.get("ssl.ca.pem"),
        )
        _load_certificate(context, client)
    # ssl.SSLError is an OSError; a letter beyond ASCII in a certificate is a TypeError.
    except (OSError, ValueError, TypeError) as error:
        raise BadInputError(
            "The TLS settings of `client` cannot be used.",
            details=f"{type(error).__name__}: {error}",
            resolution="Look at ssl.ca.*, ssl.certificate.* and ssl.key.*: PEM files that exist and belong together.",
        ) from error
    context.check_hostname = client.get("ssl.endpoint.identification.algorithm", "https") == "https"
    if not client.get("enable.ssl.certificate.verification", True):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_certificate(context: ssl.SSLContext, client: Mapping[str, Any]) -> None:
    certificate, key = client.get("ssl.certificate.location"), client.get("ssl.key.location")
    password = client.get("ssl.key.password")
    pems = [client[name] for name in ("ssl.certificate.pem", "ssl.key.pem") if client.get(name)]
    if pems:
        # Python reads certificates from files only. This one is 0600 and gone at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as both:
            both.write("\n".join(pems))
            both.flush()
            context.load_cert_chain(
                certificate or both.name, key or (both.name if "ssl.key.pem" in client else None), password=password
            )
    elif certificate:
        context.load_cert_chain(certificate, key, password=password)
