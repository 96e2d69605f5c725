"""The findings of a ledger without any: they take the place of those of before, wherever these lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from common.errors import UnreadableError
from validate import output
from validate.checks.finding import FINDING

if TYPE_CHECKING:
    from pathlib import Path


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
