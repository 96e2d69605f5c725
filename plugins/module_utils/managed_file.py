"""One file, folder or link on a host: look, plan, write. Runs there, so it needs nothing but Python."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import secrets
import stat
from pathlib import Path
from typing import Any

# One entry, as modules take it.
OPTIONS: dict[str, Any] = {
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["file", "directory", "link", "absent"], "default": "file"},
    "content": {"type": "str", "default": ""},
    "block": {"type": "str"},
    "target": {"type": "str"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "str", "default": "0644"},
    "secret": {"type": "bool", "default": False},
    "content_if": {"type": "str", "default": ""},
}
UNCHANGED = -1  # for chown
BEGIN, END = "# BEGIN {}", "# END {}"


class FileError(Exception):
    """What is there cannot be looked at or replaced."""


def settle(entry: dict[str, Any], *, apply: bool) -> dict[str, Any] | None:
    """Bring one entry about. None if all was right, else a diff as Ansible shows it."""
    path, state = entry["path"], entry["state"]
    before = look(path)
    wanted = _wanted(entry, before)
    if state == "absent":
        if before["kind"] == "absent":
            return None
        if apply:
            _remove(path, before["kind"])
        return _diff(entry, before, {"kind": "absent"})
    differs = {name for name, value in wanted.items() if before.get(name) != value}
    if not differs:
        return None
    gives = before["kind"] == "directory" and differs & {"owner", "group"} and _is_ours(path, entry.get("content_if"))
    if apply:
        if gives:
            _give_content(path, wanted)
        _apply(path, before, wanted, differs)
    return _diff(entry, before, {**wanted, "with": "and what is in it"} if gives else wanted)


def look(path: str) -> dict[str, Any]:
    try:
        seen = Path(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return {"kind": "absent"}
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    kind = kinds.get(stat.S_IFMT(seen.st_mode), "other")
    found: dict[str, Any] = {"kind": kind, "owner": _name_of(pwd.getpwuid, seen.st_uid, "pw_name")}
    found["group"] = _name_of(grp.getgrgid, seen.st_gid, "gr_name")
    if kind == "link":
        found["target"] = str(Path(path).readlink())
    else:
        found["mode"] = f"{stat.S_IMODE(seen.st_mode):04o}"
    if kind == "file":
        with Path(path).open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            found["content"] = file.read()
    return found


def _name_of(ask: Any, number: int, field: str) -> str:
    try:
        return str(getattr(ask(number), field))
    except KeyError:
        return str(number)


def _wanted(entry: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    if entry["state"] == "link":
        return {"kind": "link", "target": entry["target"]}
    wanted = {"kind": entry["state"], "mode": entry["mode"]}
    # Without an owner it is whoever runs this, and another one that is there stays.
    wanted |= {name: entry[name] for name in ("owner", "group") if entry[name]}
    if entry["state"] == "file":
        wanted["content"] = entry["content"]
        if entry.get("block"):  # a part of a file that belongs to others: their mode and owner stay
            wanted["content"] = with_block(before.get("content", ""), entry["block"], entry["content"])
            wanted |= {name: before[name] for name in ("owner", "group", "mode") if name in before}
    return wanted


def with_block(text: str, name: str, block: str) -> str:
    """`text` with our part replaced in its place, or put at the end."""
    begin, end = BEGIN.format(name), END.format(name)
    lines = text.splitlines()
    ours = [begin, *block.splitlines(), end]
    if begin in lines and end in lines[lines.index(begin) :]:
        first = lines.index(begin)
        last = lines.index(end, first)
        return "\n".join([*lines[:first], *ours, *lines[last + 1 :], ""])
    return "\n".join([*lines, *ours, ""])


def _apply(path: str, before: dict[str, Any], wanted: dict[str, Any], differs: set[str]) -> None:
    kind = wanted["kind"]
    if "kind" in differs and before["kind"] != "absent" and not (kind == "file" and before["kind"] == "link"):
        raise FileError(f"{path} is a {before['kind']}, a {kind} is needed there: move it away.")
    if kind == "link":
        _replace_link(path, wanted["target"])
    elif kind == "file" and differs & {"kind", "content"}:
        _write(path, wanted)
    else:
        if "kind" in differs:
            Path(path).mkdir(mode=0o700)
        os.chown(path, _uid(wanted.get("owner")), _gid(wanted.get("group")))
        Path(path).chmod(int(wanted["mode"], 8))


def _is_ours(path: str, marker: str | None) -> bool:
    """Only a folder that bears the mark of what we would put there: anything else in it may be somebody's."""
    return bool(marker) and (Path(path) / str(marker)).exists()


def _give_content(path: str, wanted: dict[str, Any]) -> None:
    """Before the folder itself, so that an interrupted run is seen by the next one."""
    uid, gid = _uid(wanted.get("owner")), _gid(wanted.get("group"))
    before = Path(path).lstat()
    for folder, folders, files in os.walk(path):
        with contextlib.suppress(FileNotFoundError):  # a running service renames and removes meanwhile
            if Path(folder).lstat().st_dev != before.st_dev:
                folders.clear()  # another disk is another matter
                continue
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):
                _give(Path(folder) / name, before, uid, gid)


def _give(path: Path, folder: os.stat_result, uid: int, gid: int) -> None:
    """What belongs to neither the folder's user nor its group was put there by somebody else."""
    seen = path.lstat()
    if seen.st_dev == folder.st_dev and (seen.st_uid == folder.st_uid or seen.st_gid == folder.st_gid):
        os.chown(path, uid, gid, follow_symlinks=False)


def _write(path: str, wanted: dict[str, Any]) -> None:
    """Whole or not at all, and with its final mode and owner before it is there under its name."""
    draft = f"{path}.{secrets.token_hex(6)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(wanted["content"])
            file.flush()
            os.fchown(file.fileno(), _uid(wanted.get("owner")), _gid(wanted.get("group")))
            os.fchmod(file.fileno(), int(wanted["mode"], 8))
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _replace_link(path: str, target: str) -> None:
    draft = f"{path}.{secrets.token_hex(6)}"
    Path(draft).symlink_to(target)
    Path(draft).replace(path)


def _remove(path: str, kind: str) -> None:
    if kind == "directory":
        Path(path).rmdir()  # only an empty one: nothing of the user's goes with it
    else:
        Path(path).unlink()


def _uid(owner: str | None) -> int:
    return pwd.getpwnam(owner).pw_uid if owner else UNCHANGED


def _gid(group: str | None) -> int:
    return grp.getgrnam(group).gr_gid if group else UNCHANGED


def _diff(entry: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Content where it differs, and always what kind, mode and owner there are; a secret is only said to differ."""
    path = entry["path"]
    return {
        "before_header": path,
        "after_header": path,
        "before": _shown(entry, before),
        "after": _shown(entry, after),
    }


def _shown(entry: dict[str, Any], facts: dict[str, Any]) -> str:
    head = " ".join(str(facts[name]) for name in ("kind", "owner", "group", "mode", "target", "with") if name in facts)
    content = "" if entry.get("secret") else facts.get("content", "")
    return f"{head}\n{content}"
