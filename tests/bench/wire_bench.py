"""What TLS and a login cost: the producing loop with its whole ledger over SASL_SSL, and over a port without either.

A cluster of its own: its listener MTLS is turned into one without TLS behind Ansible's back, and who comes there without
a name may do everything. Both ports belong to the same brokers, so pairs run in turn on one cluster. Needs root.
`--records N` and `--pairs N` are for trying it out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench.harness import PAIRS, Ratio, compare, run  # noqa: E402
from tests.bench.validate_bench import GOALS, RECORDS, TOPIC, Bench, benched  # noqa: E402
from tests.system.cluster.breaking import CONFIG, RESTART, Ground  # noqa: E402
from tests.system.cluster.workloads import drop_topics  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN_PORT = 9094
# No certificate, no login: the principal is ANONYMOUS.
OPEN = (
    "/^listener[.]security[.]protocol[.]map=/s/MTLS:SSL/MTLS:PLAINTEXT/",
    "s/^super[.]users=.*/&;User:ANONYMOUS/",
)


def open_port(ground: Ground) -> dict[str, Any]:
    """How a client comes in there."""
    script = "\n".join(f"sed -i '{edit}' {CONFIG}" for edit in OPEN)
    names = [host["name"] for host in ground.cluster.document()["hosts"]]
    for host in names:
        ground.root(f"{script}\ngrep -q MTLS:PLAINTEXT {CONFIG}\n{RESTART}", host)
        ground.await_whole()
    addresses = [host["address"] for host in ground.cluster.document()["hosts"]]
    return {"bootstrap.servers": ",".join(f"{address}:{PLAIN_PORT}" for address in addresses)}


def ratios(secure: Bench, plain: Bench, pairs: int) -> Iterator[Ratio]:
    for bench in (secure, plain):
        bench.ours(100, ledger=True)  # the first records of a cluster wake it up; nobody's time counts yet
    for size in GOALS:
        yield compare(
            f"producer with ledger, SASL_SSL by PLAINTEXT, {size} B",
            ours=partial(secure.ours, size, ledger=True),
            other=partial(plain.ours, size, ledger=True),
            goal=None,
            pairs=pairs,
        )


def measured(records: int, pairs: int) -> Iterator[Ratio]:
    with (
        benched() as (cluster, clients),
        tempfile.TemporaryDirectory(prefix="kastellan-bench-", dir="/var/tmp") as name,
    ):
        unsafe = open_port(Ground(cluster))
        places = [Path(name, kind) for kind in ("secure", "plain")]
        for place in places:
            place.mkdir()
        described = cluster.lab.state() / "cluster.json"
        secure, plain = (Bench(place, clients, records, described) for place in places)
        plain.client = unsafe
        # Their topic is made and removed by one who has a name.
        plain.admin = secure.client
        yield from ratios(secure, plain, pairs)
        drop_topics(secure.client, [TOPIC])


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="wire_bench", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    asked = parser.parse_args(words)
    return run("wire", measured(asked.records, asked.pairs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
