"""Speeds of phase 2 against a bare script that does the same. Hosts of a copy of the checkout; needs root."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench.harness import Ratio, compare, show, timed, write  # noqa: E402
from tests.system.kafka_cluster import Cluster  # noqa: E402
from tests.system.lab import Lab, new_lab  # noqa: E402
from tools.kafka.fetch import ensure  # noqa: E402

BARE = ROOT / "tests" / "bench" / "cluster_bare.sh"
VERSION = "4.3.1"
TIMEOUT_S = 600


def bare(lab: Lab, verb: str) -> None:
    addresses = [host["address"] for host in lab.outputs()["hosts"]]
    tar = str(ensure(VERSION)["archive"])
    argv = ["sh", str(BARE), verb, str(lab.state()), tar, str(lab.folder / "bare"), *addresses]
    subprocess.run(argv, check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)


def reset(cluster: Cluster) -> None:
    cluster_id = (cluster.lab.state() / "cluster-id").read_text(encoding="ascii").strip()
    cluster.play("reset", "-e", json.dumps({"kafka_reset_cluster_id": cluster_id}))


def main() -> int:
    with new_lab() as lab:
        lab.kastellan("up", "--until", "hosts")
        cluster = Cluster(lab)
        bare_s: list[float] = []

        def first() -> float:
            took_s = timed(lambda: cluster.play("site"))
            reset(cluster)
            return took_s

        def script() -> float:
            took_s = timed(lambda: bare(lab, "install"))
            bare_s.append(took_s)
            bare(lab, "clean")
            return took_s

        results = [compare("first site run / bare script", ours=first, other=script, goal=3, pairs=2)]
        bare(lab, "install")
        bare_roll_s = timed(lambda: bare(lab, "roll"))
        bare(lab, "clean")
        cluster.play("site")
        again_s = [timed(lambda: cluster.play("site")) for _ in range(2)]
        results.append(Ratio("unchanged site run / bare script", again_s, bare_s, min(again_s) / min(bare_s), 1))
        roll_s = timed(lambda: cluster.play("rolling_restart"))
        results.append(Ratio("rolling restart / bare roll", [roll_s], [bare_roll_s], roll_s / bare_roll_s, 1.2))
        for result in results[1:]:
            show(result)
    return write("cluster", results)


if __name__ == "__main__":
    sys.exit(main())
