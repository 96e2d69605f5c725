"""What kafka-dump-log prints, as rows of `replicas`."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from validate.readback import replicas

if TYPE_CHECKING:
    from pathlib import Path

TOLD = """\
start orders 1 7
Dumping /var/lib/kafka/data/orders-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 4 count: 5 baseSequence: 0 lastSequence: 4 producerId: 1 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1 size: 9 magic: 2 compresscodec: none crc: 111 isvalid: true
baseOffset: 5 lastOffset: 5 count: 1 baseSequence: 0 lastSequence: 4 producerId: 1 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 9 CreateTime: 1 size: 9 magic: 2 compresscodec: none crc: 112 isvalid: false
Dumping /var/lib/kafka/data/orders-1/00000000000000000005.log
Log starting offset: 5
Dumping /var/lib/kafka/data/orders-1/00000000000000000009.log
Log starting offset: 9
Found 3 invalid bytes at the end of 00000000000000000009.log
"""


def test_batches_and_empty_replicas() -> None:
    rows, problems = replicas.parse(TOLD, 3)
    assert [(r["topic"], r["partition"], r["base_offset"], r["last_offset"], r["batch_crc"], r["log_start"]) for r in rows] == [
        ("orders", 0, 0, 4, 111, 0), ("orders", 0, 5, 5, 112, 0), ("orders", 1, -1, -1, 0, 7),
    ]  # fmt: skip
    assert {r["broker"] for r in rows} == {3}
    assert problems == [
        "broker 3 has a bad batch in orders-0 at offset 5",
        "broker 3: Found 3 invalid bytes at the end of 00000000000000000009.log",
    ]


def test_the_script_finds_logs_and_starts(tmp_path: Path) -> None:
    """Run for real, with a stand-in that prints what it would dump."""
    for name in ("my.topic-0", "my.topic-10", "my.topic-1.abc-delete", "myxtopic-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0001.log").touch()
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n2\nmy.topic 0 4\nmyxtopic 0 5\n", encoding="ascii")
    script = replicas._script([str(tmp_path), str(tmp_path / "nowhere")], {"my.topic": 2}, "echo")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"start my.topic 0 4\n--files {tmp_path}/my.topic-0/0001.log\n"
    assert (
        subprocess.run(["bash", "-c", replicas._script([str(tmp_path)], {"no": 1}, "false")], check=True).returncode
        == 0
    )
