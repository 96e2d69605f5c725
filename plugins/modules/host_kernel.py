#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""Kernel settings: the file for the next boot, and what the kernel has now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.managed_file import FileError, settle

DOCUMENTATION = r"""
module: host_kernel
short_description: Kernel settings for now and for the next boot
description:
  - Writes the file that systemd-sysctl reads at boot, and sets what differs now.
  - What a container cannot change is returned in RV(unchangeable) and said in a warning, not failed.
options:
  path: {description: The file., type: path, required: true}
  settings: {description: Names as sysctl has them, and their values., type: dict, required: true}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Tune the kernel
  kastellan.kafka.host_kernel:
    path: /etc/sysctl.d/60-kastellan.conf
    settings: {vm.swappiness: 1}
"""

RETURN = r"""
unchangeable: {description: What could not be set, and what it is., returned: always, type: dict}
"""


def main() -> None:
    module = AnsibleModule(
        argument_spec={"path": {"type": "path", "required": True}, "settings": {"type": "dict", "required": True}},
        supports_check_mode=True,
    )
    wanted = {name: str(value) for name, value in module.params["settings"].items()}
    text = "".join(f"{name} = {value}\n" for name, value in sorted(wanted.items()))
    entry = {
        "path": module.params["path"],
        "state": "file",
        "content": text,
        "owner": "root",
        "group": "root",
        "mode": "0644",
    }
    try:
        diffs = [settle(entry, apply=not module.check_mode)]
    except (FileError, OSError) as exc:
        module.fail_json(msg=f"{module.params['path']} cannot be written: {exc}")
    unchangeable: dict[str, str] = {}
    for name, value in wanted.items():
        diffs.append(_set(name, value, unchangeable, apply=not module.check_mode))
    found = [diff for diff in diffs if diff]
    module.exit_json(changed=bool(found), unchangeable=unchangeable, diff=found)


def _set(name: str, value: str, unchangeable: dict[str, str], *, apply: bool) -> dict[str, Any] | None:
    path = Path("/proc/sys") / name.replace(".", "/")
    try:
        before = " ".join(path.read_text(encoding="ascii").split())
    except OSError:
        unchangeable[name] = "not there"
        return None
    if before == value:
        return None
    try:
        # Opening tells in check mode too whether this kernel lets itself be told; a container's is read only.
        with path.open("w" if apply else "r+", encoding="ascii") as file:
            if apply:
                file.write(value)
    except OSError:
        unchangeable[name] = before
        return None
    return {"before_header": name, "after_header": name, "before": f"{before}\n", "after": f"{value}\n"}


if __name__ == "__main__":
    main()
