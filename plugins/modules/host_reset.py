#!/usr/bin/python
# ruff: noqa: E402, EXE001 - documentation first, no execute bit: as Ansible wants modules
"""Take a service and what belongs to it off a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_reset
short_description: Take a service and what belongs to it off a host
description:
  - Stops and disables the unit, then removes the paths with all that is in them. Its packet filter goes with it.
  - What is not there is no error.
options:
  unit: {description: The service., type: str, required: true}
  paths: {description: Absolute paths to remove., type: list, elements: path, required: true}
  links_into: {description: Links in /usr/local/bin that lead there go as well., type: path, required: true}
  table: {description: Table of nftables to remove., type: str, default: inet kastellan}
attributes:
  check_mode: {support: full}
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Remove Kafka
  kastellan.kafka.host_reset:
    unit: kafka.service
    paths: [/etc/kafka, /var/lib/kafka/data]
    links_into: /opt/kafka/current
"""

RETURN = r"""
removed: {description: Paths that were there., returned: success, type: list, elements: str}
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

# A stop without a quorum hangs until its unit's own bound (TimeoutStopSec).
STOP_TIMEOUT_S = 240
TOOLS = Path("/usr/local/bin")


SPEC: dict[str, Any] = {
    "unit": {"type": "str", "required": True},
    "paths": {"type": "list", "elements": "path", "required": True},
    "links_into": {"type": "path", "required": True},
    "table": {"type": "str", "default": "inet kastellan"},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    wanted = [*module.params["paths"], *links(module.params["links_into"])]
    there = [path for path in wanted if Path(path).exists() or Path(path).is_symlink()]
    if not module.check_mode:
        try:
            remove(module.params["unit"], there, module.params["table"])
        except (OSError, subprocess.TimeoutExpired) as exc:
            module.fail_json(msg=f"Not everything could be removed: {exc}")
    module.exit_json(changed=bool(there), removed=there)


def links(target: str) -> list[str]:
    found = [path for path in sorted(TOOLS.iterdir()) if path.is_symlink()]
    return [str(path) for path in found if str(path.readlink()).startswith(f"{target}/")]


def remove(unit: str, paths: list[str], table: str) -> None:
    run(["systemctl", "kill", "--signal=SIGKILL", unit])  # its data goes with it: nothing to hand over
    run(["systemctl", "disable", "--now", unit])
    run(["nft", "delete", "table", *table.split()])
    for path in map(Path, paths):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    run(["systemctl", "daemon-reload"])


def run(argv: list[str]) -> None:
    """Its failure only says that there was nothing to stop or remove."""
    subprocess.run(argv, capture_output=True, timeout=STOP_TIMEOUT_S, check=False)


if __name__ == "__main__":
    main()
