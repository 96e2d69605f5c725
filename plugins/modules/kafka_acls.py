#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""ACLs of a Kafka cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_acls
short_description: ACLs of a Kafka cluster, as declared
description:
  - Reads all ACLs in one answer, compares two sets, and creates and deletes what differs, thousands at a time.
extends_documentation_fragment:
  - kastellan.kafka.client
  - kastellan.kafka.client.strays
  - kastellan.kafka.client.acls
options:
  acls:
    required: true
  protected_principals:
    description:
      - Principals whose ACLs are never removed and are no strays, such as super users.
      - The user who connects is always one.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Stops after the plan.
  diff_mode:
    support: full
    description: Shows the plan.
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Reconcile ACLs
  kastellan.kafka.kafka_acls:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    acls:
      - {principal: billing, resource_type: topic, name: orders, operations: [read, describe]}
      - {principal: billing, resource_type: group, name: billing-, pattern_type: prefixed, operations: [read]}
      - {principal: mallory, resource_type: topic, name: '*', operations: [all], permission: deny}
    remove_strays: true
    protected_principals: [admin]
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
  sample: ["create ACL: User:billing allow read on topic orders"]
strays:
  description: ACLs that are there and not declared, without those of protected and ignored principals.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import acls_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, reconcile
from ..module_utils.specs import ACLS, NAMES

SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "acls": {**ACLS, "required": True},
    "protected_principals": NAMES,
}


def main() -> None:
    reconcile(AnsibleModule(argument_spec=SPEC, supports_check_mode=True), acls_backend.plan_work)


if __name__ == "__main__":
    main()
