#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""Files, folders and links of a host, many in one go."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.managed_file import OPTIONS, FileError, settle

DOCUMENTATION = r"""
module: managed_files
short_description: Files, folders and links of a host, many in one go
description:
  - Looks at every entry and brings about what differs, each file whole or not at all.
  - One call for all files of a phase, because every task costs a round trip to every host.
  - Never follows or replaces what is of another kind; an entry of state V(absent) removes a folder only if it is empty.
extends_documentation_fragment: [kastellan.kafka.files]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Write two files
  kastellan.kafka.managed_files:
    files:
      - {path: /etc/kafka, state: directory, mode: "0750", group: kafka}
      - {path: /etc/kafka/server.properties, content: "{{ text }}", mode: "0640", group: kafka}
"""

RETURN = r"""
changed_files:
  description: Paths that differed.
  returned: always
  type: list
  elements: str
"""


SPEC: dict[str, Any] = {"files": {"type": "list", "elements": "dict", "required": True, "options": OPTIONS}}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    diffs = []
    for entry in module.params["files"]:
        try:
            diff = settle(entry, apply=not module.check_mode)
        except (FileError, OSError, KeyError) as exc:
            module.fail_json(msg=f"{entry['path']} cannot be made: {exc}")
        if diff:
            diffs.append(diff)
    module.exit_json(changed=bool(diffs), changed_files=[diff["after_header"] for diff in diffs], diff=diffs)


if __name__ == "__main__":
    main()
