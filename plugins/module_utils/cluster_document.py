"""cluster.json: what the proof, or anybody else, needs to know of the cluster, from the values in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .node_properties import BROKER, TIMEOUTS_MS, listeners_in, super_users
from .zookeeper_properties import SESSION_MS, bracketed


def servers(settings: dict[str, Any], listener_name: str) -> str:
    """`address:port` of every broker, empty if there is no such listener."""
    ports = [listener["port"] for listener in settings["listeners"] if listener["name"] == listener_name]
    brokers = [node for node in settings["nodes"] if BROKER in node["roles"]]
    return ",".join(f"{bracketed(node['address'])}:{ports[0]}" for node in brokers) if ports else ""


def document(settings: dict[str, Any], more: dict[str, Any]) -> str:
    """`settings` as for server_properties; `more` is what only the play knows (roles/kafka_client/vars)."""
    kraft = settings["mode"] == "kraft"
    made = {
        "stack": more["stack"],
        "mode": settings["mode"],
        "kafka_version": settings["version"],
        "cluster_id": more["cluster_id"],
        "bootstrap_servers": servers(settings, "CLIENT"),
        "listeners": [_listener(listener, settings) for listener in listeners_in(settings)],
        "hosts": [_host(node, more) for node in [*settings["nodes"], *_zookeepers(settings)]],
        "topics": [_topic(topic) for topic in more["topics"] if topic.get("state", "present") == "present"],
        "users": more["users"],
        "admin_user": more["admin_user"],
        "validator_user": more["validator_user"],
        "clients_dir": "clients",
        "service": "kafka",
        "data_dirs": settings["data_dirs"],
        "timeouts": {
            "broker_session_ms": _timeout(settings, "broker.session.timeout.ms") if kraft else None,
            "quorum_fetch_ms": _timeout(settings, "controller.quorum.fetch.timeout.ms") if kraft else None,
            "quorum_election_ms": _timeout(settings, "controller.quorum.election.timeout.ms") if kraft else None,
            "zookeeper_session_ms": None if kraft else int(_set(settings, "zookeeper.session.timeout.ms", SESSION_MS)),
        },
        "operations": more["operations"],
        "faults_allowed": more["faults_allowed"],
        "security_waivers": [{**waiver, "check": int(waiver["check"])} for waiver in more.get("waivers") or ()],
        "super_users": super_users(settings),
        "acls": [acl for entry in more["acls"] if entry.get("state", "present") == "present" for acl in _acls(entry)],
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _timeout(settings: dict[str, Any], name: str) -> int:
    return int(_set(settings, name, TIMEOUTS_MS[name]))


def _set(settings: dict[str, Any], name: str, default: int) -> Any:
    return settings["config"].get(name, default)


def _zookeepers(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Beside the nodes. Their ids are counted apart from those of brokers, which node_id is.

    Servers of an ensemble that is not ours are left out: nobody here logs in to their hosts, or breaks them.
    """
    zookeeper = settings.get("zookeeper") or {}
    members = [] if zookeeper.get("connect") else zookeeper.get("members") or []
    own = {"node_id": None, "roles": ["zookeeper"], "rack": None, "service": "zookeeper"}
    return [{**member, **own, "ports": [member["port"], *member["inner_ports"]]} for member in members]


def _listener(listener: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    sasl = listener["protocol"].startswith("SASL_")
    mechanisms = (listener.get("mechanisms") or settings["sasl_mechanisms"]) if sasl else []
    return {
        "name": listener["name"],
        "port": int(listener["port"]),
        "protocol": listener["protocol"],
        "mechanisms": mechanisms,
        "client_auth": listener["client_auth"],
    }


def _host(node: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    login = more["logins"][node["name"]]
    return {
        "name": node["name"],
        "address": node["login_address"],
        "ssh": {
            "user": login["user"],
            "port": int(login["port"]),
            "key_file": _relative(login["key_file"], more["state_dir"]),
            "known_hosts_file": _relative(login["known_hosts_file"], more["state_dir"]),
        },
        "node_id": None if node["node_id"] is None else int(node["node_id"]),
        "roles": node["roles"],
        "rack": node["rack"],
        **{name: node[name] for name in ("service", "ports") if name in node},
    }


def _relative(path: str | None, state_dir: str) -> str | None:
    """What lies in the state directory is named from there, so that the directory can move as a whole."""
    if not path:
        return None
    whole = Path(path).expanduser()
    return str(whole.relative_to(state_dir) if whole.is_relative_to(state_dir) else whole)


def _topic(topic: dict[str, Any]) -> dict[str, Any]:
    config = {name: str(value) for name, value in sorted((topic.get("config") or {}).items())}
    numbers = {name: topic.get(name) for name in ("partitions", "replication_factor")}
    return {"name": topic["name"], **numbers, "config": config}


def _acls(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """An entry may name several operations; for Kafka each is an ACL of its own."""
    operations = entry.get("operations") or entry["operation"]
    common = {
        "principal": entry["principal"].removeprefix("User:"),
        "host": entry.get("host") or "*",
        "permission": _word(entry.get("permission") or "allow"),
        "resource_type": _word(entry["resource_type"]),
        "resource_name": entry.get("name") or entry.get("resource_name") or "kafka-cluster",
        "pattern": (entry.get("pattern_type") or "literal").lower(),
    }
    names = [operations] if isinstance(operations, str) else operations
    return [{**common, "operation": _word(operation)} for operation in names]


def _word(text: str) -> str:
    """Of DESCRIBE_CONFIGS, describe_configs and DescribeConfigs the last: it is how Kafka's tools print it."""
    if "_" in text or text.isupper() or text.islower():
        return "".join(part.capitalize() for part in text.split("_"))
    return text
