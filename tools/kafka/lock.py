"""`python -m tools.kafka.lock VERSION`: resolve what a Kafka version is made of and write it down with checksums.

For maintainers, once per version; users only ever fetch what a lock names.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from common.errors import KastellanError
from common.run import run
from tools.kafka.coordinates import write_lock
from tools.maven import Jar, items, pom
from tools.sums import sha256_of

TIMEOUT_S = 600
_RESOLVED = re.compile(r"(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):jar:(?P<version>[\w.-]+):(?:compile|runtime)")
# The parts of Kafka's own release that its jar does not ask for: the command line tools, Connect's file connectors,
# MirrorMaker, and the bridge from SLF4J to the logging library.
PARTS = ("kafka_2.13", "kafka-tools", "connect-runtime", "connect-file", "connect-mirror")
SCALA = "2.13"


def main(version: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = [Jar("org.apache.kafka", part, version) for part in PARTS]
        jars = _resolve(folder, wanted)
        log4j = next((jar for jar in jars if jar.artifact == "log4j-core"), None)
        if log4j is not None:  # 4.x; 3.9 brings slf4j-reload4j along by itself
            bridges = [Jar(log4j.group, part, log4j.version) for part in ("log4j-slf4j-impl", "log4j-1.2-api")]
            jars = _resolve(folder, [*wanted, *bridges])
        hashed = [_hashed(folder / "jars", jar) for jar in jars]
    print(write_lock(version, hashed))  # noqa: T201 - its one answer


def _resolve(folder: Path, wanted: list[Jar]) -> list[Jar]:
    (folder / "pom.xml").write_text(
        pom(f"<dependencies>{items(wanted, 'dependency')}</dependencies>"), encoding="utf-8"
    )
    listed = folder / "list.txt"
    goals = ["dependency:list", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputFile={listed}"]
    run(
        ["mvn", "--batch-mode", "--quiet", *goals, f"-DoutputDirectory={folder / 'jars'}"],
        timeout_s=TIMEOUT_S,
        cwd=folder,
    )
    return [Jar(**match.groupdict()) for match in _RESOLVED.finditer(listed.read_text(encoding="utf-8"))]


def _hashed(folder: Path, jar: Jar) -> Jar:
    path = folder / jar.file_name
    if not path.is_file():
        raise KastellanError(f"Maven resolved {jar.artifact} but did not copy it.", details=str(path))
    return Jar(jar.group, jar.artifact, jar.version, sha256_of(path))


if __name__ == "__main__":
    main(sys.argv[1])
