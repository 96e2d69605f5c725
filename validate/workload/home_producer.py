"""The producing loop as a process: every block is in the journal before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.workload.home import Home
from validate.workload.producer import Sending, identity

if TYPE_CHECKING:
    from validate.workload.block import Block
    from validate.workload.spec import ProducerSpec


def run(spec: ProducerSpec) -> None:
    home = Home(spec, identity(spec).as_json())

    def reserve(block: Block) -> None:
        home.journal.append(block.reservation())

    sending = Sending(spec, home.clock, reserve)
    home.signs.say("ready")

    def tell() -> None:
        home.signs.progress(lambda: {"acked": sending.acked(), "in_flight": sending.in_flight})

    for block in sending.run(home.signs.ended, tell, alone=lambda: home.signs.orphaned):
        home.journal.append(block.results())
    home.done(acked=sending.acked(), in_flight=sending.in_flight, errors=list(sending.errors)[-5:])
