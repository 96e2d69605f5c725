"""The tree of errors. Every error says what is wrong (brief), the evidence (details) and what to do (resolution)."""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_UNKNOWN = 2
EXIT_USAGE = 64


class KastellanError(Exception):
    """Plain classes, not dataclasses: a frozen one breaks in contextlib, a mutable one cannot be hashed."""

    exit_code = EXIT_FAILED

    def __init__(self, brief: str, *, details: str = "", resolution: str = "") -> None:
        super().__init__("\n".join(part for part in (brief, details, resolution) if part))
        self.brief, self.details, self.resolution = brief, details, resolution


class UsageError(KastellanError):
    """The call itself is wrong: a word, a file's name, a value."""

    exit_code = EXIT_USAGE


class CommandFailed(KastellanError):
    """A program that was run ended badly; details hold what it printed."""


class CommandTimedOut(CommandFailed):
    """It was ended because it took longer than its bound."""


class UnreadableError(KastellanError):
    """What has to be judged cannot be read, so nothing can be said of it."""

    exit_code = EXIT_UNKNOWN
