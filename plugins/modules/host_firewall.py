#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""One table of nftables: its file, and what the kernel really has."""

from __future__ import annotations

import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.managed_file import FileError, settle

DOCUMENTATION = r"""
module: host_firewall
short_description: One table of nftables, as declared and as the kernel has it
description:
  - Writes the file, then compares the live table with what the file makes in a network namespace of its own.
  - Loads it in one transaction if they differ, so there is no moment without rules. Other tables are left alone.
options:
  path: {description: The file., type: path, required: true}
  table: {description: Family and name of the table., type: str, required: true}
  content:
    description: Text of the file. It has to replace the table (declare it, delete it, make it).
    type: str
    required: true
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Open the declared ports only
  kastellan.kafka.host_firewall:
    path: /etc/kastellan/firewall.nft
    table: inet kastellan
    content: "{{ lookup('ansible.builtin.template', 'firewall.nft.j2') }}"
"""

RETURN = r"""
loaded: {description: Whether the live table differed., returned: always, type: bool}
"""

TIMEOUT_S = 30


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "table": {"type": "str", "required": True},
            "content": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    options, apply = module.params, not module.check_mode
    try:
        expected, live = declared(options["content"], options["table"]), listed(options["table"])
        diffs = [settle(_entry(options), apply=apply)]
        if expected != live:
            if apply:
                nft(["nft", "-f", "-"], stdin=options["content"])
            headers = {"before_header": f"live {options['table']}", "after_header": f"live {options['table']}"}
            diffs.append({**headers, "before": live, "after": expected})
    except (FileError, OSError, RuntimeError, subprocess.TimeoutExpired) as exc:
        module.fail_json(msg=f"The firewall ({options['table']}): {exc}")
    found = [diff for diff in diffs if diff]
    module.exit_json(changed=bool(found), loaded=expected != live, diff=found)


def _entry(options: dict[str, Any]) -> dict[str, Any]:
    owner = {"owner": "root", "group": "root", "mode": "0644"}
    return {"path": options["path"], "state": "file", "content": options["content"], **owner}


def declared(content: str, table: str) -> str:
    """What the kernel shows of it once it is loaded: asked in a namespace that nobody uses."""
    script = f"nft -f - && nft -s list table {table}"
    return nft(["unshare", "--net", "sh", "-c", script], stdin=content)


def listed(table: str) -> str:
    try:
        return nft(["nft", "-s", "list", "table", *table.split()])
    except RuntimeError:
        return ""


def nft(argv: list[str], stdin: str = "") -> str:
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


if __name__ == "__main__":
    main()
