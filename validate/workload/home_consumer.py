"""A member of a group as a process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from validate.workload import plot
from validate.workload.consumer import Member
from validate.workload.home import Home

if TYPE_CHECKING:
    from validate.workload.spec import ConsumerSpec


def run(spec: ConsumerSpec) -> None:
    facts = {"group": spec.group, "member": spec.name, "isolation": spec.isolation, "clock": spec.clock}
    home = Home(spec, facts)
    member = Member(spec, home)
    home.signs.say("ready")
    member.run(
        home.signs.ended,
        lambda: home.signs.progress(
            lambda: {"delivered": member.delivered, "assignment": member.assignment, "errors": member.errors[-2:]}
        ),
    )
    if spec.draw is not None:
        plot.write(spec.draw, member.texts, Path(spec.ledger), spec.name)
    home.done(delivered=member.delivered, errors=member.errors[-5:])
