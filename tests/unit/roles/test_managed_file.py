from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from plugins.module_utils.managed_file import FileError, settle, with_block

if TYPE_CHECKING:
    from pathlib import Path


def entry(path: Path, **values: Any) -> dict[str, Any]:
    return {"path": str(path), "state": "file", "content": "", "owner": "", "group": "", "mode": "0640", **values}


def test_a_file_is_made_once(tmp_path: Path) -> None:
    wanted = entry(tmp_path / "a", content="x\n")
    assert settle(wanted, apply=True)
    assert (tmp_path / "a").read_text(encoding="ascii") == "x\n"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert settle(wanted, apply=True) is None


def test_looking_changes_nothing(tmp_path: Path) -> None:
    assert settle(entry(tmp_path / "a"), apply=False)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_mode_alone_is_seen_and_repaired(tmp_path: Path) -> None:
    wanted = entry(tmp_path / "a", content="x")
    settle(wanted, apply=True)
    (tmp_path / "a").chmod(0o666)
    diff = settle(wanted, apply=True)
    assert diff
    assert "0666" in diff["before"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_secret_is_in_no_diff(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old-canary", encoding="ascii")
    diff = settle(entry(tmp_path / "a", content="new-canary", secret=True), apply=True)
    assert "canary" not in str(diff)


def test_folders_and_links(tmp_path: Path) -> None:
    assert settle(entry(tmp_path / "d", state="directory", mode="0750"), apply=True)
    assert settle(entry(tmp_path / "l", state="link", target="d"), apply=True)
    assert settle(entry(tmp_path / "l", state="link", target="e"), apply=True)
    assert str((tmp_path / "l").readlink()) == "e"
    assert settle(entry(tmp_path / "d", state="directory", mode="0750"), apply=True) is None


def test_what_is_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(FileError, match="is a directory, a file is needed there: move it away"):
        settle(entry(tmp_path / "a"), apply=True)


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("theirs", encoding="ascii")
    (tmp_path / "a").symlink_to("other")
    settle(entry(tmp_path / "a", content="ours"), apply=True)
    assert (tmp_path / "other").read_text(encoding="ascii") == "theirs"
    assert not (tmp_path / "a").is_symlink()


def test_absent(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("", encoding="ascii")
    assert settle(entry(tmp_path / "a", state="absent"), apply=True)
    assert settle(entry(tmp_path / "a", state="absent"), apply=True) is None


def test_a_folder_that_changes_hands_takes_its_content_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with data of a user whose number is another one on a host that was made anew."""
    (tmp_path / "data" / "t-0").mkdir(parents=True)
    (tmp_path / "data" / "t-0" / "log").touch()
    (tmp_path / "data" / "elsewhere").symlink_to("/etc")
    (tmp_path / "data" / "meta.properties").touch()
    given: list[tuple[str, bool]] = []
    monkeypatch.setattr("os.chown", lambda path, *_, follow_symlinks=True: given.append((str(path), follow_symlinks)))
    wanted = entry(tmp_path / "data", state="directory", mode="0750", owner="games", group="games")
    said = settle({**wanted, "content_if": "meta.properties"}, apply=True)
    assert sorted(given[:-1]) == [
        (f"{tmp_path}/data/{name}", False) for name in ("elsewhere", "meta.properties", "t-0", "t-0/log")
    ]
    assert said is not None
    assert "and what is in it" in said["after"]
    assert given[-1] == (f"{tmp_path}/data", True), "last, so that a run that is cut off is seen by the next one"
    del given[:]
    settle(wanted, apply=True)
    settle({**wanted, "content_if": "meta.properties"}, apply=False)
    assert given == [(f"{tmp_path}/data", True)], "unless nobody asked, or it is only looked at"
    del given[:]
    said = settle({**wanted, "content_if": "version-2"}, apply=True)
    assert given == [(f"{tmp_path}/data", True)], "unless the folder holds something else"
    assert said is not None
    assert "and what is in it" not in said["after"]


def test_what_others_put_there_or_took_away_stays_out_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service renames its files while its folder changes hands; a guest's file is the guest's."""
    (tmp_path / "data").mkdir()
    for name in ("meta.properties", "guest", "renamed"):
        (tmp_path / "data" / name).touch()
    lstat = type(tmp_path).lstat

    def seen(path: Path) -> Any:
        """Only root may give files away, so a guest's is one for the look alone."""
        found = lstat(path)
        if path.name != "guest":
            return found
        return SimpleNamespace(st_dev=found.st_dev, st_uid=found.st_uid + 1, st_gid=found.st_gid + 1)

    monkeypatch.setattr("pathlib.Path.lstat", seen)
    given: list[str] = []

    def chown(path: Path | str, *_: object, follow_symlinks: bool = True) -> None:
        if str(path).endswith("renamed"):
            raise FileNotFoundError(path, follow_symlinks)
        given.append(str(path))

    monkeypatch.setattr("os.chown", chown)
    wanted = entry(tmp_path / "data", state="directory", mode="0750", owner="games", group="games")
    settle({**wanted, "content_if": "meta.properties"}, apply=True)
    assert given == [f"{tmp_path}/data/meta.properties", f"{tmp_path}/data"]


def test_content_stays_where_the_folder_is_its_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through all data on every run would take long, and only a disk's first arrival needs it."""
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "meta.properties").touch()
    monkeypatch.setattr("os.walk", lambda _: pytest.fail("it was walked through"))
    assert settle(entry(tmp_path / "data", state="directory", mode="0750", content_if="meta.properties"), apply=True)


def test_a_block_keeps_what_is_around_it() -> None:
    once = with_block("127.0.0.1 localhost\n", "kastellan", "198.18.0.11 broker-1\n")
    assert once == "127.0.0.1 localhost\n# BEGIN kastellan\n198.18.0.11 broker-1\n# END kastellan\n"
    assert with_block(once + "# mine\n", "kastellan", "x\n") == (
        "127.0.0.1 localhost\n# BEGIN kastellan\nx\n# END kastellan\n# mine\n"
    )
    assert with_block(once, "kastellan", "198.18.0.11 broker-1\n") == once
