"""Kernel settings: what the kernel has now. The file for the next boot is a file like others."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def settle(settings: dict[str, str], *, apply: bool) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Diffs of what differed, and what could not be set with the value it has: a container shares its machine's."""
    diffs, unchangeable = [], {}
    for name, value in sorted(settings.items()):
        path = Path("/proc/sys") / name.replace(".", "/")
        try:
            before = " ".join(path.read_text(encoding="ascii").split())
        except OSError:
            unchangeable[name] = "not there"
            continue
        if before == value:
            continue
        try:
            # Opening tells in check mode too whether this kernel lets itself be told; a container's is read only.
            with path.open("w" if apply else "r+", encoding="ascii") as file:
                if apply:
                    file.write(value)
        except OSError:
            unchangeable[name] = before
            continue
        diffs.append({"before_header": name, "after_header": name, "before": f"{before}\n", "after": f"{value}\n"})
    return diffs, unchangeable
