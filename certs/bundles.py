"""Client bundles on the controller: `<clients>/<user>/` with key, certificate and authority, as PEM and as PKCS#12.

Only what belongs to the PKI is touched: other files in a user's directory are someone else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from certs import files, keys, pem, stores
from certs.errors import KastellanError, StoreError
from certs.keys import KeyType
from certs.names import client
from certs.renewal import FORCED, Reason, needs_renewal
from certs.signing import NO_AUTHORITY, Outcome, refuse_twice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from pathlib import Path

    from cryptography import x509

    from certs.authority import Authority
    from certs.names import Identity
    from certs.pki import Pki

KEY, CERTIFICATE, ROOT = "key.pem", "cert.pem", "ca.pem"
KEYSTORE, TRUSTSTORE = "keystore.p12", "truststore.p12"


@dataclass(frozen=True)
class Options:
    key_type: KeyType | None = None
    """None: P-256 for a new key, and any strong one that is there stays."""
    lifetime: timedelta | None = None
    store_password: bytes | None = None
    force: bool = False


def issue(
    pki: Pki,
    signer: Authority | None,
    clients: Path,
    users: Sequence[str],
    *,
    now: datetime,
    options: Options | None = None,
    apply: bool = True,
) -> list[Outcome]:
    """Every name is judged before the first bundle is written. A new certificate always comes with a new key."""
    identities = [client(user) for user in users]
    refuse_twice(users)
    for identity in identities:
        pki.claim(identity)
    chosen = options or Options()
    if chosen.store_password is not None:
        stores.checked_password(chosen.store_password)
    files.make_directory(clients, tighten=False, apply=apply)
    return [_issue_one(pki, signer, clients, identity, chosen, now=now, apply=apply) for identity in identities]


def _issue_one(
    pki: Pki,
    signer: Authority | None,
    clients: Path,
    identity: Identity,
    options: Options,
    *,
    now: datetime,
    apply: bool,
) -> Outcome:
    directory = clients / identity.name
    key, held = _look(directory)
    if signer is None:
        return Outcome(identity, (NO_AUTHORITY,), held)
    reasons = _due(key, held, identity, signer, options, now=now)
    repairs = (
        [Reason("mode", f"{directory} was open to others")] if files.make_directory(directory, apply=apply) else []
    )
    if reasons or key is None:
        _refuse_stale_stores(directory, options)
        if not apply:
            return Outcome(identity, tuple(reasons), held)
        key = keys.generate(options.key_type or KeyType.P256)
        held = signer.leaf(identity, key.public_key(), now=now, lifetime=options.lifetime)
    wanted = {
        KEY: (keys.to_pem(key), files.PRIVATE),
        CERTIFICATE: (pem.join(held), files.PUBLIC),
        ROOT: (pem.join([signer.root]), files.PUBLIC),
    }
    repairs += [
        Reason("repair", f"{name} was missing, changed or had a wrong mode")
        for name, (data, mode) in wanted.items()
        if files.put(directory / name, data, mode, apply=apply)
    ]
    if options.store_password is not None:
        repairs += _stores(directory, key, held, signer, options.store_password, apply=apply)
    if apply:
        pki.note(identity, held[0])
    return Outcome(identity, tuple(reasons or repairs), held)


def _refuse_stale_stores(directory: Path, options: Options) -> None:
    """A new key beside stores with the old one would be two bundles in one directory."""
    held = [name for name in (KEYSTORE, TRUSTSTORE) if (directory / name).exists()]
    if held and options.store_password is None:
        raise StoreError(
            f"{directory / held[0]} would keep the old key: no password was given for it.",
            resolution="Give --password-file FILE, or remove the .p12 files if nobody uses them.",
        )


def _look(directory: Path) -> tuple[keys.PrivateKey | None, tuple[x509.Certificate, ...]]:
    """What lies there. Files that cannot be understood are as good as missing: they are made anew."""
    try:
        key = keys.from_pem(files.read(directory / KEY, "key"), where=directory / KEY)
    except KastellanError:
        key = None
    try:
        held = pem.certificates(files.read(directory / CERTIFICATE, "certificate"), where=directory / CERTIFICATE)
    except KastellanError:
        held = ()
    return key, held


def _due(
    key: keys.PrivateKey | None,
    held: tuple[x509.Certificate, ...],
    identity: Identity,
    signer: Authority,
    options: Options,
    *,
    now: datetime,
) -> list[Reason]:
    reasons = needs_renewal(held, identity=identity, chain=signer.chain, now=now, public_key=key)
    if key is None and held:
        reasons.append(Reason("key", "its private key is missing"))
    if key is not None and options.key_type and not keys.matches(options.key_type, key):
        reasons.append(Reason("key", f"its key is {keys.label(key)}, not {options.key_type}"))
    return reasons or ([FORCED] if options.force else [])


def _stores(
    directory: Path,
    key: keys.PrivateKey,
    held: tuple[x509.Certificate, ...],
    signer: Authority,
    password: bytes,
    *,
    apply: bool,
) -> list[Reason]:
    """Salts make every store differ, so contents are compared, not bytes."""
    repairs = []
    for name, wanted_key, wanted in ((KEYSTORE, key, held), (TRUSTSTORE, None, (signer.root,))):
        path = directory / name
        if _store_is_good(path, wanted_key, wanted, password):
            continue
        repairs.append(Reason("store", f"{name} was missing, changed or had another password or mode"))
        if apply:
            data = stores.keystore(key, held, password) if wanted_key else stores.truststore(wanted, password)
            files.write(path, data, files.PRIVATE)
    return repairs


def _store_is_good(
    path: Path, key: keys.PrivateKey | None, wanted: tuple[x509.Certificate, ...], password: bytes
) -> bool:
    if not path.is_file() or files.mode_of(path) != files.PRIVATE:
        return False
    try:
        store = stores.load(files.read(path, "store"), password, where=path)
    except KastellanError:
        return False
    if key is None or store.key is None:
        return key is store.key and stores.holds(store) == wanted
    same_key = isinstance(store.key, keys.PrivateKey) and keys.public_bytes(store.key) == keys.public_bytes(key)
    return same_key and stores.holds(store) == wanted
