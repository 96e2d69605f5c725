"""How long a client waits when a leader is killed, when one is stopped, and while all nodes are restarted in turn.

One round is a SIGKILL, a SIGTERM and a rolling restart, each of a whole cluster, while a client writes a record to a
random partition every 10 ms with acks=all and patience. The figure is the slowest record's: from being handed over to being
acknowledged. Whoever is hit leads a partition and not the quorum. No goals here: a cluster's time-outs decide. Needs root.
`--rounds N` is for trying it out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from confluent_kafka import ElectionType  # noqa: E402

from common.errors import KastellanError  # noqa: E402
from common.wait import wait_until  # noqa: E402
from tests.bench.cluster_bench import WRITABLE, under_load  # noqa: E402
from tests.bench.harness import PAIRS, Ratio, run, show  # noqa: E402
from tests.bench.validate_bench import benched  # noqa: E402
from tests.system.cluster.breaking import WHOLE_S, Ground  # noqa: E402
from tests.system.kafka_cluster import PATIENCE_S  # noqa: E402
from validate.admin import Admin, admin_client  # noqa: E402
from validate.faults.inject import Field, broken  # noqa: E402
from validate.faults.ledger import FaultLedger  # noqa: E402
from validate.faults.record import Record  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.kafka_cluster import Cluster
    from validate.cluster import Host

MOVED_S = 60.0
NOBODY = -1


KINDS = ("kill", "stop", "roll")


@dataclass
class Rounds:
    """Slowest records, and how long it took until all was whole again."""

    slowest_s: dict[str, list[float]] = field(default_factory=dict)
    took_s: dict[str, list[float]] = field(default_factory=dict)

    def add(self, what: str, took_s: float, slowest_s: float) -> None:
        if slowest_s >= PATIENCE_S:
            raise SystemExit(f"{what}: records were refused, or none was acknowledged at all.")
        print(f"   {what}: slowest record {slowest_s:.2f} s, {took_s:.1f} s until all was whole", flush=True)
        self.slowest_s.setdefault(what, []).append(slowest_s)
        self.took_s.setdefault(what, []).append(took_s)

    @property
    def whole(self) -> int:
        """How many rounds came to their end."""
        return min(len(self.took_s.get(kind, [])) for kind in KINDS)


def victim(admin: Admin, hosts: tuple[Host, ...]) -> Host:
    """Who leads a partition that is written to, and not the quorum: its own election would come on top."""
    chosen = led_apart(admin)
    if chosen is None:
        raise SystemExit(f"All of {WRITABLE} is led by the quorum's leader: begin again.")
    return next(host for host in hosts if host.node_id == chosen)


def led_apart(admin: Admin) -> int | None:
    controller = admin.controller()
    leaders = [p.leader for p in sorted(admin.partitions([WRITABLE]), key=lambda p: p.index)]
    return next((leader for leader in leaders if leader != controller), None)


def set_apart(place: Field, admin: Admin) -> None:
    """An outage may leave all to the quorum's leader. Not a part of what is measured."""
    if led_apart(admin) is None:
        elect_preferred(place)
        wait_until(lambda: led_apart(admin) is not None, timeout_s=MOVED_S, every_s=0.2)


def elect_preferred(place: Field) -> None:
    client = admin_client(place.cluster.client(place.cluster.admin_user), [])
    client.elect_leaders(ElectionType.PREFERRED, request_timeout=MOVED_S).result()


def hit(place: Field, admin: Admin, kind: str) -> None:
    """Broken until nothing is led by it any more, then healed until all is whole."""
    host = victim(admin, place.cluster.hosts)
    with broken(place, kind, [host]):
        if not wait_until(lambda: moved(admin, host), timeout_s=MOVED_S, every_s=0.2):
            raise SystemExit(f"{host.name} was hit by {kind} and still leads after {MOVED_S:.0f} s.")
    await_whole(admin)


def await_whole(admin: Admin) -> None:
    if not wait_until(lambda: not admin.not_whole(), timeout_s=WHOLE_S, every_s=0.5):
        raise SystemExit(f"The cluster does not come back: {'; '.join(admin.not_whole())}")


def moved(admin: Admin, host: Host) -> bool:
    """Whether somebody else leads each partition that it led."""
    try:
        return not {host.node_id, NOBODY} & {partition.leader for partition in admin.partitions([WRITABLE])}
    except KastellanError:
        return False  # it was asked of the dead one


def go_through(cluster: Cluster, place: Field, count: int, told: Rounds) -> None:
    admin, client = Admin(place.cluster), cluster.bundle("usercc")

    def roll() -> None:
        cluster.play("rolling_restart")
        await_whole(admin)

    under_load(client, lambda: await_whole(admin))  # the first records of a cluster are slow
    for number in range(count):
        print(f"   round {number + 1} of {count}", flush=True)
        for kind in ("kill", "stop"):
            set_apart(place, admin)
            told.add(kind, *under_load(client, lambda kind=kind: hit(place, admin, kind)))  # type: ignore[misc]
        told.add("roll", *under_load(client, roll))


def ratios(told: Rounds) -> Iterator[Ratio]:
    """Of whole rounds: all three went through the same."""
    if not told.whole:
        return
    slowest, took = ({kind: of[kind][: told.whole] for kind in KINDS} for of in (told.slowest_s, told.took_s))
    for name, ours, other in (
        ("slowest record: leader killed (SIGKILL) by leader stopped (SIGTERM)", slowest["kill"], slowest["stop"]),
        ("slowest record: rolling restart by leader stopped (SIGTERM)", slowest["roll"], slowest["stop"]),
        ("whole again: one killed and started by one stopped and started", took["kill"], took["stop"]),
        ("whole again: rolling restart of 4 nodes by one stopped and started", took["roll"], took["stop"]),
    ):
        made = Ratio(name, ours, other, statistics.median(ours) / statistics.median(other), None)
        show(made)
        yield made


def measured(count: int) -> Iterator[Ratio]:
    with benched() as (cluster, _), tempfile.TemporaryDirectory(prefix="kastellan-bench-", dir="/var/tmp") as name:
        described = Ground(cluster).described()
        place = Field(described, FaultLedger(Path(name)), Record(described.state_dir))
        told = Rounds()
        try:
            go_through(cluster, place, count, told)
        finally:
            yield from ratios(told)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="outages_bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=PAIRS)
    return run("outages", measured(parser.parse_args(words).rounds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
