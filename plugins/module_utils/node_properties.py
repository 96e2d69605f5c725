"""What stands in a node's server.properties: one function from the settings to a dict."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import zookeeper_properties
from .properties_text import jaas, plain
from .zookeeper_properties import bracketed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Settings = dict[str, Any]

BROKER, CONTROLLER = "kafka_broker", "kafka_controller"
# Replicas of Kafka's own topics; a smaller cluster has as many as it has brokers.
INTERNAL_REPLICAS = 3
# An authenticated session ends after an hour at the latest, so that a changed password counts for open ones as well.
REAUTHENTICATION_MS = 3_600_000
TIMEOUTS_MS = {
    "broker.session.timeout.ms": 9000,
    "controller.quorum.fetch.timeout.ms": 2000,
    "controller.quorum.election.timeout.ms": 1000,
}
TLS_PROTOCOLS = ("TLSv1.3", "TLSv1.2")
# Forward secrecy and authenticated encryption only; both kinds of keys, since an authority may sign either.
CIPHER_SUITES = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
)
# A voter with an empty disk takes its old self out of the quorum and joins again (KIP-1186).
AUTO_JOIN_SINCE = (4, 2)


def server_properties(settings: Settings) -> dict[str, str]:
    """`settings` is what role kafka hands over (its vars/main.yml); what the user sets in `config` comes last."""
    parts = [_listeners(settings), _tls(settings), _sasl(settings), _authorization(settings), _storage(settings)]
    parts.append(_quorum(settings))
    if BROKER in settings["node"]["roles"]:
        parts.append(_broker(settings))
    merged: dict[str, Any] = {}
    for part in [*parts, settings["config"]]:
        merged.update(part)
    return {name: plain(merged[name]) for name in sorted(merged) if merged[name] is not None}


def listeners_of(settings: Settings) -> list[dict[str, Any]]:
    """Those that this node opens, by its roles."""
    roles = settings["node"]["roles"]
    return [
        listener
        for listener in settings["listeners"]
        if (CONTROLLER if listener["name"] == "CONTROLLER" else BROKER) in roles
    ]


def listeners_in(settings: Settings) -> list[dict[str, Any]]:
    """Those that the cluster has: with ZooKeeper nobody listens for controllers."""
    kraft = settings["mode"] == "kraft"
    return [listener for listener in settings["listeners"] if kraft or listener["name"] != "CONTROLLER"]


def _listeners(settings: Settings) -> Settings:
    own = listeners_of(settings)
    host = settings["node"]["address"]
    protocols = ",".join(f"{listener['name']}:{listener['protocol']}" for listener in listeners_in(settings))
    return {
        "listeners": ",".join(f"{listener['name']}://:{listener['port']}" for listener in own),
        "advertised.listeners": ",".join(
            f"{listener['name']}://{bracketed(host)}:{listener['port']}" for listener in own
        ),
        "listener.security.protocol.map": protocols,
        "inter.broker.listener.name": "BROKER",
    }


def _tls(settings: Settings) -> Settings:
    folder = f"{settings['config_dir']}/ssl"
    made: Settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{folder}/keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{folder}/ca.pem",
        "ssl.enabled.protocols": TLS_PROTOCOLS,
        "ssl.cipher.suites": CIPHER_SUITES,
        "ssl.endpoint.identification.algorithm": "https",
        # Unprefixed, it holds for listeners that speak SSL alone; SASL_SSL has only its prefixed one.
        "ssl.client.auth": "required",
        # Subjects of our authority are the name alone; any other subject stays whole and so matches nobody.
        "ssl.principal.mapping.rules": "RULE:^CN=([^,+]+)$/$1/,DEFAULT",
    }
    for listener in listeners_of(settings):
        made[f"listener.name.{listener['name'].lower()}.ssl.client.auth"] = listener["client_auth"]
    return made


def _sasl(settings: Settings) -> Settings:
    made: Settings = {}
    for listener in listeners_of(settings):
        if not listener["protocol"].startswith("SASL_"):
            continue
        prefix = f"listener.name.{listener['name'].lower()}"
        mechanisms = listener.get("mechanisms") or settings["sasl_mechanisms"]
        made[f"{prefix}.sasl.enabled.mechanisms"] = mechanisms
        made[f"{prefix}.connections.max.reauth.ms"] = REAUTHENTICATION_MS
        for mechanism in mechanisms:
            # SCRAM finds its users in the cluster; PLAIN has no other place for them than this file.
            users = settings["plain_users"] if mechanism == "PLAIN" else {}
            options = {f"user_{name}": password for name, password in sorted(users.items())}
            made[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = jaas(mechanism, **options)
    return made


def super_users(settings: Settings) -> list[str]:
    """The declared ones, then the nodes: between nodes a certificate with the host's name is all there is."""
    return list(dict.fromkeys([*settings["super_users"], *(node["name"] for node in settings["nodes"])]))


def principal(name: str) -> str:
    """Short names everywhere; this is where the type is put before them."""
    return name if name.startswith("User:") else f"User:{name}"


def _authorization(settings: Settings) -> Settings:
    by_mode = {
        "kraft": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "zookeeper": "kafka.security.authorizer.AclAuthorizer",
    }
    return {
        "authorizer.class.name": by_mode[settings["mode"]],
        "allow.everyone.if.no.acl.found": False,
        "super.users": ";".join(principal(name) for name in super_users(settings)),
    }


def _storage(settings: Settings) -> Settings:
    if settings["mode"] == "zookeeper" or BROKER in settings["node"]["roles"]:
        return {"log.dirs": settings["data_dirs"]}
    return {"log.dirs": settings["data_dirs"][:1]}


def controllers(nodes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted((node for node in nodes if CONTROLLER in node["roles"]), key=lambda node: int(node["node_id"]))


def quorum_addresses(settings: Settings) -> list[str]:
    port = next(listener["port"] for listener in settings["listeners"] if listener["name"] == "CONTROLLER")
    return [f"{bracketed(node['address'])}:{port}" for node in controllers(settings["nodes"])]


def _quorum(settings: Settings) -> Settings:
    if settings["mode"] == "zookeeper":
        return zookeeper_properties.broker(settings, TLS_PROTOCOLS, CIPHER_SUITES)
    words = {BROKER: "broker", CONTROLLER: "controller"}
    roles = settings["node"]["roles"]
    made: Settings = {
        "process.roles": [word for role, word in words.items() if role in roles],
        "node.id": settings["node"]["node_id"],
        "controller.listener.names": "CONTROLLER",
        "metadata.log.dir": settings["data_dirs"][0],
        **TIMEOUTS_MS,
    }
    addresses = quorum_addresses(settings)
    if settings["quorum"] == "static":
        voters = zip(controllers(settings["nodes"]), addresses, strict=True)
        made["controller.quorum.voters"] = ",".join(f"{node['node_id']}@{address}" for node, address in voters)
    else:
        made["controller.quorum.bootstrap.servers"] = addresses
        if CONTROLLER in roles and version_tuple(settings["version"]) >= AUTO_JOIN_SINCE:
            made["controller.quorum.auto.join.enable"] = True
    return made


def version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _broker(settings: Settings) -> Settings:
    brokers = sum(BROKER in node["roles"] for node in settings["nodes"])
    replicas = min(INTERNAL_REPLICAS, brokers)
    in_sync = max(1, replicas - 1)
    made: Settings = {
        "auto.create.topics.enable": False,
        "unclean.leader.election.enable": False,
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "broker.rack": settings["node"].get("rack"),
    }
    if version_tuple(settings["version"]) >= (4, 0):
        made["share.coordinator.state.topic.replication.factor"] = replicas
        made["share.coordinator.state.topic.min.isr"] = in_sync
    return made
