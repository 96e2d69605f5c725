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
options:
  users:
    description: All users to manage. It is never logged; set C(no_log) on the task as well if you loop over something.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the user, with or without C(User:).
        type: str
        required: true
      password:
        description: Needed unless O(users[].state=absent).
        type: str
      mechanisms:
        description: For each of them the user gets a credential; of others it is taken away.
        type: list
        elements: str
        choices: [SCRAM-SHA-256, SCRAM-SHA-512]
        default: [SCRAM-SHA-512]
      iterations:
        description:
          - How often a password is hashed, V(4096) to V(16384). Kafka's own default is enough for generated passwords.
            Set more for those that people thought of.
        type: int
        default: 4096
      state:
        description: Whether the user is to be there.
        type: str
        choices: [present, absent]
        default: present
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

from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import users, users_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, connect, prepare, protected_principals
from ..module_utils.errors import KafkaModuleError
from ..module_utils.reconcile import Outcome, refuse_to_remove_all, short_name, wait_for
from ..module_utils.scram import ALGORITHMS, ITERATIONS_MIN

if TYPE_CHECKING:
    from ..module_utils.cluster import Cluster

USER_OPTIONS = {
    "name": {"type": "str", "required": True},
    "password": {"type": "str", "no_log": True},
    "mechanisms": {"type": "list", "elements": "str", "choices": list(ALGORITHMS), "default": ["SCRAM-SHA-512"]},
    "iterations": {"type": "int", "default": ITERATIONS_MIN},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    # As a whole, for the same reason as `client`.
    "users": {"type": "list", "elements": "dict", "required": True, "options": USER_OPTIONS, "no_log": True},
    "protected_users": {"type": "list", "elements": "str", "default": []},
    "login_servers": {"type": "list", "elements": "str", "default": []},
}


def reconcile(cluster: Cluster, params: dict[str, Any], *, check_mode: bool) -> tuple[Outcome, int]:
    """What was done, and how many passwords were tried."""
    protected = {short_name(name) for name in protected_principals(params["protected_users"], cluster)}
    wanted = users.parse(params["users"], protected)
    right: dict[users.Key, bool] = {}

    def look() -> tuple[list[str], list[users.UserChange]]:
        existing = users_backend.read(cluster)
        # A password that was right a moment ago is not tried again while waiting for the others.
        keys = [key for key in users.to_test(wanted, existing) if not right.get(key)]
        if keys:
            settings = users_backend.login_settings(cluster, params["login_servers"])
            right.update(users_backend.try_passwords(settings, wanted, keys, timeout_s=params["timeout_s"]))
        strays = users.strays(wanted, existing, protected=protected, ignored=params["ignore_strays"])
        remove = strays if params["remove_strays"] else ()
        return strays, users.plan(wanted, existing, right, remove=remove, login=cluster.settings.login)

    strays, changes = look()
    tested = len(right)
    refuse_to_remove_all("users", declared=bool(wanted), strays=strays if params["remove_strays"] else [])
    if changes and not check_mode:
        users_backend.apply(cluster, changes)
        wait_for(
            lambda: [change.line for change in look()[1]],
            timeout_s=params["timeout_s"],
            what="Users did not come to be as planned",
            resolution="Does somebody else change them at this moment?",
        )
    return Outcome(changes, strays, users.warnings(wanted.values())), tested


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    prepare(module, [user["password"] for user in module.params["users"]])
    try:
        with connect(module.params) as cluster:
            outcome, tested = reconcile(cluster, module.params, check_mode=module.check_mode)
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    for warning in outcome.warnings:
        module.warn(warning)
    module.exit_json(**outcome.result(), tested=tested)


if __name__ == "__main__":
    main()
