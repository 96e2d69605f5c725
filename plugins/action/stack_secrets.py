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
KEY = "kafka_user_passwords"
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
        return held_in(text, path)

    def _write(self, folder: Path, passwords: dict[str, str]) -> None:
        folder.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        text = written(passwords)
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


def written(passwords: dict[str, str]) -> str:
    """Umlauts as themselves, unless something is there that YAML would read back as the end of a line."""
    shown = all(text.isprintable() for pair in passwords.items() for text in pair)
    return HEAD + yaml.safe_dump({KEY: passwords}, allow_unicode=shown)


def held_in(text: str | bytes, path: Path) -> dict[str, str]:
    """Somebody may have edited it. What YAML says of a mistake shows the line, and that is a password's."""
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        content = None
    found = content.get(KEY) if isinstance(content, dict) else None
    if not isinstance(found, dict):
        raise AnsibleActionFail(
            f"{path} does not hold what it should: {KEY}, a password for each user. Mend it with ansible-vault edit,"
            " or move it away: passwords are then made anew."
        )
    for user, password in found.items():
        if not isinstance(user, str) or not isinstance(password, str) or not password:
            raise AnsibleActionFail(
                f"{path} holds no text as the password of {user!r}: write it in quotes, with ansible-vault edit."
            )
    return found


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
