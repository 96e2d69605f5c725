#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""Who leads an ensemble of ZooKeeper, who follows, and whether a member may be stopped."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import ensemble
from ..module_utils.zookeeper_client import Login

DOCUMENTATION = r"""
module: zookeeper_info
short_description: State of an ensemble of ZooKeeper, and whether a member may be stopped
description:
  - Asks every member with the word C(srvr) over mutual TLS. Changes nothing.
  - Runs on a host whose certificate the ensemble accepts and that its packet filters let in.
options:
  members:
    description: The ensemble.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {description: Host name., type: str, required: true}
      address: {description: Where it is reached; its certificate must be for that., type: str, required: true}
  port: {description: Client port., type: int, required: true}
  keystore: {description: PEM file of key and certificates., type: path, required: true}
  ca: {description: PEM file of whom to trust., type: path, required: true}
  member: {description: The member whose stop is judged., type: str}
  until:
    description:
      - What to wait for. V(quorate) is a leader and a majority; V(whole) is all members serving; V(stoppable) is that
        the stop of O(member) leaves a majority.
    type: str
    choices: [now, quorate, whole, stoppable]
    default: now
  until_timeout_s: {description: Bound of the wait in seconds., type: float, default: 120}
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Wait until every ZooKeeper serves
  kastellan.kafka.zookeeper_info:
    members: [{name: zookeeper-1, address: 198.18.0.21}]
    port: 2182
    keystore: /etc/zookeeper/ssl/keystore.pem
    ca: /etc/zookeeper/ssl/ca.pem
    until: whole
"""

RETURN = r"""
ensemble: {description: Its leader and followers by name and each member as it was seen., returned: success, type: dict}
not_whole: {description: What keeps it from being whole., returned: success, type: list, elements: str}
gate: {description: C(reasons) why O(member) may not stop and C(warnings)., returned: with O(member), type: dict}
"""

POLL_S = 0.25
MEMBER: dict[str, Any] = {"name": {"type": "str", "required": True}, "address": {"type": "str", "required": True}}
SPEC: dict[str, Any] = {
    "members": {"type": "list", "elements": "dict", "required": True, "options": MEMBER},
    "port": {"type": "int", "required": True},
    "keystore": {"type": "path", "required": True},
    "ca": {"type": "path", "required": True},
    "member": {"type": "str"},
    "until": {"type": "str", "choices": ["now", "quorate", "whole", "stoppable"], "default": "now"},
    "until_timeout_s": {"type": "float", "default": 120},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC, supports_check_mode=True, required_if=[("until", "stoppable", ["member"])]
    )
    options = module.params
    deadline_s = time.monotonic() + options["until_timeout_s"]
    login = Login(options["keystore"], options["ca"])
    while True:
        seen = ensemble.look(options["members"], options["port"], login)
        missing = lacking(seen, options)
        if not missing:
            break
        if time.monotonic() > deadline_s:
            module.fail_json(
                msg="\n".join([
                    f"The ensemble was not {options['until']} within {options['until_timeout_s']:g} s.", *missing,
                ])
            )  # fmt: skip
        time.sleep(POLL_S)
    answer: dict[str, Any] = {"ensemble": ensemble.result(seen), "not_whole": ensemble.not_whole(seen)}
    if options["member"]:
        reasons, warnings = ensemble.may_stop(seen, options["member"])
        answer["gate"] = {"reasons": reasons, "warnings": warnings}
    module.exit_json(changed=False, **answer)


def lacking(seen: list[ensemble.Member], options: dict[str, Any]) -> list[str]:
    """What is not yet as awaited."""
    if options["until"] == "quorate":
        return ensemble.no_majority(seen)
    if options["until"] == "whole":
        return ensemble.not_whole(seen)
    return ensemble.may_stop(seen, options["member"])[0] if options["until"] == "stoppable" else []


if __name__ == "__main__":
    main()
