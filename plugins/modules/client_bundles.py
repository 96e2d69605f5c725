#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""Client bundles: the login of a user, written down for every kind of client."""

from __future__ import annotations

DOCUMENTATION = r"""
module: client_bundles
short_description: The login of a user, written down for every kind of client
description:
  - Writes C(client.properties), C(client-mtls.properties), C(librdkafka.json) and C(librdkafka-mtls.json), mode 0600.
  - Keys and certificates of the users (C(ca.pem), C(cert.pem), C(key.pem)) have to be there. Use C(no_log).
options:
  folder: {description: Holds a folder per user., type: path, required: true}
  users: {description: User -> password., type: dict, required: true}
  sasl_servers: {description: Brokers to begin with for SASL., type: str, required: true}
  mtls_servers: {description: Brokers to begin with for mutual TLS., type: str, required: true}
  mechanism: {description: SASL mechanism., type: str, required: true}
attributes:
  check_mode: {support: full}
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Write the bundle of a user
  kastellan.kafka.client_bundles:
    folder: .kastellan/local/clients
    users: {usercc: "{{ password }}"}
    sasl_servers: 198.18.0.11:9092
    mtls_servers: 198.18.0.11:9094
    mechanism: SCRAM-SHA-512
  no_log: true
  delegate_to: localhost
"""

RETURN = r"""
written: {description: Files that differed., returned: success, type: list, elements: str}
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.client_files import files
from ..module_utils.managed_file import FileError, settle

PARTS = {"ca": "ca.pem", "certificate": "cert.pem", "key": "key.pem"}


SPEC: dict[str, Any] = {
    "folder": {"type": "path", "required": True},
    "users": {"type": "dict", "required": True, "no_log": True},
    "sasl_servers": {"type": "str", "required": True},
    "mtls_servers": {"type": "str", "required": True},
    "mechanism": {"type": "str", "required": True},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        supports_check_mode=True,
    )
    written: list[str] = []
    try:
        for user, password in sorted(module.params["users"].items()):
            written += bundle(user, password, module.params, apply=not module.check_mode)
    except (FileError, OSError) as exc:
        module.fail_json(msg=f"The client bundles in {module.params['folder']}: {exc}")
    module.exit_json(changed=bool(written), written=written)


def bundle(user: str, password: str, options: dict[str, Any], *, apply: bool) -> list[str]:
    folder = Path(options["folder"]) / user
    try:
        pems = {part: (folder / name).read_text(encoding="ascii") for part, name in PARTS.items()}
    except FileNotFoundError:
        if apply:
            raise
        pems = dict.fromkeys(PARTS, "")  # in check mode on a virgin controller nothing was issued
    login = {**options, **pems, "password": password, "folder": str(folder)}
    entries = [
        {"path": str(folder / name), "state": "file", "content": text, "owner": "", "group": "", "mode": "0600"}
        for name, text in files(user, login).items()
    ]
    return [entry["path"] for entry in entries if settle(entry, apply=apply)]


if __name__ == "__main__":
    main()
