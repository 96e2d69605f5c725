"""`python -m validate.workload producer|consumer|probe|storer|transformer SPEC.json`: one workload as a process."""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from common.errors import EXIT_FAILED, KastellanError, UsageError
from common.names import nearest
from common.texts import TextError, from_json
from validate.workload import (
    home_consumer,
    home_pipeline,
    home_probe,
    home_producer,
    home_storer,
    home_transformer,
)
from validate.workload.spec import (
    ConsumerSpec,
    PipelineSpec,
    ProbeSpec,
    ProducerSpec,
    StorerSpec,
    TransformerSpec,
)

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: dict[str, Callable[[Any], None]] = {
    "producer": lambda given: home_producer.run(ProducerSpec.parse(given)),
    "consumer": lambda given: home_consumer.run(ConsumerSpec.parse(given)),
    "pipeline": lambda given: home_pipeline.run(PipelineSpec.parse(given)),
    "probe": lambda given: home_probe.run(ProbeSpec.parse(given)),
    "storer": lambda given: home_storer.run(StorerSpec.parse(given)),
    "transformer": lambda given: home_transformer.run(TransformerSpec.parse(given)),
}


def main(argv: list[str]) -> int:
    try:
        kind, file = asked(argv)
        KINDS[kind](take(file))
    except KastellanError as error:
        last_words(str(error))
        return error.exit_code
    except KafkaException as error:
        last_words(f"The client of Kafka refuses: {error.args[0]}")
        return EXIT_FAILED
    except Exception:  # noqa: BLE001  the process ends here either way
        last_words(traceback.format_exc())
        return EXIT_FAILED
    return 0


def last_words(text: str) -> None:
    """For people; if the file they would read lies on the very disk that is full, for whoever started this."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        with suppress(OSError):
            print(json.dumps({"event": "failed", "words": text}), flush=True)


def asked(argv: list[str]) -> tuple[str, Path]:
    if len(argv) != 2:  # noqa: PLR2004  a kind and a file
        raise UsageError(
            "A workload takes its kind and one file.",
            resolution=f"python -m validate.workload {'|'.join(KINDS)} SPEC.json",
        )
    kind, file = argv
    if kind not in KINDS:
        raise UsageError(f"There is no workload {kind!r}.", resolution=nearest(kind, KINDS))
    return kind, Path(file)


def take(path: Path) -> Any:
    """The file's content; the file is gone afterwards, whatever it held."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"The spec {str(path)!r} cannot be read.", details=str(error), resolution="Name a file."
        ) from None
    path.unlink()
    try:
        return from_json(text)
    except TextError as error:
        raise UsageError(f"The spec {str(path)!r} is no JSON.", details=str(error), resolution="Mend it.") from None


if __name__ == "__main__":
    code = main(sys.argv[1:])
    # The clients' own end could wait for brokers that are gone; the ledger is written, nothing else matters.
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
