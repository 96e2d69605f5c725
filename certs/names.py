"""Who a certificate is for. The rules for names are written here once; every door uses these functions."""

from __future__ import annotations

import enum
import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.x509.oid import NameOID

from certs.errors import InvalidNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# X.520 bounds a common name (ub-common-name); longer ones are refused by OpenSSL and by `cryptography`.
COMMON_NAME_MAX = 64
HOST_NAME_MAX = 253
# What a directory entry may hold on Linux: a user's bundle lies in a directory of the user's name.
FILE_NAME_BYTES_MAX = 255

_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
# What Java puts a backslash before when it writes a subject down (RFC 2253); one more than the RFC asks: "=" and "#".
_JAVA_ESCAPED = re.compile(r'([,=+<>#;"\\])')


class Kind(enum.StrEnum):
    SERVER = "server"
    CLIENT = "client"


@dataclass(frozen=True)
class Identity:
    """A kind and its names, already checked: make one with `server` or `client`."""

    kind: Kind
    name: str
    hosts: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()

    @property
    def subject(self) -> x509.Name:
        """The name alone, so that one Kafka mapping rule turns every subject into its principal."""
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])

    @property
    def alternative_names(self) -> x509.SubjectAlternativeName | None:
        """The only place where a subject alternative name is made."""
        general: list[x509.GeneralName] = [x509.DNSName(host) for host in self.hosts]
        general += [x509.IPAddress(address) for address in self.addresses]
        return x509.SubjectAlternativeName(general) if general else None


def server(name: str, *, aliases: Iterable[str] = (), addresses: Iterable[str] = ()) -> Identity:
    """A broker or controller: its name is both its principal and the first name that clients may check."""
    checked = host_name(name)
    if len(checked) > COMMON_NAME_MAX:
        raise InvalidNameError(
            f"Host name {name!r} has {len(checked)} characters; the name of a certificate has at most "
            f"{COMMON_NAME_MAX}.",
            resolution="Use a short name, e.g. 'broker-1', and give the long one as an alias.",
        )
    hosts = _unique([checked, *(host_name(alias) for alias in aliases)])
    return Identity(Kind.SERVER, checked, hosts, tuple(dict.fromkeys(ip_address(text) for text in addresses)))


def client(name: str) -> Identity:
    return Identity(Kind.CLIENT, user_name(name))


def _unique(hosts: Sequence[str]) -> tuple[str, ...]:
    """The first spelling wins: names of hosts do not differ by case."""
    return tuple({host.lower(): host for host in reversed(hosts)}[key] for key in dict.fromkeys(map(str.lower, hosts)))


def host_name(text: str) -> str:
    """A host name as DNS has it, without wildcard and without final dot."""
    if _is_address(text):
        raise InvalidNameError(
            f"{text!r} is an address, no host name.", resolution=f"Give it as an address: --address {text}"
        )
    labels = text.split(".")
    good = 0 < len(text) <= HOST_NAME_MAX and all(_LABEL.fullmatch(label) for label in labels)
    if good and not labels[-1].isdigit():
        return text
    raise InvalidNameError(
        f"{text!r} is no host name.",
        details=f"Letters, digits and '-' in parts of 1 to 63, joined by '.', at most {HOST_NAME_MAX} in all.",
        resolution=f"Use e.g. {_suggested_host(text)!r}.",
    )


def _suggested_host(text: str) -> str:
    """The same name as it would be right, where that can be told."""
    candidate = text.strip().rstrip(".").replace("_", "-")
    try:
        candidate = candidate.encode("idna").decode("ascii")
    except UnicodeError:
        return "broker-1.example.com"
    labels = candidate.split(".")
    good = bool(candidate) and all(_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()
    return candidate if good else "broker-1.example.com"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def ip_address(text: str) -> Address:
    """An address that a client can connect to, so nothing unspecified, multicast or with a zone."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise InvalidNameError(
            f"{text!r} is no IP address.", resolution="Use e.g. '198.18.0.11' or '2001:db8::11'."
        ) from None
    if address.is_unspecified or address.is_multicast or getattr(address, "scope_id", None):
        raise InvalidNameError(
            f"{text!r} is no address of one host.",
            details="Unspecified and multicast addresses and those with a zone cannot be in a certificate.",
            resolution="Use the address that clients connect to, e.g. '198.18.0.11' or '2001:db8::11'.",
        )
    return address


def user_name(text: str) -> str:
    """A principal's short name: nearly everything may be in it, since it comes from the user's own directory."""
    problem = _user_problem(text)
    if problem:
        raise InvalidNameError(
            f"{text!r} is no user name: {problem}.",
            details=f"1 to {COMMON_NAME_MAX} characters; spaces, commas, quotes and umlauts are fine.",
            resolution=f"Use e.g. {_suggested_user(text)!r}.",
        )
    return text


def _user_problem(text: str) -> str:
    if not text:
        return "it is empty"
    if any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in text):
        return "it holds a control character"
    rules = {
        f"it has {len(text)} characters": len(text) > COMMON_NAME_MAX,
        f"it has more than {FILE_NAME_BYTES_MAX} bytes": len(text.encode()) > FILE_NAME_BYTES_MAX,
        "it begins or ends with a space": text != text.strip(),
        "it holds a '/' or is a directory": "/" in text or text in {".", ".."},
        "the principal's type is added elsewhere": text.startswith("User:"),
        # Two spellings of one letter look alike and are two principals.
        "its letters are not composed (Unicode NFC)": text != unicodedata.normalize("NFC", text),
    }
    return next((problem for problem, broken in rules.items() if broken), "")


def _suggested_user(text: str) -> str:
    candidate = unicodedata.normalize("NFC", text.removeprefix("User:").strip())
    return "usercc" if _user_problem(candidate) else candidate


def common_name(name: x509.Name) -> str:
    values = [str(attribute.value) for attribute in name.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return values[0] if len(values) == 1 else ""


def java_subject(name: str) -> str:
    """`CN=<name>` as Java writes it, which is what Kafka's principal mapping rules see."""
    return "CN=" + _JAVA_ESCAPED.sub(r"\\\1", name)
