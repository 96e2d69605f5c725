"""A query of Spark's Structured Streaming as a process: what there is when it begins is read, and then it ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import KastellanError
from validate.workload import entries, plot
from validate.workload.home import Home
from validate.workload.promised import DONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from validate.workload.spec import PipelineSpec

LOOK_S = 1
CHECKPOINTS = "checkpoints"


def run(spec: PipelineSpec) -> None:
    from validate import readback, session  # noqa: PLC0415  Spark's modules, only now

    facts = {
        "run_id": spec.run_id, "clock": spec.clock, "query": spec.query, "sink": spec.sink,
        "checkpoint": spec.checkpoint, "value_bytes": spec.value_bytes, "inputs": [t.name for t in spec.inputs],
        "partitions": spec.partitions_of(spec.sink),
    }  # fmt: skip
    home = Home(spec, facts)
    scratch = Path(spec.ledger).resolve() / CHECKPOINTS
    spark = session.start(jars=readback.jars(), scratch=str(scratch / "scratch"))
    home.signs.say("ready")
    query = _begun(spark, spec, scratch / spec.checkpoint)
    ended = _watched(query, home)
    if ended:
        home.journal.append(entries.entry(DONE, home.clock.now_us()))
        if spec.draw is not None:
            plot.write(spec.draw, _said(spark, spec), Path(spec.ledger), spec.checkpoint)
    home.done(delivered=_delivered(query), batches=len(query.recentProgress))


def _begun(spark: SparkSession, spec: PipelineSpec, checkpoint: Path) -> StreamingQuery:
    from validate.workload import queries  # noqa: PLC0415

    writer = queries.written(spark, spec)
    return writer.option("checkpointLocation", checkpoint.as_uri()).trigger(availableNow=True).start()


def _watched(query: StreamingQuery, home: Home) -> bool:
    """Until it has read all there was when it began; False if it was told to end before."""
    from pyspark.errors import StreamingQueryException  # noqa: PLC0415

    try:
        while not query.awaitTermination(LOOK_S):
            home.signs.progress(lambda: {"delivered": _delivered(query)})
            if home.signs.ended():
                query.stop()
                return False
    except StreamingQueryException as error:
        raise KastellanError("The query ended with an error.", details=_first_lines(error)) from error
    return True


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " | ".join(lines[:6])[:1000]


def _delivered(query: StreamingQuery) -> dict[str, int]:
    """Rows of input in all batches that are done."""
    told: list[Any] = list(query.recentProgress)
    return {"rows": sum(int(one["numInputRows"]) for one in told)}


def _said(spark: SparkSession, spec: PipelineSpec) -> list[str]:
    """What the sink holds now, for the picture alone: a hundred rows or two."""
    from validate.workload import queries  # noqa: PLC0415

    return [str(row["text"]) for row in queries.sink_texts(spark, spec).collect()]
