"""A host's key is made on the host and stays there: only a request leaves, only certificates come back."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from plugins.modules import host_certificate

if TYPE_CHECKING:
    from pathlib import Path

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {
        "path": str(tmp_path / "keystore.pem"), "ca_path": str(tmp_path / "ca.pem"), "name": "broker-1",
        "key_type": "p256", "owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name,
        "mode": "0640", "certificate": CERTIFICATE, "ca": CERTIFICATE,
    }  # fmt: skip


def test_a_request_is_all_that_leaves_the_host(options: dict[str, Any], tmp_path: Path) -> None:
    answer = host_certificate.requested(options, apply=True)
    key = (tmp_path / "keystore.pem").read_text(encoding="ascii")
    assert stat.S_IMODE((tmp_path / "keystore.pem").stat().st_mode) == 0o640
    assert set(answer) == {"changed", "request", "certificate"}
    assert "PRIVATE" not in str(answer)
    assert not [line for line in key.splitlines()[1:-1] if line in str(answer)]
    request = x509.load_pem_x509_csr(answer["request"].encode())
    assert request.is_signature_valid
    assert request.public_key() == load_pem_private_key(key.encode(), None).public_key()


def test_the_key_stays_when_asked_again_and_when_a_certificate_comes(options: dict[str, Any], tmp_path: Path) -> None:
    host_certificate.requested(options, apply=True)
    key = (tmp_path / "keystore.pem").read_text(encoding="ascii")
    installed = host_certificate.installed(options, apply=True)
    assert installed["changed"]
    assert "PRIVATE" not in str(installed), "no diff shows it"
    assert (tmp_path / "keystore.pem").read_text(encoding="ascii") == key + CERTIFICATE
    assert not host_certificate.installed(options, apply=True)["changed"]
    again = host_certificate.requested(options, apply=True)
    assert (again["changed"], again["certificate"]) == (False, CERTIFICATE)
    assert (tmp_path / "keystore.pem").read_text(encoding="ascii") == key + CERTIFICATE


def test_a_damaged_key_is_replaced(options: dict[str, Any], tmp_path: Path) -> None:
    host_certificate.requested(options, apply=True)
    path = tmp_path / "keystore.pem"
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    path.write_text("".join([lines[0], "AAAA" + lines[1][4:], *lines[2:]]), encoding="ascii")
    assert host_certificate.requested(options, apply=True)["changed"]
    load_pem_private_key(path.read_bytes(), None)


def test_looking_makes_a_request_and_no_file(options: dict[str, Any], tmp_path: Path) -> None:
    answer = host_certificate.requested(options, apply=False)
    assert answer["changed"]
    assert x509.load_pem_x509_csr(answer["request"].encode()).is_signature_valid
    assert host_certificate.installed(options, apply=False)["changed"]
    assert list(tmp_path.iterdir()) == []
