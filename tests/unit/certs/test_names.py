"""The rules for names, and that whatever they let through survives into a certificate and out of it again."""

from __future__ import annotations

import ipaddress
import string
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certs import authority, keys, names
from certs.errors import InvalidNameError

if TYPE_CHECKING:
    from certs import Authority

NOW = datetime(2026, 11, 18, 7, tzinfo=UTC)
LABEL = st.from_regex(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?", fullmatch=True)
HOSTS = st.lists(LABEL, min_size=1, max_size=4).map(".".join).filter(lambda host: not host.split(".")[-1].isdigit())
ADDRESSES = st.ip_addresses().filter(lambda ip: not (ip.is_multicast or ip.is_unspecified))


@cache
def signer() -> Authority:
    return authority.create(keys.generate(), "Test authority", now=NOW)


@cache
def key() -> Any:
    return keys.generate()


@settings(max_examples=60, deadline=None)
@given(
    host=HOSTS.filter(lambda host: len(host) <= 64),
    aliases=st.lists(HOSTS, max_size=3),
    addresses=st.lists(ADDRESSES, max_size=3),
)
def test_host_names_and_addresses_survive(host: str, aliases: list[str], addresses: list[Any]) -> None:
    identity = names.server(host, aliases=aliases, addresses=map(str, addresses))
    (held,) = signer().leaf(identity, key().public_key(), now=NOW)
    san = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    listed = san.get_values_for_type(x509.DNSName)
    assert listed[0] == host
    assert {name.lower() for name in listed} == {name.lower() for name in (host, *aliases)}
    assert len(listed) == len({name.lower() for name in listed})
    assert san.get_values_for_type(x509.IPAddress) == list(dict.fromkeys(addresses))
    assert names.common_name(held.subject) == host


USERS = st.text(
    st.sampled_from(string.ascii_letters + string.digits + " ,;+=<>#\"'\\{}$%@*äöüßÉ日本🙂-_."), min_size=1, max_size=64
).filter(lambda name: name == name.strip() and name not in {".", ".."})


@settings(max_examples=80, deadline=None)
@given(USERS)
@example('Jürgen "J" O\'Neill, {{ x }}')
def test_user_names_survive(user: str) -> None:
    (held,) = signer().leaf(names.client(user), key().public_key(), now=NOW)
    assert names.common_name(held.subject) == user


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_either_good_or_refused_with_a_good_example(text: str) -> None:
    for rule in (names.user_name, names.host_name):
        try:
            assert rule(text) == text
        except InvalidNameError as exc:
            if "Use e.g. " in exc.resolution:
                good = exc.resolution.removeprefix("Use e.g. ").removesuffix(".")[1:-1]
                assert rule(good) == good


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("broker_1", "broker-1"),
        ("broker-1.example.com.", "broker-1.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.example.com", "broker-1.example.com"),
        ("-broker", "broker-1.example.com"),
        ("", "broker-1.example.com"),
        ("a" * 64, "broker-1.example.com"),
        ("broker-1\n", "broker-1"),
        ("10.0.0.300", "broker-1.example.com"),
    ],
)
def test_bad_host_names(host: str, good: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        names.host_name(host)
    assert str(caught.value) == (
        f"{host!r} is no host name.\n"
        "Letters, digits and '-' in parts of 1 to 63, joined by '.', at most 253 in all.\n"
        f"Use e.g. {good!r}."
    )


def test_address_as_host_name() -> None:
    with pytest.raises(InvalidNameError) as caught:
        names.host_name("198.18.0.11")
    assert (
        str(caught.value) == "'198.18.0.11' is an address, no host name.\nGive it as an address: --address 198.18.0.11"
    )


def test_long_host_name_as_principal() -> None:
    name = ".".join(["a" * 40, "b" * 40])
    with pytest.raises(InvalidNameError) as caught:
        names.server(name)
    assert str(caught.value) == (
        f"Host name {name!r} has 81 characters; the name of a certificate has at most 64.\n"
        "Use a short name, e.g. 'broker-1', and give the long one as an alias."
    )
    assert names.server("broker-1", aliases=[name]).hosts == ("broker-1", name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("198.18.0", "'198.18.0' is no IP address.\nUse e.g. '198.18.0.11' or '2001:db8::11'."),
        (
            "0.0.0.0",  # noqa: S104  # nothing listens here
            (
                "'0.0.0.0' is no address of one host.\n"
                "Unspecified and multicast addresses and those with a zone cannot be in a certificate.\n"
                "Use the address that clients connect to, e.g. '198.18.0.11' or '2001:db8::11'."
            ),
        ),
        (
            "fe80::1%eth0",
            (
                "'fe80::1%eth0' is no address of one host.\n"
                "Unspecified and multicast addresses and those with a zone cannot be in a certificate.\n"
                "Use the address that clients connect to, e.g. '198.18.0.11' or '2001:db8::11'."
            ),
        ),
    ],
)
def test_bad_addresses(text: str, message: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        names.ip_address(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("user", "problem", "good"),
    [
        ("", "it is empty", "usercc"),
        ("User:usercc", "the principal's type is added elsewhere", "usercc"),
        (" usercc", "it begins or ends with a space", "usercc"),
        ("../usercc", "it holds a '/' or is a directory", "usercc"),
        ("..", "it holds a '/' or is a directory", "usercc"),
        ("user\ncc", "it holds a control character", "usercc"),
        ("user\udcfccc", "it holds a control character", "usercc"),
        ("u" * 65, "it has 65 characters", "usercc"),
        ("🙂" * 64, "it has more than 255 bytes", "usercc"),
        ("Ju\u0308rgen", "its letters are not composed (Unicode NFC)", "Jürgen"),
    ],
)
def test_bad_user_names(user: str, problem: str, good: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        names.user_name(user)
    assert str(caught.value) == (
        f"{user!r} is no user name: {problem}.\n"
        "1 to 64 characters; spaces, commas, quotes and umlauts are fine.\n"
        f"Use e.g. {good!r}."
    )


def test_names_of_hosts_do_not_differ_by_case() -> None:
    identity = names.server("broker-1", aliases=["BROKER-1", "b.example"], addresses=["::1", "0:0::1"])
    assert identity.hosts == ("broker-1", "b.example")
    assert identity.addresses == (ipaddress.ip_address("::1"),)
