"""Where runs are: `.kastellan/<stack>/runs/<run id>` of this checkout, or any folder that is named."""

from __future__ import annotations

from pathlib import Path

from common.errors import UsageError
from common.names import nearest
from validate.report.folder import RUN_FILE

ROOT = Path(__file__).parents[2]


def find(named: str | None, stack: str | None = None, *, root: Path = ROOT) -> Path:
    """The folder of a run, by its path or its id; without a name the newest there is. Ids begin with the time."""
    if named is not None:
        path = Path(named)
        if path.is_dir():
            return path
        if path.name != named:
            raise UsageError(f"There is no folder {named!r}.", resolution="Name a run by its folder or by its id.")
    runs = every(stack, root=root)
    if named is None:
        if not runs:
            raise UsageError(
                "There is no run to report on.",
                details=f"looked in: {root / '.kastellan' / (stack or '*') / 'runs'}",
                resolution="Make one: python -m validate run --suite smoke. Or name the folder of one.",
            )
        return max(runs, key=lambda run: run.name)
    found = [run for run in runs if run.name == named]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"Several stacks have a run {named}.",
            details=", ".join(str(run) for run in found),
            resolution="Name one by its folder, or its stack with --stack.",
        )
    known = nearest(named, (run.name for run in runs)) if runs else "there are none yet."
    raise UsageError(f"There is no run {named!r}.", resolution=f"Runs: {known}")


def every(stack: str | None, *, root: Path = ROOT) -> list[Path]:
    """Folders with a run.json, of one stack or of all."""
    return sorted(path.parent for path in (root / ".kastellan").glob(f"{stack or '*'}/runs/*/{RUN_FILE}"))
