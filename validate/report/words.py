"""Verdicts and counts in words: the same ones on the page, in report.json and in junit.xml."""

from __future__ import annotations

from typing import Any

PASSED, FAILED, UNKNOWN, SKIPPED = "passed", "failed", "unknown", "not-applicable"
# Of security checks alone: failed, and somebody wrote down why it may. It proves nothing, and breaks nothing.
WAIVED = "waived"
_NAMED = 4  # more names than this make no sentence
NOTHING = "\N{EN DASH}"  # stands where there is no number
SEVERITY = {SKIPPED: 0, PASSED: 1, UNKNOWN: 2, FAILED: 3}


def worst(verdicts: list[str]) -> str:
    """A word that is no verdict proves nothing, so it counts as unknown."""
    return max((x if x in SEVERITY else UNKNOWN for x in verdicts), key=SEVERITY.__getitem__, default=UNKNOWN)


def many(n: int, one: str, more: str = "") -> str:
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def seconds(value: float | None) -> str:
    """A length of time as people say it."""
    if value is None:
        return NOTHING
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:  # noqa: PLR2004  two minutes are still read as seconds
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def of_run(verdict: str, totals: dict[str, Any], names: dict[str, list[str]]) -> str:
    """What the run showed, for somebody who reads one sentence. `names`: the scenarios of each verdict."""
    ran = sum(n for word, n in totals["scenarios"].items() if word != SKIPPED)
    if not ran:
        return "No scenario was run, so nothing was shown."
    if verdict == PASSED:
        return f"The cluster kept what it promised in {_all(ran)}. {of_records(totals)}"
    if verdict == FAILED:
        what = _broken(totals["violations_of"])
        return f"The cluster broke a promise in {_some(names[FAILED], ran)}{what}. {of_records(totals)}"
    if not names[UNKNOWN]:
        return f"The run did not come to its end, so it proves nothing yet. {of_records(totals)}"
    return f"No promise was seen broken, but {_some(names[UNKNOWN], ran)} could not be decided. {of_records(totals)}"


def _broken(violations: dict[str, int]) -> str:
    """Which anomalies did it, the most frequent first."""
    listed = sorted(violations.items(), key=lambda x: -x[1])
    more = f" and {many(len(listed) - _NAMED, 'other kind')}" if len(listed) > _NAMED else ""
    return ": " + ", ".join(f"{name} ({n:,})" for name, n in listed[:_NAMED]) + more if listed else ""


def _all(ran: int) -> str:
    return "the one scenario that was run" if ran == 1 else f"all {ran} scenarios"


def _some(names: list[str], ran: int) -> str:
    if ran == 1:
        return f"the one scenario that was run ({names[0]})"
    shown = ", ".join(names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")
    return f"{len(names)} of {many(ran, 'scenario')} ({shown})"


def of_records(totals: dict[str, Any]) -> str:
    """Kept, lost, repeated. What was lost where that was expected is said as such."""
    acked = totals["acked"]
    if not totals["judged"]:
        return "There is no judgement of any record."
    if not acked:
        return "No record was acknowledged."
    said = [f"Of {many(acked, 'acknowledged record')} {totals['found']:,} were found again"]
    said.append(f"{totals['lost']:,} {'was' if totals['lost'] == 1 else 'were'} lost{_expected(totals)}")
    said.append(f"{totals['repeated']:,} stood in the log more than once")
    rest = [f"{totals[name]:,} {text}" for name, text in _REST if totals[name]]
    return ", ".join(said[:-1]) + " and " + said[-1] + (f" ({'; '.join(rest)})" if rest else "") + "."


_REST = (
    ("expired", "gone by retention or compaction, as promised"),
    ("withdrawn", "gone with transactions that did not commit"),
    ("undecided", "could not be decided"),
)


def _expected(totals: dict[str, Any]) -> str:
    expected = totals["lost_expected"]
    if not expected or not totals["lost"]:
        return ""
    return " (all where the settings allow it)" if expected == totals["lost"] else f" ({expected:,} of them expected)"
