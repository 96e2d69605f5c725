"""The run folder: what lies in it, read leniently. What is damaged becomes a note of its scenario, never a crash."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UnreadableError
from common.texts import from_json, from_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

RUN_FILE = "run.json"
NO_LEDGER = "it left no ledger"


@dataclass
class ScenarioFiles:
    """One scenario of a run and the files that belong to it."""

    entry: dict[str, Any]
    ledger: Path
    findings: Path
    summary: dict[str, Any] | None = None
    expect: dict[str, Any] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    isr: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.entry["id"])


@dataclass
class RunFolder:
    """A run as it lies on the disk."""

    path: Path
    run: dict[str, Any]
    scenarios: list[ScenarioFiles]


def open_run(path: Path) -> RunFolder:
    """Read everything but the Parquet tables. Only a run without a readable run.json cannot be reported on."""
    run = _run_json(path / RUN_FILE)
    scenarios = []
    for entry in run["scenarios"]:
        one = ScenarioFiles(entry, path / "ledger" / entry["id"], path / "findings" / entry["id"])
        _read_summary(one, path / "verdicts" / f"{entry['id']}.json")
        if one.ledger.is_dir():
            _read_expectation(one)
            one.faults = _json_lines(one, one.ledger / "faults.jsonl", ("fault", "target", "phase", "at"))
            one.isr = _json_lines(one, one.ledger / "isr.jsonl", ("at", "topic", "partition", "isr"))
        elif entry.get("verdict") != "not-applicable":
            one.notes.append(NO_LEDGER)
        scenarios.append(one)
    return RunFolder(path, run, scenarios)


def formless(path: Path, error: Exception) -> UnreadableError:
    """What was read stumbled over it further on."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return UnreadableError(
        f"{path / RUN_FILE} has not the form of a run.",
        details=f"{type(error).__name__}: {error} ({place.name}:{place.lineno})",
        resolution="Report on it with the version of Kastellan that made it.",
    )


def _run_json(path: Path) -> dict[str, Any]:
    resolution = "Name a folder that `python -m validate run` made: .kastellan/<stack>/runs/<run id>."
    try:
        run = from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadableError(
            f"{path.parent} is no run: it has no {RUN_FILE}.", details=f"looked for: {path}", resolution=resolution
        ) from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path} cannot be read.", details=str(error), resolution=resolution) from error
    if not isinstance(run, dict) or not isinstance(run.get("run_id"), str):
        raise UnreadableError(f"{path} names no run_id.", resolution=resolution)
    entries = run.setdefault("scenarios", [])
    if not isinstance(entries, list) or not all(_is_entry(x) for x in entries):
        raise UnreadableError(
            f"{path} has a scenario without a usable id.",
            details="An id is the name of the scenario's file, such as stop-one-broker.",
            resolution=resolution,
        )
    return run


def _is_entry(entry: Any) -> bool:
    """Its id becomes part of paths, so it must stay inside the run's folder."""
    return isinstance(entry, dict) and isinstance(entry.get("id"), str) and Path(entry["id"]).name == entry["id"]


def _read_summary(one: ScenarioFiles, path: Path) -> None:
    try:
        content = from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        one.notes.append(f"{path.name}: not readable ({_first_line(error)})")
        return
    if _is_judgement(content):
        one.summary = content
    else:
        one.notes.append(f"{path.name}: not what the judge writes, so it decides nothing")


def _is_judgement(content: Any) -> bool:
    if not isinstance(content, dict) or content.get("verdict") not in ("passed", "failed", "unknown"):
        return False
    return all(isinstance(content.get(name, {}), dict) for name in ("checked", "acked", "counts"))


def _read_expectation(one: ScenarioFiles) -> None:
    path = one.ledger / "EXPECT.yml"
    try:
        content = from_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        one.notes.append(f"{path.name}: not readable ({_first_line(error)})")
        return
    one.expect = content if isinstance(content, dict) else {}


def _json_lines(one: ScenarioFiles, path: Path, needed: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines. A torn line, as a run that was killed leaves one, is told and left out."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        one.notes.append(f"{path.name}: not readable ({_first_line(error)})")
        return []
    rows, torn = [], 0
    for line in filter(str.strip, lines):
        try:
            row = from_json(line)
        except ValueError:
            row = None
        if isinstance(row, dict) and all(name in row for name in needed):
            rows.append(row)
        else:
            torn += 1
    if torn:
        one.notes.append(f"{path.name}: {torn} of {len(rows) + torn} lines are torn and left out")
    return rows


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", maxsplit=1)[0][:200]
