"""Where findings go, and what is said when they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import EXIT_UNKNOWN, UnreadableError, UsageError
from validate import output
from validate.checks.finding import FINDING

if TYPE_CHECKING:
    from pathlib import Path


def part(folder: Path, *columns: str) -> None:
    pq.write_table(
        pa.table({name: pa.array([], pa.string()) for name in columns}), folder / "part-00000.snappy.parquet"
    )


def test_findings_go_beside_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    assert output.place_beside(str(tmp_path / "ledger")) == str(tmp_path / "findings")


def test_findings_of_before_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    for name in ("_SUCCESS", ".part-00000.snappy.parquet.crc"):
        (tmp_path / "findings" / name).touch()
    part(tmp_path / "findings", *FINDING)
    (tmp_path / "findings" / "_temporary" / "0").mkdir(parents=True)  # the last judge was ended while it wrote
    assert output.place_beside(str(tmp_path / "ledger")) == str(tmp_path / "findings")


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "thesis.txt").touch()
    place = output.place_beside(str(tmp_path / "ledger"))
    assert place != str(tmp_path / "findings")
    assert "kastellan-findings-" in place


@pytest.mark.parametrize("scheme", ["", "file://", "file:"])
def test_what_the_user_names_is_replaced_only_if_it_was_findings(scheme: str, tmp_path: Path) -> None:
    """Spark's overwriting takes away the whole folder, or the file, that stands in the place."""
    names = ("ours", "empty", "other", "text", "sparks", "cut", "deep", "ledger")
    ours, empty, other, text, sparks, cut, deep, ledger = (tmp_path / name for name in names)
    for folder in (ours, empty, other, sparks, cut, deep / "part-of-my-thesis", ledger / "sent"):
        folder.mkdir(parents=True)
    (other / "sent").touch()
    text.touch()
    part(ours, *FINDING)
    part(sparks, "customer", "price")  # whatever Spark writes has such names
    (cut / "part-00000.snappy.parquet").write_bytes(b"PAR1")
    for good in (ours, empty, tmp_path / "new"):
        assert output.place_named(f"{scheme}{good}", str(ledger)) == f"{scheme}{good}"
    for bad in (other, text, sparks, cut, deep, ledger, ledger / "sent", ledger / "findings"):
        with pytest.raises(UsageError, match="with --out"):
            output.place_named(f"{scheme}{bad}", str(ledger))
    assert output.place_named("s3a://bucket/findings", str(ledger)) == "s3a://bucket/findings"


def test_findings_of_a_remote_ledger_are_temporary() -> None:
    assert "kastellan-findings-" in output.place_beside("s3a://bucket/ledger")


@pytest.mark.parametrize("said", ["java.io.IOException: No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_told_and_leaves_no_half(said: str, tmp_path: Path) -> None:
    (tmp_path / "part-00000").touch()
    with pytest.raises(UnreadableError, match="The disk is full") as caught:
        output._refuse_full_disk(RuntimeError(said), str(tmp_path))
    assert caught.value.exit_code == EXIT_UNKNOWN
    assert "--out" in caught.value.resolution
    assert not tmp_path.exists()


def test_other_failures_are_not_a_full_disk(tmp_path: Path) -> None:
    output._refuse_full_disk(RuntimeError("a check crashed"), str(tmp_path))
    assert tmp_path.exists()


def test_a_stack_trace_is_cut_to_its_message() -> None:
    trace = "Job aborted.\n\tat org.apache.spark.Foo(Foo.scala:1)\n\nCaused by: bad file part-3.parquet\n\tat x.Y"
    assert output.first_lines(RuntimeError(trace)) == "Job aborted. | Caused by: bad file part-3.parquet"


def of_before(folder: Path) -> None:
    (folder / "_temporary").mkdir(parents=True)
    (folder / "part-of-before.parquet").write_bytes(b"")


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_they_replace_those_of_before(tmp_path: Path, prefix: str) -> None:
    of_before(tmp_path / "findings")
    output.write_none(f"{prefix}{tmp_path / 'findings'}")
    (only,) = (tmp_path / "findings").iterdir()
    table = pq.read_table(only)
    assert (tuple(table.column_names), table.num_rows) == (FINDING, 0)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    of_before(tmp_path / "elsewhere")
    (tmp_path / "findings").symlink_to(tmp_path / "elsewhere")
    output.write_none(str(tmp_path / "findings"))
    assert (tmp_path / "findings").is_symlink()
    assert [entry.name for entry in (tmp_path / "elsewhere").iterdir()] == ["part-00000.parquet"]


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    output.write_none(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b" / "part-00000.parquet").exists()


def test_what_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_before(tmp_path / "findings")

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.unlink", refused)
    with pytest.raises(UnreadableError, match="cannot be written") as told:
        output.write_none(str(tmp_path / "findings"))
    assert "Permission denied" in str(told.value)
