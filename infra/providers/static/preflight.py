"""Existing hosts need nothing of this machine but ssh."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import KastellanError

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.plan import StackPlan


def require_user() -> None:
    """Any user may."""


def missing_packages() -> list[str]:
    return [] if shutil.which("ssh") else ["openssh-client"]


def preparations() -> list[tuple[str, str, Callable[[], str]]]:
    return []


def preflight(plan: StackPlan) -> None:
    if missing_packages():
        raise KastellanError("There is no ssh on this machine.", resolution="apt-get install openssh-client")
    for host in plan.hosts:
        if host.ssh_key_file and not Path(host.ssh_key_file).expanduser().is_file():
            raise KastellanError(
                f"The login key of {host.name} is not there.",
                details=f"ssh_key_file: {host.ssh_key_file}",
                resolution="Name the private key that logs in there, or leave the field out to use the stack's own.",
            )
