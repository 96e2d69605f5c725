"""The table of bad input: every row names a test that exists, and a message that the product has."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "docs/reference/bad-input.md"
SOURCES = ("certs", "cli", "common", "infra", "plugins", "roles", "tools", "validate")
NONE = "no test yet"
# Said without a message of ours in it.
FREE = ("it works", "no message")
# What other programs say.
FOREIGN = {"incorrect passphrase", "UNREACHABLE"}

Row = tuple[str, str, str, str]


def rows() -> list[Row]:
    found = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| what "):
            what, where, says, test = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append((what, where, says, test))
    return found


@cache
def names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@cache
def said_by_the_product() -> str:
    """All text of the sources; literals that stand side by side are one."""
    files = [path for name in SOURCES for end in ("py", "yml", "j2") for path in (ROOT / name).rglob(f"*.{end}")]
    return "\n".join(map(joined, files))


def joined(path: Path) -> str:
    return re.sub(r"['\"]\s*\n\s*f?['\"]", "", path.read_text(encoding="utf-8"))


def test_the_table_is_there_and_whole() -> None:
    assert len(rows()) > 90
    assert all(all(row) for row in rows())
    assert len({(what, where) for what, where, _, _ in rows()}) == len(rows())


@pytest.mark.parametrize("row", rows(), ids=[row[0] for row in rows()])
def test_every_row_names_a_test_that_exists(row: Row) -> None:
    test = row[3]
    if test == NONE:
        return
    place, _, name = test.strip("`").partition("::")
    path = ROOT / "tests" / place
    assert path.is_file(), f"there is no {place}"
    assert name in names_in(path), f"{place} has no {name}"


@pytest.mark.parametrize("row", rows(), ids=[row[0] for row in rows()])
def test_every_message_is_in_its_test_or_in_the_product(row: Row) -> None:
    _, _, says, test = row
    if says.startswith(FREE) or says.strip("`") in FOREIGN:
        return
    assert says.startswith("`"), f"{says!r}: a message stands in backticks"
    place = ROOT / "tests" / test.strip("`").partition("::")[0]
    texts = [said_by_the_product(), *map(joined, place.parent.glob("*.py"))]
    for part in filter(None, (part.strip() for part in says.strip("`").removesuffix(" (a warning)").split("…"))):
        assert any(part in text for text in texts), f"nobody says {part!r}"


def test_gaps_are_few_and_named() -> None:
    assert [what for what, _, _, test in rows() if test == NONE] == []
