"""librdkafka's names for settings, and SCRAM as RFC 7677 shows it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from plugins.module_utils.errors import BadInputError
from plugins.module_utils.scram import ScramError, ScramExchange
from plugins.module_utils.settings import Login, parse_server, read_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("b:9092", ("b", 9092)),
        ("b", ("b", 9092)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[::1]:9094", ("::1", 9094)),
        ("[::1]", ("::1", 9092)),
    ],
)
def test_addresses(server: str, expected: tuple[str, int]) -> None:
    assert parse_server(server) == expected


@pytest.mark.parametrize("server", ["b:x", ":9092"])
def test_no_addresses(server: str) -> None:
    with pytest.raises(BadInputError, match="is no address of a broker"):
        parse_server(server)


def test_servers_of_the_client_serve_where_none_are_given() -> None:
    assert read_settings(None, {"bootstrap.servers": "a:1, b:2"}).servers == (("a", 1), ("b", 2))
    assert read_settings(["c:3"], {"bootstrap.servers": "a:1"}).servers == (("c", 3),)


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ({}, "No brokers are named."),
        ({"bootstrap.servers": "a", "security.protocol": "TLS"}, "security.protocol 'TLS' is unknown."),
        (
            {"bootstrap.servers": "a", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"},
            "sasl.mechanism 'GSSAPI' is not among those that these modules speak.",
        ),
        (
            {"bootstrap.servers": "a", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            "sasl.username and sasl.password not set.",
        ),
        (
            {"bootstrap.servers": "a", "security.protocol": "SSL", "ssl.ca.location": "/no/such"},
            "The TLS settings of `client` cannot be used.",
        ),
    ],
)
def test_settings_that_cannot_be(client: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        read_settings(None, client)
    assert caught.value.brief == message
    assert caught.value.resolution


def test_a_login_never_shows_its_password() -> None:
    assert "secret" not in repr(Login("PLAIN", "u", "secret"))


def test_tls_verifies_names_unless_told_otherwise(tmp_path: Path) -> None:
    client = {"bootstrap.servers": "a", "security.protocol": "ssl"}
    strict = read_settings(None, client).tls
    assert strict
    assert strict.check_hostname
    loose = read_settings(None, {**client, "ssl.endpoint.identification.algorithm": "none"}).tls
    assert loose
    assert not loose.check_hostname
    assert loose.verify_mode.name == "CERT_REQUIRED"
    assert not list(tmp_path.iterdir())


def test_scram_as_in_rfc_7677(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "rOprNGfwEbeRWgbNEkqO")
    exchange = ScramExchange("SCRAM-SHA-256", "user", "pencil")
    assert exchange.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    final = exchange.final(b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert final == b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    exchange.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ScramError):
        exchange.check(b"v=" + base64.b64encode(b"x" * 32))


def test_scram_writes_names_with_commas_and_equals_signs_as_the_standard_says() -> None:
    assert b"n=a=2Cb=3Dc," in ScramExchange("SCRAM-SHA-512", "a,b=c", "p").first()


def test_scram_takes_no_answer_to_another_exchange() -> None:
    exchange = ScramExchange("SCRAM-SHA-512", "u", "p")
    with pytest.raises(ScramError):
        exchange.final(b"r=other,s=AAAA,i=4096")
