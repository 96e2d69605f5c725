"""`python -m tools.kafka.archive --sha512=SUM FILE_OR_URL`: Kafka's own release, verified, with its manifest.

Prints the same JSON as tools.kafka.fetch, so that whoever installs it need not know which of the two it has.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

from common.cache import cache_dir
from common.errors import KastellanError, UsageError
from tools.sums import is_as_made, write_sum

TIMEOUT_S = 60
SHA512_LETTERS = 128


def ensure(source: str, sha512: str) -> dict[str, str | bool]:
    """Paths of archive and manifest. What lies in the cache is verified each time; what differs is made again."""
    expected = sha512.strip().lower()
    if len(expected) != SHA512_LETTERS or set(expected) - set("0123456789abcdef"):
        raise UsageError(
            "That is no SHA-512 checksum.",
            details=f"It has {len(expected)} letters; a checksum has {SHA512_LETTERS} of 0-9 and a-f.",
            resolution="Set kafka_archive_sha512 to what stands in the .sha512 file beside Kafka's release.",
        )
    folder = cache_dir() / "kafka"
    folder.mkdir(parents=True, exist_ok=True)
    archive, manifest = folder / f"{expected[:24]}.tgz", folder / f"{expected[:24]}.json"
    with (folder / f"{expected[:24]}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetched = not archive.is_file() or _sha512(archive) != expected
        if fetched:
            half = archive.with_suffix(".half")
            _copy(source, half)
            _verify(half, expected, source)
            half.rename(archive)
        if fetched or not is_as_made(manifest):
            manifest.write_text(json.dumps(_manifest(archive), indent=1, sort_keys=True), encoding="utf-8")
            write_sum(manifest)
    return {"archive": str(archive), "manifest": str(manifest), "fetched": fetched}


def _copy(source: str, target: Path) -> None:
    try:
        if source.startswith(("https://", "http://")):
            with urllib.request.urlopen(source, timeout=TIMEOUT_S) as answer, target.open("wb") as file:  # noqa: S310 - checked
                shutil.copyfileobj(answer, file)
        else:
            shutil.copyfile(Path(source).expanduser(), target)
    except (OSError, urllib.error.URLError) as exc:
        raise KastellanError(
            f"Kafka's release cannot be fetched: {source}",
            details=str(exc),
            resolution="Set kafka_archive_url to a mirror, kafka_archive_file to a copy, or kafka_distribution: maven.",
        ) from exc


def _verify(path: Path, expected: str, source: str) -> None:
    seen = _sha512(path)
    if seen != expected:
        path.unlink()
        raise KastellanError(
            f"{source} is not the release that kafka_archive_sha512 names: nothing was installed.",
            details=f"Its SHA-512 is {seen[:16]}..., expected {expected[:16]}...",
            resolution="Compare with the .sha512 file of Kafka's own site; do not install what differs.",
        )


def _sha512(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha512").hexdigest()


def _manifest(path: Path) -> dict[str, str]:
    """Of what the service runs: scripts and libraries, without the folder on top."""
    sums = {}
    with tarfile.open(path) as tar:
        for entry in tar:
            name = entry.name.partition("/")[2]
            data = tar.extractfile(entry) if entry.isfile() else None
            if data is not None and name.startswith(("bin/", "libs/")) and not name.startswith("bin/windows/"):
                sums[name] = hashlib.sha256(data.read()).hexdigest()
    if "bin/kafka-server-start.sh" not in sums:
        raise KastellanError(f"{path.name} is no release of Kafka: it holds no bin/kafka-server-start.sh.")
    return sums


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.kafka.archive")
    parser.add_argument("--sha512", required=True)
    parser.add_argument("source")
    call = parser.parse_args()
    try:
        print(json.dumps(ensure(call.source, call.sha512)))  # noqa: T201 - its one answer
    except KastellanError as exc:
        print(exc, file=sys.stderr)  # noqa: T201 - for whoever called
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
