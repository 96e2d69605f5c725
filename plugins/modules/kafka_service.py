#!/usr/bin/python
# ruff: noqa: EXE001 - no execute bit: as Ansible wants modules
"""The service of a node: enabled, running, and running with what lies on the disk."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kafka_service
short_description: Enable and start a service, and say whether it needs a restart
description:
  - Starts what does not run. Never restarts what runs, that is the business of a rolling restart.
  - Whether a restart is needed is seen by comparing what the process was started with (its unit writes that down at
    each start) with what is there now, so an interrupted run is picked up by the next one.
options:
  name: {description: The unit., type: str, required: true}
  started_with: {description: File that the unit writes at each start., type: path, required: true}
  witness: {description: Shell command whose output the unit writes there., type: str, required: true}
  config_changed: {description: Whether this run changed what it is started with., type: bool, default: false}
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Start Kafka
  kastellan.kafka.kafka_service:
    name: kafka.service
    started_with: /run/kafka/started-with
    witness: sha256sum /etc/kafka/server.properties
"""

RETURN = r"""
started: {description: Whether it was started now., returned: always, type: bool}
restart_needed: {description: Whether what runs is not what is on the disk., returned: always, type: bool}
reasons: {description: What differs., returned: always, type: list, elements: str}
"""

TIMEOUT_S = 120


class ServiceError(Exception):
    """systemd did not do what was asked."""


SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "started_with": {"type": "path", "required": True},
    "witness": {"type": "str", "required": True},
    "config_changed": {"type": "bool", "default": False},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    try:
        answer = settle(module.params, apply=not module.check_mode)
    except (ServiceError, OSError, subprocess.TimeoutExpired) as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(**answer)


def settle(options: dict[str, Any], *, apply: bool) -> dict[str, Any]:
    unit = options["name"]
    shown = show(unit)
    done = []
    if shown.get("LoadState") != "loaded" and not apply:  # a virgin host in check mode
        return {"changed": True, "started": True, "restart_needed": False, "reasons": [], "done": ["enable", "start"]}
    if apply and shown.get("NeedDaemonReload") == "yes":
        systemctl("daemon-reload")
    if shown.get("UnitFileState") != "enabled":
        done.append("enable")
        if apply:
            systemctl("enable", unit)
    started = shown.get("ActiveState") != "active"
    if started:
        done.append("start")
        if apply:
            systemctl("reset-failed", unit)
            systemctl("start", unit)
    reasons = [] if started else differences(options["started_with"], options["witness"])
    if not (started or apply or reasons) and options["config_changed"]:
        reasons = ["what this run would change"]
    changed = bool(done or reasons)
    return {"changed": changed, "started": started, "restart_needed": bool(reasons), "reasons": reasons, "done": done}


def show(unit: str) -> dict[str, str]:
    names = "LoadState,ActiveState,UnitFileState,NeedDaemonReload"
    return dict(line.split("=", maxsplit=1) for line in systemctl("show", f"--property={names}", unit).splitlines())


def systemctl(*words: str) -> str:
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise ServiceError(f"systemctl {' '.join(words)}: {done.stderr.strip()}. See journalctl --unit {words[-1]}.")
    return done.stdout


def differences(started_with: str, witness: str) -> list[str]:
    try:
        then = Path(started_with).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ["not known what it was started with"]
    done = subprocess.run(["sh", "-c", witness], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    now = done.stdout.splitlines()
    return sorted({line.split()[-1] for line in set(then) ^ set(now)})


if __name__ == "__main__":
    main()
