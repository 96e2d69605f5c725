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
options:
  quotas:
    description:
      - All quotas to manage. V(<default>) as a name is all that have no quota of their own.
      - An entry is for a user, a client, a user's client, or an address.
    type: list
    elements: dict
    required: true
    suboptions:
      user:
        description: Name of the user, with or without C(User:).
        type: str
      client_id:
        description: What a client calls itself (C(client.id)).
        type: str
      ip:
        description: Address that connections come from; cannot be combined.
        type: str
      quotas:
        description: The values. What is left out has no quota.
        type: dict
        suboptions:
          producer_byte_rate:
            description: Bytes a second that may be written to a broker.
            type: float
          consumer_byte_rate:
            description: Bytes a second that may be read from a broker.
            type: float
          request_percentage:
            description: Share of a broker's request threads, in percent of one thread.
            type: float
          controller_mutation_rate:
            description: Partitions a second that may be created or deleted.
            type: float
          connection_creation_rate:
            description: Connections a second that may be opened to a broker, with O(quotas[].ip) alone.
            type: float
      state:
        description: Whether there is to be a quota.
        type: str
        choices: [present, absent]
        default: present
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

from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import quotas, quotas_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, connect, prepare
from ..module_utils.errors import KafkaModuleError
from ..module_utils.reconcile import Outcome, refuse_to_remove_all, wait_for

if TYPE_CHECKING:
    from ..module_utils.cluster import Cluster

QUOTA_OPTIONS = {
    "user": {"type": "str"},
    "client_id": {"type": "str"},
    "ip": {"type": "str"},
    "quotas": {"type": "dict", "options": {key: {"type": "float"} for key in (*quotas.RATES, *quotas.IP_RATES)}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "quotas": {"type": "list", "elements": "dict", "required": True, "options": QUOTA_OPTIONS},
}


def reconcile(cluster: Cluster, params: dict[str, Any], *, check_mode: bool) -> Outcome:
    wanted = quotas.parse(params["quotas"])

    def look() -> tuple[list[quotas.Entity], list[quotas.QuotaChange]]:
        existing = quotas_backend.read(cluster)
        strays = quotas.strays(wanted, existing, params["ignore_strays"])
        return strays, quotas.plan(wanted, existing, remove=strays if params["remove_strays"] else ())

    strays, changes = look()
    names = [quotas.shown(entity) for entity in strays]
    refuse_to_remove_all("quotas", declared=bool(wanted), strays=names if params["remove_strays"] else [])
    quotas_backend.apply(cluster, changes, validate_only=True)
    if changes and not check_mode:
        quotas_backend.apply(cluster, changes)
        wait_for(
            lambda: [change.line for change in look()[1]],
            timeout_s=params["timeout_s"],
            what="Quotas did not come to be as planned",
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
