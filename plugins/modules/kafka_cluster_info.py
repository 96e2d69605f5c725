#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""Facts of a Kafka cluster, and whether one of its nodes may be stopped."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_cluster_info
short_description: State of a Kafka cluster, and whether a node may be stopped
description:
  - Reads brokers, controller, quorum and partitions. Changes nothing.
  - Can wait, without fixed pauses, until the cluster is whole or until a node may be stopped.
extends_documentation_fragment:
  - kastellan.kafka.client
options:
  node_id:
    description: The node whose stop is judged, see RV(gate).
    type: int
  require_writable:
    description: Whether the gate refuses, too, if there are partitions that cannot stay writable through any restart.
    type: bool
    default: false
  expected_brokers:
    description: Ids of brokers that must be there for the cluster to be whole. Without it, all that are registered.
    type: list
    elements: int
    default: []
  until:
    description:
      - What to wait for. V(whole) is all brokers there, voters caught up, all replicas in sync;
        V(stoppable) is that the gate allows the stop of O(node_id). A cluster that does not answer is waited for.
      - The module fails if it does not come true within O(until_timeout_s).
    type: str
    choices: [now, whole, stoppable]
    default: now
  until_timeout_s:
    description: Bound of the wait in seconds.
    type: float
    default: 300
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: none
    description: Nothing changes.
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Wait until broker 2 may be stopped
  kastellan.kafka.kafka_cluster_info:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    node_id: 2
    until: stoppable
  register: __kafka_gate
  delegate_to: localhost

- name: Wait until all replicas are back
  kastellan.kafka.kafka_cluster_info:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    expected_brokers: [1, 2, 3]
    until: whole
  delegate_to: localhost
"""

RETURN = r"""
cluster_id:
  description: Id of the cluster.
  returned: success
  type: str
mode:
  description: V(kraft) or V(zookeeper).
  returned: success
  type: str
controller_id:
  description: The active controller. -1 if there is none now.
  returned: success
  type: int
brokers:
  description: Registered brokers with C(id), C(host), C(port), C(rack); C(fenced) is true of a stopped one (Kafka 4).
  returned: success
  type: list
  elements: dict
silent:
  description: Ids of brokers that the cluster counts as there and that take no connection from here.
  returned: success
  type: list
  elements: int
quorum:
  description: C(voters), C(observers) with C(id), C(log_end_offset), C(lag) in records, C(lag_ms). None with ZooKeeper.
  returned: success
  type: dict
features:
  description: Finalized features and their levels, e.g. C(metadata.version).
  returned: success
  type: dict
topics:
  description: Number of topics.
  returned: success
  type: int
partitions:
  description: Number of partitions.
  returned: success
  type: int
offline:
  description: Partitions without a leader, as C(topic-0).
  returned: success
  type: list
  elements: str
under_replicated:
  description: Partitions with a replica out of sync.
  returned: success
  type: list
  elements: str
under_min_isr:
  description: Partitions that take no acks=all writes now.
  returned: success
  type: list
  elements: str
at_min_isr:
  description: Partitions that would not with one replica less in sync, although they have replicas to spare.
  returned: success
  type: list
  elements: str
not_whole:
  description: What keeps the cluster from being whole; empty if nothing does.
  returned: success
  type: list
  elements: str
gate:
  description: >-
    Whether O(node_id) may be stopped: C(allowed), C(reasons), C(blocked_by) (partitions that forbid it),
    C(unprotected) (partitions that no restart leaves writable) and C(warnings) (what no waiting would make better).
  returned: when O(node_id) is set
  type: dict
"""

import time
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import facts, gate
from ..module_utils.entry import COMMON_SPEC, connect, prepare
from ..module_utils.errors import KafkaModuleError, LoginError, RefusedError, UnreachableError, UnsettledError

if TYPE_CHECKING:
    from ..module_utils.cluster import Cluster

POLL_S = 0.25
SPEC = {
    **COMMON_SPEC,
    "node_id": {"type": "int"},
    "require_writable": {"type": "bool", "default": False},
    "expected_brokers": {"type": "list", "elements": "int", "default": []},
    "until": {"type": "str", "choices": ["now", "whole", "stoppable"], "default": "now"},
    "until_timeout_s": {"type": "float", "default": 300.0},
}


def look(cluster: Cluster, params: dict[str, Any]) -> dict[str, Any]:
    found = facts.read(cluster)
    result = found.result() | {"not_whole": gate.not_whole(found, expected=params["expected_brokers"])}
    if params["node_id"] is not None:
        verdict = gate.may_stop(found, params["node_id"], require_writable=params["require_writable"])
        result["gate"] = verdict.result()
    return result


def missing(result: dict[str, Any], until: str) -> list[str]:
    """What is not yet as awaited."""
    if until == "whole":
        return list(result["not_whole"])
    return list(result["gate"]["reasons"]) if until == "stoppable" else []


def wait(cluster: Cluster, params: dict[str, Any]) -> dict[str, Any]:
    deadline_s = time.monotonic() + params["until_timeout_s"]
    while True:
        try:
            result = look(cluster, params)
            reasons = missing(result, params["until"])
            if not reasons:
                return result
        except LoginError:
            raise  # waiting does not make a wrong password right
        except (UnreachableError, RefusedError) as error:
            # A broker that stops or starts; the next look goes to another one.
            if params["until"] == "now":
                raise
            cluster.disconnect()
            reasons = [str(error)]
        if time.monotonic() > deadline_s:
            raise UnsettledError(
                f"The cluster was not {params['until']} within {params['until_timeout_s']:g} s.",
                details="\n".join(reasons),
                resolution="Nothing was changed. Repair what is named, then run again.",
            )
        time.sleep(POLL_S)


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC, supports_check_mode=True, required_if=[("until", "stoppable", ["node_id"])]
    )
    prepare(module)
    try:
        with connect(module.params) as cluster:
            result = wait(cluster, module.params)
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
