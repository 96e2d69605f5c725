"""`python -m tools.kafka.fetch VERSION`: one tar of Kafka in the cache, made of what its lock names.

Prints JSON: where the tar lies, its checksum, and a manifest that tells every file's checksum. The tar unpacks like
Kafka's own release, one folder deep, so that whoever installs it need not know which of the two it has.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common.cache import cache_dir
from common.errors import KastellanError
from tools.kafka.coordinates import read_lock
from tools.kafka.scripts import files
from tools.maven import copy_jars, verify
from tools.sums import is_as_made, write_sum

if TYPE_CHECKING:
    from tools.maven import Jar

WITHOUT_MAVEN = "On Debian: apt-get install maven. Or use Kafka's own release: kafka_distribution: archive."


def ensure(version: str) -> dict[str, str | bool]:
    """Paths of tar and manifest. Two callers at once fetch once; what no longer is what was made is made again."""
    jars = read_lock(version)
    name = f"kafka_2.13-{version}-{_fingerprint(version, jars)}"
    folder = cache_dir() / "kafka"
    folder.mkdir(parents=True, exist_ok=True)
    tar, manifest = folder / f"{name}.tar", folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetched = not (is_as_made(tar) and is_as_made(manifest))
        if fetched:
            _make(version, jars, tar, manifest)
    return {"version": version, "archive": str(tar), "manifest": str(manifest), "fetched": fetched}


def _fingerprint(version: str, jars: list[Jar]) -> str:
    """Names what is in the tar, so that a changed lock or script makes a new one."""
    recipe = json.dumps([[jar.file_name, jar.sha256] for jar in jars]) + json.dumps(files(version), sort_keys=True)
    return hashlib.sha256(recipe.encode()).hexdigest()[:12]


def _make(version: str, jars: list[Jar], tar: Path, manifest: Path) -> None:
    with tempfile.TemporaryDirectory(dir=tar.parent) as name:
        libs = Path(name) / "libs"
        copy_jars(Path(name), libs, jars, without_maven=WITHOUT_MAVEN)
        verify(libs, jars)
        half = tar.with_suffix(".half")
        texts = {path: text.encode() for path, text in files(version).items()}
        _write_tar(half, f"kafka_2.13-{version}", libs, texts)
    sums = {f"libs/{jar.file_name}": jar.sha256 for jar in jars}
    sums |= {path: hashlib.sha256(data).hexdigest() for path, data in texts.items()}
    manifest.write_text(json.dumps(sums, indent=1, sort_keys=True), encoding="ascii")
    half.rename(tar)
    for made in (tar, manifest):
        write_sum(made)


def _write_tar(path: Path, top: str, libs: Path, texts: dict[str, bytes]) -> None:
    """The same content gives the same bytes: owners and times are left out."""
    with tarfile.open(path, "w") as tar:
        for name, data in sorted(texts.items()):
            _add(tar, f"{top}/{name}", data, 0o755 if name.startswith("bin/") else 0o644)
        for jar in sorted(libs.iterdir()):
            _add(tar, f"{top}/libs/{jar.name}", jar.read_bytes(), 0o644)


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def main(version: str) -> int:
    try:
        print(json.dumps(ensure(version)))  # noqa: T201 - its one answer
    except KastellanError as exc:
        print(exc, file=sys.stderr)  # noqa: T201 - for whoever called
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
