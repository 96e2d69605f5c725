"""What a host has, seen by looking: memory, disks, ports, clock, Java, an installed Kafka, a formatted disk."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TIMEOUT_S = 20
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_OWNER = re.compile(r'"(?P<name>[^"]+)",pid=(?P<pid>\d+)')


def run(argv: list[str]) -> str:
    """Its output, or nothing at all: a program that is missing is a finding, made elsewhere."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout or done.stderr


def java_major(java: str) -> int | None:
    match = _JAVA_VERSION.search(run([java, "-version"]))
    return int(match.group(1)) if match else None


def memory_mib() -> int:
    with Path("/proc/meminfo").open(encoding="ascii") as file:
        total = next(line for line in file if line.startswith("MemTotal:"))
    mib = int(total.split()[1]) // 1024
    try:  # a container may have less than its machine
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return mib
    return mib if limit == "max" else min(mib, int(limit) // 2**20)


def free_mib(path: str) -> int:
    """Room where `path` lies or will lie."""
    there = next(folder for folder in (Path(path), *Path(path).parents) if folder.is_dir())
    return shutil.disk_usage(there).free // 2**20


def ports_taken(ports: list[int], unit_pid: int) -> dict[str, str]:
    """Port -> who listens there, if it is not our own service."""
    taken = {}
    for line in run(["ss", "-Hltnp"]).splitlines():
        fields = line.split(maxsplit=5)
        port = fields[3].rpartition(":")[2]
        owner = _OWNER.search(fields[5]) if len(fields) > 5 else None  # noqa: PLR2004 - columns of ss
        if port.isdigit() and int(port) in ports and not (owner and int(owner["pid"]) == unit_pid):
            taken[port] = owner["name"] if owner else "another process"
    return taken


def unit_pid(unit: str) -> int:
    answer = run(["systemctl", "show", "--property=MainPID", "--value", unit]).strip()
    return int(answer) if answer.isdigit() else 0


def disk(folder: str) -> dict[str, Any]:
    """What formatting left in a data directory: whose it is, and whether a node ever ran on it."""
    found: dict[str, Any] = {"path": folder, "formatted": False, "started": False}
    try:
        with (Path(folder) / "meta.properties").open(encoding="utf-8") as file:
            lines = dict(line.strip().split("=", maxsplit=1) for line in file if "=" in line and line[0] != "#")
    except FileNotFoundError:
        return found
    number = lines.get("node.id", lines.get("broker.id", ""))
    found |= {"formatted": True, "cluster_id": lines.get("cluster.id", ""), "directory_id": lines.get("directory.id")}
    found["node_id"] = int(number) if number.isdigit() else None
    # Formatting writes bootstrap.checkpoint and a first snapshot; the state of the quorum is written by a running node.
    # With ZooKeeper nothing is formatted: a broker that starts writes all of it.
    found["started"] = "broker.id" in lines or (Path(folder) / "__cluster_metadata-0" / "quorum-state").exists()
    return found


def transactions(folders: list[str]) -> bool:
    """Whether a ZooKeeper ever wrote something there."""
    return any(path for folder in folders for path in (Path(folder) / "version-2").glob("log.*"))


def install_problems(folder: str, manifest: dict[str, str]) -> list[str]:
    """Files that are missing, foreign or not what was fetched. Empty: installed as it should be."""
    root = Path(folder)
    if not root.is_dir():
        return ["not installed"]
    problems = []
    for name, expected in manifest.items():
        try:
            seen = hashlib.sha256((root / name).read_bytes()).hexdigest()
        except OSError:
            problems.append(f"{name} is missing")
            continue
        if seen != expected:
            problems.append(f"{name} was changed")
    libs = root / "libs"
    there = sorted(path.name for path in libs.iterdir()) if manifest and libs.is_dir() else []
    foreign = [name for name in there if f"libs/{name}" not in manifest]
    return problems + [f"libs/{name} does not belong there" for name in foreign]


def certificate_days(path: str) -> int | None:
    """Days until the first certificate of the file ends; None if there is none."""
    answer = run(["openssl", "x509", "-noout", "-enddate", "-in", path])
    text = answer.strip().removeprefix("notAfter=")
    try:
        end = datetime.strptime(text, "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    return (end - datetime.now(UTC)).days


def now_s() -> float:
    return time.time()
