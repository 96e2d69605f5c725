#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""SCRAM users of a Kafka cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_scram_users
short_description: SCRAM users of a Kafka cluster, as declared
description:
  - Reads all users, and sets or removes credentials where they differ.
  - Kafka never tells a password, so each declared one is tried by logging in with it, many at a time. A password that
    works is left alone, one that does not is set. Nothing is remembered between runs.
  - Passwords may hold any character. Kafka takes their UTF-8 bytes as they are (no SASLprep), and so does this module.
extends_documentation_fragment:
  - kastellan.kafka.client
  - kastellan.kafka.client.strays
  - kastellan.kafka.client.users
options:
  users:
    required: true
  protected_users:
    description: Users that are never removed and are no strays. The one who connects is always one.
    type: list
    elements: str
    default: []
  login_servers:
    description:
      - Where passwords are tried, if the module itself connects to a listener without SASL, with a certificate.
      - They are reached with the same TLS settings.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Stops after the plan. Passwords are tried then, too.
  diff_mode:
    support: full
    description: Shows the plan, never a password.
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Reconcile users
  kastellan.kafka.kafka_scram_users:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    users:
      - name: billing
        password: "{{ vault_billing_password }}"
        mechanisms: [SCRAM-SHA-256, SCRAM-SHA-512]
      - {name: old, state: absent}
    protected_users: [admin]
  no_log: true
  delegate_to: localhost
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
"""

RETURN = r"""
plan:
  description: What was done, or would be in check mode, a line a step.
  returned: success
  type: list
  elements: str
  sample: ["alter user billing: SCRAM-SHA-512, new password"]
strays:
  description: Users that are there and not declared, without protected and ignored ones.
  returned: success
  type: list
  elements: str
tested:
  description: How many credentials were tried by logging in.
  returned: success
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import users_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, reconcile
from ..module_utils.specs import NAMES, USERS

SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "users": {**USERS, "required": True},
    "protected_users": NAMES,
    "login_servers": NAMES,
}


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    reconcile(module, users_backend.plan_work, secrets=[user["password"] for user in module.params["users"]])


if __name__ == "__main__":
    main()
