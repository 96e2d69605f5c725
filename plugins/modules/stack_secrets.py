"""What the action of the same name does, for `ansible-doc`."""

DOCUMENTATION = r"""
module: stack_secrets
short_description: Passwords and cluster id of a stack, made once and kept on the controller
description:
  - Reads C(secrets.yml) (Ansible Vault) of the state directory, makes what is missing, and returns it.
  - Ansible's own vault password is used where there is one, else C(vault-password) beside it, made on first use.
  - Runs on the controller. Use C(no_log).
options:
  state_dir: {description: The stack's state directory., type: path, required: true}
  users: {description: Who needs a password., type: list, elements: str, required: true}
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Make or read the secrets
  kastellan.kafka.stack_secrets:
    state_dir: "{{ kastellan_state_dir }}"
    users: [admin, usercc]
  no_log: true
"""

RETURN = r"""
passwords: {description: User -> password., returned: always, type: dict}
cluster_id: {description: Id of the stack's cluster., returned: always, type: str}
made_for: {description: Whose password is new., returned: always, type: list, elements: str}
"""
