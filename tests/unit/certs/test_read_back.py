"""Every extension that is put in is read back, from the certificate itself and through `show`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose

from certs import KeyType, Pki, Wanted, client, init, keys, server
from certs.lifetimes import AUTHORITY_LIFETIME, BACKDATING, CLIENT_LIFETIME, SERVER_LIFETIME

if TYPE_CHECKING:
    from certs import Authority

HOUR = timedelta(hours=1)


def of(certificate: x509.Certificate, extension: Any) -> Any:
    return certificate.extensions.get_extension_for_class(extension)


def usages(certificate: x509.Certificate) -> set[str]:
    usage = of(certificate, x509.KeyUsage)
    assert usage.critical
    only_with_agreement = ("encipher_only", "decipher_only")
    words = [word.removeprefix("_") for word in vars(usage.value)]
    return {word for word in words if word not in only_with_agreement and getattr(usage.value, word)}


def test_authority(signer: Authority, now: datetime) -> None:
    root = signer.issuer
    assert signer.chain == (root,)
    constraints = of(root, x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert usages(root) == {"key_cert_sign", "crl_sign"}
    identifier = of(root, x509.SubjectKeyIdentifier)
    assert identifier.value == x509.SubjectKeyIdentifier.from_public_key(signer.key.public_key())
    assert of(root, x509.AuthorityKeyIdentifier).value.key_identifier == identifier.value.digest
    assert len(root.extensions) == 4
    assert root.not_valid_before_utc == now - BACKDATING
    assert root.not_valid_after_utc == now + AUTHORITY_LIFETIME
    assert root.version is x509.Version.v3
    assert isinstance(signer.key, ec.EllipticCurvePrivateKey)
    assert signer.key.curve.name == "secp256r1"


def test_rsa_authority_on_request(pki: Pki, now: datetime) -> None:
    authority, _ = init(pki, Wanted(key_type=KeyType.RSA3072), now=now)
    assert authority is not None
    assert isinstance(authority.key, rsa.RSAPrivateKey)
    assert authority.key.key_size == 3072


def test_server_leaf(signer: Authority, now: datetime) -> None:
    identity = server("broker-1", aliases=["b1.example.com"], addresses=["198.18.0.11", "2001:db8::11"])
    key = keys.generate()
    (held,) = signer.leaf(identity, key.public_key(), now=now)
    names = of(held, x509.SubjectAlternativeName)
    assert not names.critical
    assert names.value.get_values_for_type(x509.DNSName) == ["broker-1", "b1.example.com"]
    expected = [ip_address("198.18.0.11"), ip_address("2001:db8::11")]
    assert names.value.get_values_for_type(x509.IPAddress) == expected
    assert held.subject.rfc4514_string() == "CN=broker-1"
    assert list(of(held, x509.ExtendedKeyUsage).value) == [Purpose.SERVER_AUTH, Purpose.CLIENT_AUTH]
    assert held.not_valid_after_utc == now + SERVER_LIFETIME
    common_to_leaves(held, signer, key, now)
    assert len(held.extensions) == 6


def test_client_leaf(signer: Authority, now: datetime) -> None:
    key = keys.generate()
    (held,) = signer.leaf(client('Jürgen "J", x'), key.public_key(), now=now)
    assert held.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value == 'Jürgen "J", x'
    assert list(of(held, x509.ExtendedKeyUsage).value) == [Purpose.CLIENT_AUTH]
    assert held.not_valid_after_utc == now + CLIENT_LIFETIME
    common_to_leaves(held, signer, key, now)
    assert len(held.extensions) == 5


def common_to_leaves(held: x509.Certificate, signer: Authority, key: Any, now: datetime) -> None:
    constraints = of(held, x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, False, None)
    assert usages(held) == {"digital_signature"}
    assert of(held, x509.SubjectKeyIdentifier).value == x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    authority_key = of(held, x509.AuthorityKeyIdentifier).value.key_identifier
    assert authority_key == of(signer.issuer, x509.SubjectKeyIdentifier).value.digest
    assert held.not_valid_before_utc == now - BACKDATING
    assert held.issuer == signer.issuer.subject
    assert held.serial_number.bit_length() > 64
    held.verify_directly_issued_by(signer.issuer)


def test_leaf_never_outlives_its_authority(pki: Pki, now: datetime) -> None:
    old, _ = init(pki, Wanted(), now=now - AUTHORITY_LIFETIME + timedelta(days=100))
    assert old is not None
    (held,) = old.leaf(server("broker-1"), keys.generate().public_key(), now=now)
    assert held.not_valid_after_utc == old.issuer.not_valid_after_utc


def test_show_tells_all_of_it(signer: Authority, leaf: Any, run: Any) -> None:
    path = leaf(signer, server("broker-1", addresses=["2001:db8::11"])).certificate_file
    code, out, _ = run("show", path, "--json")
    (entry,) = json.loads(out)["items"]
    assert code == 0
    read = {extension["name"]: (extension["critical"], extension["value"]) for extension in entry["extensions"]}
    identifiers = {read.pop("subjectKeyIdentifier")[0], read.pop("authorityKeyIdentifier")[0]}
    assert identifiers == {False}
    assert read == {
        "basicConstraints": (True, {"ca": False, "path_length": None}),
        "keyUsage": (True, ["digitalSignature"]),
        "extendedKeyUsage": (False, ["serverAuth", "clientAuth"]),
        "subjectAltName": (False, ["DNS:broker-1", "IP:2001:db8::11"]),
    }
    assert (entry["kind"], entry["key"]) == ("server", "P-256")
    assert entry["days_left"] in {396, 397}  # a second may have passed since it was signed
    _, out, _ = run("show", path)
    assert "  extension   subjectAltName: DNS:broker-1, IP:2001:db8::11\n" in out
    assert "  extension   keyUsage (critical): digitalSignature\n" in out


def test_show_reads_a_request(tmp_path: Any, request_of: Any, run: Any) -> None:
    path = tmp_path / "request.pem"
    path.write_bytes(request_of(keys.generate(), "root"))
    _, out, _ = run("show", path, "--json")
    (entry,) = json.loads(out)["items"]
    assert (entry["subject"], entry["signature_valid"]) == ("CN=root", True)


@pytest.mark.parametrize(
    ("name", "java"),
    [
        ("usercc", "CN=usercc"),
        ("a=b", r"CN=a\=b"),
        ("a#b", r"CN=a\#b"),
        ('O"N, ü+x', r"CN=O\"N\, ü\+x"),
        ("back\\slash", r"CN=back\\slash"),
    ],
)
def test_subject_as_java_writes_it(name: str, java: str, signer: Authority, leaf: Any, run: Any) -> None:
    """The expected texts were read from X500Principal.getName() of Java 17."""
    _, out, _ = run("show", leaf(signer, client(name)).certificate_file, "--json")
    assert json.loads(out)["items"][0]["java_subject"] == java
