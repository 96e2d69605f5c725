"""The result of a judgement, as JUDGE's `--json` and report.json have it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from common.errors import EXIT_FAILED, EXIT_UNKNOWN

EXIT_OF = {"passed": 0, "failed": EXIT_FAILED, "unknown": EXIT_UNKNOWN}
SHOWN = 1000


@dataclass
class Summary:
    """Counts are exact whatever is shown. `reasons` says why it is not passed, `problems` what was unreadable."""

    verdict: str
    checked: dict[str, int]
    acked: dict[str, int]
    counts: dict[str, dict[str, int]]
    sums: dict[str, dict[str, int]]
    findings: list[dict[str, Any]]
    findings_path: str
    reasons: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    uncompared: int = 0

    @property
    def exit_code(self) -> int:
        return EXIT_OF[self.verdict]

    def miss(self, reasons: list[str]) -> None:
        """Something had to happen and did not: what would have passed is unknown."""
        self.reasons += reasons
        if reasons and self.verdict == "passed":
            self.verdict = "unknown"

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "checked": self.checked,
            "acked": self.acked,
            "counts": self.counts,
            "sums": self.sums,
            "uncompared": self.uncompared,
            "reasons": self.reasons,
            "problems": self.problems,
            "findings": self.findings,
            "findings_path": self.findings_path,
        }
