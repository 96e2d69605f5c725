"""One measured run of the producing loop, with its journal or without: `validate_sending.py SPEC.json yes|no`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from validate.workload import journal
from validate.workload.clock import Clock
from validate.workload.producer import Sending, identity
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from validate.workload.block import Block


def nothing(_: Block) -> None:
    """Without a ledger nothing is written down."""


def main(file: str, ledger: str) -> None:
    spec = ProducerSpec.parse(json.loads(Path(file).read_text(encoding="utf-8")))
    writer = None
    if ledger == "yes":
        writer = journal.Writer(Path(spec.ledger) / journal.FOLDER / f"{spec.name}{journal.SUFFIX}")
        writer.append(
            journal.OPENING + json.dumps({"kind": spec.kind, "lanes": spec.lanes, **identity(spec).as_json()}).encode()
        )
    reserve = nothing if writer is None else lambda block: writer.append(block.reservation())
    sending = Sending(spec, Clock(), reserve)
    began_s, cpu_s = time.monotonic(), time.process_time()
    for block in sending.run(lambda: False):
        if writer is not None:
            writer.append(block.results())
    took_s = time.monotonic() - began_s
    acked = sum(sending.acked().values())
    print(json.dumps({"acked": acked, "s": took_s, "cpu_s": time.process_time() - cpu_s}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
