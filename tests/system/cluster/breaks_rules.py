"""Breaks by the administrator's own messages: rules, users and passwords, what is logged, certificates that are shown."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    IncrementalAlterConfigsRequest,
)

from common.wait import wait_until
from tests.system.cluster.breaking import HOST, SEEN_S, Ground, Sabotage, written
from validate.security.authentication import ABSENT, tried_login
from validate.security.certificates import chain_of
from validate.security.stage import GROUP, MECHANISMS, PREFIX, TOPIC, TRANSACTION, Acl, Stage
from validate.security.strangers import own_authority
from validate.security.transport_certificates import PKI

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from validate.cluster import Host
    from validate.security.scene import Scene, Target

SET, DELETE = 0, 1
BROKER, BROKER_LOGGER = 4, 8
NO_USER = 91
KAFKA_CLUSTER = "kafka-cluster"
EVERYBODY = frozenset({26, 46})  # what any rule for everybody is seen by


def ruled(acl: Acl) -> Callable[[Ground], contextlib.AbstractContextManager[None]]:
    """A rule that nobody declared."""

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        with ground.scene() as scene:
            stage = Stage(scene)
            try:
                stage.grant(acl)
                yield
            finally:
                stage.revoke(acl)

    return act


def for_all(
    name: str, checks: set[int], kind: str, on: str, operation: str, *, beside: set[int] | None = None,
    pattern: str = "literal",
) -> Sabotage:  # fmt: skip
    """A right that everybody gets: whoever looks for such rules sees it, and who tries that operation."""
    acl = Acl("*", kind, on, operation, pattern=pattern)
    return Sabotage(name, frozenset(checks), ruled(acl), EVERYBODY | frozenset(beside or ()))


RULES = (
    Sabotage("a stray rule", frozenset({46}), ruled(Acl("usercc", "Topic", "kastellan-stray", "Read"))),
    Sabotage("a stray rule for everybody", EVERYBODY, ruled(Acl("*", "Topic", "kastellan-stray", "Read"))),
    for_all(
        "everybody may read the proof's topics", {29}, "Topic", PREFIX, "Read", beside={40, 49}, pattern="prefixed"
    ),
    # Writing implies describing, which is what asking for offsets and names takes.
    for_all("everybody may write", {30}, "Topic", TOPIC, "Write", beside={29, 40}),
    for_all("everybody may describe", {31, 40, 42, 48}, "Topic", TOPIC, "Describe", beside={29}),
    for_all("everybody may make topics", {32}, "Topic", PREFIX, "Create", pattern="prefixed"),
    for_all("everybody may see a topic's settings", {33}, "Topic", TOPIC, "DescribeConfigs"),
    for_all("everybody may describe a group", {34}, "Group", GROUP, "Describe"),
    for_all("everybody may describe a transaction", {35}, "TransactionalId", TRANSACTION, "Describe"),
    for_all("everybody may write idempotently", {36}, "Cluster", KAFKA_CLUSTER, "IdempotentWrite"),
    for_all("everybody may see brokers' settings", {37}, "Cluster", KAFKA_CLUSTER, "DescribeConfigs"),
    # With it one is a broker to brokers, and a controller to controllers.
    for_all("everybody may do what brokers do", {38, 41}, "Cluster", KAFKA_CLUSTER, "ClusterAction", beside={50}),
    for_all("everybody may describe the cluster", {23, 37, 45, 50}, "Cluster", KAFKA_CLUSTER, "Describe"),
    Sabotage(
        "a user may ask controllers", frozenset({50}), ruled(Acl("usercc", "Cluster", KAFKA_CLUSTER, "Describe")),
        beside=frozenset({46}), said={50: "usercc: DescribeQuorum: answered"},
    ),
)  # fmt: skip


@contextlib.contextmanager
def unlogged(ground: Ground) -> Iterator[None]:
    """Denials are told at INFO."""

    def level(operation: int, value: str | None) -> None:
        for host in scene.cluster.brokers:
            altered(scene, host, BROKER_LOGGER, "kafka.authorizer.logger", operation, value)

    with ground.scene() as scene:
        try:
            level(SET, "ERROR")
            yield
        finally:
            level(DELETE, None)


def altered(scene: Scene, host: Host, kind: int, name: str, operation: int, value: str | None) -> None:
    change = (kind, str(host.node_id), [(name, operation, value)])
    answer = scene.admin(host).ask(IncrementalAlterConfigsRequest(resources=[change], validate_only=False), 1)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


def credential(scene: Scene, user: str, mechanism: str, password: str, iterations: int) -> None:
    number, algorithm = MECHANISMS[mechanism]
    salt = secrets.token_bytes(24)
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[(user, number, iterations, salt, salted)])
    (result,) = Stage(scene).admin.ask(request, 0).results
    assert result.error_code == 0, result.error_message
    host = scene.cluster.brokers[0]
    known = wait_until(lambda: tried_login(scene, user, password, host, mechanism).well, timeout_s=SEEN_S, every_s=0.2)
    assert known, f"{user} is not let in with the password that it was just given"


def weak_password(password: str, *, mechanism: str) -> Callable[[Ground], contextlib.AbstractContextManager[None]]:
    """The validator's, by one mechanism alone; then its own again, at the same cost."""

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        with ground.scene() as scene:
            user = scene.cluster.validator_user
            told = scene.admin().ask(DescribeUserScramCredentialsRequest(users=[(user,)]), 0)
            infos = {info.mechanism: info.iterations for one in told.results for info in one.credential_infos}
            cost = infos[MECHANISMS[mechanism][0]]
            try:
                credential(scene, user, mechanism, password, cost)
                yield
            finally:
                credential(scene, user, mechanism, scene.password(user), cost)

    return act


@contextlib.contextmanager
def old_user(ground: Ground) -> Iterator[None]:
    with ground.scene() as scene:
        stage = Stage(scene)
        try:
            stage.add_user(ABSENT, "wrong")
            stage.await_everywhere(ABSENT)
            yield
        finally:
            stage.remove_users([ABSENT])


LOGINS = (
    Sabotage(
        "a password that is easily guessed", frozenset({17}), weak_password("wrong", mechanism="SCRAM-SHA-256"),
        said={17: "SCRAM-SHA-256: let in"},
    ),
    Sabotage("an old user is still there", frozenset({18}), old_user, said={18: f"{ABSENT}: let in"}),
    # Its own password does not open any more, so who has to log in as it to see more cannot.
    Sabotage(
        "a user without a password", frozenset({19}), weak_password("", mechanism="SCRAM-SHA-512"),
        beside=frozenset({45}), said={19: "no password: let in"},
    ),
    Sabotage("denials that nobody writes down", frozenset({49}), unlogged),
)  # fmt: skip

KEYSTORE = "/etc/kafka/ssl/sabotage.pem"


def keystore(old: x509.Certificate, ground: Ground, *, days: int, without: str = "", twice: bool = False) -> str:
    """Key and chain in place of a leaf's, by the cluster's own authority. `without`: a name that it lacks; `twice`: a
    second authority of the same name behind it, which did not sign it.
    """
    state = ground.described().state_dir
    issuer = own_authority(state, state / PKI)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    whole = (
        key.public_key(),
        x509.random_serial_number(),
        now - timedelta(hours=1),
        now + timedelta(days=days, hours=1),
    )
    builder = x509.CertificateBuilder(old.issuer, old.subject, *whole)
    for extension in old.extensions:
        value: x509.ExtensionType = extension.value
        if isinstance(value, x509.SubjectAlternativeName):
            value = x509.SubjectAlternativeName([one for one in value if str(one.value) != without])
        elif isinstance(value, x509.SubjectKeyIdentifier):
            value = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = builder.add_extension(value, critical=extension.critical)
    chain = [builder.sign(issuer._key, hashes.SHA256())]
    if twice:
        namesake = x509.CertificateBuilder(old.issuer, old.issuer, *whole)
        namesake = namesake.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        chain.append(namesake.sign(key, hashes.SHA256()))
    secret = key.private_bytes(Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return b"".join([secret, *(one.public_bytes(Encoding.PEM) for one in chain)]).decode()


def mutual(scene: Scene, host: str = HOST) -> Target:
    return next(one for one in scene.targets(inner=False) if one.host.name == host and one.listener.name == "MTLS")


def shown(*, days: int, twice: bool = False) -> Callable[[Ground], contextlib.AbstractContextManager[None]]:
    """Another certificate on one listener of the running broker, of the same name: Kafka takes it without a restart."""
    setting = "listener.name.mtls.ssl.keystore.location"

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        with ground.scene() as scene:
            target = mutual(scene)
            old = chain_of(scene, target)

            def comes(*, new: bool) -> bool:
                return wait_until(lambda: (chain_of(scene, target) != old) is new, timeout_s=SEEN_S, every_s=0.2)

            try:
                ground.root(written(KEYSTORE, keystore(old[0], ground, days=days, twice=twice)))
                altered(scene, target.host, BROKER, setting, SET, KEYSTORE)
                assert comes(new=True), "the old certificate is still shown"
                yield
            finally:
                try:
                    altered(scene, target.host, BROKER, setting, DELETE, None)
                    assert comes(new=False), "the old certificate is not shown again"
                finally:
                    ground.mend([f"rm -f {KEYSTORE}"])

    return act


CERTIFICATES = (
    Sabotage(
        "a certificate that is soon over", frozenset({12}), shown(days=5), said={12: "5 days left; less than"}
    ),
    Sabotage(
        "a chain with a stranger in it", frozenset({7}), shown(days=300, twice=True), said={7: f"{HOST} MTLS"}
    ),
)  # fmt: skip
BY_MESSAGES = (*RULES, *LOGINS, *CERTIFICATES)
