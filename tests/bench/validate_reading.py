"""One measured final read with its whole verdict: `validate_reading.py SPEC.json FINDINGS`. Spark's start is not counted,
as Kafka's own test does not count that of its JVM."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from validate import judge, readback, session
from validate.run.context import LARGE_BYTES


def main(file: str, findings: str) -> None:
    spec = json.loads(Path(file).read_text(encoding="utf-8"))
    spark = session.start(size_bytes=LARGE_BYTES, jars=readback.jars(), sends=True)
    began_s = time.monotonic()
    back = readback.read(spark, spec["client"], [(spec["topic"], spec["partitions"])], spec["ledger"])
    read_s = time.monotonic() - began_s
    summary = judge.judge_ledger(spark, spec["ledger"], None, findings)
    judged_s = time.monotonic() - began_s - read_s
    told = {"read_s": read_s, "judged_s": judged_s, "verdict": summary.verdict, "found": summary.acked["found"]}
    print(json.dumps({**told, "problems": back.problems}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
