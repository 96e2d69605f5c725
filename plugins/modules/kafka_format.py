#!/usr/bin/python
# ruff: noqa: EXE001 - no execute bit: as Ansible wants modules
"""Format a node's data directories, secrets unseen."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kafka_format
short_description: Format the data directories of a node
description:
  - Runs Kafka's own storage tool as the service's user, once per node; a formatted node is refused by the tool itself.
  - Options and credentials go through a file that only that user can read, never through a visible command line.
options:
  java: {description: The program., type: str, default: java}
  install_dir: {description: Where Kafka is., type: path, required: true}
  config: {description: The node's server.properties., type: path, required: true}
  cluster_id: {description: Id of the cluster., type: str, required: true}
  arguments: {description: Further options that are no secret., type: list, elements: str, default: []}
  scram: {description: Credentials as the storage tool takes them., type: list, elements: str, default: []}
  user: {description: User of the service., type: str, required: true}
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Format
  kastellan.kafka.kafka_format:
    install_dir: /opt/kafka/current
    config: /etc/kafka/server.properties
    cluster_id: "{{ kafka_cluster_id }}"
    arguments: [--no-initial-controllers]
    user: kafka
"""

RETURN = r"""
stdout: {description: What the tool said., returned: when it ran, type: str}
"""

TIMEOUT_S = 180


SPEC: dict[str, Any] = {
    "java": {"type": "str", "default": "java"},
    "install_dir": {"type": "path", "required": True},
    "config": {"type": "path", "required": True},
    "cluster_id": {"type": "str", "required": True},
    "arguments": {"type": "list", "elements": "str", "default": []},
    "scram": {"type": "list", "elements": "str", "default": [], "no_log": True},
    "user": {"type": "str", "required": True},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=True)
    try:
        done = storage_tool(module.params)
    except (OSError, KeyError, subprocess.TimeoutExpired) as exc:
        module.fail_json(msg=f"Kafka's storage tool did not run: {exc}")
    if done.returncode != 0:
        module.fail_json(msg=f"Formatting failed: {(done.stderr or done.stdout).strip()}")
    module.exit_json(changed=True, stdout=done.stdout)


def storage_tool(options: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    account = pwd.getpwnam(options["user"])
    words = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{options['install_dir']}/libs/*"]
    words += ["kafka.tools.StorageTool", "format", "--cluster-id", options["cluster_id"], "--config", options["config"]]
    words += options["arguments"]
    for credential in options["scram"]:
        words += ["--add-scram", credential]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir="/run", prefix="kafka-format-") as file:  # made 0600
        file.write("".join(f"{quoted(word)}\n" for word in words))
        file.flush()
        os.chown(file.name, account.pw_uid, account.pw_gid)
        return subprocess.run(
            [options["java"], f"@{file.name}"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
            cwd="/", user=account.pw_uid, group=account.pw_gid, extra_groups=[], umask=0o027,
        )  # fmt: skip


def quoted(word: str) -> str:
    """A word in an argument file of Java's launcher."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    main()
