"""One table of nftables, as declared and as the kernel really has it."""

from __future__ import annotations

import subprocess
from typing import Any

TIMEOUT_S = 30


def settle(content: str, table: str, *, apply: bool) -> list[dict[str, Any]]:
    """Load `content` if the live table is not what it makes: in one transaction, never without rules."""
    expected, live = declared(content, table), listed(table)
    if expected == live:
        return []
    if apply:
        nft(["nft", "-f", "-"], stdin=content)
    header = f"live {table}"
    return [{"before_header": header, "after_header": header, "before": live, "after": expected}]


def declared(content: str, table: str) -> str:
    """What the kernel shows of it once it is loaded: asked in a network namespace that nobody uses."""
    return nft(["unshare", "--net", "sh", "-c", f"nft -f - && nft -s list table {table}"], stdin=content)


def listed(table: str) -> str:
    try:
        return nft(["nft", "-s", "list", "table", *table.split()])
    except RuntimeError:
        return ""


def nft(argv: list[str], stdin: str = "") -> str:
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout
