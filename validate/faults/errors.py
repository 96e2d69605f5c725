"""What can go wrong with a fault itself."""

from __future__ import annotations

from common.errors import EXIT_UNKNOWN, KastellanError


class FaultError(KastellanError):
    """A fault that could not be made: nothing can be said of what would have happened."""

    exit_code = EXIT_UNKNOWN


class NoAccess(FaultError):
    """The host has no ssh access, so this fault cannot reach it."""


class NotHealed(KastellanError):
    """A host did not come back: that is a failure, of the cluster or of the healing."""
