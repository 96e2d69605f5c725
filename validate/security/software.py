"""Software: what runs is what was declared, and past the versions with known holes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from validate.security.host import looks
from validate.security.registry import Evidence, check

if TYPE_CHECKING:
    from validate.security.scene import Scene

LOCKS = Path(__file__).resolve().parents[2] / "tools/kafka/locks"
# The least version of each line that is past CVE-2026-35554, CVE-2025-27817, -27818 and -27819, CVE-2024-56128, as of
# GATES_OF; a line that is not named is judged by LATER.
GATES_OF = "2026-11-18"
GATES = {(3, 9): (3, 9, 2), (4, 0): (4, 0, 2), (4, 1): (4, 1, 2)}
LATER = (4, 2, 0)
GONE = " (deleted)"
CLIENTS = re.compile(r"/kafka-clients-([0-9][0-9.]*[0-9])\.jar")


def past_the_gates(version: str) -> bool:
    major, minor, patch = ([int(part) for part in version.split(".")] + [0, 0])[:3]
    return (major, minor, patch) >= GATES.get((major, minor), LATER)


def locked(version: str, folder: Path = LOCKS) -> dict[str, str]:
    """File name -> SHA-256 of every jar of a version that this checkout knows; empty if it does not."""
    path = folder / f"{version}.lock"
    if not path.is_file():
        return {}
    found = {}
    for line in path.read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            coordinates, _, checksum = line.partition(" sha256:")
            _, artifact, number = coordinates.split(":")[:3]
            found[f"{artifact}-{number}.jar"] = checksum.strip()
    return found


@check(
    67, "What runs is genuine and past known holes", tried="checksums of the jars that the processes of Kafka and "
    "ZooKeeper hold open; the version of the Kafka among them", where="each host, as root",
    expected=f"every jar is the locked one and the same everywhere; 3.9.2, 4.0.2, 4.1.2 or 4.2 at least "
    f"(gates of {GATES_OF})", fix="Set kafka_version and run playbooks/site.yml, then playbooks/rolling_restart.yml.",
)  # fmt: skip
def genuine(scene: Scene, see: Evidence) -> None:
    declared = scene.cluster.kafka_version
    seen: dict[str, dict[str, str]] = {}
    for host, look in looks(scene, see):
        pairs = [line.split(maxsplit=1) for line in look.lines("jars")]
        sums = {Path(path.removesuffix(GONE)).name: checksum for checksum, path in pairs}
        gone = sorted(path for _, path in pairs if path.endswith(GONE))
        see.expect(not gone, f"{host.name}: no longer on the disk: {gone or 'none'}")
        if not see.twin(bool(sums), f"{host.name}: the process holds {len(sums)} jars open"):
            continue
        versions = sorted(set(CLIENTS.findall(look["jars"])))
        if not versions and host not in scene.nodes:
            # One that does not come with a Kafka: neither the gates nor the locks say anything of it.
            see.unknown(
                f"{host.name}: no Kafka is among its jars, so its ZooKeeper's version and checksums are not known"
            )
            continue
        see.expect(
            bool(versions) and all(map(past_the_gates, versions)), f"{host.name}: runs Kafka {', '.join(versions)}"
        )
        if host in scene.nodes:
            seen[host.name] = sums
            see.expect(versions == [declared], f"{host.name}: declared {declared}")
        # ZooKeeper comes with a Kafka whose version nobody declares: it may be older than the brokers' for a while.
        own = declared if host in scene.nodes else "".join(versions[:1])
        if wanted := locked(own):
            wrong = sorted(name for name, checksum in sums.items() if wanted.get(name) != checksum)
            see.expect(not wrong, f"{host.name}: not as locked: {', '.join(wrong) or 'none'}")
        elif host not in scene.nodes:
            see.unknown(f"{host.name}: this checkout has no lock of Kafka {own or '?'}")
    if not locked(declared):
        told = "the same on every host" if len({str(sorted(x.items())) for x in seen.values()}) == 1 else "not the same"
        see.unknown(f"this checkout has no lock of Kafka {declared}; jars are {told}")
