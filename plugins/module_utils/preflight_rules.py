"""What must hold before anything changes. Every rule is a function from settings to messages that say what to do."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from . import zookeeper_properties
from .item_rules import is_whole, item_problems, meant
from .node_properties import BROKER, CONTROLLER, controllers, version_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Context = dict[str, Any]

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
LAST_WITH_ZOOKEEPER = "3.9.2"
FIRST_KRAFT_ONLY = (4, 0)
CHOICES = {"mode": ("kraft", "zookeeper"), "quorum": ("dynamic", "static"), "distribution": ("archive", "maven")}
# Settings that something of ours decides, and where the user says it instead.
DECIDED = {
    "authorizer.class.name": "kafka_mode decides it",
    "broker.id": "use kafka_node_id",
    "broker.rack": "use kafka_rack",
    "controller.quorum.bootstrap.servers": "the group kafka_controller decides it",
    "controller.quorum.voters": "the group kafka_controller decides it",
    "listeners": "use kafka_listeners",
    "log.dirs": "use kafka_data_dirs",
    "min.insync.replicas": "use kafka_cluster_defaults, since a broker's own value does not count",
    "node.id": "use kafka_node_id",
    "process.roles": "the groups kafka_broker and kafka_controller decide it",
    "super.users": "use kafka_super_users",
    "zookeeper.connect": "the group zookeeper or kafka_zookeeper_connect, and kafka_zookeeper_chroot decide it",
}
# Least that a host needs besides Java's heap: Java itself, the system, a little of the page cache.
# For ZooKeeper what zookeeper_memory_min_mib leaves beside its default heap.
BESIDE_HEAP_MIB = {"kafka": 256, "zookeeper": 192}
HEAP_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")


def inventory_problems(context: Context) -> list[str]:
    """Needs no host: what can be told from the variables alone."""
    broken = [problem for rule in FORM_RULES for problem in rule(context)]
    return broken or [problem for rule in INVENTORY_RULES for problem in rule(context)]


def unknown_variables(names: Iterable[str], known: Iterable[str]) -> list[str]:
    words = sorted(known)
    return [
        f"{name} is no variable of these roles: {meant(name, words) or 'no variable has a name like it.'}"
        for name in sorted(set(names) - set(words))
    ]


def _choices(context: Context) -> list[str]:
    return [
        f"kafka_{key} is {context[key]!r}: use {' or '.join(allowed)}."
        for key, allowed in CHOICES.items()
        if context[key] not in allowed
    ]


def _version(context: Context) -> list[str]:
    version = context["version"]
    if context["mode"] == "zookeeper" and version_tuple(version) >= FIRST_KRAFT_ONLY:
        return [
            (
                f"Kafka {version} has no ZooKeeper mode; {LAST_WITH_ZOOKEEPER} is the last version with it: set "
                f"kafka_version: {LAST_WITH_ZOOKEEPER}, or kafka_mode: kraft."
            )
        ]
    return []


def _node_ids(context: Context) -> list[str]:
    problems, owners = [], defaultdict(list)
    for node in context["nodes"]:
        if node["node_id"] is None:
            problems.append(f"{node['name']} has no kafka_node_id: give every host of group kafka its own number.")
        elif not str(node["node_id"]).isdigit():
            problems.append(f"{node['name']} has kafka_node_id {node['node_id']!r}: use a whole number, e.g. 1.")
        else:
            owners[int(node["node_id"])].append(node["name"])
    for node_id, names in sorted(owners.items()):
        if len(names) > 1:
            problems.append(f"kafka_node_id {node_id} is given to {' and '.join(names)}: ids are unique.")
    return problems


def _roles(context: Context) -> list[str]:
    problems = []
    if not any(BROKER in node["roles"] for node in context["nodes"]):
        problems.append("The group kafka_broker is empty: a cluster needs a broker.")
    if context["mode"] == "kraft" and not any(CONTROLLER in node["roles"] for node in context["nodes"]):
        problems.append("The group kafka_controller is empty: a KRaft cluster needs a controller.")
    return problems


def _topics(context: Context) -> list[str]:
    brokers = sum(BROKER in node["roles"] for node in context["nodes"])
    default_in_sync = context["cluster_defaults"].get("min.insync.replicas", 1)
    if not is_whole(default_in_sync):
        return [f"kafka_cluster_defaults has min.insync.replicas {default_in_sync!r}: use a whole number, e.g. 2."]
    problems: list[str] = []
    seen: set[str] = set()
    spellings: dict[str, str] = {}
    for topic in context["topics"]:
        if topic.get("state", "present") == "absent":
            continue
        name, replicas = topic["name"], topic.get("replication_factor")
        problems += _topic_name(name, seen, spellings)
        if replicas is None:
            continue
        if int(replicas) > brokers:
            problems.append(
                f"Topic {name} has replication_factor {replicas} but there are {brokers} brokers: add a broker or "
                "lower it."
            )
        in_sync = (topic.get("config") or {}).get("min.insync.replicas", default_in_sync)
        if not is_whole(in_sync):
            problems.append(f"Topic {name} has min.insync.replicas {in_sync!r}: use a whole number, e.g. 2.")
        elif int(in_sync) > int(replicas):
            problems.append(
                f"Topic {name} has min.insync.replicas {in_sync} but replication_factor {replicas}: nothing could be "
                "written with acks=all; lower the first or raise the second."
            )
    return problems


def _topic_name(name: str, seen: set[str], spellings: dict[str, str]) -> list[str]:
    if name in seen:
        return [f"Topic {name} is declared twice: keep one."]
    seen.add(name)
    if not _PLAIN_NAME.fullmatch(name) or name in {".", ".."} or len(name) > 249:  # noqa: PLR2004 - Kafka's own bound
        return [f"{name!r} is no topic name: use at most 249 letters, digits, '.', '_' and '-', e.g. 'orders-eu'."]
    other = spellings.setdefault(name.replace(".", "_"), name)
    if other != name:
        return [f"Topics {other} and {name} collide: Kafka's metrics do not tell '.' and '_' apart; rename one."]
    return []


def _mechanisms(context: Context) -> list[str]:
    used = set(context["sasl_mechanisms"])
    for listener in context["listeners"]:
        used |= set(listener.get("mechanisms") or [])
    return [
        f"{mechanism} is no SASL mechanism that is offered here: use {', '.join(MECHANISMS)}."
        for mechanism in sorted(used - set(MECHANISMS))
    ]


def _listeners(context: Context) -> list[str]:
    problems: list[str] = []
    owners: dict[int, str] = {}
    for listener in context["listeners"]:
        name, port = listener["name"], int(listener["port"])
        if port in owners:
            problems.append(f"Listeners {owners[port]} and {name} both have port {port}: give one another.")
        owners[port] = name
        if "SSL" not in listener["protocol"]:
            problems.append(f"Listener {name} has protocol {listener['protocol']}: use SSL or SASL_SSL.")
    wanted = ["BROKER", *(["CONTROLLER"] if context["mode"] == "kraft" else [])]
    missing = [name for name in wanted if name not in owners.values()]
    return problems + [f"kafka_listeners has no {name}: the nodes talk to each other there." for name in missing]


def _people(context: Context) -> list[str]:
    problems = []
    if not context["super_users"]:
        problems.append("kafka_super_users is empty: nobody could ever grant anything; keep [admin].")
    # Kafka splits the list there and trims what it finds: one name would become another, or two.
    problems += [
        f"kafka_super_users has {name!r}: leave out ';', and blanks at its ends."
        for name in context["super_users"]
        if not name or name != name.strip() or not name.isprintable() or ";" in name or name == "User:"
    ]
    if not _PLAIN_NAME.fullmatch(context["admin_user"]):
        problems.append(f"kafka_admin_user {context['admin_user']!r}: use letters, digits, '.', '_' and '-' only.")
    hosts = {node["name"] for node in context["nodes"]}
    seen: set[str] = set()
    for user in context["users"]:
        name = user["name"]
        if name in hosts:
            problems.append(f"User {name} has the name of a node, and nodes are super users: give it another name.")
        if name.startswith("User:"):
            problems.append(f"User {name!r}: leave out 'User:', it is added where Kafka wants it.")
        if name in seen:
            problems.append(f"User {name} is declared twice: keep one.")
        seen.add(name)
        if "password" in user and not user["password"]:
            problems.append(f"User {name} has an empty password: leave it out and one is made.")
    return problems


def _config(context: Context) -> list[str]:
    return [
        f"kafka_config must not set {name}: {DECIDED[name]}."
        for name in sorted(context["config"].keys() & DECIDED.keys())
    ]


def _distribution(context: Context) -> list[str]:
    if context["distribution"] == "archive" and not context["archive_sha512"]:
        return [
            (
                "kafka_distribution is archive but kafka_archive_sha512 is not set: take it from the .sha512 file "
                "beside Kafka's release, so that what is installed is what was published."
            )
        ]
    return []


def _waivers(context: Context) -> list[str]:
    problems = []
    for number, waiver in enumerate(context.get("waivers") or ()):
        where = f"kafka_security_waivers[{number}]"
        if set(waiver) != {"check", "reason"} or not is_whole(waiver["check"]):
            problems.append(f"{where} must have check, a number, and reason, e.g. {{check: 64, reason: 'jump host'}}.")
        elif not str(waiver["reason"] or "").strip():
            problems.append(f"{where} waives check {waiver['check']} without a reason: say why it may fail.")
    return problems


# What is misspelt comes first and alone: the others would stumble over it.
FORM_RULES: tuple[Callable[[Context], list[str]], ...] = (_choices, item_problems)
INVENTORY_RULES: tuple[Callable[[Context], list[str]], ...] = (
    _version, zookeeper_properties.mode_problems, _node_ids, _roles, _listeners, _mechanisms, _people, _topics, _config,
    _distribution, _waivers,
)  # fmt: skip


def inventory_warnings(context: Context) -> list[str]:
    if context["mode"] == "zookeeper":
        zookeeper = context.get("zookeeper") or {}
        return (
            [] if zookeeper.get("connect") else zookeeper_properties.ensemble_warnings(zookeeper.get("members") or [])
        )
    voters = len(controllers(context["nodes"])) if not _node_ids(context) else 0
    if voters and voters % 2 == 0:
        return [
            (
                f"{voters} controllers survive the loss of {(voters - 1) // 2}, as {voters - 1} do: an even number "
                "adds nothing to that."
            )
        ]
    return []


def node_problems(node: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Of one host: what was seen (module node_facts) against what is wanted."""
    name, word = wanted["name"], wanted.get("prefix", "kafka")
    problems = []
    if not node["systemd"]:
        problems.append(f"{name} is not run by systemd: its service is a systemd unit.")
    skew_s = abs(node["clock_s"] - wanted["clock_s"])
    if skew_s > wanted["clock_skew_max_s"]:
        problems.append(
            f"The clock of {name} differs by {skew_s:.0f} s from this machine's, certificates are backdated by "
            f"{wanted['clock_skew_max_s']} s: run a time service there."
        )
    if node["memory_mib"] < wanted["memory_min_mib"]:
        problems.append(
            f"{name} has {node['memory_mib']} MiB of memory, {word}_memory_min_mib is {wanted['memory_min_mib']}: "
            f"give it more, or lower {word}_heap_size and that bound."
        )
    heap = node.get("heap") or "auto"
    if _heap_mib(heap) + BESIDE_HEAP_MIB[word] > node["memory_mib"] and not node["running"]:
        problems.append(
            f"{name} has {node['memory_mib']} MiB of memory, {word}_heap_size {heap} leaves less than "
            f"{BESIDE_HEAP_MIB[word]} MiB for all else: give it more (on a cloud, a larger flavor), or lower that."
        )
    for folder, free_mib in node["free_mib"].items():
        if free_mib < wanted["disk_min_mib"] and not node["running"]:
            problems.append(
                f"{name} has {free_mib} MiB free for {folder}, {word}_disk_min_mib is {wanted['disk_min_mib']}: give "
                "it a larger disk, or lower that bound."
            )
    for port, owner in node["ports_taken"].items():
        problems.append(f"Port {port} of {name} is taken by {owner}: stop it, or give the listener another port.")
    return problems + _disk_problems(node, wanted)


def _heap_mib(told: str) -> float:
    """As Java takes it; 0 for `auto`, and for what Java itself will refuse."""
    match = re.fullmatch(r"(\d+)([kmgt]?)", told, re.IGNORECASE)
    return int(match[1]) * HEAP_UNITS[match[2].lower()] / 2**20 if match else 0


def _disk_problems(node: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    name, problems = wanted["name"], []
    if wanted["quorum"] == "static" and not wanted["virgin"] and CONTROLLER in wanted["roles"]:
        first = node["disks"][0]
        if not first["formatted"]:
            problems.append(
                f"{first['path']} of {name} is empty, but it is a voter of a running quorum: with kafka_quorum static "
                "it must not come back empty, since it may have voted; restore its disk."
            )
    for disk in node["disks"]:
        if not disk["formatted"]:
            continue
        if disk["cluster_id"] != wanted["cluster_id"]:
            problems.append(
                f"{disk['path']} of {name} holds data of cluster {disk['cluster_id']}, this one is "
                f"{wanted['cluster_id']}: set kafka_cluster_id to the former if it is the same cluster, else empty it."
            )
        elif disk["node_id"] != int(wanted["node_id"]):
            problems.append(
                f"{disk['path']} of {name} belongs to node {disk['node_id']}, kafka_node_id is {wanted['node_id']}: "
                "set it to the former; data never changes its owner."
            )
    return problems


def voter_problems(voters: list[int], declared: list[int]) -> list[str]:
    """Of a running cluster: who votes against who is declared to."""
    if not voters or sorted(voters) == sorted(declared):
        return []
    return [
        (
            f"The quorum has the voters {_listed(voters)}, kafka_controller declares {_listed(declared)}: this "
            "playbook does not change the set of controllers."
        )
    ]


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
