"""Pulumi's plugins for clouds: Pulumi's own release where it can be fetched, else built from Go modules.

Built ones know what this repository's program uses of a cloud, no more: `tools/pulumi-plugins/` says how.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.cache import cache_dir
from common.errors import KastellanError
from common.files import write_whole
from common.lock import locked
from common.run import run
from tools.pulumi import reach
from tools.pulumi.golang import builder
from tools.sums import is_as_made, write_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Provider -> version of its Python package, which asks for just that plugin.
VERSIONS = {"openstack": "5.5.3", "libvirt": "0.5.4", "aws": "7.51.1"}
SOURCES = Path(__file__).resolve().parents[1] / "pulumi-plugins"
BUILT_HERE = ("openstack", "libvirt")
# Go writes the module's name into every program that is built of it.
MODULE = b"kastellan.invalid/pulumi-plugins"
# Beside a built one, where Pulumi keeps it: what it was built of. Whatever Pulumi puts there instead takes it away.
MARK = "kastellan-recipe"
LIST_TIMEOUT_S = 60
# Some are hundreds of megabytes.
INSTALL_TIMEOUT_S = 900


def ensure_plugin(name: str, environ: Mapping[str, str], tell: Callable[[str], None] = lambda _: None) -> str:
    """Make sure that the Pulumi of `environ` has it; says whose it is. `tell` hears what is being done meanwhile."""
    version = VERSIONS[name]
    if is_there(name, environ) and not is_outdated(name, environ):
        return f"{version}, there before"
    if shutil.which(f"pulumi-resource-{name}", path=environ["PATH"]):
        return "on PATH"
    with locked(cache_dir() / "tools" / f"plugin-{name}.lock"):
        if is_as_made(built_path(name)):
            _hand_over(name, environ)
            return f"{version}, built before"
        try:
            _fetch(name, environ, tell)
        except KastellanError as failure:
            if name not in BUILT_HERE:
                raise
            tell(f"{failure.brief.rstrip('.')}; building it from Go modules, once, about 5 minutes")
        else:
            return f"{version}, Pulumi's own"
        _build(name)
        _hand_over(name, environ)
        return f"{version}, built from Go modules"


def is_there(name: str, environ: Mapping[str, str]) -> bool:
    plugins: list[dict[str, Any]] = json.loads(
        run(["pulumi", "plugin", "ls", "--json"], timeout_s=LIST_TIMEOUT_S, env=environ)
    )
    return any(
        (it["kind"], it["name"], it.get("version", "").removeprefix("v")) == ("resource", name, VERSIONS[name])
        for it in plugins
    )


def is_outdated(name: str, environ: Mapping[str, str]) -> bool:
    """Whether what Pulumi has was built here of something else: its version is the same, what it knows is not."""
    if name not in BUILT_HERE:
        return False
    folder = _kept_in(name, environ)
    try:
        return (folder / MARK).read_text(encoding="ascii") != _recipe(name)
    except FileNotFoundError:
        # Pulumi's own, or handed over when there were no marks.
        program = folder / f"pulumi-resource-{name}"
        return program.is_file() and MODULE in program.read_bytes()


def _kept_in(name: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("PULUMI_HOME") or Path.home() / ".pulumi"
    return Path(home) / "plugins" / f"resource-{name}-v{VERSIONS[name]}"


def built_path(name: str) -> Path:
    """Its folder's name is made of all that goes in, so that a change here makes another."""
    folder = f"plugin-{name}-{VERSIONS[name]}-{_recipe(name)}"
    return cache_dir() / "tools" / folder / f"pulumi-resource-{name}"


def _recipe(name: str) -> str:
    sources = sorted(path for path in SOURCES.rglob("*") if path.suffix in {".go", ".json", ".mod", ".sum"})
    others = {SOURCES / other for other in BUILT_HERE if other != name}
    content = b"".join(path.read_bytes() for path in sources if path.parent not in others)
    return hashlib.sha256(content).hexdigest()[:12]


def _fetch(name: str, environ: Mapping[str, str], tell: Callable[[str], None]) -> None:
    tell(f"asking Pulumi's site, {reach.BOUND_S} s at most")
    urls = reach.addresses(name, VERSIONS[name])
    if not reach.is_reached(urls):
        raise KastellanError(
            f"Nobody answers where Pulumi has its plugin for {name}.",
            details=f"Not within {reach.BOUND_S} s: {', '.join(urls)}",
            resolution=_bring(name),
        )
    tell("fetching it from Pulumi's site")
    # An outdated one of the same version would be left there.
    _install(name, environ, "--reinstall")


def _bring(name: str) -> str:
    return (
        f"Pulumi fetches it from its own site; or bring it: pulumi plugin install resource {name} {VERSIONS[name]}"
        " --file FILE."
    )


def _install(name: str, environ: Mapping[str, str], *words: str) -> None:
    run(
        ["pulumi", "plugin", "install", "--non-interactive", "resource", name, VERSIONS[name], *words],
        timeout_s=INSTALL_TIMEOUT_S,
        env=environ,
        resolution=_bring(name),
    )


def _hand_over(name: str, environ: Mapping[str, str]) -> None:
    """As if it were the official one. Half-installed ones are not listed, and would be in the way."""
    _install(name, environ, "--file", str(built_path(name)), "--reinstall")
    write_whole(_kept_in(name, environ) / MARK, _recipe(name))


def _build(name: str) -> None:
    target = built_path(name)
    work = cache_dir() / "build" / f"plugin-{name}"
    half = target.parent.with_name(f"{target.parent.name}.half")
    for rest in (half, target.parent):
        shutil.rmtree(rest, ignore_errors=True)
    half.mkdir(parents=True)
    go = builder(work, SOURCES, f"Pulumi's plugin for {name}")
    go.build(SOURCES, f"./{name}", half / target.name, "-s -w")
    write_sum(half / target.name)
    half.rename(target.parent)
    shutil.rmtree(work)
