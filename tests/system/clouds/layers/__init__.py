"""Roots for tests of clouds: layers of a Debian that are made once and only read, and one that goes with the test."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common.cache import cache_dir
from common.lock import locked
from common.run import run
from common.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

HERE = Path(__file__).parent
SUITE = "bookworm"
BASE_PACKAGES = ("ca-certificates", "python3", "procps", "iproute2", "netbase", "openssl", "debconf", "adduser")
NAMESPACES = ("--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--uts")
BUILD_TIMEOUT_S = 1800
START_TIMEOUT_S = 400
GONE_TIMEOUT_S = 60


@contextlib.contextmanager
def home() -> Iterator[tuple[Path, int]]:
    """Where layers are kept, and the lock on it that whoever makes one holds too."""
    folder = cache_dir() / "test-clouds"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock") as lock:
        yield folder, lock


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def recipe_of(packages: Sequence[str]) -> str:
    return "\n".join((SUITE, *BASE_PACKAGES, *packages, (HERE / "install.sh").read_text()))


def ensure_packages(folder: Path, packages: Sequence[str], lock: int) -> list[Path]:
    """A bare Debian, and over it the packages. The topmost first; what each holds is in its name."""
    base = folder / f"base-{digest(' '.join((SUITE, *BASE_PACKAGES)))}"
    filled = folder / f"packages-{digest(recipe_of(packages))}"
    if not base.is_dir():
        with half_of(base) as half:
            bootstrap(half, BASE_PACKAGES, lock)
    if not filled.is_dir():
        files = {"install.sh": HERE / "install.sh", "etc/resolv.conf": Path("/etc/resolv.conf")}
        with half_of(filled) as half:
            fill(half, [base], files, ["sh", "/install.sh", *packages], lock)
    return [filled / "upper", base]


@contextlib.contextmanager
def half_of(path: Path) -> Iterator[Path]:
    """A place beside it first: what is under the name itself is always whole."""
    half = path.with_name(f"{path.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    yield half
    half.rename(path)


def bootstrap(root: Path, packages: Sequence[str], lock: int, *words: str) -> None:
    argv = ["unshare", *NAMESPACES, "--mount-proc", "mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"]
    argv += [f"--include={','.join(packages)}", *words, SUITE, str(root)]
    run(argv, timeout_s=BUILD_TIMEOUT_S, keep_open=(lock,), env={**os.environ, "LC_ALL": "C"})


def fill(
    half: Path, layers: Sequence[Path], files: Mapping[str, Path], command: Sequence[str], lock: int, *words: str
) -> None:
    """A new layer: the files, and what the command writes. `words` are namespaces of its own besides."""
    for name, source in files.items():
        target = half / "upper" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    argv = ["unshare", *NAMESPACES, *words, *enter(layers, half), *command]
    run(argv, timeout_s=BUILD_TIMEOUT_S, keep_open=(lock,), env={"PATH": os.environ["PATH"]})


def enter(layers: Sequence[Path], upper: Path) -> list[str]:
    return ["sh", str(HERE / "enter.sh"), ":".join(map(str, layers)), str(upper)]


@contextlib.contextmanager
def serving(
    layers: Sequence[Path], command: Sequence[str], complaints: Callable[[Path], str]
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """The command as the first process of a root, on a loopback of its own, from its word `ready` on."""
    upper = Path(tempfile.mkdtemp(prefix="kastellan-cloud-", dir="/var/tmp"))  # an overlay needs a disk
    argv = ["unshare", *NAMESPACES, "--net", *enter(layers, upper), *command]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
        said = process.stdout.readline().strip() if ready else ""
        assert said.startswith("ready"), f"{said or 'nothing said'}\n{complaints(upper)}"
        print(f"It is {said}")
        yield process, upper
    except BaseException:
        print(complaints(upper))
        raise
    finally:
        # The first process of its namespace takes all others with it, and the mounts; that takes a moment.
        process.kill()
        process.wait()
        assert wait_until(lambda: is_gone(upper), timeout_s=GONE_TIMEOUT_S), f"{upper} cannot be removed"


def in_network(process: subprocess.Popen[str], *words: str) -> list[str]:
    """A program of this machine, on the network of the root."""
    return ["nsenter", f"--net=/proc/{process.pid}/ns/net", "--", *words]


def in_root(process: subprocess.Popen[str], upper: Path, *words: str) -> list[str]:
    """A program of the root."""
    spaces = [f"--{kind}=/proc/{process.pid}/ns/{file}" for kind, file in (("net", "net"), ("mount", "mnt"))]
    return ["nsenter", *spaces, "--", "chroot", str(upper / "root"), *words]


def is_gone(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
