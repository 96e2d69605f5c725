"""Certificates as they come off the wire."""

from __future__ import annotations

import contextlib
import ipaddress
from typing import TYPE_CHECKING

from cryptography import x509

from validate.security import tls

if TYPE_CHECKING:
    from pathlib import Path

    from validate.security.scene import Scene, Target


def authorities(path: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(path.read_bytes())


def chain_of(scene: Scene, target: Target) -> list[x509.Certificate]:
    """What the listener shows: TLS 1.2 sends it in the clear. Empty if it shows none."""
    with contextlib.closing(scene.connect(target)) as channel:
        heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
    return [x509.load_der_x509_certificate(one) for one in heard.chain]


def names_of(leaf: x509.Certificate) -> set[str]:
    """The alternative names alone: a common name counts for nothing."""
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))}


def subject_for(address: str) -> x509.DNSName | x509.IPAddress:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)
