"""The producing loop as a process: every block is in the journal before it is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from validate.workload.home import Home
from validate.workload.producer import Sending, identity

if TYPE_CHECKING:
    from validate.workload.block import Block
    from validate.workload.spec import ProducerSpec


def run(spec: ProducerSpec) -> None:
    home = Home(spec, identity(spec).as_json() | _sample(spec))

    def reserve(block: Block) -> None:
        home.journal.append(block.reservation())

    sending = Sending(spec, home.clock, reserve)
    home.signs.say("ready")

    def tell() -> None:
        home.signs.progress(
            lambda: {"acked": sending.acked(), "in_flight": sending.in_flight, "failed": sending.failed}
        )

    for block in sending.run(home.signs.ended, tell, alone=lambda: home.signs.orphaned):
        home.journal.append(block.results())
    if sending.hooks is not None:
        sending.hooks.write(Path(spec.ledger), spec.name)
    told = {"acked": sending.acked(), "in_flight": sending.in_flight, "failed": sending.failed}
    home.done(**told, errors=list(sending.errors)[-5:])


def _sample(spec: ProducerSpec) -> dict[str, Any]:
    """What its values say is known again from this."""
    if spec.sample is None:
        return {}
    told = {"name": spec.sample, "seed": spec.seed, "count": spec.count, "deal": spec.deal}
    return {"sample": told, "topics": [[topic.name, topic.partitions] for topic in spec.topics]}
