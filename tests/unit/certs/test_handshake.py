"""Real handshakes by OpenSSL, strict: what this authority makes must be taken, all else must be refused."""

from __future__ import annotations

import ssl
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import KeyType, Pki, Wanted, client, init, keys, server
from certs.build import LEAF_PURPOSES, LEAF_USAGE, authority_key_identifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from certs import Authority

BROKER = server("broker-1", aliases=["broker-1.example.com"], addresses=["198.18.0.11", "2001:db8::11"])
USER = client('Jürgen "J", x')


@pytest.mark.parametrize("host", ["broker-1", "BROKER-1.example.com", "198.18.0.11", "2001:db8::11"])
def test_client_and_broker_take_each_other(signer: Authority, leaf: Any, handshake: Any, host: str) -> None:
    handshake(server=leaf(signer, BROKER), client=leaf(signer, USER), trusts=signer, server_trusts=signer, host=host)


def test_brokers_take_each_other(signer: Authority, leaf: Any, handshake: Any) -> None:
    other = leaf(signer, server("broker-2"))
    handshake(server=leaf(signer, BROKER), client=other, trusts=signer, server_trusts=signer, host="broker-1")


@pytest.mark.parametrize("key_type", [KeyType.P384, KeyType.RSA3072])
def test_other_keys_work(signer: Authority, leaf: Any, handshake: Any, key_type: KeyType) -> None:
    side = leaf(signer, BROKER, key_type=key_type)
    handshake(server=side, client=leaf(signer, USER), trusts=signer, server_trusts=signer, host="broker-1")


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("broker-2", "Hostname mismatch, certificate is not valid for 'broker-2'."),
        ("198.18.0.12", "IP address mismatch, certificate is not valid for '198.18.0.12'."),
    ],
)
def test_wrong_name_is_refused(signer: Authority, leaf: Any, handshake: Any, host: str, message: str) -> None:
    refused(
        message,
        lambda: handshake(
            server=leaf(signer, BROKER), client=leaf(signer, USER), trusts=signer, server_trusts=signer, host=host
        ),
    )


def refused(message: str, shake: Callable[[], None]) -> None:
    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        shake()
    assert caught.value.verify_message == message


def test_server_of_another_authority_is_refused(
    signer: Authority, stranger: Authority, leaf: Any, handshake: Any
) -> None:
    refused(
        "unable to get local issuer certificate",
        lambda: handshake(
            server=leaf(stranger, BROKER),
            client=leaf(signer, USER),
            trusts=signer,
            server_trusts=signer,
            host="broker-1",
        ),
    )


def test_client_of_another_authority_is_refused(
    signer: Authority, stranger: Authority, leaf: Any, handshake: Any
) -> None:
    refused(
        "unable to get local issuer certificate",
        lambda: handshake(
            server=leaf(signer, BROKER),
            client=leaf(stranger, USER),
            trusts=signer,
            server_trusts=signer,
            host="broker-1",
        ),
    )


@pytest.mark.parametrize(
    ("age", "message"),
    [
        (timedelta(days=500), "certificate has expired"),
        (-timedelta(hours=2), "certificate is not yet valid"),
    ],
)
@pytest.mark.parametrize("side", ["server", "client"])
def test_dates_are_kept(
    tmp_path: Path, leaf: Any, handshake: Any, now: datetime, side: str, age: timedelta, message: str
) -> None:
    old = old_authority(tmp_path, now)
    ages = {"server": timedelta(0), "client": timedelta(0), side: age}
    refused(
        message,
        lambda: handshake(
            server=leaf(old, BROKER, age=ages["server"]),
            client=leaf(old, USER, age=ages["client"]),
            trusts=old,
            server_trusts=old,
            host="broker-1",
        ),
    )


def old_authority(tmp_path: Path, now: datetime) -> Authority:
    """Older than any leaf in question, so that only the leaf's dates are at stake."""
    authority, _ = init(Pki(tmp_path / "old"), Wanted(), now=now - timedelta(days=1000))
    assert authority is not None
    return authority


def test_clock_that_is_a_little_behind_is_no_problem(signer: Authority, leaf: Any, handshake: Any) -> None:
    ahead = leaf(signer, BROKER, age=-timedelta(minutes=50))
    handshake(server=ahead, client=leaf(signer, USER), trusts=signer, server_trusts=signer, host="broker-1")


def test_user_cannot_pose_as_broker(signer: Authority, leaf: Any, handshake: Any) -> None:
    refused(
        "unsuitable certificate purpose",
        lambda: handshake(
            server=leaf(signer, USER), client=leaf(signer, USER), trusts=signer, server_trusts=signer, host="usercc"
        ),
    )


def test_certificate_without_client_usage_is_refused(
    signer: Authority, leaf: Any, handshake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_server = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    monkeypatch.setitem(LEAF_PURPOSES, USER.kind, only_server)
    refused(
        "unsuitable certificate purpose",
        lambda: handshake(
            server=leaf(signer, BROKER), client=leaf(signer, USER), trusts=signer, server_trusts=signer, host="broker-1"
        ),
    )


def test_no_client_certificate_is_refused(signer: Authority, leaf: Any, handshake: Any) -> None:
    with pytest.raises(ssl.SSLError) as caught:
        handshake(server=leaf(signer, BROKER), client=None, trusts=signer, server_trusts=signer, host="broker-1")
    assert caught.value.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE"


def test_self_signed_client_is_refused(signer: Authority, leaf: Any, handshake: Any, now: datetime) -> None:
    key = keys.generate()
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    alone = (
        x509.CertificateBuilder()
        .subject_name(USER.subject)
        .issuer_name(USER.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(LEAF_USAGE, critical=True)
        .add_extension(LEAF_PURPOSES[USER.kind], critical=False)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    good = leaf(signer, USER)
    fake = type(good)(key, (alone,), good.directory)
    refused(
        "self-signed certificate",
        lambda: handshake(
            server=leaf(signer, BROKER), client=fake, trusts=signer, server_trusts=signer, host="broker-1"
        ),
    )
    assert authority_key_identifier(alone).key_identifier == identifier.digest


def test_key_of_another_certificate_is_refused(signer: Authority, leaf: Any, handshake: Any) -> None:
    good, other = leaf(signer, BROKER), leaf(signer, BROKER)
    mixed = type(good)(other.key, good.chain, good.directory)
    with pytest.raises(ssl.SSLError) as caught:
        handshake(server=mixed, client=leaf(signer, USER), trusts=signer, server_trusts=signer, host="broker-1")
    assert caught.value.reason == "KEY_VALUES_MISMATCH"


def test_intermediate_is_sent_along(corporate: Authority, leaf: Any, handshake: Any) -> None:
    handshake(
        server=leaf(corporate, BROKER),
        client=leaf(corporate, USER),
        trusts=corporate,
        server_trusts=corporate,
        host="broker-1",
    )


def test_leaf_without_its_intermediate_is_refused(corporate: Authority, leaf: Any, handshake: Any) -> None:
    whole = leaf(corporate, BROKER)
    bare = type(whole)(whole.key, whole.chain[:1], whole.directory)
    refused(
        "unable to get local issuer certificate",
        lambda: handshake(
            server=bare, client=leaf(corporate, USER), trusts=corporate, server_trusts=corporate, host="broker-1"
        ),
    )


def test_reversed_chain_is_refused(corporate: Authority, leaf: Any, handshake: Any) -> None:
    whole = leaf(corporate, BROKER)
    backwards = type(whole)(whole.key, whole.chain[::-1], whole.directory)
    with pytest.raises(ssl.SSLError) as caught:
        handshake(
            server=backwards, client=leaf(corporate, USER), trusts=corporate, server_trusts=corporate, host="broker-1"
        )
    assert caught.value.reason == "KEY_VALUES_MISMATCH"
