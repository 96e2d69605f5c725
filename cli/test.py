"""Run the tests. Three tiers: --fast (linters, types, unit tests; minutes), no flag (what CI runs: also Spark and
real hosts, one of each kind), --all (everything, repetitions and matrices, however long). Words after -- go to pytest.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from cli.surroundings import DEFAULT_STACK, ROOT, environment, lay_out
from cli.up import described, prepare
from common.errors import EXIT_FAILED
from tools.debian import install

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HELP = "run the tests"
PACKAGES = (
    "certs",
    "cli",
    "common",
    "infra",
    "plugins",
    "tools",
    "tests/unit",
    "tests/system",
    "tests/bench",
    "validate",
)
SHELL = (
    "kastellan",
    ".ci/run",
    "infra/providers/nspawn/supervise.sh",
    "infra/providers/nspawn/image/customize.sh",
    "validate/security/search.sh",
    "tests/bench/certs_script.sh",
    "tests/bench/cluster_bare.sh",
    "tests/bench/hosts_bare.sh",
    "tests/system/clouds/debian_libvirt/guest.sh",
    "tests/system/clouds/debian_libvirt/image.sh",
    "tests/system/clouds/layers/enter.sh",
    "tests/system/clouds/layers/install.sh",
)
LINTERS = (
    ("ruff", "check", "--quiet", "."),
    ("ruff", "format", "--quiet", "--check", "."),
    ("mypy", *PACKAGES),
    ("yamllint", "--strict", "."),
    ("shellcheck", *SHELL),
    ("ansible-lint", "--offline", "-q", "--profile", "production"),
    ("python", "-m", "tools.audit", "--quiet"),
)
# Program -> Debian package that has it.
PROGRAMS = {"shellcheck": "shellcheck", "chromium": "chromium", "nft": "nftables"}
TIER_FLAGS = ("--fast", "--all")
# What needs no hosts runs in two lanes, side by side: each keeps one core busy. The first has tests alone, the second
# the linters, too. Hosts then have the machine to themselves, as outages are measured there.
SPARK_LANES = (
    ("tests/spark", "--ignore=tests/spark/histories"),
    ("tests/unit", "tests/spark/histories"),
)
FAST_LANES = (
    ("tests/unit/validate", "tests/unit/infra"),
    ("tests/unit", "--ignore=tests/unit/validate", "--ignore=tests/unit/infra", "tests/spark/histories"),
)
AFTER = ("tests/system",)
TIERS = {"fast": "not system and not spark and not browser and not long", "normal": "not long", "all": ""}


def configure(parser: argparse.ArgumentParser) -> None:
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--fast", action="store_const", dest="tier", const="fast", help="linters, types, unit tests")
    tier.add_argument("--all", action="store_const", dest="tier", const="all", help="everything, however long")
    parser.add_argument("pytest", metavar="PYTEST", nargs=argparse.REMAINDER, help="only these: a path, -k WORD ...")
    parser.set_defaults(tier="normal")


def run(arguments: argparse.Namespace) -> int:
    lay_out()
    # Pages are looked at in a browser, and rules tried by nft, only where more than the fast tests are asked for.
    needed = PROGRAMS if arguments.tier != "fast" else {"shellcheck": "shellcheck"}
    if missing := [package for program, package in needed.items() if not shutil.which(program)]:
        print(f"Installing Debian packages: {', '.join(missing)}", flush=True)
        install(missing)
    if arguments.tier != "fast":
        # What takes minutes once must not run into a test's time-out.
        prepare(described(DEFAULT_STACK), cluster_too=True)
    words = [word for word in arguments.pytest if word != "--"]
    pytest = ["pytest", *(["-m", TIERS[arguments.tier]] if TIERS[arguments.tier] else [])]
    if words:
        return 0 if passes([*pytest, *words]) else EXIT_FAILED
    first, second = ([*pytest, *lane] for lane in (FAST_LANES if arguments.tier == "fast" else SPARK_LANES))
    with beside(first) as lane:
        failed = [argv for argv in (*LINTERS, second) if not passes(argv)]
    failed += [] if lane.returncode == 0 else [first]
    if arguments.tier != "fast":
        failed += [] if passes([*pytest, *AFTER]) else [[*pytest, *AFTER]]
    for argv in failed:
        print(f"Failed: {' '.join(argv)}", flush=True)
    return EXIT_FAILED if failed else 0


@contextlib.contextmanager
def beside(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run it meanwhile; what it says is shown when it has ended, not in between."""
    began_s = time.monotonic()
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(
            argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            yield running
            running.wait()
        finally:
            if running.poll() is None:
                running.terminate()
                running.wait()
            print(f"== {' '.join(argv)}", flush=True)
            said.seek(0)
            sys.stdout.buffer.write(said.read())
            sys.stdout.flush()
            print(told(argv, running.returncode, began_s), flush=True)


def passes(argv: Sequence[str]) -> bool:
    print(f"== {' '.join(argv)}", flush=True)
    began_s = time.monotonic()
    done = subprocess.run(argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, check=False)
    print(told(argv, done.returncode, began_s), flush=True)
    return done.returncode == 0


def told(argv: Sequence[str], code: int, began_s: float) -> str:
    return f"== {argv[0]}: {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - began_s:.0f} s"
