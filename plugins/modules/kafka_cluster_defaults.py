#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""Settings of all brokers, without a restart."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_cluster_defaults
short_description: Settings of all brokers that the running cluster takes at once
description:
  - Reads the cluster's own defaults (C(kafka-configs.sh --entity-default)), plans what differs, and sets that.
  - Settings that are not declared are left alone. The cluster checks the plan first, in check mode too.
extends_documentation_fragment:
  - kastellan.kafka.client
options:
  settings:
    description: Name and value, e.g. C(min.insync.replicas). An empty value (null) takes a setting away.
    type: dict
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
- name: Two copies before a write counts
  kastellan.kafka.kafka_cluster_defaults:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    settings:
      min.insync.replicas: 2
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
  sample: ["set min.insync.replicas=2 on all brokers"]
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import cluster_defaults
from ..module_utils.entry import COMMON_SPEC, connect, prepare
from ..module_utils.errors import KafkaModuleError
from ..module_utils.reconcile import Outcome, wait_for

SPEC: dict[str, Any] = {**COMMON_SPEC, "settings": {"type": "dict", "required": True}}


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    prepare(module)
    try:
        with connect(module.params) as cluster:
            changes = cluster_defaults.plan(module.params["settings"], cluster_defaults.read(cluster))
            cluster_defaults.apply(cluster, changes, validate_only=True)
            if changes and not module.check_mode:
                cluster_defaults.apply(cluster, changes, validate_only=False)
                wait_for(
                    lambda: cluster_defaults.unsettled(cluster, changes),
                    timeout_s=module.params["timeout_s"],
                    what="Settings of all brokers did not come to be as planned",
                    resolution="Look at the brokers' logs.",
                )
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**Outcome(changes).result())


if __name__ == "__main__":
    main()
