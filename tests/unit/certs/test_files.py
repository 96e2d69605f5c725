"""Writing: right mode at birth, whole or not at all, one run at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from certs import files
from certs.errors import KastellanError


def test_mode_is_right_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o777)
    try:
        files.write(tmp_path / "file", b"x", 0o640)
    finally:
        os.umask(old)
    assert files.mode_of(tmp_path / "file") == 0o640


def test_draft_is_private_and_gone_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fail(descriptor: int) -> None:
        seen.append(os.fstat(descriptor).st_mode & 0o777)
        raise OSError(28, "No space left on device")

    (tmp_path / "key").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KastellanError) as caught:
        files.write(tmp_path / "key", b"new", files.PRIVATE, durable=True)
    assert str(caught.value) == (
        f"{tmp_path / 'key'} cannot be written.\nNo space left on device\nCheck the directory and its space."
    )
    assert seen == [0o600]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"key": b"old"}


def test_existing_key_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"old")
    with pytest.raises(KastellanError) as caught:
        files.write(tmp_path / "key", b"new", files.PRIVATE, replace=False)
    assert caught.value.details == "File exists"
    assert (tmp_path / "key").read_bytes() == b"old"


def test_link_in_the_way_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "key").symlink_to(tmp_path / "target")
    assert files.put(tmp_path / "key", b"old", files.PRIVATE)
    assert not (tmp_path / "key").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"old"


def test_longest_name_can_be_written(tmp_path: Path) -> None:
    files.write(tmp_path / ("u" * 255), b"x", files.PUBLIC)


def test_file_in_the_way_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "pki").touch()
    with pytest.raises(KastellanError) as caught:
        files.make_directory(tmp_path / "pki")
    assert str(caught.value) == (
        f"{tmp_path / 'pki'} is in the way: a directory is needed there.\nMove that file away."
    )


def test_second_run_waits_then_gives_up(tmp_path: Path) -> None:
    with files.exclusive(tmp_path), pytest.raises(KastellanError) as caught, files.exclusive(tmp_path, wait_s=0.1):
        pass
    assert str(caught.value) == (
        f"Another run works on {tmp_path}.\nIt still held the lock after 0.1 s.\n"
        f"Wait for it to end, then run again (fuser {tmp_path / 'lock'} names it)."
    )


def test_second_run_goes_on_when_the_first_ends(tmp_path: Path) -> None:
    entered = threading.Event()

    def second() -> None:
        with files.exclusive(tmp_path):
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with files.exclusive(tmp_path):
            pool.submit(second)
            assert not entered.wait(0.1)
        assert entered.wait(5)


def test_a_directory_that_another_run_makes_meanwhile_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "pki"
    asked = Path.is_dir

    def is_dir_just_before_it_is_made(path: Path) -> bool:
        answer = asked(path)
        if not wanted.exists():
            wanted.mkdir(mode=files.DIRECTORY)
        return answer

    monkeypatch.setattr(Path, "is_dir", is_dir_just_before_it_is_made)
    assert files.make_directory(wanted)


def test_five_first_runs_at_once_make_one_authority(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "certs", "init", "--pki", str(tmp_path / "pki")]
    runs = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(5)]
    outputs = [run.communicate() for run in runs]
    assert [err for _, err in outputs] == [""] * 5
    assert [run.returncode for run in runs] == [0] * 5
    assert sum("made a new authority" in out for out, _ in outputs) == 1
    assert len({line for out, _ in outputs for line in out.splitlines() if line.startswith("sha-256")}) == 1
