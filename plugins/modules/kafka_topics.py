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
options:
  topics:
    description:
      - All topics to manage.
      - Internal ones (C(__*)) are never deleted, and of their settings only declared ones are touched.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the topic. Two names that differ only in C(.) and C(_) are refused, as Kafka does.
        type: str
        required: true
      state:
        description: Whether it is to be there. V(absent) deletes it with its data.
        type: str
        choices: [present, absent]
        default: present
      partitions:
        description: How many. Without it, the cluster's default for a new topic, or what an existing one has.
        type: int
      replication_factor:
        description: How many replicas. Without it, the cluster's default for a new topic, or what an existing one has.
        type: int
      config:
        description: Settings of the topic, e.g. C(min.insync.replicas).
        type: dict
        default: {}
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

from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import topics, topics_backend
from ..module_utils.entry import COMMON_SPEC, STRAYS_SPEC, connect, prepare
from ..module_utils.errors import KafkaModuleError
from ..module_utils.reconcile import Outcome, refuse_to_remove_all, wait_for

if TYPE_CHECKING:
    from ..module_utils.cluster import Cluster

TOPIC_OPTIONS = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "partitions": {"type": "int"},
    "replication_factor": {"type": "int"},
    "config": {"type": "dict", "default": {}},
}
SPEC = {
    **COMMON_SPEC,
    **STRAYS_SPEC,
    "topics": {"type": "list", "elements": "dict", "required": True, "options": TOPIC_OPTIONS},
    "reassignment_timeout_s": {"type": "float", "default": 600.0},
}


def reconcile(cluster: Cluster, params: dict[str, Any], *, check_mode: bool) -> Outcome:
    wanted = topics.parse(params["topics"])
    state = topics_backend.read(cluster, wanted)
    strays = topics.strays(wanted, state.topics, params["ignore_strays"])
    remove = strays if params["remove_strays"] else []
    refuse_to_remove_all("topics", declared=bool(wanted), strays=remove)
    warnings = topics.check(wanted, state.topics, state.brokers, remove=remove)
    changes = topics.plan(wanted, state.topics, state.brokers, remove=remove)
    topics_backend.validate(cluster, changes)
    if changes and not check_mode:
        topics_backend.apply(cluster, changes, reassignment_timeout_s=params["reassignment_timeout_s"])

        def open_changes() -> list[str]:
            now = topics_backend.read(cluster, wanted)
            left = topics.plan(wanted, now.topics, now.brokers, remove=remove)
            return [change.line for change in left] or topics_backend.leaderless(cluster, changes)

        wait_for(
            open_changes,
            timeout_s=params["timeout_s"],
            what="Topics did not come to be as planned",
            resolution="Look at the brokers: kafka_cluster_info names partitions without a leader.",
        )
    return Outcome(changes, strays, warnings)


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    prepare(module)
    try:
        with connect(module.params) as cluster:
            outcome = reconcile(cluster, module.params, check_mode=module.check_mode)
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    for warning in outcome.warnings:
        module.warn(warning)
    module.exit_json(**outcome.result())


if __name__ == "__main__":
    main()
