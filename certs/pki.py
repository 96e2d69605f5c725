"""The directory of one authority.

authority.key   its key, 0600, encrypted if a passphrase was given
authority.pem   its chain: the certificate that signs first, the root last
ca.pem          the root, which is what everyone else has to trust
issued/<kind>/  the last leaf of every name, so that no name is ever both a host and a user
lock            held by the run that works here
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from certs import authority, files, keys, names, pem
from certs.errors import AuthorityError, CertsError, InvalidNameError, StoreError
from certs.keys import KeyType

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from cryptography import x509

    from certs.authority import Authority
    from certs.names import Identity

DEFAULT_NAME = "Kastellan authority"


@dataclass(frozen=True)
class Pki:
    path: Path

    @property
    def key(self) -> Path:
        return self.path / "authority.key"

    @property
    def chain(self) -> Path:
        return self.path / "authority.pem"

    @property
    def root(self) -> Path:
        return self.path / "ca.pem"

    def record(self, kind: names.Kind, name: str) -> Path:
        return self.path / "issued" / kind / name

    def exists(self) -> bool:
        return self.chain.exists()

    def load(self, *, now: datetime, passphrase: bytes | None = None) -> Authority:
        if not self.exists():
            raise AuthorityError(
                f"There is no authority in {self.path}.", resolution=f"Make one: python -m certs init --pki {self.path}"
            )
        if not self.key.exists():
            raise AuthorityError(
                f"The authority in {self.path} has lost its key.",
                details=f"{self.key} does not exist.",
                resolution="Put the key back; a new authority would have to be trusted by every host and client anew.",
            )
        if files.mode_of(self.key) & 0o077:
            raise AuthorityError(
                f"The authority's key {self.key} can be read by others than its owner.",
                details=f"Its mode is {files.mode_of(self.key):04o}.",
                resolution=f"Repair it: python -m certs init --pki {self.path}",
            )
        return self._read(now=now, passphrase=passphrase)

    def _read(self, *, now: datetime, passphrase: bytes | None) -> Authority:
        chain = pem.certificates(files.read(self.chain, "The authority's chain"), where=self.chain)
        key = keys.from_pem(files.read(self.key, "The authority's key"), where=self.key, passphrase=passphrase)
        return authority.checked(chain, key, now=now)

    def claim(self, identity: Identity) -> None:
        """A user named as a host would have that host's rights, since brokers are super users by name."""
        other = names.Kind.CLIENT if identity.kind is names.Kind.SERVER else names.Kind.SERVER
        if self.record(other, identity.name).exists():
            words = {names.Kind.SERVER: "a host", names.Kind.CLIENT: "a user"}
            raise InvalidNameError(
                f"{identity.name!r} is the name of {words[other]} already, so it cannot be {words[identity.kind]}.",
                details="Both would be the same principal in Kafka.",
                resolution=f"Use another name, or remove {self.record(other, identity.name)} if it is gone for good.",
            )

    def note(self, identity: Identity, leaf: x509.Certificate) -> None:
        record = self.record(identity.kind, identity.name)
        for directory in (record.parents[1], record.parent):
            files.make_directory(directory)
        files.put(record, pem.join([leaf]), files.PUBLIC)


@dataclass(frozen=True)
class Wanted:
    """What `init` was asked for. Nothing given means: whatever is there is fine."""

    name: str | None = None
    key_type: KeyType | None = None
    chain: tuple[x509.Certificate, ...] = ()
    key: keys.PrivateKey | None = None
    passphrase: bytes | None = None


def init(pki: Pki, wanted: Wanted, *, now: datetime, apply: bool = True) -> tuple[Authority | None, list[str]]:
    """Make or take over the authority, or repair modes and copies. Second value: what changed (or would)."""
    done = []
    _refuse_foreign(pki)
    if files.make_directory(pki.path, apply=apply):
        done.append(f"made {pki.path} private")
    if not pki.path.exists():
        return None, [*done, _how(wanted)]
    with files.exclusive(pki.path):
        if not pki.exists():
            if not apply:
                return None, [*done, _how(wanted)]
            return _make(pki, wanted, now=now), [*done, _how(wanted)]
        if pki.key.exists() and files.mode_of(pki.key) != files.PRIVATE:
            done.append("made the authority's key private")
            if not apply:
                return None, done
            pki.key.chmod(files.PRIVATE)
        held = pki.load(now=now, passphrase=wanted.passphrase)
        _compare(pki, held, wanted)
        if files.put(pki.root, pem.join([held.root]), files.PUBLIC, apply=apply):
            done.append(f"wrote {pki.root}")
        return held, done


def _refuse_foreign(pki: Pki) -> None:
    """Its mode will be changed and its key lie there, so it must be a directory for this alone."""
    ours = {path.name for path in (pki.key, pki.chain, pki.root)} | {"lock", "issued"}
    held = {path.name for path in pki.path.iterdir()} if pki.path.is_dir() else set()
    if held and not held & ours:
        raise StoreError(
            f"{pki.path} is not empty and holds no authority.",
            details=f"There is e.g. {min(held)!r}.",
            resolution=f"Give a directory of its own, e.g. {pki.path / 'pki'}",
        )


def _how(wanted: Wanted) -> str:
    return "took over the given authority" if wanted.chain else "made a new authority"


def _make(pki: Pki, wanted: Wanted, *, now: datetime) -> Authority:
    """Key first: a key without certificate has signed nothing, so an interrupted run goes on with it."""
    if wanted.key and wanted.chain:
        made = authority.checked(wanted.chain, wanted.key, now=now)
        _keep_key(pki, made.key, wanted.passphrase)
    else:
        name = names.user_name(wanted.name or DEFAULT_NAME)
        if not pki.key.exists():
            _keep_key(pki, keys.generate(wanted.key_type or KeyType.P256), wanted.passphrase)
        key = keys.from_pem(files.read(pki.key, "The authority's key"), where=pki.key, passphrase=wanted.passphrase)
        made = authority.create(key, name, now=now)
    files.put(pki.root, pem.join([made.root]), files.PUBLIC)
    files.write(pki.chain, pem.join(made.chain), files.PUBLIC, durable=True)
    return made


def _keep_key(pki: Pki, key: keys.PrivateKey, passphrase: bytes | None) -> None:
    if pki.key.exists():
        raise CertsError(
            f"{pki.key} exists without its certificate.",
            details="An authority's key is never overwritten.",
            resolution=f"Put {pki.chain} back, or move the key away if nothing trusts it.",
        )
    files.write(pki.key, keys.to_pem(key, passphrase), files.PRIVATE, replace=False, durable=True)


def _compare(pki: Pki, held: Authority, wanted: Wanted) -> None:
    """A changed wish is refused, never carried out: every host and client trusts the authority that is there."""
    differs = ""
    if wanted.chain and wanted.chain != held.chain:
        differs = f"{authority.subject(held.issuer)!r}, not {authority.subject(wanted.chain[0])!r}"
    elif wanted.key_type and not keys.matches(wanted.key_type, held.issuer.public_key()):
        differs = f"a key of type {keys.label(held.issuer.public_key())}, not {wanted.key_type}"
    elif wanted.name and names.common_name(held.issuer.subject) != wanted.name:
        differs = f"the name {names.common_name(held.issuer.subject)!r}, not {wanted.name!r}"
    if differs:
        raise AuthorityError(
            f"The authority in {pki.path} is another one: it has {differs}.",
            resolution="Use another directory for the new authority, or leave the option out to keep this one.",
        )
