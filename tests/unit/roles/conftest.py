"""A cluster of four combined nodes, as role kafka hands it to its functions."""

from __future__ import annotations

from typing import Any

import pytest

LISTENERS = [
    {"name": "CLIENT", "port": 9092, "protocol": "SASL_SSL", "client_auth": "none"},
    {"name": "MTLS", "port": 9094, "protocol": "SSL", "client_auth": "required"},
    {"name": "BROKER", "port": 9091, "protocol": "SSL", "client_auth": "required"},
    {"name": "CONTROLLER", "port": 9093, "protocol": "SSL", "client_auth": "required"},
]


def node(number: int, *, roles: tuple[str, ...] = ("kafka_broker", "kafka_controller")) -> dict[str, Any]:
    address = f"198.18.0.{10 + number}"
    return {
        "name": f"broker-{number}",
        "login_address": address,
        "address": address,
        "node_id": number,
        "roles": list(roles),
        "rack": None,
    }


@pytest.fixture
def settings() -> dict[str, Any]:
    nodes = [node(number) for number in range(1, 5)]
    return {
        "mode": "kraft",
        "version": "4.3.1",
        "quorum": "dynamic",
        "nodes": nodes,
        "node": nodes[1],
        "listeners": [dict(listener) for listener in LISTENERS],
        "sasl_mechanisms": ["SCRAM-SHA-512", "SCRAM-SHA-256"],
        "super_users": ["admin"],
        "plain_users": {},
        "config_dir": "/etc/kafka",
        "data_dirs": ["/var/lib/kafka/data"],
        "config": {},
    }


@pytest.fixture
def context(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        **settings,
        "topics": [],
        "users": [],
        "acls": [],
        "quotas": [],
        "admin_user": "admin",
        "cluster_defaults": {"min.insync.replicas": 2},
        "distribution": "maven",
        "archive_sha512": "",
    }
