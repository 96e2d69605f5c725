#!/usr/bin/python
# ruff: noqa: E402, EXE001, TID252 - documentation first, no execute bit, relative imports: as Ansible wants modules
"""Topics, users, ACLs and quotas of a Kafka cluster, in one task."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_access
short_description: Topics, users, ACLs and quotas of a Kafka cluster in one task
description:
  - Does what M(kastellan.kafka.kafka_topics), M(kastellan.kafka.kafka_scram_users), M(kastellan.kafka.kafka_acls) and
    M(kastellan.kafka.kafka_quotas) do, in this order, over one connection. A task of Ansible costs more than the work.
  - Everything is read, planned and checked before anything of it changes.
extends_documentation_fragment:
  - kastellan.kafka.client
  - kastellan.kafka.client.topics
  - kastellan.kafka.client.users
  - kastellan.kafka.client.acls
  - kastellan.kafka.client.quotas
options:
  topics:
    description: As for M(kastellan.kafka.kafka_topics). Without it, topics are not looked at.
  users:
    description: As for M(kastellan.kafka.kafka_scram_users). Without it, users are not looked at.
  acls:
    description: As for M(kastellan.kafka.kafka_acls). Without it, ACLs are not looked at.
  quotas:
    description: As for M(kastellan.kafka.kafka_quotas). Without it, quotas are not looked at.
  remove_strays:
    description: Of which of them that what is not declared is removed. Of the others it is only reported.
    type: list
    elements: str
    choices: [topics, users, acls, quotas]
    default: []
  ignore_strays:
    description: Shell patterns of names, users, principals and addresses that are no strays.
    type: list
    elements: str
    default: []
  protected_users:
    description: Users who are never removed, nor their ACLs. The one who connects is always one.
    type: list
    elements: str
    default: []
  login_servers:
    description: As for M(kastellan.kafka.kafka_scram_users).
    type: list
    elements: str
    default: []
  reassignment_timeout_s:
    description: As for M(kastellan.kafka.kafka_topics).
    type: float
    default: 600
attributes:
  check_mode:
    support: full
    description: Stops after the plans, which the cluster has checked.
  diff_mode:
    support: full
    description: Shows the plans.
author:
  - The Kastellan engineers
"""

EXAMPLES = r"""
- name: Reconcile all that is declared
  kastellan.kafka.kafka_access:
    bootstrap_servers: broker-1:9092,broker-2:9092
    client: "{{ kafka_admin_client }}"
    topics: "{{ kafka_topics }}"
    users: "{{ kafka_scram_users }}"
    acls: "{{ kafka_acls }}"
    quotas: "{{ kafka_quotas }}"
    remove_strays: [acls]
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
strays:
  description: What is there and not declared, in lists C(topics), C(users), C(acls) and C(quotas).
  returned: success
  type: dict
tested:
  description: How many credentials were tried by logging in.
  returned: when O(users) is set
  type: int
"""

from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import acls_backend, quotas_backend, specs, topics_backend, users_backend
from ..module_utils.entry import COMMON_SPEC, connect, prepare
from ..module_utils.errors import KafkaModuleError

if TYPE_CHECKING:
    from ..module_utils.cluster import Cluster
    from ..module_utils.reconcile import Outcome

# In the order in which they are done: an ACL or a quota may be for a user that comes into being here.
KINDS = {"topics": topics_backend, "users": users_backend, "acls": acls_backend, "quotas": quotas_backend}
SPEC = {
    **COMMON_SPEC,
    "topics": specs.TOPICS,
    "users": specs.USERS,
    "acls": specs.ACLS,
    "quotas": specs.QUOTAS,
    "remove_strays": {"type": "list", "elements": "str", "choices": list(KINDS), "default": []},
    "ignore_strays": specs.NAMES,
    "protected_users": specs.NAMES,
    "login_servers": specs.NAMES,
    "reassignment_timeout_s": specs.REASSIGNMENT_TIMEOUT,
}


def reconcile(cluster: Cluster, params: dict[str, Any], *, check_mode: bool) -> dict[str, Outcome]:
    """Plan all, then do all."""
    common = params | {"protected_principals": params["protected_users"]}
    works = {
        kind: backend.plan_work(cluster, common | {"remove_strays": kind in params["remove_strays"]})
        for kind, backend in KINDS.items()
        if params[kind] is not None
    }
    return {kind: work.finish(check_mode=check_mode) for kind, work in works.items()}


def merged(outcomes: dict[str, Outcome]) -> dict[str, Any]:
    results = {kind: outcome.result() for kind, outcome in outcomes.items()}
    extra = {key: value for outcome in outcomes.values() for key, value in outcome.extra.items()}
    return extra | {
        "changed": any(result["changed"] for result in results.values()),
        "plan": [line for result in results.values() for line in result["plan"]],
        "strays": {kind: result["strays"] for kind, result in results.items()},
        "diff": {
            side: {kind: result["diff"][side] for kind, result in results.items() if result["diff"][side]}
            for side in ("before", "after")
        },
    }


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    prepare(module, [user["password"] for user in module.params["users"] or []])
    try:
        with connect(module.params) as cluster:
            outcomes = reconcile(cluster, module.params, check_mode=module.check_mode)
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    for warning in (text for outcome in outcomes.values() for text in outcome.warnings):
        module.warn(warning)
    module.exit_json(**merged(outcomes))


if __name__ == "__main__":
    main()
