"""A stack's state directory: all that belongs to it and is not source."""

from __future__ import annotations

from pathlib import Path

from common.errors import KastellanError
from common.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
VERSION = "1"
_VERSION_FILE = "version"


def state_dir(stack: str) -> Path:
    return ROOT / ".kastellan" / stack


def open_state(stack: str) -> Path:
    """The stack's state directory, made if need be; refused if another version made it."""
    folder = state_dir(stack)
    mark = folder / _VERSION_FILE
    if not mark.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(mark, f"{VERSION}\n", mode=0o600)
    elif (found := mark.read_text(encoding="ascii").strip()) != VERSION:
        raise KastellanError(
            f"The state directory of stack {stack} is of version {found}, this Kastellan reads version {VERSION}.",
            details=str(folder),
            resolution="Use the Kastellan that made it, take the stack down with that and up again with this one.",
        )
    return folder
