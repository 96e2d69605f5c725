"""Finds Pulumi's command line or builds it.

No vendor's download site is needed: both programs come out of Go modules whose checksums are in the go.sum files beside
this one. A user who has Pulumi's own release on PATH is left with that.
"""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path

from common.cache import cache_dir
from common.errors import CommandFailed
from common.lock import locked
from common.run import run
from tools.pulumi.golang import builder, parse_version
from tools.sums import sha256_of

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


def is_built() -> bool:
    return (tools_path() / MANIFEST).is_file()


def damaged() -> list[str]:
    """Programs that are not what was built."""
    folder = tools_path()
    try:
        manifest = dict(json.loads((folder / MANIFEST).read_bytes()))
    except (OSError, ValueError, TypeError):  # cut off itself
        return [MANIFEST]
    return [
        name for name in PROGRAMS if not (folder / name).is_file() or sha256_of(folder / name) != manifest.get(name)
    ]


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
    go = builder(work, CLI_MODULE, "Pulumi's command line")
    link = f"-s -w -X {SDK_MODULE}/go/common/version.Version=v{VERSION}"
    for module, package, name in ((CLI_MODULE, CLI_PACKAGE, "pulumi"), (HOST_MODULE, HOST_PACKAGE, PROGRAMS[1])):
        go.build(module, package, half / name, link)
    sdk = go.folder_of(SDK_MODULE, CLI_MODULE)
    for script in SDK_SCRIPTS:
        copied = half / Path(script).name
        shutil.copyfile(sdk / script, copied)
        copied.chmod(0o755)
    manifest = {name: sha256_of(half / name) for name in PROGRAMS}
    (half / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="ascii")
    half.rename(folder)
    shutil.rmtree(work)


if __name__ == "__main__":
    print(ensure_pulumi())  # noqa: T201 - its one answer
