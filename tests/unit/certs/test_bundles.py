"""Users' bundles: made whole, looked at on every run, repaired where they were touched, readable by Java."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from certs import KeyType, Options, Order, Pki, files, issue, keys, pem, server, sign, stores
from certs.errors import KastellanError
from certs.signing import fingerprint

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from certs import Authority

PASSWORD = b'p "q, =$x\\{{ }}'


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    return tmp_path / "clients"


@pytest.fixture
def issuing(pki: Pki, signer: Authority, clients: Path, now: datetime) -> Any:
    def call(*users: str, apply: bool = True, **wish: Any) -> Any:
        return issue(pki, signer, clients, users, now=now, options=Options(**wish), apply=apply)

    return call


def codes(outcomes: Any) -> list[list[str]]:
    return [[reason.code for reason in outcome.reasons] for outcome in outcomes]


def contents(clients: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in clients.rglob("*") if path.is_file()}


def test_bundle(issuing: Any, clients: Path, signer: Authority) -> None:
    (outcome,) = issuing('Jürgen "J", x', store_password=PASSWORD)
    directory = clients / 'Jürgen "J", x'
    modes = {path.name: files.mode_of(path) for path in (clients, directory, *directory.iterdir())}
    assert modes == {
        "clients": 0o700,
        directory.name: 0o700,
        "key.pem": 0o600,
        "cert.pem": 0o644,
        "ca.pem": 0o644,
        "keystore.p12": 0o600,
        "truststore.p12": 0o600,
    }
    assert (directory / "key.pem").read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert pem.certificates((directory / "cert.pem").read_bytes(), where="") == outcome.chain
    assert pem.certificates((directory / "ca.pem").read_bytes(), where="") == (signer.root,)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_cert_chain(directory / "cert.pem", directory / "key.pem")


def test_second_run_changes_nothing(issuing: Any, clients: Path) -> None:
    issuing("usercc", "validator", store_password=PASSWORD)
    before = contents(clients)
    assert codes(issuing("usercc", "validator", store_password=PASSWORD)) == [[], []]
    assert contents(clients) == before


def test_check_mode_writes_nothing(issuing: Any, clients: Path, pki: Pki) -> None:
    assert codes(issuing("usercc", apply=False, store_password=PASSWORD)) == [["missing"]]
    assert not clients.exists()
    assert not (pki.path / "issued").exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("key.pem", "key"),
        ("cert.pem", "missing"),
        ("ca.pem", "repair"),
        ("keystore.p12", "store"),
        ("truststore.p12", "store"),
    ],
)
@pytest.mark.parametrize("damage", ["removed", "scratched", "open"])
def test_damage_is_seen_and_repaired(issuing: Any, clients: Path, name: str, code: str, damage: str) -> None:
    issuing("usercc", store_password=PASSWORD)
    path = clients / "usercc" / name
    if damage == "removed":
        path.unlink()
    elif damage == "scratched":
        path.write_bytes(b"scratched")
    else:
        path.chmod(0o666)
        code = "store" if name.endswith(".p12") else "repair"
    before = contents(clients)
    assert code in codes(issuing("usercc", apply=False, store_password=PASSWORD))[0]
    assert contents(clients) == before
    assert code in codes(issuing("usercc", store_password=PASSWORD))[0]
    assert codes(issuing("usercc", store_password=PASSWORD)) == [[]]


def test_swapped_certificate_is_seen(issuing: Any, clients: Path) -> None:
    issuing("usercc", "validator")
    shutil.copy(clients / "validator" / "cert.pem", clients / "usercc" / "cert.pem")
    assert codes(issuing("usercc")) == [["key", "names"]]
    assert codes(issuing("usercc")) == [[]]


def test_changed_password_makes_new_stores_only(issuing: Any, clients: Path) -> None:
    issuing("usercc", store_password=PASSWORD)
    key = (clients / "usercc" / "key.pem").read_bytes()
    assert codes(issuing("usercc", store_password=b"another one")) == [["store", "store"]]
    assert (clients / "usercc" / "key.pem").read_bytes() == key


def test_stores_are_never_left_behind(issuing: Any, clients: Path) -> None:
    issuing("usercc", store_password=PASSWORD)
    before = contents(clients)
    assert codes(issuing("usercc")) == [[]]
    with pytest.raises(KastellanError) as caught:
        issuing("usercc", force=True)
    assert str(caught.value) == (
        f"{clients}/usercc/keystore.p12 would keep the old key: no password was given for it.\n"
        "Give --password-file FILE, or remove the .p12 files if nobody uses them."
    )
    assert contents(clients) == before


@pytest.mark.usefixtures("signer")
def test_users_from_standard_input(pki: Pki, clients: Path) -> None:
    words = [sys.executable, "-m", "certs", "issue", "--pki", pki.path, "--clients", clients, "--batch", "-", "--json"]
    given = json.dumps({"users": ["-usercc", "Jürgen"]})
    done = subprocess.run(list(map(str, words)), input=given, check=True, capture_output=True, text=True)
    assert [item["name"] for item in json.loads(done.stdout)["items"]] == ["-usercc", "Jürgen"]
    assert {path.name for path in clients.iterdir()} == {"-usercc", "Jürgen"}


def test_foreign_files_stay(issuing: Any, clients: Path) -> None:
    issuing("usercc")
    (clients / "usercc" / "client.properties").write_text("security.protocol=SASL_SSL\n")
    issuing("usercc", force=True)
    assert (clients / "usercc" / "client.properties").read_text() == "security.protocol=SASL_SSL\n"


def test_renewal_brings_a_new_key(issuing: Any, clients: Path) -> None:
    issuing("usercc")
    before = (clients / "usercc" / "key.pem").read_bytes()
    assert codes(issuing("usercc", force=True)) == [["forced"]]
    assert (clients / "usercc" / "key.pem").read_bytes() != before


def test_changed_key_type(issuing: Any, clients: Path) -> None:
    issuing("usercc")
    (outcome,) = issuing("usercc", key_type=KeyType.P384)
    assert [str(reason) for reason in outcome.reasons] == ["its key is P-256, not p384"]
    assert codes(issuing("usercc")) == [[]]
    assert clients.exists()


def test_user_named_like_a_host(
    issuing: Any, clients: Path, pki: Pki, signer: Authority, now: datetime, request_of: Any
) -> None:
    sign(pki, signer, [Order(server("broker-1"), request_of(keys.generate()))], now=now)
    with pytest.raises(KastellanError) as caught:
        issuing("usercc", "broker-1")
    assert caught.value.brief == "'broker-1' is the name of a host already, so it cannot be a user."
    assert not clients.exists()


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        (b"short", "it has fewer than 6 characters"),
        ("pässwörd".encode(), "it holds characters other than printable ASCII, with which Java opens no store"),
    ],
)
def test_passwords_that_java_cannot_use(issuing: Any, password: bytes, problem: str) -> None:
    with pytest.raises(KastellanError) as caught:
        issuing("usercc", store_password=password)
    assert str(caught.value) == (
        f"The password for the stores cannot be used: {problem}.\nMake one: openssl rand -hex 24 > FILE"
    )


@pytest.mark.usefixtures("signer")
def test_renew_as_a_command(pki: Pki, clients: Path, run: Any) -> None:
    base = ("--pki", pki.path, "--clients", clients)
    assert json.loads(run("issue", *base, "usercc", "validator", "--json")[1])["changed"] is True
    answer = json.loads(run("renew", *base, "--json")[1])
    assert (answer["changed"], [item["name"] for item in answer["items"]]) == (False, ["usercc", "validator"])
    answer = json.loads(run("renew", *base, "usercc", "--force", "--check", "--json")[1])
    assert [item["reasons"][0]["code"] for item in answer["items"]] == ["forced"]
    code, _, err = run("renew", *base, "nobody")
    assert (code, err) == (
        1,
        (
            f"There is no bundle of 'nobody' in {clients}.\n"
            f"Make it: python -m certs issue --pki {pki.path} --clients {clients} USER\n"
        ),
    )


@pytest.mark.usefixtures("signer")
def test_secrets_never_show(pki: Pki, clients: Path, tmp_path: Path, run: Any) -> None:
    canary = tmp_path / "password"
    canary.write_text("canary-7c1f\n")
    outputs = [
        run("issue", "--pki", pki.path, "--clients", clients, "usercc", "--password-file", canary, *more)
        for more in ([], ["--json"], ["--force"])
    ]
    outputs.append(run("show", clients / "usercc" / "keystore.p12", "--password-file", canary))
    canary.write_text("wrong-canary-7c1f\n")
    outputs.append(run("show", clients / "usercc" / "keystore.p12", "--password-file", canary))
    assert "cannot be opened: it is no PKCS#12 store, or has another password." in outputs[-1][2]
    for _, out, err in outputs:
        assert "canary-7c1f" not in out + err
        assert "PRIVATE KEY" not in out + err


@pytest.mark.skipif(shutil.which("keytool") is None, reason="Java reads its own stores; it is not installed here")
def test_java_reads_both_stores(issuing: Any, clients: Path, tmp_path: Path, signer: Authority) -> None:
    (outcome,) = issuing('Jürgen "J", x', store_password=PASSWORD)
    password = tmp_path / "password"
    password.write_bytes(PASSWORD)
    directory = clients / 'Jürgen "J", x'
    own = keytool(directory / "keystore.p12", password)
    assert "kastellan, " in own
    assert "PrivateKeyEntry" in own
    assert fingerprint(outcome.chain[0]) in own
    trusted = keytool(directory / "truststore.p12", password)
    assert "ca-1, " in trusted
    assert "trustedCertEntry" in trusted
    assert fingerprint(signer.root) in trusted


def keytool(store: Path, password: Path) -> str:
    words = ["keytool", "-J-Duser.language=en", "-list", "-keystore", str(store), "-storepass:file", str(password)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_stores_are_encrypted_as_java_17_does_it(corporate: Authority) -> None:
    data = stores.keystore(corporate.key, (corporate.issuer, corporate.root), PASSWORD)
    pbes2, aes_256_cbc, hmac_sha_256 = (
        bytes.fromhex(oid) for oid in ("2a864886f70d01050d", "60864801650304012a", "2a864886f70d0209")
    )
    assert data.count(pbes2) == data.count(aes_256_cbc) == data.count(hmac_sha_256) == 2  # the key and the certificates
    assert len(pkcs12.load_pkcs12(data, PASSWORD).additional_certs) == 1
