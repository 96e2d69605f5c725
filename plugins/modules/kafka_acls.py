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
options:
  acls:
    description: All ACLs to manage. Each operation of an entry is an ACL of its own for Kafka.
    type: list
    elements: dict
    required: true
    suboptions:
      principal:
        description: Who. The kind C(User:) is added where there is none; V(*) is everybody.
        type: str
        required: true
      resource_type:
        description: Kind of the resource.
        type: str
        required: true
        choices: [topic, group, cluster, transactional_id, delegation_token, user]
      name:
        description: Name of the resource, V(*) for all. Not needed for the cluster.
        type: str
        aliases: [resource_name]
      pattern_type:
        description: Whether O(acls[].name) is the whole name or what it begins with.
        type: str
        choices: [literal, prefixed]
        default: literal
      operations:
        description:
          - What is allowed or denied, e.g. V(read), V(write), V(describe), or V(all).
          - An operation that Kafka never asks for on such a resource is refused.
        type: list
        elements: str
        required: true
        aliases: [operation]
      permission:
        description: A denial beats every permission.
        type: str
        choices: [allow, deny]
        default: allow
      host:
        description: Address that the client comes from, V(*) for all.
        type: str
        default: '*'
      state:
        description: Whether it is to be there.
        type: str
        choices: [present, absent]
        default: present
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

from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import acls, acls_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, connect, prepare, protected_principals
from ..module_utils.errors import KafkaModuleError
from ..module_utils.reconcile import Outcome, refuse_to_remove_all, wait_for

if TYPE_CHECKING:
    from ..module_utils.cluster import Cluster

ACL_OPTIONS = {
    "principal": {"type": "str", "required": True},
    "resource_type": {"type": "str", "required": True, "choices": list(acls.RESOURCE_TYPES)},
    "name": {"type": "str", "aliases": ["resource_name"]},
    "pattern_type": {"type": "str", "choices": ["literal", "prefixed"], "default": "literal"},
    "operations": {"type": "list", "elements": "str", "required": True, "aliases": ["operation"]},
    "permission": {"type": "str", "choices": ["allow", "deny"], "default": "allow"},
    "host": {"type": "str", "default": "*"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "acls": {"type": "list", "elements": "dict", "required": True, "options": ACL_OPTIONS},
    "protected_principals": {"type": "list", "elements": "str", "default": []},
}


def reconcile(cluster: Cluster, params: dict[str, Any], *, check_mode: bool) -> Outcome:
    protected = protected_principals(params["protected_principals"], cluster)
    declared = acls.parse(params["acls"], protected)

    def look() -> tuple[list[acls.Acl], list[acls.AclChange]]:
        existing = acls_backend.read(cluster)
        strays = acls.strays(declared, existing, protected=protected, ignored=params["ignore_strays"])
        return strays, acls.plan(declared, existing, remove=strays if params["remove_strays"] else ())

    strays, changes = look()
    names = [str(stray) for stray in strays]
    refuse_to_remove_all("ACLs", declared=bool(params["acls"]), strays=names if params["remove_strays"] else [])
    if changes and not check_mode:
        acls_backend.apply(cluster, changes)
        wait_for(
            lambda: [change.line for change in look()[1]],
            timeout_s=params["timeout_s"],
            what="ACLs did not come to be as planned",
            resolution="Does somebody else change them at this moment?",
        )
    return Outcome(changes, names)


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    prepare(module)
    try:
        with connect(module.params) as cluster:
            outcome = reconcile(cluster, module.params, check_mode=module.check_mode)
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**outcome.result())


if __name__ == "__main__":
    main()
