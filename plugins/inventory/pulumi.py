"""Inventory of a stack from its Pulumi outputs."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

DOCUMENTATION = r"""
name: pulumi
short_description: Hosts, groups and host variables of a stack, from its Pulumi outputs
description:
  - Asks C(pulumi stack output) for the hosts of a stack and makes groups of their roles.
  - Host keys are taken from the outputs too, so every login checks them (C(StrictHostKeyChecking=yes)).
  - The name of the inventory file must end in C(kastellan.yml) or C(kastellan.yaml).
extends_documentation_fragment:
  - inventory_cache
  - constructed
options:
  plugin:
    description: Marks the file as one for this plugin.
    required: true
    choices: [kastellan.kafka.pulumi]
  stack:
    description: Pulumi stack. Without it, the name of the folder that the inventory file lies in.
    type: str
  project_dir:
    description: Folder of Pulumi.yaml. Without it, the nearest one above the inventory file.
    type: path
  state_dir:
    description: What C(kastellan_state_dir) becomes. Without it, C(.kastellan/<stack>) in the project's folder.
    type: path
"""

EXAMPLES = r"""
# inventories/local/kastellan.yml: stack local
plugin: kastellan.kafka.pulumi

# Asked once in ten minutes instead of every time:
# cache: true
# cache_plugin: ansible.builtin.jsonfile
# cache_connection: .kastellan/local/inventory-cache
# cache_timeout: 600
"""

FILE_ENDINGS = ("kastellan.yml", "kastellan.yaml")
PULUMI_TIMEOUT_S = 120
# Roles that count as nodes of Kafka: they have kafka_node_id and lie in the group `kafka`.
KAFKA_ROLES = {"kafka_broker", "kafka_controller"}
SPARK_ROLES = {"spark_master", "spark_worker"}
# What a host must say of itself, and in which form.
NEEDED = {"name": str, "address": str, "ssh_user": str, "ssh_port": int, "host_key": str, "roles": list}
FREE = {"node_id": int, "rack": str, "ssh_key_file": str}
# In a path these would end ssh's quotation of it, or stand for something else there or in a template.
UNFIT = ("'", '"', "\\", "%", "{{", "\n", "\r")
ID_VARIABLES = {"kafka_broker": "kafka_node_id", "kafka_controller": "kafka_node_id", "zookeeper": "zookeeper_id"}


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]  # Ansible has no types
    """The plugin; all that needs neither Ansible nor Pulumi is in the functions below."""

    NAME = "kastellan.kafka.pulumi"

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith(FILE_ENDINGS)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:  # noqa: FBT001, FBT002 - Ansible's
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        folder = Path(path).resolve().parent
        stack = self.get_option("stack") or folder.name
        project = Path(self.get_option("project_dir") or nearest_project(folder))
        state = Path(self.get_option("state_dir") or project / ".kastellan" / stack)
        outputs = self._outputs(path, stack, project, cache=cache)
        self._fill(checked_hosts(outputs, stack), stack, state)

    def _outputs(self, path: str, stack: str, project: Path, *, cache: bool) -> dict[str, Any]:
        self.load_cache_plugin()
        key = self.get_cache_key(f"{path}#{stack}")
        kept = self.get_option("cache")
        if kept and cache and key in self._cache:
            found: dict[str, Any] = self._cache[key]
            return found
        outputs = stack_outputs(stack, project)
        if kept:
            self._cache[key] = outputs
        return outputs

    def _fill(self, hosts: list[dict[str, Any]], stack: str, state: Path) -> None:
        # Plays name both, also where there are no such hosts.
        self.inventory.add_group("kafka")
        self.inventory.add_group("zookeeper")
        self.inventory.add_group("spark")
        self.inventory.set_variable("all", "kastellan_stack", stack)
        self.inventory.set_variable("all", "kastellan_state_dir", str(state))
        strict = self.get_option("strict")
        for host in hosts:
            name = host["name"]
            self.inventory.add_host(name)
            for group in host["roles"]:
                self.inventory.add_group(group)
                if group in KAFKA_ROLES:
                    self.inventory.add_child("kafka", group)
                if group in SPARK_ROLES:
                    self.inventory.add_child("spark", group)
                self.inventory.add_child(group, name)
            variables = host_variables(host, state)
            for variable, value in variables.items():
                self.inventory.set_variable(name, variable, value)
            self._set_composite_vars(self.get_option("compose"), variables, name, strict=strict)
            self._add_host_to_composed_groups(self.get_option("groups"), variables, name, strict=strict)
            self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, name, strict=strict)


def nearest_project(folder: Path) -> Path:
    for parent in (folder, *folder.parents):
        if (parent / "Pulumi.yaml").is_file():
            return parent
    raise AnsibleParserError(
        f"No Pulumi.yaml lies above {folder}. Put the inventory into the checkout, or set project_dir in its file."
    )


def stack_outputs(stack: str, project: Path) -> dict[str, Any]:
    """What `pulumi stack output` says; an AnsibleParserError says what to do where it says nothing."""
    argv = ["pulumi", "stack", "output", "--json", "--non-interactive", "--stack", stack]
    if not project.is_dir():
        raise AnsibleParserError(f"There is no folder {project}: mend project_dir in the inventory file.")
    try:
        done = subprocess.run(argv, cwd=project, capture_output=True, text=True, timeout=PULUMI_TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise AnsibleParserError(
            'There is no program pulumi on PATH. In the checkout: eval "$(./kastellan env)", then try again.'
        ) from None
    except subprocess.TimeoutExpired:
        raise AnsibleParserError(f"pulumi gave no answer in {PULUMI_TIMEOUT_S} s: {' '.join(argv)}") from None
    if done.returncode != 0:
        raise AnsibleParserError(explain_failure(stack, done.stderr))
    try:
        outputs: dict[str, Any] = json.loads(done.stdout)
        checked_hosts(outputs, stack)
    except (ValueError, RecursionError) as error:
        raise AnsibleParserError(
            f"pulumi stack output printed no JSON for stack {stack} ({error}). Look what it prints, then run"
            f" ./kastellan up {stack}, or pulumi up."
        ) from None
    return outputs


def checked_hosts(outputs: Any, stack: str) -> list[dict[str, Any]]:
    """What the program of another version, or a stack of somebody else's, may have left there."""
    hosts = outputs.get("hosts") if isinstance(outputs, dict) else None
    if not hosts:
        raise AnsibleParserError(f"Stack {stack} has no hosts: it is not up. Run ./kastellan up {stack}, or pulumi up.")
    if problem := _wrong_in(hosts):
        raise AnsibleParserError(
            f"Output hosts of stack {stack} cannot be used: {problem}. Run ./kastellan up {stack}, or pulumi up: it"
            " writes the output again."
        )
    found: list[dict[str, Any]] = hosts
    return found


def _wrong_in(hosts: Any) -> str:
    if not isinstance(hosts, list) or not all(isinstance(host, dict) for host in hosts):
        return "it is no list of hosts with fields"
    for number, host in enumerate(hosts):
        for field, form in NEEDED.items():
            if not isinstance(host.get(field), form) or isinstance(host[field], bool) or not host[field]:
                return f"hosts[{number}].{field} is {host.get(field)!r}"
        for field, form in FREE.items():
            if not isinstance(host.get(field), form | None) or isinstance(host.get(field), bool):
                return f"hosts[{number}].{field} is {host[field]!r}"
        for role in host["roles"]:
            if not isinstance(role, str) or not role.isidentifier():
                return f"hosts[{number}].roles has {role!r}"
        if problem := _wrong_in_path(host.get("ssh_key_file") or ""):
            return f"hosts[{number}].ssh_key_file {problem}"
    names = [host["name"] for host in hosts]
    return "" if len(set(names)) == len(names) else "two hosts have the same name"


def _wrong_in_path(path: str) -> str:
    try:
        Path(path).expanduser()
    except RuntimeError:
        return f"is {path!r}, and there is no such user"
    return "has a quote, a backslash, % or {{ in it" if any(unfit in path for unfit in UNFIT) else ""


def explain_failure(stack: str, stderr: str) -> str:
    if "no stack named" in stderr:
        return f"There is no stack {stack!r}: it is not up. Run ./kastellan up {stack}, or pulumi up."
    if "PULUMI_ACCESS_TOKEN" in stderr or "pulumi login" in stderr:
        return 'Pulumi does not know where its state is. In the checkout: eval "$(./kastellan env)", then try again.'
    return f"pulumi cannot tell the outputs of stack {stack}:\n{stderr.strip()}"


def host_variables(host: dict[str, Any], state: Path) -> dict[str, Any]:
    if any(unfit in str(state) for unfit in UNFIT):
        raise AnsibleParserError(
            f"ssh cannot be told of files in {str(state)!r}: set state_dir in the inventory file, or move the checkout,"
            " to a path without quotes, backslashes, % and {{."
        )
    key = host.get("ssh_key_file")
    known_hosts = state / "known_hosts"
    variables = {
        "ansible_host": host["address"],
        "ansible_port": host["ssh_port"],
        "ansible_user": host["ssh_user"],
        "ansible_ssh_private_key_file": str(Path(key).expanduser()) if key else str(state / "ssh" / "id_ed25519"),
        "ansible_ssh_common_args": (
            f"-o 'UserKnownHostsFile=\"{known_hosts}\"' -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"
        ),
        # Also where the user's environment switches it off: ssh takes the first word on a matter.
        "ansible_host_key_checking": True,
        # A host made anew has another key: an open connection to its predecessor must not be taken for it.
        "ansible_control_path": f"%(directory)s/kst-{hashlib.sha256(host['host_key'].encode()).hexdigest()[:16]}",
        "kastellan_host_key": host["host_key"],
        "kastellan_roles": host["roles"],
        "kafka_rack": host.get("rack"),
    }
    for role in host["roles"]:
        if role in ID_VARIABLES:
            variables[ID_VARIABLES[role]] = host.get("node_id")
    return variables
