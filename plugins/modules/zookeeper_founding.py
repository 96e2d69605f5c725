#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""What must lie in ZooKeeper before the first broker starts, and what nobody else may open."""

from __future__ import annotations

import json
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import zookeeper_client
from ..module_utils.zookeeper_client import CREATOR_ALONE, Acl, Login, Session, ZooKeeperError

DOCUMENTATION = r"""
module: zookeeper_founding
short_description: Kafka's place in ZooKeeper
description:
  - Makes the chroot, the cluster's id and the administrator's SCRAM credentials where they are not there yet, and
    closes the nodes that ZooKeeper and Kafka leave open to everybody, the root and C(/consumers) among them.
  - What is there is left alone; a cluster of another id is an error. Runs on a host with the brokers' certificate.
  - Of an ensemble that serves others too only what lies below the chroot is touched.
options:
  servers: {description: Addresses; the first that answers is used., type: list, elements: str, required: true}
  port: {description: Client port., type: int, required: true}
  keystore: {description: PEM file of key and certificates., type: path, required: true}
  ca: {description: PEM file of whom to trust., type: path, required: true}
  subject:
    description:
      - Subject of the brokers' certificates; the nodes are theirs. Empty where somebody else gave them; then a node is
        closed when nobody but holders of certificates has rights on it.
    type: str
    default: ""
  shared: {description: Others have their place in the ensemble too., type: bool, default: false}
  chroot: {description: Kafka's own root; empty means the root of all., type: str, default: ""}
  cluster_id: {description: Id of the cluster., type: str, required: true}
  user: {description: The administrator., type: str, required: true}
  scram: {description: Mechanism -> credential as Kafka keeps it there., type: dict, required: true}
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Prepare Kafka's place
  kastellan.kafka.zookeeper_founding:
    servers: [198.18.0.21]
    port: 2182
    keystore: /etc/kafka/ssl/zookeeper.pem
    ca: /etc/kafka/ssl/zookeeper-ca.pem
    subject: CN=kafka
    chroot: /kafka
    cluster_id: "{{ kafka_cluster_id }}"
    user: admin
    scram: "{{ credentials }}"
"""

RETURN = r"""
plan: {description: What was done, or would be., returned: success, type: list, elements: str}
"""

SPEC: dict[str, Any] = {
    "servers": {"type": "list", "elements": "str", "required": True},
    "port": {"type": "int", "required": True},
    "keystore": {"type": "path", "required": True},
    "ca": {"type": "path", "required": True},
    "subject": {"type": "str", "default": ""},
    "shared": {"type": "bool", "default": False},
    "chroot": {"type": "str", "default": ""},
    "cluster_id": {"type": "str", "required": True},
    "user": {"type": "str", "required": True},
    "scram": {"type": "dict", "required": True, "no_log": True},
}
# ZooKeeper makes them open to everybody, to write as well.
OPEN_AT_FIRST = ("/", "/zookeeper", "/zookeeper/quota")


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    try:
        with first(module.params) as session:
            plan = settle(session, module.params, apply=not module.check_mode)
    except ZooKeeperError as error:
        module.fail_json(msg=f"Kafka's place in ZooKeeper cannot be prepared: {error}")
    module.exit_json(changed=bool(plan), plan=plan)


def first(options: dict[str, Any]) -> Session:
    failures = []
    for server in options["servers"]:
        try:
            return Session(server, options["port"], Login(options["keystore"], options["ca"]))
        except ZooKeeperError as error:
            failures.append(str(error))
    raise ZooKeeperError("\n".join(["no server answers.", *failures]))


def settle(session: Session, options: dict[str, Any], *, apply: bool) -> list[str]:
    """Only what is missing is made; the order is that of a path."""
    root = options["chroot"]
    held = session.data(f"{root}/cluster/id")
    if held is not None and (found := json.loads(held)["id"]) != options["cluster_id"]:
        raise ZooKeeperError(
            f"{root or '/'} belongs to cluster {found}, this one is {options['cluster_id']}: set kafka_cluster_id to "
            "the former if it is the same cluster, else give this one another kafka_zookeeper_chroot."
        )
    cluster = json.dumps({"version": "1", "id": options["cluster_id"]}).encode()
    user = json.dumps({"version": 1, "config": options["scram"]}).encode()
    above = {} if held is not None else dict.fromkeys(parents(root), b"")
    wanted = {
        **({root: b""} if root else {}),
        f"{root}/consumers": b"",
        f"{root}/cluster": b"",
        f"{root}/cluster/id": cluster,
        f"{root}/config": b"",
        f"{root}/config/users": b"",
        **({f"{root}/config/users/{options['user']}": user} if options["scram"] else {}),
    }
    plan = []
    for path, data in {**above, **wanted}.items():
        if session.data(path) is None:
            plan.append(f"create {path}")
            if apply:
                make(session, path, data)
    outside = [] if options["shared"] else [*OPEN_AT_FIRST]
    return plan + close(session, [*outside, *wanted], options["subject"], apply=apply)


def parents(root: str) -> list[str]:
    """What a chroot of several steps lies below, from the top."""
    steps = root.split("/")[1:-1]
    return ["/" + "/".join(steps[: count + 1]) for count in range(len(steps))]


def make(session: Session, path: str, data: bytes) -> None:
    try:
        session.create(path, data)
    except ZooKeeperError as error:
        raise ZooKeeperError(
            f"{path} cannot be made: {error}. Who owns the ensemble can make it and give this login all rights there."
        ) from error


def close(session: Session, paths: list[str], subject: str, *, apply: bool) -> list[str]:
    """Leave these nodes to the brokers alone."""
    plan = []
    for path in paths:
        held = session.acl(path)
        if held is None or is_closed(held, subject):
            continue
        plan.append(f"close {path} ({zookeeper_client.shown(held)})")
        if apply:
            session.set_acl(path, CREATOR_ALONE)
    return plan


def is_closed(held: list[Acl], subject: str) -> bool:
    if subject:
        return held == [Acl(zookeeper_client.ALL, "x509", subject)]
    return all(entry.scheme == "x509" for entry in held)


if __name__ == "__main__":
    main()
