"""What differs with ZooKeeper: a server's zoo.cfg, what a broker says of it, and what must hold beforehand."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from . import zookeeper_elsewhere

if TYPE_CHECKING:
    from collections.abc import Mapping

Settings = dict[str, Any]

SESSION_MS = 18_000
TICK_MS = 2_000
ID_MAX = 255
NETTY_CLIENT = "org.apache.zookeeper.ClientCnxnSocketNetty"
NETTY_SERVER = "org.apache.zookeeper.server.NettyServerCnxnFactory"
X509 = "org.apache.zookeeper.server.auth.X509AuthenticationProvider"
# Settings of the one mode that mean nothing in the other, by how they begin.
KRAFT_ONLY = (
    "broker.heartbeat.interval.ms", "broker.session.timeout.ms", "controller.listener.names", "controller.quorum.",
    "group.share.", "initial.broker.registration.timeout.ms", "metadata.log.", "metadata.max.", "node.id",
    "process.roles", "share.coordinator.",
)  # fmt: skip
ZOOKEEPER_ONLY = ("authorizer.zookeeper.", "broker.id", "control.plane.listener.name", "zookeeper.")


def members(names: list[str], hostvars: Mapping[str, Any]) -> list[Settings]:
    """What all must know of every server. Role defaults are not among hostvars, so they are repeated here."""
    found = []
    for name in names:
        variables = hostvars[name]
        login = variables.get("ansible_host", name)
        found.append({
            "name": name,
            "login_address": login,
            "address": variables.get("zookeeper_advertised_host") or login,
            "id": variables.get("zookeeper_id"),
            "port": int(variables.get("zookeeper_client_port") or 2182),
            "inner_ports": [
                int(variables.get(f"zookeeper_{word}_port") or port)
                for word, port in (("quorum", 2888), ("election", 3888))
                if len(names) > 1
            ],
        })  # fmt: skip
    return found


def broker(settings: Settings, protocols: tuple[str, ...], ciphers: tuple[str, ...]) -> Settings:
    """Lines of server.properties. ZooKeeper's client takes no list of protocols but the first as its context's."""
    return {
        "broker.id": settings["node"]["node_id"],
        "broker.id.generation.enable": False,
        "zookeeper.connect": connect_string(settings["zookeeper"]),
        "zookeeper.session.timeout.ms": SESSION_MS,
        "zookeeper.connection.timeout.ms": SESSION_MS,
        # Nodes that Kafka makes belong to whoever has the brokers' subject.
        "zookeeper.set.acl": True,
        **client_tls(settings["config_dir"], protocols, ciphers),
    }


def connect_string(zookeeper: Settings) -> str:
    servers = ",".join(f"{bracketed(member['address'])}:{member['port']}" for member in zookeeper["members"])
    return f"{servers}{zookeeper['chroot']}"


def client_tls(config_dir: str, protocols: tuple[str, ...], ciphers: tuple[str, ...]) -> Settings:
    """For brokers, and as a file of its own for the tools that take --zk-tls-config-file."""
    return {
        "zookeeper.clientCnxnSocket": NETTY_CLIENT,
        "zookeeper.ssl.client.enable": True,
        "zookeeper.ssl.protocol": protocols[0],
        "zookeeper.ssl.enabled.protocols": protocols,
        "zookeeper.ssl.cipher.suites": ciphers,
        "zookeeper.ssl.endpoint.identification.algorithm": "HTTPS",
        "zookeeper.ssl.keystore.type": "PEM",
        "zookeeper.ssl.keystore.location": f"{config_dir}/ssl/zookeeper.pem",
        "zookeeper.ssl.truststore.type": "PEM",
        "zookeeper.ssl.truststore.location": f"{config_dir}/ssl/zookeeper-ca.pem",
    }


def server(settings: Settings, protocols: tuple[str, ...], ciphers: tuple[str, ...]) -> Settings:
    """zoo.cfg of one server; `settings` is what role zookeeper hands over (its vars/main/settings.yml)."""
    made: Settings = {
        "tickTime": TICK_MS,
        # In ticks: a member may take 20 s to load a large snapshot from its leader, and be 10 s behind.
        "initLimit": 10,
        "syncLimit": 5,
        "dataDir": settings["data_dir"],
        "dataLogDir": settings["transaction_log_dir"],
        "autopurge.snapRetainCount": settings["snapshots_kept"],
        "autopurge.purgeInterval": settings["purge_interval_h"],
        "maxClientCnxns": settings["connections_max"],
        # No clientPort: there is no plaintext port.
        "secureClientPort": settings["client_port"],
        "serverCnxnFactory": NETTY_SERVER,
        "authProvider.x509": X509,
        "admin.enableServer": False,
        "4lw.commands.whitelist": "srvr",
        "reconfigEnabled": False,
    }
    for prefix in ("ssl", "ssl.quorum"):
        made |= {
            f"{prefix}.protocol": protocols[0],
            f"{prefix}.enabledProtocols": protocols,
            f"{prefix}.ciphersuites": ciphers,
            f"{prefix}.clientAuth": "need",
            f"{prefix}.keyStore.type": "PEM",
            f"{prefix}.keyStore.location": f"{settings['config_dir']}/ssl/keystore.pem",
            f"{prefix}.trustStore.type": "PEM",
            f"{prefix}.trustStore.location": f"{settings['config_dir']}/ssl/ca.pem",
        }
    if len(settings["members"]) > 1:
        ports = f"{settings['quorum_port']}:{settings['election_port']}"
        made |= {f"server.{member['id']}": f"{bracketed(member['address'])}:{ports}" for member in settings["members"]}
        made["sslQuorum"] = True
    return {**made, **settings["config"]}


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def ensemble_problems(found: list[Settings]) -> list[str]:
    problems, owners = [], defaultdict(list)
    for member in found:
        text = str(member["id"] if member["id"] is not None else "")
        if not text:
            problems.append(f"{member['name']} has no zookeeper_id: give every host of group zookeeper its own number.")
        elif not text.isdigit() or not 1 <= int(text) <= ID_MAX:
            problems.append(f"{member['name']} has zookeeper_id {member['id']!r}: use a number from 1 to {ID_MAX}.")
        else:
            owners[int(text)].append(member["name"])
    for number, names in sorted(owners.items()):
        if len(names) > 1:
            problems.append(f"zookeeper_id {number} is given to {' and '.join(names)}: ids are unique.")
    return problems


def ensemble_warnings(found: list[Settings]) -> list[str]:
    count = len(found)
    if count and count % 2 == 0:
        return [
            (
                f"{count} ZooKeepers survive the loss of {(count - 1) // 2}, as {count - 1} do: an even number adds "
                "nothing to that."
            )
        ]
    return []


def mode_problems(context: Settings) -> list[str]:
    """Of the cluster's description: the groups and settings of one mode stand beside the other mode's."""
    zookeeper = context.get("zookeeper") or {}
    zookeepers = zookeeper.get("members") or []
    told = zookeeper_elsewhere.problems(zookeeper, context["mode"]) if zookeeper else []
    if context["mode"] == "kraft":
        problems = (
            [
                (
                    f"The group zookeeper has {len(zookeepers)} hosts and kafka_mode is kraft: set kafka_mode: "
                    "zookeeper, or empty that group."
                )
            ]
            if zookeepers and not zookeeper.get("connect")
            else []
        )
        return told + problems + _foreign(context, ZOOKEEPER_ONLY, "kafka_mode is kraft")
    told += zookeeper_elsewhere.chroot_problems(zookeeper.get("chroot") or "")
    # Of servers elsewhere nobody here knows the ids, nor whether they are all.
    problems = told if zookeeper.get("connect") else told + ensemble_problems(zookeepers)
    both = sorted({member["name"] for member in zookeepers} & {node["name"] for node in context["nodes"]})
    if both:
        problems.append(
            f"{', '.join(both)} in group zookeeper and in group kafka_broker: each opens its own ports on the host's "
            "firewall alone; give ZooKeeper hosts of its own."
        )
    if not zookeepers and not zookeeper.get("connect"):
        problems.append(
            "The group zookeeper is empty: kafka_mode zookeeper needs a host in it, or kafka_zookeeper_connect."
        )
    controllers = [node["name"] for node in context["nodes"] if "kafka_controller" in node["roles"]]
    if controllers:
        problems.append(
            f"{', '.join(controllers)} in group kafka_controller: with kafka_mode zookeeper one of the brokers is the "
            "controller; empty that group."
        )
    if context["quorum"] == "static":
        problems.append(
            "kafka_quorum is static, which is about KRaft's voters: leave it out with kafka_mode zookeeper."
        )
    return problems + _foreign(context, KRAFT_ONLY, "kafka_mode is zookeeper")


def _foreign(context: Settings, prefixes: tuple[str, ...], why: str) -> list[str]:
    return [
        f"kafka_config sets {name}, which means nothing while {why}: take it out."
        for name in sorted(context["config"])
        if name.startswith(prefixes)
    ]
