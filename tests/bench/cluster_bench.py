"""Speeds of phase 2 against bare scripts that do the same, certificates and reconciling among them. Hosts of a copy of the
checkout; needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench import certs_bench, modules_bench  # noqa: E402
from tests.bench.harness import Ratio, compare, run, show, timed  # noqa: E402
from tests.system.kafka_cluster import PATIENCE_S, Cluster, Writer  # noqa: E402
from tests.system.lab import Lab, new_lab  # noqa: E402
from tools.kafka.fetch import ensure  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BARE = ROOT / "tests" / "bench" / "cluster_bare.sh"
TIMEOUT_S = 600
# Replication 3 and min.insync.replicas 2: it stays writable while one broker is away.
WRITABLE = "Topic_Four"
SLOWEST_S = 2.0


@dataclass(frozen=True)
class Way:
    """One of the two modes, with the release that has it."""

    mode: str
    version: str


KRAFT, ZOOKEEPER = Way("kraft", "4.3.1"), Way("zookeeper", "3.9.2")


def addresses(lab: Lab, role: str = "kafka_broker") -> list[str]:
    return [host["address"] for host in lab.outputs()["hosts"] if role in host["roles"]]


def bare(lab: Lab, verb: str, way: Way) -> None:
    tar = str(ensure(way.version)["archive"])
    argv = ["sh", str(BARE), verb, str(lab.state()), tar, str(lab.folder / "bare"), *addresses(lab)]
    keepers = " ".join(addresses(lab, "zookeeper")) if way == ZOOKEEPER else ""
    subprocess.run(
        argv, check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL, env={**os.environ, "KEEPERS": keepers}
    )


def bare_client(lab: Lab) -> dict[str, Any]:
    """The user that the script makes."""
    return {
        "bootstrap.servers": ",".join(f"{address}:9092" for address in addresses(lab)),
        "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "usercc", "sasl.password": "bare", "ssl.ca.location": str(lab.folder / "bare" / "ca.pem"),
    }  # fmt: skip


def reset(cluster: Cluster) -> None:
    cluster_id = (cluster.lab.state() / "cluster-id").read_text(encoding="ascii").strip()
    cluster.play("reset", "-e", json.dumps({"kafka_reset_cluster_id": cluster_id}))


def under_load(client: dict[str, Any], roll: Callable[[], object]) -> tuple[float, float]:
    """How long the roll took, and the slowest record of a client that wrote with acks=all meanwhile."""
    with Writer(client, WRITABLE) as writer:
        took_s = timed(roll)
    if writer.refused or not writer.acked:
        print(f"   {len(writer.acked)} records were acknowledged, refused: {sorted(set(writer.refused))}", flush=True)
        return took_s, PATIENCE_S
    return took_s, writer.slowest_s


def of_a_cluster(lab: Lab, way: Way = KRAFT) -> Iterator[Ratio]:
    lab.kastellan("up", "--until", "hosts")
    cluster = Cluster(lab)
    bare_s: list[float] = []

    def first() -> float:
        took_s = timed(lambda: cluster.play("site"))
        reset(cluster)
        return took_s

    def script() -> float:
        took_s = timed(lambda: bare(lab, "install", way))
        bare_s.append(took_s)
        bare(lab, "clean", way)
        return took_s

    yield compare("first site run / bare script", ours=first, other=script, goal=3, pairs=2)
    bare(lab, "install", way)
    bare_roll_s, bare_slowest_s = under_load(bare_client(lab), lambda: bare(lab, "roll", way))
    bare(lab, "clean", way)
    cluster.play("site")
    again_s = [timed(lambda: cluster.play("site")) for _ in range(2)]
    roll_s, slowest_s = under_load(cluster.bundle("usercc"), lambda: cluster.play("rolling_restart"))
    yield from shown(
        [
            Ratio("unchanged site run / bare script", again_s, bare_s, min(again_s) / min(bare_s), 1),
            Ratio("rolling restart / bare roll", [roll_s], [bare_roll_s], roll_s / bare_roll_s, 1.2),
            # No ratio but seconds, with those of the bare roll beside them. A refused record took all of its client's patience.
            Ratio("slowest acks=all record meanwhile, in s", [slowest_s], [bare_slowest_s], slowest_s, SLOWEST_S),
        ]
    )


def shown(results: Iterable[Ratio]) -> Iterator[Ratio]:
    for result in results:
        show(result)
        yield result


def measured() -> Iterator[Ratio]:
    yield from shown(certs_bench.ratios())
    yield from shown(modules_bench.ratios())
    with new_lab() as lab:
        yield from of_a_cluster(lab)


def main() -> int:
    return run("cluster", measured())


if __name__ == "__main__":
    sys.exit(main())
