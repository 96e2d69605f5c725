#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""What a node of Kafka has, in one look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import node_look

DOCUMENTATION = r"""
module: node_facts
short_description: What a node of Kafka has, in one look
description:
  - Java, memory, disks, ports, clock, an installed Kafka compared with its manifest, formatted data directories.
  - Changes nothing. Preflight, install and format decide by it.
options:
  java: {description: The program to ask., type: str, default: java}
  data_dirs: {description: Folders for data., type: list, elements: path, required: true}
  install_dir: {description: Where this version is or will be., type: path, required: true}
  manifest: {description: Path in O(install_dir) -> SHA-256., type: dict, required: true}
  ports: {description: Ports that the node is going to open., type: list, elements: int, required: true}
  unit: {description: The service that may already hold those ports., type: str, required: true}
  heap:
    description:
      - What Java will be told, handed back beside the memory. Hosts may differ, and one host judges all of them; a
        host's variable made of a role's is undefined to the others.
    type: str
  certificate: {description: PEM file whose days left are wanted., type: path}
  more_certificates:
    description: Others beside it; the one with the fewest days counts.
    type: list
    elements: path
    default: []
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Look at the host
  kastellan.kafka.node_facts:
    data_dirs: [/var/lib/kafka/data]
    install_dir: /opt/kafka/versions/4.3.1
    manifest: {}
    ports: [9092]
    unit: kafka.service
"""

RETURN = r"""
node:
  description: What was seen.
  returned: always
  type: dict
"""


SPEC: dict[str, Any] = {
    "java": {"type": "str", "default": "java"},
    "data_dirs": {"type": "list", "elements": "path", "required": True},
    "install_dir": {"type": "path", "required": True},
    "manifest": {"type": "dict", "required": True},
    "ports": {"type": "list", "elements": "int", "required": True},
    "unit": {"type": "str", "required": True},
    "heap": {"type": "str"},
    "certificate": {"type": "path"},
    "more_certificates": {"type": "list", "elements": "path", "default": []},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    options = module.params
    pid = node_look.unit_pid(options["unit"])
    try:
        node = {
            "clock_s": node_look.now_s(),
            "java_major": node_look.java_major(options["java"]),
            "memory_mib": node_look.memory_mib(),
            "heap": options["heap"],
            "free_mib": {folder: node_look.free_mib(folder) for folder in options["data_dirs"]},
            "ports_taken": node_look.ports_taken(options["ports"], pid),
            "running": pid > 0,
            "install_problems": node_look.install_problems(options["install_dir"], options["manifest"]),
            "disks": [node_look.disk(folder) for folder in options["data_dirs"]],
            "transactions": node_look.transactions(options["data_dirs"]),
            "certificate_days": days_left(options),
            "systemd": Path("/run/systemd/system").is_dir(),
        }
    except OSError as exc:
        module.fail_json(msg=f"This host cannot be looked at: {exc}")
    module.exit_json(changed=False, node=node)


def days_left(options: dict[str, Any]) -> int | None:
    """None if there is none, or one of several is missing."""
    paths = [*filter(None, [options["certificate"]]), *options["more_certificates"]]
    days = [node_look.certificate_days(path) for path in paths]
    known = [number for number in days if number is not None]
    return min(known) if known and len(known) == len(days) else None


if __name__ == "__main__":
    main()
