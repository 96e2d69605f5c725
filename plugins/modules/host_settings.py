#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""Files, kernel settings and packet filter of a host, in one go."""

from __future__ import annotations

import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import host_firewall, host_kernel, managed_file
from ..module_utils.managed_file import OPTIONS, FileError

DOCUMENTATION = r"""
module: host_settings
short_description: Files, kernel settings and packet filter of a host, in one go
description:
  - Brings about files as M(kastellan.kafka.managed_files) does, then what the kernel has now.
  - Kernel settings that a container cannot change are returned and said in a warning, not failed.
  - The live table of nftables is compared with what its text makes in a network namespace of its own, so rules that
    somebody else added or took away are seen. Other tables are left alone.
extends_documentation_fragment: [kastellan.kafka.files]
options:
  kernel: {description: Names as sysctl has them and their values., type: dict, default: {}}
  table: {description: Family and name of the table., type: str, default: inet kastellan}
  firewall:
    description: Text that replaces the table (declare it, delete it, make it). Empty leaves the packet filter alone.
    type: str
    default: ""
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Set the host up
  kastellan.kafka.host_settings:
    files:
      - {path: /etc/sysctl.d/60-kastellan.conf, content: "vm.swappiness = 1\n"}
    kernel: {vm.swappiness: 1}
    firewall: "{{ lookup('ansible.builtin.template', 'firewall.nft.j2') }}"
"""

RETURN = r"""
unchangeable: {description: What could not be set, and what it is., returned: always, type: dict}
"""


SPEC: dict[str, Any] = {
    "files": {"type": "list", "elements": "dict", "required": True, "options": OPTIONS},
    "kernel": {"type": "dict", "default": {}},
    "table": {"type": "str", "default": "inet kastellan"},
    "firewall": {"type": "str", "default": ""},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    options, apply = module.params, not module.check_mode
    wanted = {name: str(value) for name, value in options["kernel"].items()}
    try:
        diffs = [diff for entry in options["files"] if (diff := managed_file.settle(entry, apply=apply))]
        kernel, unchangeable = host_kernel.settle(wanted, apply=apply)
        diffs += kernel
        if options["firewall"]:
            diffs += host_firewall.settle(options["firewall"], options["table"], apply=apply)
    except (FileError, OSError, RuntimeError, KeyError, subprocess.TimeoutExpired) as exc:
        module.fail_json(msg=f"This host cannot be set up: {exc}")
    if unchangeable:
        shown = ", ".join(f"{name} stays {value}" for name, value in sorted(unchangeable.items()))
        module.warn(f"A container cannot change its kernel: {shown}.")
    module.exit_json(changed=bool(diffs), unchangeable=unchangeable, diff=diffs)


if __name__ == "__main__":
    main()
