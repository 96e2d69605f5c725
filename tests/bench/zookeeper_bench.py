"""The speeds of cluster_bench in the other mode: three ZooKeepers and three brokers against the same bare script, which does
the same there. Certificates cost what they cost with KRaft and are measured there. Needs root.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench import modules_bench  # noqa: E402
from tests.bench.cluster_bench import ZOOKEEPER, of_a_cluster, shown  # noqa: E402
from tests.bench.harness import Ratio, run, side_by_side  # noqa: E402
from tests.system.lab import new_lab  # noqa: E402
from tests.system.zookeeper.conftest import disguise  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


def measured() -> Iterator[Ratio]:
    yield from shown(modules_bench.ratios(mode=ZOOKEEPER.mode))
    with new_lab() as lab:
        disguise(lab)
        yield from of_a_cluster(lab, ZOOKEEPER)


def main() -> int:
    code = run("zookeeper", measured())
    print(side_by_side(["cluster", "zookeeper"]))
    return code


if __name__ == "__main__":
    sys.exit(main())
