"""Times in log-spaced buckets: any number of them in little memory, each told to within 1/128, sums of parts exact.

Buckets of one width lie between two powers of two, 128 of them: the layout that HdrHistogram made common.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

HALF = 128
MOST_US = (1 << 40) - 1  # twelve days: what lies above counts as that
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


def lowest(bucket: int) -> int:
    """The least time that falls into a bucket."""
    shift = max(0, bucket // HALF - 1)
    return (bucket - shift * HALF) << shift


class Histogram:
    """Counts of times in microseconds. The longest is kept as it is."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.most_us = 0

    def __len__(self) -> int:
        return self.counts.total()

    def add(self, times: pa.Array | pa.ChunkedArray) -> None:
        """Nulls are left out; what is below zero counts as zero."""
        if len(times) == times.null_count:
            return
        whole = times.cast(pa.int64())
        self.most_us = max(self.most_us, pc.max(whole).as_py())
        held = pc.max_element_wise(pc.min_element_wise(pc.drop_null(whole), MOST_US), 0)
        # How often it is to be halved until it is below 256; the bucket's number follows by adding 128 for each time.
        bits = pc.floor(pc.log2(pc.max_element_wise(held, 1).cast(pa.float64()))).cast(pa.int64())
        shift = pc.max_element_wise(pc.subtract(bits, 7), 0)
        buckets = pc.add(pc.shift_right(held, shift), pc.multiply(shift, HALF))
        for found in pc.value_counts(buckets).to_pylist():
            self.counts[found["values"]] += found["counts"]

    def merge(self, other: Histogram) -> None:
        self.counts.update(other.counts)
        self.most_us = max(self.most_us, other.most_us)

    def at(self, quantile: float) -> int:
        """The least bucket's upper end that so large a part of all times does not exceed."""
        wanted, seen = quantile * len(self), 0
        for bucket, count in sorted(self.counts.items()):
            seen += count
            if seen >= wanted - 1e-9:
                return min(self.most_us, lowest(bucket + 1) - 1)
        return self.most_us

    def to_json(self) -> dict[str, Any]:
        """In milliseconds."""
        if not self.counts:
            return {"n": 0, **dict.fromkeys((*QUANTILES, "max"))}
        told = {name: self.at(quantile) / 1000 for name, quantile in QUANTILES.items()}
        return {"n": len(self), **told, "max": self.most_us / 1000}
