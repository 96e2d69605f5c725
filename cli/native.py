"""Runs a native command in sight of the user, as they could run it themselves."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from cli.surroundings import ROOT, environment
from common.errors import KastellanError

if TYPE_CHECKING:
    from collections.abc import Sequence

# What a program's words mean for the user: pattern -> what to do.
REMEDIES = {
    r"incorrect passphrase": (
        "The passphrase in .kastellan/pulumi/passphrase (or PULUMI_CONFIG_PASSPHRASE) is not the one this stack was "
        "made with: put that one back."
    ),
    r"the stack is currently locked": (
        "Another pulumi works on this stack: wait for it. If it runs on another machine and is surely dead: pulumi cancel."
    ),
}


def run_shown(argv: Sequence[str]) -> None:
    """Its output goes to the terminal as it comes; KastellanError if it fails."""
    print(f"$ {shlex.join(argv)}", flush=True)
    process = subprocess.Popen(
        argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    lines: list[str] = []
    try:
        for line in process.stdout or ():
            lines.append(line)
            sys.stdout.write(line)
            sys.stdout.flush()
    except KeyboardInterrupt:
        # The terminal has told the program as well: it winds up what it is doing.
        process.wait()
        raise
    if process.wait() != 0:
        raise KastellanError(
            f"{argv[0]} ended with exit code {process.returncode}.",
            details=shlex.join(argv),
            resolution=remedy("".join(lines)) or "Its words above say why; the same command goes on from there.",
        )


def remedy(output: str) -> str:
    return next((remedy for pattern, remedy in REMEDIES.items() if re.search(pattern, output)), "")
