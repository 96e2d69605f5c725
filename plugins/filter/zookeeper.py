# ruff: noqa: TID252 - relative imports: as Ansible wants plugins
"""The thinking of role zookeeper, and what role kafka needs to know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..module_utils import (
    drift,
    ensemble,
    preflight_rules,
    scram_bootstrap,
    signing,
    zookeeper_elsewhere,
    zookeeper_properties,
)
from ..module_utils.node_properties import CIPHER_SUITES, TLS_PROTOCOLS
from ..module_utils.properties_text import document, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What a drift report says of each of role zookeeper's tasks.
REGISTERED = {
    "host": "__host_settled",
    "user": "__zookeeper_user_made",
    "settings": "__zookeeper_configured",
    "key": "__zookeeper_requested",
    "certificate": "__zookeeper_certified",
    "service": "__zookeeper_service",
}


def zoo_cfg(settings: dict[str, Any]) -> str:
    made = zookeeper_properties.server(settings, TLS_PROTOCOLS, CIPHER_SUITES)
    head = "# Written by Ansible (kastellan.kafka.zookeeper).\n"
    return head + document({name: plain(value) for name, value in made.items() if value is not None})


def zookeeper_tools(config_dir: str) -> str:
    """For the tools on a broker's host that take --zk-tls-config-file; no secret stands in it."""
    return document(zookeeper_properties.client_tls(config_dir, TLS_PROTOCOLS, CIPHER_SUITES))


def zookeeper_signing_request(variables: Mapping[str, Any], members: list[dict[str, Any]]) -> dict[str, Any]:
    member = next(member for member in members if member["name"] == variables["inventory_hostname"])
    return signing.request_of(member, variables["__zookeeper_requested"])


def member_address(member: Mapping[str, Any]) -> dict[str, str]:
    """What module zookeeper_info takes."""
    return {"name": member["name"], "address": member["address"]}


def zookeeper_firewall(settings: dict[str, Any], clients: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Brokers and servers come to the client port, servers to the quorum's; nobody else anywhere."""
    own = _addresses(settings["members"])
    rules = [{"ports": [settings["client_port"]], "sources": sorted({*own, *_addresses(clients)})}]
    if len(settings["members"]) > 1:
        rules.append({"ports": [settings["quorum_port"], settings["election_port"]], "sources": own})
    return rules


def _addresses(entries: list[dict[str, Any]]) -> list[str]:
    found = {entry[name] for entry in entries for name in ("address", "login_address")}
    return sorted(address for address in found if signing.is_address(address))


def zookeeper_node_problems(looks: Mapping[str, Any], wanted: dict[str, Any]) -> list[str]:
    problems = [
        problem
        for name, look in looks.items()
        for problem in preflight_rules.node_problems(look, {**wanted, "name": name})
    ]
    return problems + ensemble.emptied(looks)


def zookeeper_drift(names: list[str], hostvars: Mapping[str, Any]) -> list[str]:
    """What each task would have done, said by the host it would have done it on."""
    found = []
    for name in names:
        found += drift.of_hosts([name], hostvars, REGISTERED)
        reasons = ((hostvars[name].get("__zookeeper_seen") or {}).get("node") or {}).get("install_problems") or []
        found += drift.lines([(f"{name}: installation", {"changed": bool(reasons), "reasons": reasons})])
    return found


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "ensemble_had_majority": ensemble.had_majority,
            "ensemble_order": ensemble.restart_order,
            "ensemble_problems": zookeeper_properties.ensemble_problems,
            "ensemble_warnings": zookeeper_properties.ensemble_warnings,
            "member_address": member_address,
            "zoo_cfg": zoo_cfg,
            "zookeeper_credentials": scram_bootstrap.zookeeper_credentials,
            "zookeeper_drift": zookeeper_drift,
            "zookeeper_firewall": zookeeper_firewall,
            "zookeeper_listed": zookeeper_elsewhere.listed,
            "zookeeper_members": zookeeper_properties.members,
            "zookeeper_node_problems": zookeeper_node_problems,
            "zookeeper_signing_request": zookeeper_signing_request,
            "zookeeper_tools": zookeeper_tools,
        }
