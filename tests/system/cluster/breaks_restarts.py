"""Breaks that only a restart of a broker brings about: several with one, each by settings that no other touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.system.cluster.breaking import HOST, Part, Sabotage, restarted
from tests.system.cluster.breaks_rules import keystore, mutual
from validate.security.certificates import chain_of
from validate.security.stage import DENIED

if TYPE_CHECKING:
    from tests.system.cluster.breaking import Ground

# Another than that of the other restarts, so that not one broker alone is seen to turn checks red.
FIRST = "broker-1"
JMX = ("port=7199", "rmi.port=7199", "authenticate=false", "ssl=false")
HEAP_DUMP = "-XX:+HeapDumpOnOutOfMemoryError"
LAX, NAMELESS = "/etc/kafka/sabotage.security", "/etc/kafka/ssl/sabotage.pem"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
WEAK_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"


def replaced(key: str, value: str) -> str:
    """For sed: the setting has this value instead."""
    return f"s/^{key.replace('.', '[.]')}=.*/{key}={value}/"


def lax(_ground: Ground, _host: str) -> dict[str, str]:
    """Java itself refuses what is older than TLS 1.2, whatever Kafka is told."""
    return {LAX: "jdk.tls.disabledAlgorithms=SSLv3\n"}


def nameless(ground: Ground, host: str) -> dict[str, str]:
    with ground.scene() as scene:
        (leaf, *_) = chain_of(scene, mutual(scene, host))
    return {NAMELESS: keystore(leaf, ground, days=300, without=host)}


DOORS = restarted(
    "plain words, a door for JMX, dumps and a weak cage",
    Part(
        "a listener without TLS", frozenset({2, 3}), frozenset({26}),
        edits=("/^listener[.]security[.]protocol[.]map=/s/MTLS:SSL/MTLS:PLAINTEXT/",),
        said={2: f"{HOST} MTLS 9094: it answers Kafka's ApiVersions without TLS", 3: "MTLS:PLAINTEXT"},
    ),
    Part(
        "a door for JMX", frozenset({1, 60}),
        java=tuple(f"-Dcom.sun.management.jmxremote.{one}" for one in JMX),
        said={1: "7199", 60: "jmxremote.port=7199"},
    ),
    Part("dumps of the heap", frozenset({62}), java=(HEAP_DUMP,), said={62: HEAP_DUMP}),
    Part(
        "a weak cage", frozenset({61}), unit=("ProtectSystem=no", "ProtectHome=no"),
        said={61: f"{HOST}: writing /etc: wrote"},
    ),
)  # fmt: skip
PROMISES = restarted(
    "names, sessions, super users, topics, certificates and tokens",
    Part(
        "names that nobody checks", frozenset({9}), edits=(replaced("ssl.endpoint.identification.algorithm", ""),),
        said={9: "'ssl.endpoint.identification.algorithm': ''"},
    ),
    Part(
        "sessions that last for ever", frozenset({24}), edits=("/max[.]reauth[.]ms/d",),
        said={24: f"{HOST}: a session may last 0 ms"},
    ),
    Part("a further super user", frozenset({45}), edits=("s/^super[.]users=.*/&;User:usercc/",),
         said={45: "User:usercc"}),
    Part(
        "topics that come by being named", frozenset({47}), edits=(replaced("auto.create.topics.enable", "true"),),
        said={47: f"{HOST}: auto.create.topics.enable=true"},
    ),
    Part(
        "certificates that nobody asks for", frozenset({13, 14}), frozenset({26}),
        edits=(replaced("listener.name.mtls.ssl.client.auth", "none"),),
        said={13: f"{HOST} MTLS 9094: none: let in", 14: f"{HOST} MTLS 9094: does not ask for a certificate"},
    ),
    Part(
        "tokens at one broker", frozenset({39}), edits=("$a delegation.token.secret.key=sabotage",),
        said={39: f"{HOST}: {DENIED}: DescribeDelegationToken: answered"},
    ),
)  # fmt: skip
OLD_WORDS = restarted(
    "old TLS, weak ciphers, a mechanism too many, prompt refusals and a lacking name",
    Part(
        "TLS 1.1 in place of 1.3", frozenset({4, 5}),
        edits=(replaced("ssl.enabled.protocols", "TLSv1.2,TLSv1.1"),), files=lax,
        java=(f"-Djava.security.properties={LAX}",),
        said={4: f"{FIRST} CLIENT 9092: TLS 1.1 accepted", 5: f"{FIRST} CLIENT 9092: TLSv1_3 is refused"},
    ),
    Part(
        "a cipher of yesterday", frozenset({6}), edits=(f"s/^ssl[.]cipher[.]suites=.*/&,{WEAK_SUITE}/",),
        said={6: f"{FIRST} CLIENT 9092: CBC with SHA-1 accepted"},
    ),
    Part(
        "a mechanism too many", frozenset({20}),
        edits=(
            "s/^listener[.]name[.]client[.]sasl[.]enabled[.]mechanisms=.*/&,PLAIN/",
            f"$a listener.name.client.plain.sasl.jaas.config={PLAIN} required;",
        ),
        said={20: f"{FIRST}: PLAIN: accepted"},
    ),
    Part(
        "refusals without a delay", frozenset({22}), edits=("$a connection.failed.authentication.delay.ms=0",),
        said={22: f"{FIRST}: failed ones are over after"},
    ),
    Part(
        "a certificate without the name", frozenset({8}), files=nameless,
        edits=(f"$a listener.name.mtls.ssl.keystore.location={NAMELESS}",),
        said={8: f"{FIRST} MTLS 9094: wanted"},
    ),
    host=FIRST,
)  # fmt: skip
LAWS = restarted(
    "what has no rule is open, and a controller asks for no certificate",
    # On every name that no rule covers, and on the cluster itself: without that the other part would keep all nodes from
    # this controller, as nobody has a name there.
    Part(
        "what has no rule is open", frozenset({43, 45}), frozenset({50}), perhaps=frozenset({40}),
        edits=(replaced("allow.everyone.if.no.acl.found", "true"),),
        said={
            43: f"{HOST}: {DENIED}: Metadata: UNKNOWN_TOPIC_OR_PARTITION",
            45: f"{HOST}: usercc: DescribeAcls: answered",
        },
    ),
    Part(
        "a controller that asks for no certificate", frozenset({52}), frozenset({50}),
        edits=(replaced("listener.name.controller.ssl.client.auth", "none"),),
        said={52: "does not ask for a certificate"},
    ),
)  # fmt: skip
LAWLESS = restarted(
    "nobody asks who may",
    # Where the proof's own topic has its leader is chance.
    Part(
        "a broker without an authorizer", frozenset({40, 44, 45, 49}), perhaps=frozenset({29}),
        edits=(replaced("authorizer.class.name", ""),),
        said={45: f"{HOST}: usercc: DescribeAcls: SECURITY_DISABLED", 49: f"{HOST}: no word of it in its log files"},
    ),
)  # fmt: skip
RESTARTS: tuple[Sabotage, ...] = (DOORS, PROMISES, OLD_WORDS, LAWS, LAWLESS)
