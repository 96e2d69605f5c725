"""Requests made on hosts: judged, signed with the names of the inventory, left alone when all is well."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from certs import Order, Pki, client, files, keys, pem, server, sign
from certs.errors import KastellanError
from certs.renewal import alternative_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from certs import Authority


@pytest.fixture
def signing(pki: Pki, signer: Authority, now: datetime) -> Callable[..., Any]:
    def call(*orders: Order, **more: Any) -> Any:
        return sign(pki, signer, orders, now=now, **more)

    return call


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(KastellanError) as caught:
        call()
    return str(caught.value)


def test_names_come_from_the_order_never_from_the_request(signing: Any, request_of: Any) -> None:
    asked = request_of(keys.generate(), subject="admin", claimed="evil.example.com")
    (outcome,) = signing(Order(server("broker-1", addresses=["198.18.0.11"]), asked))
    assert outcome.chain[0].subject.rfc4514_string() == "CN=broker-1"
    assert alternative_names(outcome.chain[0]) == {"broker-1", "198.18.0.11"}


def test_second_time_nothing_changes(signing: Any, request_of: Any) -> None:
    asked = request_of(keys.generate())
    (first,) = signing(Order(server("broker-1"), asked))
    (second,) = signing(Order(server("broker-1"), asked, pem.join(first.chain)))
    assert (first.changed, second.changed) == (True, False)
    assert second.chain == first.chain
    (forced,) = signing(Order(server("broker-1"), asked, pem.join(first.chain)), force=True)
    assert [reason.code for reason in forced.reasons] == ["forced"]


@pytest.mark.parametrize("held", [b"", b"scratched", b"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"])
def test_unreadable_certificate_is_replaced(signing: Any, request_of: Any, held: bytes) -> None:
    (outcome,) = signing(Order(server("broker-1"), request_of(keys.generate()), held))
    assert [reason.code for reason in outcome.reasons] == ["missing"]


def test_request_that_was_not_signed_by_its_key(signing: Any, request_of: Any) -> None:
    der = bytearray(x509.load_pem_x509_csr(request_of(keys.generate())).public_bytes(Encoding.DER))
    at = der.index(b"whatever")
    der[at : at + 8] = b"forged!!"
    forged = x509.load_der_x509_csr(bytes(der)).public_bytes(Encoding.PEM)
    assert refusal(lambda: signing(Order(server("broker-1"), forged))) == (
        "The request of 'broker-1' was not signed by the key in it.\n"
        "So nothing shows that the sender has the private key.\n"
        "Make it anew on the host: openssl req -new -key key.pem -subj /CN=ignored"
    )


@pytest.mark.parametrize(
    ("make", "label"),
    [
        (lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048), "RSA 2048"),
        (lambda: ec.generate_private_key(ec.SECP256K1()), "secp256k1"),
    ],
)
def test_weak_key(signing: Any, request_of: Any, make: Any, label: str) -> None:
    assert refusal(lambda: signing(Order(server("broker-1"), request_of(make())))) == (
        f"The key of 'broker-1' is too weak: {label}.\n"
        "Good ones: P-256, P-384, P-521 or RSA of at least 3072 bits.\n"
        "On the host: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem"
    )


def test_no_request(signing: Any) -> None:
    assert refusal(lambda: signing(Order(server("broker-1")))) == (
        "There is no request of 'broker-1'.\n"
        "The key is made on the host it serves; the authority sees the request only.\n"
        "On the host: openssl req -new -key key.pem -subj /CN=ignored"
    )


def test_junk_as_request(signing: Any) -> None:
    assert refusal(lambda: signing(Order(server("broker-1"), b"junk"))) == (
        "The request of 'broker-1' holds no signing request in PEM.\n"
        "Make one on the host: openssl req -new -key key.pem -subj /CN=ignored"
    )


def test_hosts_with_one_key(signing: Any, request_of: Any) -> None:
    asked = request_of(keys.generate())
    assert refusal(lambda: signing(Order(server("broker-1"), asked), Order(server("broker-2"), asked))) == (
        "'broker-1' and 'broker-2' have the same private key.\n"
        "Each could pose as the other. It happens when hosts are copied from one image.\n"
        "Remove the key on 'broker-2' and let it make a new one."
    )


def test_host_listed_twice(signing: Any, request_of: Any) -> None:
    orders = [Order(server("broker-1"), request_of(keys.generate())) for _ in range(2)]
    assert refusal(lambda: signing(*orders)) == "'broker-1' is listed twice.\nGive each name once."


def test_user_cannot_take_the_name_of_a_host(signing: Any, request_of: Any, pki: Pki) -> None:
    signing(Order(server("broker-1"), request_of(keys.generate())))
    assert refusal(lambda: signing(Order(client("broker-1"), request_of(keys.generate())))) == (
        "'broker-1' is the name of a host already, so it cannot be a user.\n"
        "Both would be the same principal in Kafka.\n"
        f"Use another name, or remove {pki.path}/issued/server/broker-1 if it is gone for good."
    )


def test_one_bad_request_and_none_is_signed(signing: Any, request_of: Any, pki: Pki) -> None:
    good, bad = Order(server("broker-1"), request_of(keys.generate())), Order(server("broker-2"), b"junk")
    refusal(lambda: signing(good, bad))
    assert not (pki.path / "issued").exists()


def batch(tmp_path: Path, *entries: dict[str, Any]) -> Path:
    path = tmp_path / "batch.json"
    path.write_text(json.dumps({"requests": entries}))
    return path


@pytest.mark.usefixtures("signer")
def test_batch(tmp_path: Path, pki: Pki, request_of: Any, run: Any) -> None:
    entries: list[dict[str, Any]] = [
        {"name": f"broker-{n}", "addresses": [f"198.18.0.{n}"], "request": request_of(keys.generate()).decode()}
        for n in range(1, 5)
    ]
    words = ("sign", "--pki", pki.path, "--json", "--batch")
    code, out, _ = run(*words, batch(tmp_path, *entries))
    first = json.loads(out)
    assert (code, first["changed"], len(first["items"])) == (0, True, 4)
    for entry, item in zip(entries, first["items"], strict=True):
        entry["certificate"] = item["certificate"]
    entries[1]["addresses"] = ["198.18.0.99"]
    second = json.loads(run(*words, batch(tmp_path, *entries))[1])
    assert second["changed"] is True
    assert [item["changed"] for item in second["items"]] == [False, True, False, False]
    assert second["items"][1]["reasons"] == [{"code": "names", "text": "its names changed: +198.18.0.99 -198.18.0.2"}]
    assert second["items"][0]["certificate"] == entries[0]["certificate"]
    assert {"not_after", "fingerprint_sha256", "hosts", "addresses", "days_left"} <= set(second["items"][0])


def test_check_mode_on_virgin_hosts(tmp_path: Path, pki: Pki, run: Any) -> None:
    words = ("sign", "--pki", pki.path, "--json", "--check", "--batch", batch(tmp_path, {"name": "broker-1"}))
    answer = json.loads(run(*words)[1])
    assert (answer["changed"], answer["items"][0]["reasons"][0]["code"]) == (True, "authority")
    assert not pki.path.exists()
    run("init", "--pki", pki.path)
    answer = json.loads(run(*words)[1])
    assert (answer["changed"], answer["items"][0]["reasons"][0]["code"]) == (True, "request")
    assert not (pki.path / "issued").exists()


def test_check_mode_writes_no_record(signing: Any, request_of: Any, pki: Pki) -> None:
    asked = request_of(keys.generate())
    (first,) = signing(Order(server("broker-1"), asked))
    shutil.rmtree(pki.path / "issued")
    signing(Order(server("broker-1"), asked, pem.join(first.chain)), apply=False)
    assert not (pki.path / "issued").exists()
    signing(Order(server("broker-1"), asked, pem.join(first.chain)))
    assert (pki.path / "issued" / "server" / "broker-1").exists()


@pytest.mark.usefixtures("signer")
@pytest.mark.parametrize("verb", [("sign", "--name", "b", "--request"), ("issue", "--clients")])
def test_only_one_run_signs_at_a_time(
    pki: Pki, tmp_path: Path, request_of: Any, run: Any, verb: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.1)
    (tmp_path / "request.pem").write_bytes(request_of(keys.generate()))
    last = (tmp_path / "request.pem",) if verb[0] == "sign" else (tmp_path / "clients", "usercc")
    words = (verb[0], "--pki", pki.path, *verb[1:], *last)
    with files.exclusive(pki.path):
        code, _, err = run(*words)
        assert (code, err.splitlines()[0]) == (1, f"Another run works on {pki.path}.")
        assert run(*words, "--check")[0] == 0
    assert run(*words)[0] == 0


@pytest.mark.usefixtures("signer")
def test_one_request_as_files(tmp_path: Path, pki: Pki, request_of: Any, run: Any) -> None:
    asked, made = tmp_path / "request.pem", tmp_path / "broker-1.pem"
    asked.write_bytes(request_of(keys.generate()))
    words = ("sign", "--pki", pki.path, "--name", "broker-1", "--address", "198.18.0.11", "--request", asked)
    assert run(*words, "--out", made, "--check")[1].startswith("broker-1: would be made (there is no certificate yet)")
    assert not made.exists()
    assert run(*words, "--out", made)[1].startswith("broker-1: made (there is no certificate yet), not after ")
    held = made.read_bytes()
    assert run(*words, "--out", made)[1].startswith("broker-1: good as it is, not after ")
    assert made.read_bytes() == held
    made.chmod(0o600)  # whoever closed it had a reason, and unchanged means untouched
    run(*words, "--out", made)
    assert files.mode_of(made) == 0o600
    assert run(*words)[1].startswith("-----BEGIN CERTIFICATE-----\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "it should be an object with the one list 'requests'"),
        ('{"requests": [1]}', "request 1 is no object"),
        ('{"requests": [{}]}', "request 1 has no name"),
        ('{"requests": [{"name": 5}]}', "'name' of request 1 is no text"),
        ('{"requests": [{"name": "b", "addresses": "::1"}]}', "'addresses' of request 1 is no list of texts"),
        (
            '{"requests": [{"name": "b", "csr": ""}]}',
            "request 1 has the unknown field 'csr'; known are name, kind, request, certificate, aliases, addresses",
        ),
    ],
)
@pytest.mark.usefixtures("signer")
def test_bad_batch(tmp_path: Path, pki: Pki, run: Any, text: str, problem: str) -> None:
    path = tmp_path / "batch.json"
    path.write_text(text)
    code, _, err = run("sign", "--pki", pki.path, "--batch", path)
    good = '{"requests": [{"name": "broker-1", "addresses": ["198.18.0.11"], "request": "-----BEGIN ..."}]}'
    assert (code, err) == (64, f"The batch cannot be used: {problem}.\nGive e.g. {good}\n")


def test_errors_as_json(pki: Pki, run: Any) -> None:
    code, out, _ = run("sign", "--pki", pki.path, "--name", "broker-1", "--json")
    assert code == 1
    assert json.loads(out) == {
        "changed": False,
        "error": {
            "brief": f"There is no authority in {pki.path}.",
            "details": "",
            "resolution": f"Make one: python -m certs init --pki {pki.path}",
        },
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("sign", "--batch", "-", "--passphrase-file", "-"),
            "--batch and --passphrase-file cannot both be standard input.",
        ),
        (("sign", "--batch", "x", "--name", "b"), "--batch stands alone."),
        (("sign",), "Nothing to sign."),
        (("sign", "--days", "398"), "Argument --days: '398' is no lifetime: use 1 to 397 days, e.g. 90."),
        (
            ("sign", "--kind", "client", "--name", "u", "--alias", "h"),
            "The client 'u' cannot have aliases or addresses.",
        ),
        (("issue", "--clients", "c"), "Whose bundles?"),
        (("init", "--ca-key", "x"), "--ca-cert and --ca-key belong together."),
        (
            ("init", "--ca-key", "x", "--ca-cert", "y", "--name", "z"),
            "An authority of your own has its name and key already.",
        ),
    ],
)
def test_bad_calls(pki: Pki, run: Any, words: tuple[str, ...], message: str) -> None:
    code, _, err = run(words[0], "--pki", pki.path, *words[1:])
    assert (code, err.splitlines()[0]) == (64, message)
    assert not pki.path.exists()
