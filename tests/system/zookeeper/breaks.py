"""Sabotage of the ensemble: an open node, a port that speaks in plain, words and pages for strangers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from common.wait import wait_until
from tests.system.cluster.breaking import QUIETLY, STOP, Ground, Sabotage, shell
from tests.system.zookeeper.looking import SESSION, by_client
from validate.security import controller_zookeeper as checks
from validate.security.zookeeper_wire import FRAMED_HELLO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from validate.security.scene import Scene

NEIGHBOURS = (2, 3, 29, 44, 46, 49, 54, 55, 56, 57, 58, 65)
MEMBER, STRAY, ZOO_CFG = "zookeeper-2", "/kastellan-stray", "/etc/zookeeper/zoo.cfg"
SERVES_S = 60.0
OPEN = f"""
{SESSION}
    path = sys.argv[3]
    if sys.argv[2] == "open":
        session.create(path, b"", [Acl(ALL, "world", "anyone")])
    elif session.data(path) is not None:
        session._call(2, _text(path) + struct.pack(">i", -1))  # delete, whatever its version
"""


@contextlib.contextmanager
def open_node(ground: Ground) -> Iterator[None]:
    lab, keeper = ground.cluster.lab, ground.described().zookeepers[0]
    try:
        by_client(lab, OPEN, keeper.address, "open", STRAY)
        yield
    finally:
        by_client(lab, OPEN, keeper.address, "close", STRAY)


def restarted(edit: str, *, plain: bool = False) -> Callable[[Ground], contextlib.AbstractContextManager[None]]:
    """One member with another setting, then as it was; two others serve meanwhile."""
    again = "systemctl reset-failed zookeeper 2>/dev/null || true; systemctl restart zookeeper"

    def serves(scene: Scene, *, plainly: bool) -> bool:
        """Only who has the majority with it gives a session."""
        keeper = next(host for host in scene.cluster.zookeepers if host.name == MEMBER)
        if not plainly:
            return checks.greeted(scene, keeper, checks.broker_of_nobody(scene)) == ""
        port = keeper.ports[0]
        said = checks._said(
            scene, checks.inside(scene, keeper, port), (keeper.address, port), FRAMED_HELLO
        )  # fmt: skip
        return said is not None and said != b"" and not said.startswith(checks.ALERT)

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        with ground.scene() as scene:
            try:
                ground.root(f"cp -p {ZOO_CFG} {ZOO_CFG}.kept\nsed -i '{edit}' {ZOO_CFG}\n{again}", MEMBER)
                assert wait_until(lambda: serves(scene, plainly=plain), timeout_s=SERVES_S, every_s=0.5), MEMBER
                ground.await_whole()
                yield
            finally:
                ground.mend([f"[ ! -e {ZOO_CFG}.kept ] || mv {ZOO_CFG}.kept {ZOO_CFG}", again], MEMBER)
                assert wait_until(lambda: serves(scene, plainly=False), timeout_s=SERVES_S, every_s=0.5), MEMBER
                ground.await_whole()

    return act


ENSEMBLE = (
    Sabotage(
        "a node that is open to the world", frozenset({54}), open_node,
        said={54: f"{STRAY}: the world may change it"}, neighbours=NEIGHBOURS,
    ),
    # Its clients' port has no TLS, so the twins of both others fail there.
    Sabotage(
        "a port of ZooKeeper in plain", frozenset({55}), restarted("s/^secureClientPort=/clientPort=/", plain=True),
        beside=frozenset({54, 56}), said={55: "a session in plain: answered"}, neighbours=NEIGHBOURS,
    ),
    Sabotage(
        "a plain port beside the other", frozenset({55}), restarted("$a clientPort=2181"), beside=frozenset({1, 60}),
        said={55: f"{MEMBER} 2181 from {MEMBER}: a session in plain: answered"}, neighbours=NEIGHBOURS,
    ),
    Sabotage(
        "an open file of ZooKeeper's", frozenset({58}),
        shell(f"chmod o+r {ZOO_CFG}", f"chmod o-r {ZOO_CFG}", host=MEMBER),
        said={58: f"{MEMBER}: open to others under /etc/zookeeper: {ZOO_CFG}"}, neighbours=NEIGHBOURS,
    ),
    Sabotage(
        "words for strangers", frozenset({56}), restarted("s/^4lw[.]commands[.]whitelist=.*/4lw.commands.whitelist=*/"),
        said={56: f"{MEMBER}: conf: answered"}, neighbours=NEIGHBOURS,
    ),
    Sabotage(
        "a page for strangers", frozenset({56}),
        shell(
            f"{QUIETLY} python3 -m http.server --bind 127.0.0.1 --directory /srv 8080\n"
            "timeout 10 bash -c 'until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do sleep 0.1; done'",
            STOP, host=MEMBER,
        ),
        said={56: f"{MEMBER}: an AdminServer on 8080"}, neighbours=NEIGHBOURS,
    ),
)  # fmt: skip
