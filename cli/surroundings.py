"""What the native commands need to know: where state lies, which programs are meant. One place, for all verbs."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from common.lock import locked
from common.names import is_stack_name, nearest
from tools.pulumi.build import on_path, tools_path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".kastellan"
BACKEND = HOME / "pulumi"
PASSPHRASE = BACKEND / "passphrase"
COLLECTION = HOME / "collections" / "ansible_collections" / "kastellan" / "kafka"
DEFAULT_STACK = "local"
# A team that keeps its state elsewhere says so here; PULUMI_BACKEND_URL may come from another checkout's `env`.
BACKEND_VARIABLE = "KASTELLAN_BACKEND_URL"


def lay_out() -> None:
    """The folders and files that exist once per checkout; a second call changes nothing."""
    HOME.mkdir(mode=0o700, exist_ok=True)
    BACKEND.mkdir(mode=0o700, exist_ok=True)
    with locked(BACKEND / "lock"):
        if not PASSPHRASE.exists():
            forget_salts()
            write_whole(PASSPHRASE, f"{secrets.token_urlsafe(32)}\n", mode=0o600)
        if not COLLECTION.is_symlink():
            COLLECTION.parent.mkdir(parents=True, exist_ok=True)
            COLLECTION.symlink_to("../../../..")


def forget_salts() -> None:
    """Salts of stacks made per machine belong to the passphrase: with .kastellan removed they are worth nothing, and
    would make Pulumi call the new passphrase incorrect. What the user configured stays.
    """
    for path in ROOT.glob("Pulumi.local*.yaml"):
        kept = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if not _is_salt(line)]
        write_whole(path, "".join(kept))


def _is_salt(line: str) -> bool:
    return line.startswith("encryptionsalt:")


def variables() -> dict[str, str]:
    """What `./kastellan env` exports."""
    folders = [str(ROOT / ".venv" / "bin")]
    if not on_path():
        folders.append(str(tools_path()))
    # Debian gives the sbin folders to root's login shells only.
    folders += ["/usr/sbin", "/sbin"]
    inherited = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part not in folders]
    return {
        "PATH": os.pathsep.join([*folders[:-2], *inherited, *folders[-2:]]),
        "PULUMI_BACKEND_URL": os.environ.get(BACKEND_VARIABLE) or BACKEND.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(PASSPHRASE),
        # Which stack is selected is remembered there: per checkout, like the state.
        "PULUMI_HOME": str(BACKEND / "home"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # Pulumi would fetch the plugins of all clouds whose packages are there, for every stack and at every call.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
    }


def environment() -> dict[str, str]:
    """For programs that a verb runs."""
    return {**os.environ, **variables()}


def checked_stack(name: str) -> str:
    """A stack that is described; the description's own errors come later and say more."""
    described = sorted(path.stem for path in (ROOT / "infra" / "stacks").glob("*.yaml"))
    if not is_stack_name(name) or name not in described:
        raise UsageError(
            f"There is no stack {name!r}.",
            details=f"infra/stacks has: {', '.join(described)}.",
            resolution=f"{nearest(name, described).capitalize()}",
        )
    return name
