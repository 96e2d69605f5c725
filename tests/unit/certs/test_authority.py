"""An authority: made once, kept, repaired, or taken over from the user, who is told what is wrong with it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from certs import KeyType, Pki, Wanted, files, init, keys, pem
from certs.authority import checked
from certs.errors import KastellanError

if TYPE_CHECKING:
    from pathlib import Path

    from certs import Authority

DAY = timedelta(days=1)


def message(caught: pytest.ExceptionInfo[KastellanError]) -> str:
    return str(caught.value)


def state(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Modes, times and contents of everything, to see that nothing was touched."""
    return {
        str(path): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(directory.rglob("*"))
    }


def test_first_run_makes_second_run_changes_nothing(pki: Pki, run: Any) -> None:
    code, out, _ = run("init", "--pki", pki.path)
    assert (code, out.splitlines()[:2]) == (0, [f"made {pki.path} private", "made a new authority"])
    before = state(pki.path)
    code, out, _ = run("init", "--pki", pki.path)
    assert (code, out.splitlines()[0]) == (0, f"nothing to do: the authority in {pki.path} is as it should be")
    assert state(pki.path) == before


def test_modes(pki: Pki, signer: Authority) -> None:
    assert signer.root in pem.certificates(pki.root.read_bytes(), where=pki.root)
    modes = {path.name: files.mode_of(path) for path in (pki.path, pki.key, pki.chain, pki.root)}
    assert modes == {"pki": 0o700, "authority.key": 0o600, "authority.pem": 0o644, "ca.pem": 0o644}


def test_check_mode_touches_nothing(pki: Pki, run: Any) -> None:
    code, out, _ = run("init", "--pki", pki.path, "--check")
    assert (code, out) == (0, f"would have made {pki.path} private\nwould have made a new authority\n")
    assert not pki.path.exists()


def test_interrupted_first_run_goes_on_with_its_key(pki: Pki, signer: Authority, now: datetime) -> None:
    pki.chain.unlink()
    again, done = init(pki, Wanted(), now=now)
    assert again is not None
    assert keys.public_bytes(again.key) == keys.public_bytes(signer.key)
    assert done == ["made a new authority"]


def test_open_key_is_refused_and_repaired(pki: Pki, signer: Authority, now: datetime) -> None:
    pki.key.chmod(0o640)
    with pytest.raises(KastellanError) as caught:
        pki.load(now=now)
    assert message(caught) == (
        f"The authority's key {pki.key} can be read by others than its owner.\n"
        f"Its mode is 0640.\nRepair it: python -m certs init --pki {pki.path}"
    )
    again, done = init(pki, Wanted(), now=now)
    assert again is not None
    assert again.chain == signer.chain
    assert done == ["made the authority's key private"]
    assert files.mode_of(pki.key) == 0o600


@pytest.mark.usefixtures("signer")
def test_copy_of_the_root_is_repaired(pki: Pki, now: datetime) -> None:
    pki.root.write_text("scratched")
    assert init(pki, Wanted(), now=now, apply=False)[1] == [f"wrote {pki.root}"]
    assert pki.root.read_text() == "scratched"
    assert init(pki, Wanted(), now=now)[1] == [f"wrote {pki.root}"]
    assert init(pki, Wanted(), now=now)[1] == []


@pytest.mark.usefixtures("signer")
def test_lost_key(pki: Pki, now: datetime) -> None:
    pki.key.unlink()
    with pytest.raises(KastellanError) as caught:
        init(pki, Wanted(), now=now)
    assert message(caught) == (
        f"The authority in {pki.path} has lost its key.\n{pki.key} does not exist.\n"
        "Put the key back; a new authority would have to be trusted by every host and client anew."
    )


@pytest.mark.parametrize(
    ("wanted", "differs"),
    [
        (Wanted(key_type=KeyType.RSA3072), "a key of type P-256, not rsa-3072"),
        (Wanted(name="Other"), "the name 'Kastellan authority', not 'Other'"),
    ],
)
@pytest.mark.usefixtures("signer")
def test_changed_wish_is_refused(pki: Pki, now: datetime, wanted: Wanted, differs: str) -> None:
    with pytest.raises(KastellanError) as caught:
        init(pki, wanted, now=now)
    assert message(caught) == (
        f"The authority in {pki.path} is another one: it has {differs}.\n"
        "Use another directory for the new authority, or leave the option out to keep this one."
    )


def test_directory_with_other_things_is_left_alone(tmp_path: Path, now: datetime) -> None:
    (tmp_path / "letter.txt").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(KastellanError) as caught:
        init(Pki(tmp_path), Wanted(), now=now)
    assert message(caught) == (
        f"{tmp_path} is not empty and holds no authority.\nThere is e.g. 'letter.txt'.\n"
        f"Give a directory of its own, e.g. {tmp_path / 'pki'}"
    )
    assert files.mode_of(tmp_path) == 0o755


def own(tmp_path: Path, chain: Any, key: Any, passphrase: bytes | None = None) -> tuple[str, ...]:
    (tmp_path / "own.pem").write_bytes(pem.join(chain))
    (tmp_path / "own.key").write_bytes(keys.to_pem(key, passphrase))
    return ("--ca-cert", str(tmp_path / "own.pem"), "--ca-key", str(tmp_path / "own.key"))


def test_own_authority_with_intermediate_and_passphrase(
    tmp_path: Path, corporate: Authority, pki: Pki, run: Any
) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse\n")
    words = (*own(tmp_path, corporate.chain, corporate.key, b"correct horse"), "--passphrase-file", passphrase)
    code, out, err = run("init", "--pki", pki.path, *words)
    assert (code, err) == (0, "")
    assert "took over the given authority" in out
    assert b"ENCRYPTED" in pki.key.read_bytes()
    assert pem.certificates(pki.root.read_bytes(), where="") == (corporate.root,)
    before = state(pki.path)
    assert run("init", "--pki", pki.path, *words)[1].startswith("nothing to do")
    assert state(pki.path) == before
    clients = tmp_path / "clients"
    issue = ("issue", "--pki", pki.path, "--clients", clients, "usercc")
    code, _, err = run(*issue)
    assert (code, err) == (
        2,
        (
            f"The key {pki.key} is encrypted and no passphrase was given.\n"
            "Give the file that holds it: --passphrase-file FILE (or - for standard input).\n"
        ),
    )
    assert run(*issue, "--passphrase-file", passphrase)[0] == 0
    held = pem.certificates((clients / "usercc" / "cert.pem").read_bytes(), where="")
    assert held[1:] == (corporate.issuer,)
    assert run("check", clients / "usercc" / "cert.pem", "--ca", clients / "usercc" / "ca.pem")[0] == 0


def test_wrong_and_needless_passphrases(tmp_path: Path, corporate: Authority, pki: Pki, run: Any) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("wrong\n")
    words = ("init", "--pki", pki.path, "--passphrase-file", passphrase)
    code, _, err = run(*words, *own(tmp_path, corporate.chain, corporate.key, b"right"))
    assert (code, err) == (
        2,
        (
            f"The passphrase does not open the key {tmp_path / 'own.key'}.\n"
            "Check that --passphrase-file names the passphrase of this key.\n"
        ),
    )
    code, _, err = run(*words, *own(tmp_path, corporate.chain, corporate.key))
    assert (code, err) == (
        2,
        f"The key {tmp_path / 'own.key'} is not encrypted, but a passphrase was given.\nLeave out --passphrase-file.\n",
    )
    assert not pki.path.exists()


def refusal(chain: Any, key: Any, now: datetime) -> str:
    with pytest.raises(KastellanError) as caught:
        checked(chain, key, now=now)
    return message(caught)


def test_key_of_another_authority(corporate: Authority, now: datetime) -> None:
    assert refusal(corporate.chain, keys.generate(), now) == (
        "The key does not belong to the authority's certificate 'CN=Issuer'.\n"
        "Give the certificate that was made for this key (--ca-cert) or its key (--ca-key)."
    )


def test_reversed_chain(corporate: Authority, now: datetime) -> None:
    assert refusal(corporate.chain[::-1], corporate.key, now) == (
        "The key does not belong to the authority's certificate 'CN=Root'.\n"
        "It belongs to certificate 2 of the chain.\nPut the certificate of the key first and the root last."
    )


def test_expired_authority(make_authority: Any, now: datetime) -> None:
    key, root = make_authority("Old", end=-DAY)
    assert refusal((root,), key, now) == (
        "The authority's certificate 'CN=Old' has expired.\n"
        f"It ended at {now - DAY:%Y-%m-%dT%H:%M:%SZ}.\n"
        "Give one that is valid, or let init make a new authority in an empty directory."
    )


def test_authority_of_tomorrow(make_authority: Any, now: datetime) -> None:
    key, root = make_authority("New", begin=DAY)
    assert refusal((root,), key, now) == (
        "The authority's certificate 'CN=New' is not valid yet.\n"
        f"It begins at {now + DAY:%Y-%m-%dT%H:%M:%SZ}.\n"
        "Check this machine's clock (timedatectl), or give a certificate that is valid now."
    )


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"ca": False}, "its basic constraints say CA:FALSE"),
        ({"ca": None}, "it has no basic constraints"),
        ({"signs": False}, "its key usage lacks keyCertSign"),
    ],
)
def test_no_authority(make_authority: Any, now: datetime, wish: Any, problem: str) -> None:
    key, root = make_authority("Leaf", **wish)
    assert refusal((root,), key, now) == (
        f"'CN=Leaf' is no certificate of an authority: {problem}.\n"
        "Give one with basicConstraints CA:TRUE and keyUsage keyCertSign."
    )


def test_path_too_long(make_authority: Any, now: datetime) -> None:
    root = make_authority("Root", path_length=0)
    key, issuer = make_authority("Issuer", root)
    assert refusal((issuer, root[1]), key, now) == (
        "'CN=Root' is no certificate of an authority: "
        "its path length 0 does not allow the 1 authorities under it.\n"
        "Give one with basicConstraints CA:TRUE and keyUsage keyCertSign."
    )


@pytest.mark.parametrize(
    ("key", "label"),
    [
        (lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048), "RSA 2048"),
        (lambda: ec.generate_private_key(ec.SECP224R1()), "secp224r1"),
    ],
)
def test_weak_authority(make_authority: Any, now: datetime, key: Any, label: str) -> None:
    made, root = make_authority("Weak", key=key())
    assert refusal((root,), made, now) == (
        f"The authority's key 'CN=Weak' is too weak: {label}.\nUse P-256, P-384, P-521 or RSA of at least 3072 bits."
    )


def test_chain_of_strangers(make_authority: Any, now: datetime) -> None:
    key, issuer = make_authority("Issuer", make_authority("Root"))
    _, other = make_authority("Other")
    assert refusal((issuer, other), key, now) == (
        "The authority's chain is broken: 'CN=Issuer' was not signed by 'CN=Other'.\n"
        "Order the file so that each certificate was signed by the next, the root last."
    )


def test_chain_without_root(corporate: Authority, now: datetime) -> None:
    assert refusal((corporate.issuer,), corporate.key, now) == (
        "The authority's chain ends in 'CN=Issuer', which is not self-signed.\n"
        "OpenSSL, and so librdkafka, accepts only a chain up to a self-signed root.\n"
        "Add the root's certificate at the end: --ca-cert issuer.pem --ca-cert root.pem"
    )


def test_key_of_a_type_that_is_not_used() -> None:
    data = keys.to_pem(ed25519.Ed25519PrivateKey.generate())  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(KastellanError) as caught:
        keys.from_pem(data, where="own.key")
    assert message(caught) == (
        "The key own.key is of type Ed25519.\nUse a key of type P-256, P-384, P-521 or RSA of at least 3072 bits."
    )
