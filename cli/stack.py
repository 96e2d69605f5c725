"""What Pulumi says of a stack, for the verbs that look at hosts."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.native import remedy
from cli.surroundings import HOME, ROOT, environment
from common.errors import CommandFailed, KastellanError
from common.run import run
from common.ssh import Login
from infra.providers.nspawn.registry import record_of, stack_id_for

PULUMI_TIMEOUT_S = 120


@dataclass(frozen=True)
class StackHost:
    name: str
    roles: list[str]
    login: Login


def pulumi(*words: str) -> str:
    argv = ["pulumi", "--non-interactive", *words]
    environ = environment()
    if not shutil.which("pulumi", path=environ["PATH"]):
        raise KastellanError(
            "Pulumi's command line is not there.",
            details="It is neither on PATH nor built yet.",
            resolution="./kastellan up prepares it.",
        )
    try:
        return run(argv, timeout_s=PULUMI_TIMEOUT_S, cwd=ROOT, env=environ)
    except CommandFailed as failure:
        if known := remedy(failure.details):
            raise KastellanError(failure.brief, details=failure.details, resolution=known) from None
        raise


def exists(stack: str) -> bool:
    listed = json.loads(pulumi("stack", "ls", "--json"))
    return any(entry["name"].rpartition("/")[2] == stack for entry in listed)


def hosts_of(stack: str) -> list[StackHost]:
    try:
        outputs: dict[str, Any] = json.loads(pulumi("stack", "output", "--json", "--stack", stack))
    except CommandFailed as failure:
        if "no stack named" not in failure.details:
            raise
        outputs = {}
    if not outputs.get("hosts"):
        record = record_of(stack_id_for(str(HOME / stack)))
        begun = f" Begun are {', '.join(sorted(record.hosts))}." if record and record.hosts else ""
        raise KastellanError(
            f"Stack {stack} is half up: a call was interrupted." if begun else f"Stack {stack} is not up.",
            details=f"Pulumi has no outputs of it.{begun}",
            resolution=f"./kastellan up {stack}" + (" goes on from there." if begun else ""),
        )
    return [_host(entry, HOME / stack) for entry in outputs["hosts"]]


def _host(entry: dict[str, Any], state: Path) -> StackHost:
    key = entry.get("ssh_key_file")
    login = Login(
        address=entry["address"],
        port=int(entry["ssh_port"]),
        user=entry["ssh_user"],
        key_file=Path(key).expanduser() if key else state / "ssh" / "id_ed25519",
        known_hosts_file=state / "known_hosts",
    )
    return StackHost(entry["name"], entry["roles"], login)
