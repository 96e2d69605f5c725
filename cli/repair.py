"""What a killed Pulumi leaves behind, put right before it is called again (native: docs/how-to/hosts.md)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from pathlib import Path

from cli.locks import clear_dead_locks
from cli.surroundings import BACKEND, ROOT
from common.files import write_whole

STACKS = BACKEND / ".pulumi" / "stacks" / "kastellan"
# Words in the command lines of what Pulumi starts for a Python program.
PLUGINS = (
    "pulumi-language-python",
    "pulumi-resource-pulumi-python",
    "pulumi.dynamic",
    "pulumi-resource-openstack",
    "pulumi-resource-aws",
    "pulumi-resource-libvirt",
)


def repair(stack: str) -> list[str]:
    """What was done, a sentence each."""
    done = [f"Cleared a lock whose process is gone: {path.name}." for path in clear_dead_locks(stack)]
    done += [f"Ended {pid}, a provider that outlived its Pulumi." for pid in end_orphans()]
    return [*done, *restore_checkpoint(stack)]


def restore_checkpoint(stack: str, folder: Path = STACKS) -> list[str]:
    """Killed while it wrote, Pulumi leaves an empty checkpoint and the one before beside it. Without either it begins
    anew, and every host that is there is adopted by its record.
    """
    path, backup = folder / f"{stack}.json", folder / f"{stack}.json.bak"
    if not path.exists() or _is_whole(path):
        return []
    if _is_whole(backup):
        write_whole(path, backup.read_text(encoding="utf-8"), mode=0o600)
        return [f"Pulumi was killed while it wrote {path.name}: took the checkpoint before."]
    path.rename(path.with_suffix(".broken"))
    return [f"Pulumi was killed while it wrote {path.name}: set it aside, hosts are adopted by their records."]


def end_orphans() -> list[int]:
    """Plugins of this checkout whose engine is gone: nobody answers at the address they were started with."""
    ended = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if _is_plugin(words) and _works_here(entry) and not _engine_answers(words):
                os.kill(int(entry.name), signal.SIGTERM)
                ended.append(int(entry.name))
    return ended


def _is_plugin(words: list[str]) -> bool:
    return any(word.endswith(plugin) for word in words for plugin in PLUGINS)


def _works_here(entry: Path) -> bool:
    return (entry / "cwd").readlink().is_relative_to(ROOT)


def _engine_answers(words: list[str]) -> bool:
    """The engine's address is a plugin's last word; one without an address is left alone."""
    host, _, port = next((word for word in reversed(words) if word), "").rpartition(":")
    if host != "127.0.0.1" or not port.isdigit():
        return True
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True


def _is_whole(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
