"""A mix of sizes: values of one partition, each of the size that chance gives it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from validate.workload.value import Filler

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence


@dataclass(frozen=True)
class Size:
    """Values of so many bytes, in proportion to `share`."""

    bytes: int
    share: float


class MixedFiller:
    """As Filler, with several sizes."""

    def __init__(
        self, sizes: Sequence[Size], run_id: str, producer: str, topic: str, partition: int, chance: random.Random
    ) -> None:
        self._fillers = [Filler(run_id, producer, topic, partition, size.bytes) for size in sizes]
        self._bounds = list(accumulate(size.share for size in sizes))
        self._chance = chance

    def block(
        self, seq_from: int, randoms: Sequence[int], sent_at_us: int, *, texts: Sequence[str] | None = None
    ) -> tuple[list[bytes], array[int]]:
        values: list[bytes] = []
        crcs = array("I")
        drawn = self._chance.choices(self._fillers, cum_weights=self._bounds, k=len(randoms))
        for place, filler in enumerate(drawn):
            chance, said = randoms[place : place + 1], texts and texts[place : place + 1]
            made, crc = filler.block(seq_from + place, chance, sent_at_us, texts=said)
            values += made
            crcs.extend(crc)
        return values, crcs
