"""What can go wrong in a module. Backends raise these; main() or entry.reconcile turns one into fail_json."""

from __future__ import annotations


class KafkaModuleError(Exception):
    """Says what is wrong (brief), the evidence (details) and what to do (resolution)."""

    def __init__(self, brief: str, *, details: str = "", resolution: str = "") -> None:
        super().__init__("\n".join(part for part in (brief, details, resolution) if part))
        self.brief, self.details, self.resolution = brief, details, resolution


class BadInputError(KafkaModuleError):
    """What is declared cannot be, whatever the cluster says."""


class UnreachableError(KafkaModuleError):
    """No broker answers: nothing is known."""


class LoginError(KafkaModuleError):
    """A broker was reached and does not let us in."""


class RefusedError(KafkaModuleError):
    """The cluster answered a request with an error."""

    def __init__(self, brief: str, *, code: int, details: str = "", resolution: str = "") -> None:
        super().__init__(brief, details=details, resolution=resolution)
        self.code = code


class UnsettledError(KafkaModuleError):
    """What was asked for did not come true in time."""
