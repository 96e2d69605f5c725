"""Transport: certificates that clients may believe, and certificates that brokers must not."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, SignatureAlgorithmOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from common.errors import UnreadableError
from validate.security import tls
from validate.security.certificates import authorities, chain_of, names_of, subject_for
from validate.security.registry import Evidence, check
from validate.security.stage import PREFIX
from validate.security.strangers import FOR_NEITHER, MOMENT, Stranger, own_authority
from validate.security.transport import BOTH, certificate_for
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

    from validate.cluster import Host
    from validate.security.scene import Scene, Target

EC_BITS, RSA_BITS, DIGEST_BYTES = 256, 2048, 32
# Of 397 days a leaf is good for; one more for clocks, as browsers allow.
DAYS_LEFT, DAYS_MOST = 30, 398
# Where the play keeps the cluster's own authority, beside cluster.json; whom its certificates of the proof are for.
PKI, NOBODY_USER = "pki", f"{PREFIX}nobody"


@check(
    7, "The chain is complete, leaf first", tried="read the chain off the wire and verify each link",
    where=BOTH, expected="each certificate is signed by the next, the last by a known authority",
    fix="The keystore must hold the leaf first, then every intermediate: run the play again.",
)  # fmt: skip
def chain(scene: Scene, see: Evidence) -> None:
    known = authorities(scene.ca)
    for target in scene.targets():
        found = chain_of(scene, target)
        if not see.twin(bool(found), f"{target}: {len(found)} certificates"):
            continue
        issuers = [*found[1:], *[a for a in known if a.subject == found[-1].issuer][:1]]
        broken = [one.subject.rfc4514_string() for one, by in zip(found, issuers, strict=False) if not signed(one, by)]
        whole = len(issuers) == len(found) and not broken
        see.expect(whole, f"{target}: {' <- '.join(one.subject.rfc4514_string() for one in found)}")


def signed(one: x509.Certificate, by: x509.Certificate) -> bool:
    try:
        one.verify_directly_issued_by(by)
    except (ValueError, TypeError, Exception):  # noqa: BLE001  whatever it is, it is no good signature
        return False
    return True


@check(
    8, "Certificates carry the advertised name and address", tried="compare the names in each leaf with what "
    "Metadata advertises", where=BOTH, expected="host name and address stand in the subject alternative name",
    fix="Run the play again: names come from the inventory (kafka_certificate_aliases adds more).",
)  # fmt: skip
def names(scene: Scene, see: Evidence) -> None:
    advertised: dict[int | None, str] = {}
    for broker in scene.cluster.brokers:
        advertised |= advertised_by(scene, broker)
    for target in scene.targets():
        found = chain_of(scene, target)
        if not see.twin(bool(found), f"{target}: it shows a certificate"):
            continue
        have = names_of(found[0])
        wanted = {target.host.name, target.host.address, advertised.get(target.host.node_id, target.host.name)}
        see.expect(wanted <= have, f"{target}: wanted {sorted(wanted)}, the leaf has {sorted(have)}")


def advertised_by(scene: Scene, host: Host) -> dict[int | None, str]:
    told = scene.admin(host).ask(MetadataRequest(topics=[], allow_auto_topic_creation=False), 9)
    return {broker.node_id: broker.host for broker in told.brokers}


@check(
    9, "A wrong name is refused", tried="a handshake with the right authority and a name that is not the broker's; "
    "DescribeConfigs for what brokers and controllers do among themselves", where=BOTH,
    expected="the client breaks off; the right name is accepted; ssl.endpoint.identification.algorithm is https",
    fix="Set ssl.endpoint.identification.algorithm=https on brokers and clients.",
)  # fmt: skip
def wrong_name(scene: Scene, see: Evidence) -> None:
    for target in scene.targets():
        for told, well in (("wrong.kastellan.invalid", False), (target.host.address, True)):
            said = handshake(scene, target, tls.context(scene.ca, certificate_for(scene, target)), told)
            if well:
                see.twin(said == "", f"{target}: {told} is accepted {said}")
            else:
                distrusted(see, f"{target}: {told}", said)
    for host, found in scene.in_force(see):
        every = {k: v for k, v in found.items() if k.endswith("ssl.endpoint.identification.algorithm")}
        # Java takes it in capitals as well, and ZooKeeper's client has it in capitals by default.
        see.expect(bool(every) and {(v or "").lower() for v in every.values()} == {"https"}, f"{host.name}: {every}")


def handshake(scene: Scene, target: Target, context: ssl.SSLContext, name: str = "") -> str:
    """Empty if it came about, else why not."""
    try:
        scene.session(target, context, name=name).close()
    except OSError as error:  # those of ssl are among them
        return str(error) or repr(error)
    return ""


def distrusted(see: Evidence, told: str, said: str) -> None:
    """It is the client that has to break off, at the certificate: before it has seen one it has refused nothing."""
    if said and "certificate verify failed" not in said:
        see.unknown(f"{told}: {said}")
    else:
        see.expect(said != "", f"{told}: {said or 'accepted'}")


@check(
    10, "A client that trusts another authority refuses the broker", tried="a handshake that trusts an authority "
    "made up for it", where=BOTH, expected="the client breaks off; with the cluster's authority it does not",
    fix="Brokers must present certificates of the cluster's own authority only.",
)  # fmt: skip
def other_authority(scene: Scene, see: Evidence) -> None:
    stranger = Stranger(scene.folder)
    for target in scene.targets():
        said = handshake(scene, target, tls.context(stranger.ca, certificate_for(scene, target)))
        distrusted(see, str(target), said)
        said = handshake(scene, target, tls.context(scene.ca, certificate_for(scene, target)))
        see.twin(said == "", f"{target}: accepted with the cluster's authority {said}")


@check(
    11, "Certificates that are over, or not valid yet, are refused", tried="verify the chain off the wire with the "
    "clock set before its begin, to now and past its end", where=BOTH,
    expected="valid now, invalid before and after",
    fix="Issue certificates with a bounded lifetime (kafka_certificate_days).",
)  # fmt: skip
def shifted_clock(scene: Scene, see: Evidence) -> None:
    store = Store(authorities(scene.ca))
    for target in scene.targets():
        found = chain_of(scene, target)
        if not see.twin(bool(found), f"{target}: it shows a certificate"):
            continue
        leaf, day = found[0], timedelta(days=1)
        whens = {
            "a day before its begin": leaf.not_valid_before_utc - day,
            "now": datetime.now(UTC),
            "a day past its end": leaf.not_valid_after_utc + day,
        }
        for told, when in whens.items():
            verifier = PolicyBuilder().store(store).time(when).build_server_verifier(subject_for(target.host.address))
            try:
                verifier.verify(leaf, found[1:])
                said = "accepted"
            except VerificationError as error:
                said = str(error)
            if told == "now":
                see.twin(said == "accepted", f"{target}: now: {said}")
            else:
                see.expect(said != "accepted", f"{target}: {told}: {said}")


@check(
    12, "Keys and certificates are strong and long enough valid", tried="read each leaf off the wire", where=BOTH,
    expected=f"P-256 or RSA {RSA_BITS} at least, SHA-256 at least, for signatures and serverAuth (between nodes for "
    f"clientAuth, too), {DAYS_LEFT} days left of {DAYS_MOST} at most",
    fix="Renew: the play does it below kafka_certificate_days_min; kafka_certificate_key_type chooses the key.",
)  # fmt: skip
def strength(scene: Scene, see: Evidence) -> None:
    for target in scene.targets():
        found = chain_of(scene, target)
        if not see.twin(bool(found), f"{target}: it shows a certificate"):
            continue
        leaf = found[0]
        key, digest = leaf.public_key(), leaf.signature_hash_algorithm
        days = (leaf.not_valid_after_utc - datetime.now(UTC)).days
        told = f"{type(key).__name__.strip('_')} {_bits(key)} bits, {digest.name if digest else '?'}, {days} days left"
        weak = weaknesses(leaf, inner=target.listener.inner)
        see.expect(not weak, f"{target}: {told}{'; ' if weak else ''}{', '.join(weak)}")


def _bits(key: CertificatePublicKeyTypes) -> int:
    return key.key_size if isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey)) else EC_BITS


def weaknesses(leaf: x509.Certificate, *, inner: bool) -> list[str]:
    """`inner`: on a listener between nodes it is a client's, too."""
    key, digest, modern = (
        leaf.public_key(),
        leaf.signature_hash_algorithm,
        (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey),
    )
    wanted = {ExtendedKeyUsageOID.SERVER_AUTH} | ({ExtendedKeyUsageOID.CLIENT_AUTH} if inner else set())
    try:
        uses = set(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        uses = set()
    try:
        signs = leaf.extensions.get_extension_for_class(x509.KeyUsage).value.digital_signature
    except x509.ExtensionNotFound:
        signs = True  # for anything
    # Signatures of these kinds of keys have their digest within.
    within = leaf.signature_algorithm_oid in {SignatureAlgorithmOID.ED25519, SignatureAlgorithmOID.ED448}
    tests = {
        "a short key": isinstance(key, modern)
        or _bits(key) >= (RSA_BITS if isinstance(key, rsa.RSAPublicKey) else EC_BITS),
        "a weak digest": within or (digest is not None and digest.digest_size >= DIGEST_BYTES),
        "not for signatures": signs,
        f"not for {'servers and clients' if inner else 'servers'}": wanted <= uses,
        f"less than {DAYS_LEFT} days left": (leaf.not_valid_after_utc - datetime.now(UTC)).days >= DAYS_LEFT,
        f"longer than {DAYS_MOST} days": leaf.not_valid_after_utc - leaf.not_valid_before_utc
        <= timedelta(days=DAYS_MOST),
    }
    return [told for told, well in tests.items() if not well]


@check(
    13, "Where certificates are asked for, wrong ones are refused", tried="no certificate, a self-signed one, one of "
    "another authority, an expired one of another authority; of the cluster's own authority an expired one, and one "
    "that is not for clients", where=BOTH,
    expected="each is refused; a declared user's is let in, and so is the twin of the last two, which the cluster's "
    "own authority signs for nobody, for minutes", fix="Set ssl.client.auth=required on the listener.",
)  # fmt: skip
def wrong_certificates(scene: Scene, see: Evidence) -> None:
    user = scene.cluster.admin_user
    stranger = Stranger(scene.folder)
    wrong = {
        "none": None,
        "self-signed": stranger.issue(user, own=True),
        "of another authority": stranger.issue(user),
        "expired, of another authority": stranger.issue(user, over=True),
    }
    targets = [t for t in scene.targets() if t.listener.client_auth == "required"]
    for target in targets:
        for told, certificate in wrong.items():
            turned_away(see, f"{target}: {told}", greeted(scene, target, certificate))
        said = greeted(scene, target, scene.certificate(user))
        see.twin(said == "", f"{target}: the certificate of {user} is let in {said}")
    if targets:
        _wrong_of_its_own(scene, see, targets)


def _wrong_of_its_own(scene: Scene, see: Evidence, targets: list[Target]) -> None:
    """A server that takes every certificate of the right authority is not seen by a stranger's."""
    try:
        issuer = own_authority(scene.folder, scene.cluster.state_dir / PKI)
    except UnreadableError as why:
        see.unknown(f"its own expired ones, and those not for clients, were not tried: {why.brief}")
        return
    wrong = {
        "its own, expired": issuer.issue(NOBODY_USER, over=True, lasts=MOMENT),
        "its own, not for clients": issuer.issue(NOBODY_USER, purposes=FOR_NEITHER, lasts=MOMENT),
    }
    good = issuer.issue(NOBODY_USER, purposes=(ExtendedKeyUsageOID.CLIENT_AUTH,), lasts=MOMENT)
    for target in targets:
        said = greeted(scene, target, good)
        if see.twin(said == "", f"{target}: its own for nobody, good for minutes, is let in {said}"):
            for told, certificate in wrong.items():
                turned_away(see, f"{target}: {told}", greeted(scene, target, certificate))


def greeted(scene: Scene, target: Target, certificate: tuple[Path, Path] | None) -> str:
    """Empty if a Kafka request is answered; with TLS 1.3 a client hears only then that its certificate was refused."""
    try:
        with scene.session(target, tls.context(scene.ca, certificate)) as session:
            session.ask(ApiVersionsRequest(), 0)
            return ""
    except (NoAnswer, ssl.SSLError, OSError) as error:
        return str(error) or repr(error)


# A broker that hangs, or is not there at all.
NOBODY = ("silent", "timed out", "Connection refused", "No route to host", "unreachable")


def turned_away(see: Evidence, told: str, said: str) -> None:
    """Silence is no refusal, and neither is a port where nobody listens."""
    if any(word in said for word in NOBODY):
        see.unknown(f"{told}: {said}")
    else:
        see.expect(said != "", f"{told}: {said or 'let in'}")
