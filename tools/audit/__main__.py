"""`python -m tools.audit`: compares every pin of this checkout with the weaknesses that are known, without a network.

Exit code 1 if a pin is affected and nobody said why it stays, or if a reason is left over from a pin that is gone; with
--fresh also 2 if the data is old. Its age alone never fails anything else: a calendar breaks no build.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.errors import EXIT_FAILED, EXIT_UNKNOWN, KastellanError
from tools.audit.data import FILE, Accepted, Advisory, Data, load
from tools.audit.pins import Pin, all_pins

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OLD_DAYS = 90


@dataclass(frozen=True)
class Finding:
    pin: Pin
    advisory: Advisory
    accepted: Accepted | None


def findings(data: Data, pins: Iterable[Pin]) -> list[Finding]:
    return [
        Finding(pin, advisory, _reason(data, pin, advisory))
        for pin in pins
        for advisory in data.advisories
        if pin.kind == advisory.kind and advisory.concerns(pin.package) and advisory.covers(pin.version)
    ]


def _reason(data: Data, pin: Pin, advisory: Advisory) -> Accepted | None:
    fitting = (one for one in data.accepted if one.package == pin.package and one.version == pin.version)
    return next((one for one in fitting if advisory.id in one.ids), None)


def left_over(data: Data, found: Iterable[Finding]) -> list[str]:
    """Reasons for what is not pinned any more would silently hold for the next who pins it."""
    used = {(one.pin.package, one.pin.version, one.advisory.id) for one in found}
    return [
        f"{one.package} {one.version}: {ident}"
        for one in data.accepted
        for ident in one.ids
        if (one.package, one.version, ident) not in used
    ]


def _told(one: Finding) -> str:
    return f"{one.pin.package} {one.pin.version} ({one.pin.where}): {one.advisory.id}"


def report(data: Data, pins: list[Pin], today: dt.date) -> tuple[list[str], int]:
    found = findings(data, pins)
    open_ones = [one for one in found if one.accepted is None]
    stale = left_over(data, found)
    lines = []
    for one in open_ones:
        spans = " or ".join(one.advisory.affected)
        lines.append(f"AFFECTED  {_told(one)}")
        lines.append(f"          {one.advisory.severity}: {one.advisory.means} (affected: {spans})")
    lines += [f"accepted  {_told(one)}: {one.accepted.why}" for one in found if one.accepted]
    lines += [f"LEFT OVER accepted, and nothing has it: {word}" for word in stale]
    age = (today - data.as_of).days
    lines.append(
        f"{len(pins)} pins, {len(data.advisories)} advisories as of {data.as_of}: {len(open_ones)} affected, "
        f"{len(found) - len(open_ones)} accepted."
    )
    if age > OLD_DAYS:
        lines.append(f"The data is {age} days old: look for newer advisories and set as_of (docs/reference/audit.md).")
    if open_ones:
        lines.append("Pin a version that is not affected, or write under `accepted` why it stays.")
    return lines, EXIT_FAILED if open_ones or stale else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fresh", action="store_true", help=f"exit 2 if the data is older than {OLD_DAYS} days")
    parser.add_argument("--quiet", action="store_true", help="leave out what is accepted")
    asked = parser.parse_args(argv)
    today = dt.datetime.now(dt.UTC).date()
    try:
        data = load(FILE)
        lines, code = report(data, all_pins(), today)
    except KastellanError as error:
        print(error, file=sys.stderr)  # noqa: T201 - for whoever called
        return error.exit_code
    print("\n".join(line for line in lines if not (asked.quiet and line.startswith("accepted"))))  # noqa: T201 - its answer
    old = asked.fresh and (today - data.as_of).days > OLD_DAYS
    return EXIT_UNKNOWN if old and not code else code


if __name__ == "__main__":
    sys.exit(main())
