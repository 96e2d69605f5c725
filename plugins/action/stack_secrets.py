# ruff: noqa: TID252 - relative imports: as Ansible wants plugins
"""Secrets of a stack: made once, kept in an Ansible Vault file on the controller."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.plugins.action import ActionBase

from ..module_utils.quorum_ids import random_id

PASSWORD_BYTES = 24
PRIVATE, PRIVATE_DIRECTORY = 0o600, 0o700
HEAD = "# Made by Kastellan. Show: ansible-vault view --vault-password-file vault-password secrets.yml\n"


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible has no types
    """Runs on the controller alone: passwords go only where they are used."""

    _requires_connection = False
    _supports_check_mode = True
    _VALID_ARGS = frozenset(("state_dir", "users"))

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        folder = Path(self._task.args["state_dir"])
        # Ansible's own kinds of text know where they come from, which YAML cannot write.
        users = [f"{user}" for user in self._task.args["users"]]
        apply = not self._task.check_mode
        try:
            held = self._read(folder)
            missing = [user for user in users if user not in held]
            passwords = held | {user: secrets.token_urlsafe(PASSWORD_BYTES) for user in missing}
            if missing and apply:
                self._write(folder, passwords)
            cluster_id, made = _cluster_id(folder, apply=apply)
        except OSError as exc:
            raise AnsibleActionFail(f"The secrets of this stack: {exc}") from exc
        return result | {
            "changed": bool(missing) or made,
            "made_for": missing,
            "passwords": {user: passwords[user] for user in users},
            "cluster_id": cluster_id,
        }

    def _read(self, folder: Path) -> dict[str, str]:
        path = folder / "secrets.yml"
        if not path.exists():
            return {}
        try:
            text = self._vault(folder).decrypt(path.read_bytes())
        except AnsibleError as exc:
            raise AnsibleActionFail(
                f"{path} cannot be decrypted: the vault password is not the one it was made with. {exc.message}"
            ) from exc
        found: dict[str, str] = yaml.safe_load(text)["kafka_user_passwords"]
        return found

    def _write(self, folder: Path, passwords: dict[str, str]) -> None:
        folder.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        text = HEAD + yaml.safe_dump({"kafka_user_passwords": passwords}, allow_unicode=True)
        vault = self._vault(folder)
        _write(folder / "secrets.yml", vault.encrypt(text, secret=vault.secrets[0][1]))

    def _vault(self, folder: Path) -> Any:
        """Ansible's own vault password if the user has one, else one made for this stack."""
        own = list(self._loader._vault.secrets or [])  # noqa: SLF001 - there is no other way to it
        path = folder / "vault-password"
        if not own and not path.exists():
            folder.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
            _write(path, f"{secrets.token_urlsafe(PASSWORD_BYTES)}\n".encode())
        if path.exists():
            own.append(("kastellan", VaultSecret(path.read_bytes().strip())))
        return VaultLib(own)


def _cluster_id(folder: Path, *, apply: bool) -> tuple[str, bool]:
    path = folder / "cluster-id"
    if path.exists():
        return path.read_text(encoding="ascii").strip(), False
    made = random_id()
    if apply:
        folder.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        _write(path, f"{made}\n".encode())
    return made, True


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        os.fsync(descriptor)
    draft.replace(path)
