"""What the modules take: argument specs that two modules share."""

from __future__ import annotations

from typing import Any

from .acls import RESOURCE_TYPES
from .quotas import IP_RATES, RATES
from .scram import ALGORITHMS, ITERATIONS_MIN

Spec = dict[str, dict[str, Any]]

TOPIC_OPTIONS: Spec = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "partitions": {"type": "int"},
    "replication_factor": {"type": "int"},
    "config": {"type": "dict", "default": {}},
}
ACL_OPTIONS: Spec = {
    "principal": {"type": "str", "required": True},
    "resource_type": {"type": "str", "required": True, "choices": list(RESOURCE_TYPES)},
    "name": {"type": "str", "aliases": ["resource_name"]},
    "pattern_type": {"type": "str", "choices": ["literal", "prefixed"], "default": "literal"},
    "operations": {"type": "list", "elements": "str", "required": True, "aliases": ["operation"]},
    "permission": {"type": "str", "choices": ["allow", "deny"], "default": "allow"},
    "host": {"type": "str", "default": "*"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
USER_OPTIONS: Spec = {
    "name": {"type": "str", "required": True},
    "password": {"type": "str", "no_log": True},
    "mechanisms": {"type": "list", "elements": "str", "choices": list(ALGORITHMS), "default": ["SCRAM-SHA-512"]},
    "iterations": {"type": "int", "default": ITERATIONS_MIN},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
QUOTA_OPTIONS: Spec = {
    "user": {"type": "str"},
    "client_id": {"type": "str"},
    "ip": {"type": "str"},
    "quotas": {"type": "dict", "options": {key: {"type": "float"} for key in (*RATES, *IP_RATES)}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}

TOPICS: dict[str, Any] = {"type": "list", "elements": "dict", "options": TOPIC_OPTIONS}
ACLS: dict[str, Any] = {"type": "list", "elements": "dict", "options": ACL_OPTIONS}
# no_log as a whole: Ansible logs a list as Python writes it, and would not find a password with a backslash in it.
USERS: dict[str, Any] = {"type": "list", "elements": "dict", "options": USER_OPTIONS, "no_log": True}
QUOTAS: dict[str, Any] = {"type": "list", "elements": "dict", "options": QUOTA_OPTIONS}
NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
REASSIGNMENT_TIMEOUT: dict[str, Any] = {"type": "float", "default": 600.0}
