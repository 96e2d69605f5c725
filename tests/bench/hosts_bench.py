"""Speeds of phase 1. Works in a copy of the checkout with stacks of its own; needs root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from common.cache import cache_dir  # noqa: E402
from infra.login import LoginKey  # noqa: E402
from infra.providers.nspawn.host import Host  # noqa: E402
from infra.providers.nspawn.image import ensure_image  # noqa: E402
from infra.providers.nspawn.network import Network  # noqa: E402
from tests.bench.harness import Ratio, compare, show, timed, write  # noqa: E402
from tests.system.lab import Lab, new_lab  # noqa: E402

GIB = 2**30
HOSTS = range(1, 5)
BARE = ROOT / "tests/bench/hosts_bare.sh"
BARE_PREFIX = "198.19.200"
EMPTY_PROJECT = "name: empty\nruntime: python\n"


def by_provider() -> float:
    """As Pulumi drives it: key and network first, then all hosts side by side."""
    with tempfile.TemporaryDirectory(prefix="kastellan-bench-", dir="/var/tmp") as folder:
        login, network, host = LoginKey(), Network(), Host()
        made: list[tuple[str, dict[str, object]]] = []
        wires: list[tuple[str, dict[str, object]]] = []

        def work() -> None:
            key = login.create({"state_dir": folder})[1]["public_key"]
            wires.append(network.create({"stack": "bench", "state_dir": folder, "network": "auto"}))
            wire = wires[0][1]
            inputs = [
                {
                    "name": f"b{number}", "stack_id": wire["stack_id"], "state_dir": folder, "bridge": wire["bridge"],
                    "address": str(wire["subnet"]).replace(".0/24", f".1{number}"), "prefix_length": 24,
                    "memory_bytes": GIB, "disk_bytes": 4 * GIB, "data_path": "/var/lib/kafka", "authorized_key": key,
                }
                for number in HOSTS
            ]  # fmt: skip
            with ThreadPoolExecutor(max_workers=4) as pool:
                made.extend(pool.map(host.create, inputs))

        try:
            return timed(work)
        finally:
            for ident, props in made:
                host.delete(ident, props)
            for ident, props in wires:
                network.delete(ident, props)


def by_bare_script() -> float:
    with tempfile.TemporaryDirectory(prefix="kastellan-bench-", dir="/var/tmp") as folder:
        place = f"{folder}/hosts"
        argv = ["sh", str(BARE), "up", place, str(ensure_image()), BARE_PREFIX]
        try:
            return timed(lambda: subprocess.run(argv, check=True, timeout=120))
        finally:
            subprocess.run(["sh", str(BARE), "down", place], check=True, timeout=60)


def run_in(lab: Lab, environ: dict[str, str], *argv: str) -> None:
    subprocess.run(argv, cwd=lab.folder, env=environ, check=True, capture_output=True, timeout=120)


def unchanged_up(lab: Lab) -> Ratio:
    """Against a program that declares nothing, by the same command line and language host."""
    empty = lab.folder / ".kastellan" / "empty"
    empty.mkdir()
    (empty / "Pulumi.yaml").write_text(EMPTY_PROJECT)
    (empty / "__main__.py").write_text("")
    lab.native("pulumi", "-C", str(empty), "stack", "init", "empty")
    flags = ("--yes", "--skip-preview", "--non-interactive")
    environ = lab.native_environ()
    return compare(
        "pulumi up, nothing changed / empty program",
        ours=lambda: timed(lambda: run_in(lab, environ, "pulumi", "up", *flags, "-s", "local")),
        other=lambda: timed(lambda: run_in(lab, environ, "pulumi", "-C", str(empty), "up", *flags, "-s", "empty")),
        goal=1.5,
    )


def setup_of_all(lab: Lab) -> Ratio:
    """Ansible's defaults still need our collection; all else is its own."""
    ours = ("ansible", "-m", "setup", "all")
    collections = lab.folder / ".kastellan/collections"
    environ = lab.native_environ()
    plain = {name: value for name, value in environ.items() if name != "ANSIBLE_CONFIG"}
    plain["ANSIBLE_COLLECTIONS_PATH"] = str(collections)
    other = ("env", "-C", "/", "ansible", "-i", str(lab.folder / "inventories/local"), "-m", "setup", "all")
    run_in(lab, environ, *ours)
    run_in(lab, plain, *other)
    return compare(
        "ansible -m setup all / with Ansible's defaults, both warm",
        ours=lambda: timed(lambda: run_in(lab, environ, *ours)),
        other=lambda: timed(lambda: run_in(lab, plain, *other)),
        goal=0.8,
    )


def first_up() -> Ratio:
    """Without any cache: home, cache and Go's own are new and empty. Compared with its own longest part."""
    # Tools in today's cache are on PATH here, and would pass for the user's own.
    path = os.pathsep.join(x for x in os.environ["PATH"].split(os.pathsep) if not x.startswith(str(cache_dir())))
    with new_lab() as lab, tempfile.TemporaryDirectory(prefix="kastellan-bench-", dir="/var/tmp") as home:
        kept = {name: os.environ.pop(name, None) for name in ("XDG_CACHE_HOME", "GOPATH", "GOCACHE", "GOMODCACHE")}
        said: list[str] = []
        try:
            whole_s = timed(
                lambda: said.append(
                    lab.kastellan("up", "--until", "hosts", HOME=home, PATH=path, timeout_s=3000).stdout
                )
            )
        finally:
            os.environ.update({name: value for name, value in kept.items() if value is not None})
        parts_s = [float(part) for part in re.findall(r"^ok  .{18} +([\d.]+) s", said[0], re.MULTILINE)]
        lab.kastellan("down", "--yes", HOME=home)
        shutil.rmtree(Path(home) / ".cache", ignore_errors=True)
    result = Ratio("first up / its longest part", [whole_s], [max(parts_s)], whole_s / max(parts_s), 1.4)
    show(result)
    return result


def main() -> int:
    results = [compare("4 hosts by the provider / bare script", ours=by_provider, other=by_bare_script, goal=1.5)]
    with new_lab() as lab:
        lab.kastellan("up", "--until", "hosts")
        results += [unchanged_up(lab), setup_of_all(lab)]
    results.append(first_up())
    return write("hosts", results)


if __name__ == "__main__":
    sys.exit(main())
