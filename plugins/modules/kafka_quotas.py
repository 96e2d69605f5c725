#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""Quotas of a Kafka cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_quotas
short_description: Quotas of a Kafka cluster, as declared
description:
  - Reads all quotas in one answer, and sets what differs, thousands in one request.
  - Quotas of a declared user, client or address that are not declared are taken away.
  - The cluster itself checks the plan before anything changes, in check mode too.
extends_documentation_fragment:
  - kastellan.kafka.client
  - kastellan.kafka.client.strays
  - kastellan.kafka.client.quotas
options:
  quotas:
    required: true
attributes:
  check_mode:
    support: full
    description: Stops after the plan, which the cluster has checked.
  diff_mode:
    support: full
    description: Shows the plan.
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Reconcile quotas
  kastellan.kafka.kafka_quotas:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    quotas:
      - {user: billing, quotas: {producer_byte_rate: 1048576, consumer_byte_rate: 2097152}}
      - {user: billing, client_id: <default>, quotas: {request_percentage: 50}}
      - {ip: <default>, quotas: {connection_creation_rate: 20}}
      - {client_id: old-batch, state: absent}
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
  sample: ["quota of user billing: producer_byte_rate none -> 1048576"]
strays:
  description: Whoever has a quota that is not declared, without ignored ones.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import quotas_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, reconcile
from ..module_utils.specs import QUOTAS

SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "quotas": {**QUOTAS, "required": True},
}


def main() -> None:
    reconcile(AnsibleModule(argument_spec=SPEC, supports_check_mode=True), quotas_backend.plan_work)


if __name__ == "__main__":
    main()
