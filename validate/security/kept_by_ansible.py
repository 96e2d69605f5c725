"""What Ansible may keep of its runs on this machine: its log, caches of facts and inventories, files left half made."""

from __future__ import annotations

import configparser
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Environment variable; section and name in ansible.cfg; what it is called here. As Ansible's manual has them.
SETTINGS = (
    ("ANSIBLE_LOG_PATH", ("defaults", "log_path"), "Ansible's log"),
    ("ANSIBLE_CACHE_PLUGIN_CONNECTION", ("defaults", "fact_caching_connection"), "Ansible's fact cache"),
    ("ANSIBLE_INVENTORY_CACHE_CONNECTION", ("inventory", "cache_connection"), "Ansible's inventory cache"),
    ("ANSIBLE_RETRY_FILES_SAVE_PATH", ("defaults", "retry_files_save_path"), "Ansible's retry files"),
)
HALF_MADE = Path("~/.ansible/tmp")


def kept(folders: Iterable[Path], environ: Mapping[str, str] = os.environ) -> tuple[list[tuple[str, Path]], list[str]]:
    """Files with what they are, and places that are no folder of this machine. `folders`: where playbooks are run."""
    places = {("files that Ansible left", HALF_MADE.expanduser())}
    for folder in folders:
        for variable, (section, option), what in SETTINGS:
            told = environ.get(variable)
            places |= {(what, _resolved(told, folder))} if told else _configured(folder, environ, section, option, what)
    files, strange = [], []
    for what, place in sorted(places):
        if place.is_file():
            files.append((what, place))
        elif place.is_dir():
            files += [(what, path) for path in sorted(place.rglob("*")) if path.is_file() and not path.is_symlink()]
        elif ":" in str(place):
            strange.append(f"{what} at {place}")
    return files, strange


def _configured(
    folder: Path, environ: Mapping[str, str], section: str, option: str, what: str
) -> set[tuple[str, Path]]:
    """Every configuration that may be in force: which one is depends on who calls from where."""
    named = [Path(environ["ANSIBLE_CONFIG"])] if environ.get("ANSIBLE_CONFIG") else []
    found = set()
    for path in (*named, folder / "ansible.cfg", Path("~/.ansible.cfg").expanduser(), Path("/etc/ansible/ansible.cfg")):
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read(path, encoding="utf-8")
            value = parser.get(section, option, fallback="")
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue  # Ansible itself would refuse it
        if value:
            found.add((what, _resolved(value, path.parent)))
    return found


def _resolved(value: str, folder: Path) -> Path:
    """Relative to the configuration that names it; what a service keeps has a host and a port instead."""
    if ":" in value:
        return Path(value)
    try:
        return (folder / Path(value).expanduser()).resolve()
    except (RuntimeError, ValueError, OSError):
        return Path(value)
