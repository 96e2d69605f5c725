#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""Topics of a Kafka cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_topics
short_description: Topics of a Kafka cluster, as declared
description:
  - Reads all topics, plans what differs, and does that, many topics at a time.
  - Partitions can be added, never taken away.
  - A changed replication factor moves replicas, with regard to racks, and waits for them.
  - Settings that stand on a topic and are not declared go back to the cluster's default.
  - The cluster itself checks the plan before anything changes, in check mode too.
extends_documentation_fragment:
  - kastellan.kafka.client
  - kastellan.kafka.client.strays
  - kastellan.kafka.client.topics
options:
  topics:
    required: true
  reassignment_timeout_s:
    description: How long to wait, in seconds, for replicas that move. The cluster goes on moving them afterwards.
    type: float
    default: 600
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
- name: Reconcile topics
  kastellan.kafka.kafka_topics:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    topics:
      - name: orders
        partitions: 6
        replication_factor: 3
        config:
          min.insync.replicas: 2
          cleanup.policy: [compact, delete]
      - name: orders-old
        state: absent
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
  sample: ["create topic orders: partitions 6, replication factor 3, min.insync.replicas=2"]
strays:
  description: Topics that are there and not declared, without internal and ignored ones.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import topics_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, reconcile
from ..module_utils.specs import REASSIGNMENT_TIMEOUT, TOPICS

SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "topics": {**TOPICS, "required": True},
    "reassignment_timeout_s": REASSIGNMENT_TIMEOUT,
}


def main() -> None:
    reconcile(AnsibleModule(argument_spec=SPEC, supports_check_mode=True), topics_backend.plan_work)


if __name__ == "__main__":
    main()
