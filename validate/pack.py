"""What executors of a Spark cluster need of us: our modules in one zip, and the packages they import, with checksums.

Sessions on a cluster make the zip and hand it out by themselves (validate.session); the packages have to be there.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from common.errors import UnreadableError

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("common", "validate")
ZIP = "kastellan-executors.zip"
REQUIREMENTS = "requirements-executors.txt"
# Of the packages in the lock: what a task of the load imports, besides PySpark, which an executor has.
PACKAGES = ("confluent-kafka", "pyarrow")
_LOCK = "requirements.lock"
_THEN = (1980, 1, 1, 0, 0, 0)  # the earliest a zip knows: the same modules make the same bytes


def is_remote(master: str | None) -> bool:
    """Whether tasks may run on other machines, which see neither this checkout nor this user's files."""
    return master is not None and not master.startswith("local")


def pack(folder: Path) -> tuple[Path, Path]:
    """Write both into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / ZIP, folder / REQUIREMENTS
    pack_modules(made[0])
    made[1].write_text(requirements((ROOT / _LOCK).read_text(encoding="utf-8")), encoding="utf-8")
    return made


def pack_modules(target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for room in ROOMS:
            for path in sorted((ROOT / room).rglob("*.py")):
                entry = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), _THEN)
                entry.external_attr = 0o644 << 16
                made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def requirements(lock: str) -> str:
    """The lock's own lines for these packages: pinned, with checksums."""
    blocks = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)
    found = {name: block for block in blocks for name in PACKAGES if block.startswith(f"{name}==")}
    if lacking := [name for name in PACKAGES if name not in found]:
        raise UnreadableError(
            f"{_LOCK} does not pin {', '.join(lacking)}.", resolution="Compile the lock again: see CONTRIBUTING.md."
        )
    return "".join(re.sub(r"^\s+#.*\n", "", found[name], flags=re.MULTILINE) for name in PACKAGES)
