# ruff: noqa: TID252 - relative imports: as Ansible wants plugins
"""The roles' thinking, as filters: each hands its work to a tested function."""

from __future__ import annotations

import getpass
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..module_utils import (
    cluster_document,
    drift,
    node_properties,
    preflight_rules,
    properties_text,
    quorum_ids,
    scram_bootstrap,
    signing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KAFKA_GROUPS = (node_properties.BROKER, node_properties.CONTROLLER)


def nodes(names: list[str], hostvars: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What every node must know of every other. Role defaults are not among hostvars, so they are repeated here."""
    found = []
    for name in names:
        variables = hostvars[name]
        login = variables.get("ansible_host", name)
        found.append({
            "name": name,
            "login_address": login,
            "address": variables.get("kafka_advertised_host") or login,
            "node_id": variables.get("kafka_node_id"),
            "roles": [group for group in KAFKA_GROUPS if group in variables["group_names"]],
            "rack": variables.get("kafka_rack") or None,
        })  # fmt: skip
    return found


def known_variables(roles_dir: str) -> list[str]:
    """Every public variable of every role: their argument specifications name them all."""
    names: set[str] = set()
    for path in sorted(Path(roles_dir).glob("*/meta/argument_specs.yml")):
        specs = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
        for spec in specs.values():
            names |= spec.get("options", {}).keys()
    return sorted(names)


def initial_controllers(settings: dict[str, Any], cluster_id: str) -> str:
    addresses = node_properties.quorum_addresses(settings)
    voters = node_properties.controllers(settings["nodes"])
    return ",".join(
        f"{node['node_id']}@{address}:{quorum_ids.directory_id(cluster_id, int(node['node_id']))}"
        for node, address in zip(voters, addresses, strict=True)
    )


def certificate_reasons(answer: dict[str, Any]) -> list[str]:
    """Why certificates are due, from what `python -m certs` said."""
    return [
        f"{item['name']}: {'; '.join(reason['text'] for reason in item['reasons'])}"
        for item in answer["items"]
        if item["changed"]
    ]


def health(
    state: dict[str, Any],
    seen: Mapping[str, Any],
    all_nodes: list[dict[str, Any]],
    days_min: int,
    ensemble: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """How hosts and cluster are, and what is wrong with them."""
    hosts = {}
    problems = list(state["not_whole"])
    for node in all_nodes:
        look = (seen.get(node["name"]) or {}).get("node")
        if look is None:
            problems.append(f"{node['name']} was not looked at")
            continue
        hosts[node["name"]] = {
            "node_id": int(node["node_id"]),
            "running": look["running"],
            "controller": int(node["node_id"]) == state["controller_id"],
            "certificate_days": look["certificate_days"],
            "free_mib": look["free_mib"],
        }
        if not look["running"]:
            problems.append(f"{node['name']}: Kafka does not run")
        days = look["certificate_days"]
        if days is None or days < days_min:
            problems.append(f"{node['name']}: {days if days is not None else 'no'} days left on its certificate")
    if ensemble and not ensemble.get("skipped"):
        hosts_of_zookeeper = ensemble["ensemble"]["members"]
        problems += ensemble["not_whole"]
        problems += [
            f"{member['name']}: {member['certificate_days']} days left on its certificate"
            for member in hosts_of_zookeeper
            if member["certificate_days"] is not None and member["certificate_days"] < days_min
        ]
        state = {**state, "ensemble": ensemble["ensemble"]}
    names = ("cluster_id", "mode", "controller_id", "quorum", "ensemble", "features", "topics", "partitions", "offline",
             "under_replicated", "under_min_isr", "at_min_isr")  # fmt: skip
    return {"hosts": hosts, **{name: state.get(name) for name in names}, "problems": problems}


def data_folder(path: str, user: str, group: str, marker: str = "") -> dict[str, Any]:
    """A disk that outlived its host belongs to a number that may be another user's on the new one, or nobody's."""
    return {"path": path, "state": "directory", "mode": "0750", "owner": user, "group": group, "content_if": marker}


def tool_link(name: str, current: str) -> dict[str, str]:
    return {"path": f"/usr/local/bin/{name}", "state": "link", "target": f"{current}/bin/{name}"}


def host_entry(node: dict[str, Any]) -> dict[str, str]:
    return {"name": node["name"], "address": node["login_address"]}


def firewall_rules(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Clients come from anywhere, nodes from where nodes are."""
    own = ("BROKER", "CONTROLLER")
    opened = node_properties.listeners_of(settings)
    clients = [int(listener["port"]) for listener in opened if listener["name"] not in own]
    inner = [int(listener["port"]) for listener in opened if listener["name"] in own]
    addresses = sorted({node[name] for node in settings["nodes"] for name in ("address", "login_address")})
    sources = [address for address in addresses if signing.is_address(address)]
    rules = [{"ports": clients, "sources": []}] if clients else []
    return [*rules, {"ports": inner, "sources": sources}]


def live_brokers(state: dict[str, Any], target: dict[str, Any]) -> list[int]:
    """Who was there before a roll, and the one that was restarted, if it is a broker."""
    live = {int(broker["id"]) for broker in state["brokers"] if not broker["fenced"]}
    restarted = {int(target["node_id"])} if node_properties.BROKER in target["roles"] else set()
    return sorted(live | restarted)


def logins(names: list[str], hostvars: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """How to reach each host by ssh, for whoever works on hosts without Ansible."""
    found = {}
    for name in names:
        variables = hostvars[name]
        words = f"{variables.get('ansible_ssh_common_args', '')} {variables.get('ansible_ssh_extra_args', '')}"
        known = re.search(r"UserKnownHostsFile=\"?([^\"']+)", words)
        found[name] = {
            "user": variables.get("ansible_user") or getpass.getuser(),
            "port": variables.get("ansible_port") or 22,
            "key_file": variables.get("ansible_ssh_private_key_file"),
            "known_hosts_file": known.group(1) if known else "~/.ssh/known_hosts",
        }
    return found


def present(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry.get("state", "present") == "present"]


def all_node_problems(looks: Mapping[str, Any], all_nodes: list[dict[str, Any]], wanted: dict[str, Any]) -> list[str]:
    """Of every host that was looked at."""
    virgin = is_virgin(looks, all_nodes)
    own = {node["name"]: {**wanted, "virgin": virgin, **node} for node in all_nodes}
    return [problem for name, look in looks.items() for problem in preflight_rules.node_problems(look, own[name])]


def is_virgin(looks: Mapping[str, Any], all_nodes: list[dict[str, Any]]) -> bool:
    """Nobody ever ran, and that was seen on every node: one left out may hold the cluster."""
    seen_all = all(node["name"] in looks for node in all_nodes)
    return seen_all and not any(disk["started"] for look in looks.values() for disk in look["disks"])


def looks(names: list[str], hostvars: Mapping[str, Any]) -> dict[str, Any]:
    return {name: hostvars[name].get("__kafka_seen") for name in names}


def restart_order(all_nodes: list[dict[str, Any]], names: list[str], state: dict[str, Any]) -> list[dict[str, Any]]:
    """Who is not there first, since nobody else may stop before; the active controller last, so it moves only once."""
    live = {int(broker["id"]) for broker in state["brokers"] if not broker["fenced"]}

    def rank(node: dict[str, Any]) -> tuple[bool, bool, int]:
        number = int(node["node_id"])
        return number == state["controller_id"], number in live, number

    return sorted((node for node in all_nodes if node["name"] in names), key=rank)


def scram_users(
    users: list[dict[str, Any]], passwords: Mapping[str, str], mechanisms: list[str], iterations: int
) -> list[dict[str, Any]]:
    """What module kafka_scram_users takes: users have every SCRAM mechanism that is offered, unless they say which."""
    offered = [name for name in mechanisms if name.startswith("SCRAM-")]
    defaults = {"mechanisms": offered, "iterations": iterations}
    return [
        {**defaults, **user, **({} if user.get("state") == "absent" else {"password": passwords[user["name"]]})}
        for user in users
    ]


def signing_request(variables: Mapping[str, Any], all_nodes: list[dict[str, Any]]) -> dict[str, Any]:
    node = next(node for node in all_nodes if node["name"] == variables["inventory_hostname"])
    return signing.request_of(node, variables["__kafka_requested"], variables.get("kafka_certificate_aliases") or ())


def admin_properties(user: str, login: dict[str, Any]) -> str:
    """For the tools on a host; the authority is named, since it lies there already."""
    return properties_text.document({
        "bootstrap.servers": login["sasl_servers"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": login["mechanism"],
        "sasl.jaas.config": properties_text.jaas(login["mechanism"], username=user, password=login["password"]),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": login["ca_path"],
    })  # fmt: skip


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "all_node_problems": all_node_problems,
            "admin_properties": admin_properties,
            "certificate_reasons": certificate_reasons,
            "cluster_document": cluster_document.document,
            "data_folder": data_folder,
            "drift_lines": drift.lines,
            "firewall_rules": firewall_rules,
            "health": health,
            "host_entry": host_entry,
            "initial_controllers": initial_controllers,
            "inventory_problems": preflight_rules.inventory_problems,
            "inventory_warnings": preflight_rules.inventory_warnings,
            "known_variables": known_variables,
            "is_virgin": is_virgin,
            "live_brokers": live_brokers,
            "listeners_of": node_properties.listeners_of,
            "logins": logins,
            "looks": looks,
            "nodes": nodes,
            "present": present,
            "principal": node_properties.principal,
            "properties_key": properties_text.key,
            "properties_value": properties_text.value,
            "restart_order": restart_order,
            "scram_credentials": scram_bootstrap.credentials,
            "scram_users": scram_users,
            "server_properties": node_properties.server_properties,
            "servers": cluster_document.servers,
            "signing_request": signing_request,
            "super_users": node_properties.super_users,
            "tool_link": tool_link,
            "unknown_variables": preflight_rules.unknown_variables,
            "voter_problems": preflight_rules.voter_problems,
        }
