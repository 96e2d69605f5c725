"""A ledger of which the first pass left nothing over: its summary, planning no check that has nothing to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate import output
from validate.checks.classes import CLASSES
from validate.checks.finding import VERDICTS
from validate.checks.table import CHECKS
from validate.expect import Expectation
from validate.summary import Summary
from validate.tally import checked_of, sums_of

if TYPE_CHECKING:
    from validate.first_pass import Settled
    from validate.ledger.read import Ledger
    from validate.stats import Counted

# What else a ledger holds is judged by other checks than those of a settled partition.
_SETTLED_BY_SUMS = {"sent", "log", "log_bounds", "reservations"}


def is_clean(ledger: Ledger, settled: Settled, counted: Counted, expectation: Expectation) -> bool:
    """Every partition that has bounds adds up, in its times as well, and nobody asked for anything more."""
    return (
        not (settled.unsettled or settled.untimed)
        and len(settled.partitions) == counted.rows.get("log_bounds", 0) > 0
        and not (ledger.problems or counted.repeated)
        and _SETTLED_BY_SUMS.issuperset(ledger.tables)
        and expectation == Expectation()
    )


def summary(settled: Settled, counted: Counted, out: str) -> Summary:
    """As the checks would give it (docs/adr/0010 says why they have nothing to find)."""
    output.write_none(out)
    return Summary(
        verdict="passed",
        checked=checked_of(counted),
        acked={**dict.fromkeys(CLASSES, 0), "found": settled.acked},
        counts={check.anomaly: dict.fromkeys(VERDICTS, 0) for check in CHECKS},
        sums=sums_of(settled),
        findings=[],
        findings_path=out,
    )
