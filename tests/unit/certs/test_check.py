"""`check`: nothing to object to what is good, one finding for each thing that is wrong."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from certs import Authority, Expected, Kind, client, findings, keys, names, server

BROKER = server("broker-1", addresses=["198.18.0.11"])
DAY = timedelta(days=1)


@pytest.fixture
def found(now: datetime) -> Any:
    def ask(chain: Any, at: timedelta = timedelta(0), **expected: Any) -> list[tuple[str, str]]:
        return [(finding.code, finding.text) for finding in findings(chain, Expected(**expected), now=now + at)]

    return ask


def test_good(corporate: Authority, leaf: Any, found: Any) -> None:
    made = leaf(corporate, BROKER)
    assert not found(
        made.chain,
        kind=Kind.SERVER,
        hosts=("broker-1",),
        addresses=(names.ip_address("198.18.0.11"),),
        days=30,
        key=made.key,
        roots=(corporate.root,),
    )
    assert not found(leaf(corporate, client("usercc")).chain, kind=Kind.CLIENT, user="usercc")


def test_reversed_chain(corporate: Authority, leaf: Any, found: Any) -> None:
    chain = leaf(corporate, BROKER).chain[::-1]
    text = "The chain is not in order: the leaf is certificate 2, it must be the first."
    assert ("order", text) in found(chain)


def test_other_authority(corporate: Authority, stranger: Authority, leaf: Any, found: Any) -> None:
    made = leaf(corporate, BROKER)
    assert found(made.chain, roots=(stranger.root,)) == [
        ("trust", "'CN=Issuer' was not signed by the trusted authority 'CN=Kastellan authority'.")
    ]
    assert found(made.chain[:1], roots=(corporate.root,)) == [
        ("trust", "'CN=broker-1' was not signed by the trusted authority 'CN=Root'.")
    ]


def test_untrusted_root_brought_along(corporate: Authority, stranger: Authority, leaf: Any, found: Any) -> None:
    """A root signs itself: whoever climbs the chain must not climb it for ever."""
    chain = (*leaf(corporate, BROKER).chain, corporate.root)
    text = "'CN=Root' was not signed by the trusted authority 'CN=Kastellan authority'."
    assert found(chain, roots=(stranger.root,)) == [("trust", text)]
    assert found(chain, roots=(corporate.root,)) == []


def test_trust_in_something_that_is_no_authority(make_authority: Any, leaf: Any, found: Any) -> None:
    key, root = make_authority("Root", ca=False)
    assert found(leaf(Authority((root,), key), BROKER).chain, roots=(root,)) == [
        ("trust", "'CN=broker-1' was not signed by the trusted authority 'CN=Root'.")
    ]


def test_stranger_behind_the_leaf(signer: Authority, stranger: Authority, leaf: Any, found: Any) -> None:
    chain = (*leaf(signer, BROKER).chain, stranger.root)
    assert found(chain) == [("chain", "'CN=broker-1' was not signed by 'CN=Kastellan authority', which follows it.")]


def test_other_key(signer: Authority, leaf: Any, found: Any) -> None:
    assert found(leaf(signer, BROKER).chain, key=keys.generate()) == [
        ("key", "The private key does not belong to the certificate 'CN=broker-1'.")
    ]


def test_usage(signer: Authority, leaf: Any, found: Any) -> None:
    assert found(leaf(signer, client("usercc")).chain, kind=Kind.SERVER) == [
        ("usage", "A server needs serverAuth; it has clientAuth.")
    ]
    assert found(leaf(signer, BROKER).chain, kind=Kind.CLIENT) == [
        ("usage", "A client's certificate must not have serverAuth: it could pose as a broker.")
    ]
    assert found(signer.chain) == [("usage", "'CN=Kastellan authority' is an authority's certificate, no leaf.")]


def test_names(signer: Authority, leaf: Any, found: Any) -> None:
    chain = leaf(signer, BROKER).chain
    assert found(chain, hosts=("broker-2",), addresses=(names.ip_address("::1"),), user="usercc") == [
        ("host", "It is not for host 'broker-2'; its names are: 198.18.0.11, broker-1."),
        ("address", "It is not for address '::1'; its names are: 198.18.0.11, broker-1."),
        ("user", "It is for 'broker-1', not for 'usercc'."),
    ]


def test_common_name_alone_is_no_host_name(signer: Authority, leaf: Any, found: Any) -> None:
    assert found(leaf(signer, client("broker-1")).chain, hosts=("broker-1",)) == [
        ("host", "It is not for host 'broker-1'; its names are: none.")
    ]


def test_dates(signer: Authority, leaf: Any, found: Any, now: datetime) -> None:
    chain = leaf(signer, BROKER).chain
    assert found(chain, days=397) == []
    assert found(chain, days=398) == [("days", "'CN=broker-1' has 397 days left, fewer than 398.")]
    ended = now + 397 * DAY
    assert found(chain, at=397 * DAY) == [
        ("end", f"'CN=broker-1' has expired: it ended at {ended:%Y-%m-%dT%H:%M:%SZ}.")
    ]
    begin = now - timedelta(hours=1)
    assert found(chain, at=-timedelta(hours=2)) == [
        ("start", f"'CN=broker-1' is not valid yet: it begins at {begin:%Y-%m-%dT%H:%M:%SZ}.")
    ]


def test_strength(make_authority: Any, found: Any) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    _, weak = make_authority("weak", key=key, ca=False)
    text = "The key of 'CN=weak' is too weak: RSA 2048. Good ones: P-256, P-384, P-521 or RSA of at least 3072 bits."
    assert found((weak,)) == [("weak", text)]


def test_as_a_command(signer: Authority, leaf: Any, run: Any, pki: Any) -> None:
    made = leaf(signer, BROKER)
    words = ("check", made.certificate_file, "--key", made.key_file, "--ca", pki.root, "--kind", "server")
    code, out, _ = run(*words, "--host", "broker-1", "--address", "198.18.0.11", "--days", "30")
    assert code == 0
    assert out.startswith(f"{made.directory}/cert.pem: good, not after ")
    code, out, _ = run(*words, "--host", "broker-2", "--json")
    answer = json.loads(out)
    assert (code, answer["good"], [finding["code"] for finding in answer["findings"]]) == (1, False, ["host"])


def test_unreadable_file_is_unknown_not_bad(tmp_path: Any, run: Any) -> None:
    code, _, err = run("check", tmp_path / "none.pem")
    missing = f"The certificate cannot be read: {tmp_path}/none.pem\nNo such file or directory\n"
    assert (code, err) == (2, f"{missing}Check the path and its mode.\n")
    (tmp_path / "junk.pem").write_bytes(b"junk")
    code, _, err = run("check", tmp_path / "junk.pem")
    assert (code, err) == (
        2,
        (
            f"{tmp_path}/junk.pem holds no certificate in PEM.\n"
            "It should begin with -----BEGIN CERTIFICATE----- (openssl x509 -in FILE converts).\n"
        ),
    )
