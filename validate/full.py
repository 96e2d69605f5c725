"""A disk that is full: told as that wherever a run writes, and never taken for what was to be proven."""

from __future__ import annotations

import errno

from common.errors import UnreadableError

_WORDS = ("No space left on device", "Disk quota exceeded")  # of Spark's errors, which have no number


def is_full(error: BaseException) -> bool:
    numbered = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    return numbered or any(words in str(error) for words in _WORDS)


def remedy(error: BaseException) -> str:
    if is_full(error):
        return "Free some space and run again"
    return "Make it writable (rights, file system, disk) and run again"


class NotWritten(UnreadableError):
    """The ledger lacks what happened, so nothing can be said of it; what was healed is healed all the same."""

    def __init__(self, error: BaseException, where: object = "", *, what: str = "ledger") -> None:
        super().__init__(
            f"{'The disk is full: the' if is_full(error) else 'The'} {what} cannot be written.",
            details=": ".join(str(part) for part in (where, error) if str(part))[:1000],
            resolution=f"{remedy(error)}.",
        )
