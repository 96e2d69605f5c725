"""Running programs: one way to do it, one kind of error when it fails."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

from common.errors import CommandFailed, CommandTimedOut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# How much of a failed program's output an error shows: its end is where the reason stands.
SHOWN_LINES = 15


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    resolution: str = "",
    keep_open: Sequence[int] = (),
) -> str:
    """What the program printed on its standard output; CommandFailed with its last words otherwise.

    `keep_open` are descriptors that the program holds too, such as a lock that must outlive this process.
    """
    shown = shlex.join(argv)
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, input=stdin, timeout=timeout_s, check=False, cwd=cwd, env=env,
            pass_fds=keep_open,
        )  # fmt: skip
    except FileNotFoundError:
        raise CommandFailed(f"There is no program {argv[0]!r}.", details=shown, resolution=resolution) from None
    except subprocess.TimeoutExpired:
        raise CommandTimedOut(f"No end after {timeout_s:.0f} s: {shown}", resolution=resolution) from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()[-SHOWN_LINES:]
        raise CommandFailed(f"Exit code {done.returncode}: {shown}", details="\n".join(words), resolution=resolution)
    return done.stdout
