"""Four hosts on Debian's OpenStack: `pulumi up` against the same by a plain script (clouds_bare.py), in turn.

Run: ./kastellan bench clouds (as root; the first time makes Debian's OpenStack and the plugin, some minutes each).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.harness import Ratio, compare, show, timed, write
from tests.system.clouds.debian_openstack.cloud import debian_openstack
from tests.system.clouds.on_debian import STACK, UP_TIMEOUT_S, Cloud
from tests.system.lab import new_lab

PAIRS = 3
GOAL = 1.5
NOTHING_TO_DO_S = 10
SCRIPT = Path(__file__).with_name("clouds_bare.py")


def main() -> int:
    with new_lab() as lab, debian_openstack() as openstack:
        lab.kastellan("test", "--help")
        cloud = Cloud(lab, openstack)
        cloud.describe(4, keep_data=False)
        idle: list[float] = []

        def ours() -> float:
            took_s = timed(cloud.up)
            idle.append(timed(lambda: cloud.up("--expect-no-changes")))
            cloud.pulumi("destroy", "--yes", "--skip-preview", "--stack", STACK)
            return took_s

        def bare() -> float:
            took_s = timed(lambda: script("make"))
            script("remove")
            return took_s

        def script(word: str) -> None:
            openstack.run("python3", "-W", "ignore", "-c", SCRIPT.read_text(), word, timeout_s=UP_TIMEOUT_S)

        made = compare("up of 4 hosts / openstacksdk", ours=ours, other=bare, goal=GOAL, pairs=PAIRS)
    nothing = Ratio("nothing to do, of 10 s", idle, [NOTHING_TO_DO_S], sorted(idle)[PAIRS // 2] / NOTHING_TO_DO_S, 1.0)
    show(nothing)
    return write("clouds", [made, nothing])


if __name__ == "__main__":
    sys.exit(main())
