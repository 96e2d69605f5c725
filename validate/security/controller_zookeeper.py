"""ZooKeeper: who keeps the cluster's mind in that mode is open to brokers alone, and tells strangers nothing."""

from __future__ import annotations

import contextlib
import re
import ssl
import time
from typing import TYPE_CHECKING

from cryptography.x509.oid import ExtendedKeyUsageOID

from validate.security import tls
from validate.security.look import take_sockets
from validate.security.registry import Evidence, NotApplicable, apart, check
from validate.security.strangers import MOMENT, Stranger, own_authority
from validate.security.transport import answering
from validate.security.transport_certificates import turned_away
from validate.security.wire import NoAnswer
from validate.security.zookeeper_wire import FRAMED_HELLO, READ, NoRightError, Session, word

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from validate.cluster import Host
    from validate.security.scene import Scene

HERE, BROKER, KEEPER = "this machine", "a broker, through ssh", "another ZooKeeper, through ssh"
# Where the play keeps ZooKeeper's own authority; the name that brokers have there, and that owns Kafka's nodes.
PKI, OWNER = "pki-zookeeper", "kafka"
MODES = ("zookeeper",)
ADMIN_SERVER = 8080
LOOPBACK, EVERYWHERE = "127.0.0.1", {"", "*", "0.0.0.0", "::"}  # noqa: S104  where others listen
HUNG_UP = ("closed", "no TLS")
GET = b"GET /commands HTTP/1.0\r\n\r\n"
ALLOWED = "srvr"
WORDS = (
    "conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "ruok", "srst", "stat", "wchc",
    "wchp", "wchs",
)  # fmt: skip
NOT_IN_THE_LIST = "not in the whitelist"
# Hashes of passwords, what quotas say of users, and tokens that are as good as passwords.
# Kafka's root is the root of all or one below it; deeper, such a name is that of a topic or of a client.
SECRET = re.compile(r"/config/(users|brokers)(/|$)|^(/[^/]+)?/delegation_token(/|$)")
CLOSED = re.compile(r"^/$|^(/[^/]+)?/consumers$")
WALK_S, BOUND_S = 40.0, 150.0
ALERT = b"\x15"
# More than the head of a TLS record, so that a server of TLS has to say what it makes of it.
PLAIN = {"a session": FRAMED_HELLO, "srvr": b"srvr" + b"\n" * 60}


def keepers(scene: Scene) -> list[Host]:
    found = [host for host in scene.cluster.zookeepers if host.ports]
    if not found:
        raise NotApplicable("cluster.json names no host of ZooKeeper: the ensemble is somebody else's")
    return found


def inside(scene: Scene, keeper: Host, port: int) -> Host:
    """From where the port may be reached: clients' from a broker, the ensemble's own from another member."""
    others = [host for host in scene.cluster.zookeepers if host != keeper] or [keeper]
    among = scene.cluster.brokers if port == keeper.ports[0] else others
    return next((host for host in among if host.login), among[0])


def broker_of_nobody(scene: Scene) -> tuple[Path, Path]:
    """A certificate as brokers have it, good for minutes."""
    issuer = own_authority(scene.folder, scene.cluster.state_dir / PKI)
    return issuer.issue(OWNER, purposes=(ExtendedKeyUsageOID.CLIENT_AUTH,), lasts=MOMENT)


@contextlib.contextmanager
def opened(
    scene: Scene, keeper: Host, certificate: tuple[Path, Path] | None, *, port: int = 0
) -> Iterator[socket.socket]:
    """TLS to a server; who that is was not asked here, since it is the server that is to ask."""
    port = port or keeper.ports[0]
    with contextlib.closing(scene.reach(inside(scene, keeper, port), (keeper.address, port))) as plain:
        context = tls.context(None, certificate, names=False)
        with context.wrap_socket(plain) as channel:
            yield channel


def greeted(scene: Scene, keeper: Host, certificate: tuple[Path, Path] | None) -> str:
    """Empty if it gives a session."""
    try:
        with opened(scene, keeper, certificate) as channel:
            Session(channel).close()
            return ""
    except (NoAnswer, ssl.SSLError, OSError) as error:
        return str(error) or repr(error)


@check(
    54, "ZooKeeper trusts its own authority, and its nodes are closed", tried="a session without a certificate, with a "
    "stranger's, with the administrator's of the cluster, with one as brokers have it; the rights on every node",
    where=BROKER, expected="the last alone gets a session; no world write anywhere, no world read of users, settings "
    "of brokers and tokens; the root and /consumers closed", fix="zookeeper.set.acl=true; playbooks/site.yml closes "
    "what Kafka leaves open.", modes=MODES, bound_s=BOUND_S,
)  # fmt: skip
def closed(scene: Scene, see: Evidence) -> None:
    found = keepers(scene)
    good = broker_of_nobody(scene)
    admin = scene.cluster.admin_user
    wrong = {
        "no certificate": None,
        "a stranger's": Stranger(scene.folder).issue(OWNER),
        f"that of {admin} in the cluster": scene.certificate(admin),
    }
    serving = []
    for keeper in found:
        with apart(see, keeper.name):
            said = greeted(scene, keeper, good)
            if not see.twin(said == "", f"{keeper.name}: one as brokers have it gets a session {said}"):
                continue
            serving.append(keeper)
            for told, certificate in wrong.items():
                turned_away(see, f"{keeper.name}: {told}", greeted(scene, keeper, certificate))
    for keeper in serving[:1]:
        with opened(scene, keeper, good) as channel:
            session = Session(channel)
            _walk(session, see)
            session.close()


def _walk(session: Session, see: Evidence) -> None:
    waiting, seen, deadline_s = ["/"], 0, time.monotonic() + WALK_S
    while waiting:
        if time.monotonic() > deadline_s:
            see.unknown(f"after {seen} nodes the time for looking was over")
            return
        path = waiting.pop()
        seen += 1
        try:
            _judge(path, session, see)
            waiting += [f"{path.rstrip('/')}/{name}" for name in session.children(path)]
        except NoRightError:
            see.unknown(f"{path} and what is below it is closed to brokers, too")
    see.twin(seen > 1, f"{seen} nodes were looked at")


def _judge(path: str, session: Session, see: Evidence) -> None:
    world = 0
    for right in session.rights(path):
        world |= right.what if right.of_the_world else 0
    if world & ~READ:
        see.wrong(f"{path}: the world may change it")
    elif world and (SECRET.search(path) or CLOSED.search(path)):
        see.wrong(f"{path}: the world may read it")


def held(see: Evidence, keeper: Host) -> dict[int, str]:
    """Ports that its process holds, declared or not, and where. Empty, and told, if nobody can look."""
    if keeper.login is None or keeper.service is None:
        see.unknown(f"{keeper.name}: there is no way to look at its sockets")
        return {}
    with apart(see, f"{keeper.name}: its sockets are not known"):
        seen = take_sockets(keeper).listening
        if see.twin(any(own for *_, own in seen), f"{keeper.name}: its process has sockets"):
            return {port: LOOPBACK if address in EVERYWHERE else address for address, port, own in seen if own}
    return {}


@check(
    55, "ZooKeeper's plain port is closed", tried="plain words on every port, declared or held by its process, and a "
    "hello of TLS", where=f"{HERE}; {BROKER}; {KEEPER}; each of its hosts", expected="plain words get no answer on any "
    "port of ZooKeeper; the clients' port speaks TLS", fix="secureClientPort alone, sslQuorum=true.", modes=MODES,
    bound_s=BOUND_S,
)  # fmt: skip
def no_plain_words(scene: Scene, see: Evidence) -> None:
    found = keepers(scene)
    open_here = answering((keeper.address, port) for keeper in found for port in keeper.ports)
    for keeper in found:
        ways = []
        for port in keeper.ports:
            place = (keeper.address, port)
            ways += [(via, place) for via in (*([None] if place in open_here else []), inside(scene, keeper, port))]
        own = held(see, keeper)
        beside = [(keeper, (address, port)) for port, address in sorted(own.items()) if port not in keeper.ports]
        ways += beside
        if beside:
            with apart(see, f"{keeper.name}: on the host itself"):
                _carried(scene, see, keeper, own)
        for via, place in ways:
            where = f"{keeper.name} {place[1]}{f' from {via.name}' if via else ''}"
            for told, data in PLAIN.items():
                with apart(see, where):
                    _plain(see, f"{where}: {told} in plain", _said(scene, via, place, data))
        client = keeper.ports[0]
        with apart(see, f"{keeper.name} {client}"):
            heard = _hello(scene, inside(scene, keeper, client), (keeper.address, client))
            see.twin(heard.accepted, f"{keeper.name} {client}: TLS {heard.said}")


def _said(scene: Scene, via: Host | None, place: tuple[str, int], data: bytes) -> bytes | None:
    """What came back; nothing if it closed or was not there, None if it stayed silent."""
    try:
        with contextlib.closing(scene.reach(via, place)) as channel:
            channel.sendall(data)
            return channel.recv(4096)
    except TimeoutError:
        return None
    except OSError:
        return b""


def _plain(see: Evidence, told: str, said: bytes | None) -> None:
    if said is None:
        see.unknown(f"{told}: silent")
    else:
        see.expect(not said or said.startswith(ALERT), f"{told}: {'answered' if said else 'no answer'}")


def _hello(scene: Scene, via: Host, place: tuple[str, int]) -> tls.Greeting:
    try:
        with contextlib.closing(scene.reach(via, place)) as channel:
            return tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
    except OSError as error:
        return tls.Greeting(said=str(error))


@check(
    56, "ZooKeeper tells strangers nothing", tried="every four-letter word, by a certificate as brokers have it; HTTP "
    "to AdminServer's port and to every undeclared one of its process, on the host itself; a hello of TLS to the port "
    "for elections", where=f"{BROKER}; {KEEPER}; each of its hosts",
    expected="srvr alone is answered; no AdminServer; members speak TLS to each other and ask for a certificate",
    fix="4lw.commands.whitelist=srvr, admin.enableServer=false, sslQuorum=true, ssl.quorum.clientAuth=need.",
    modes=MODES, bound_s=BOUND_S,
)  # fmt: skip
def tells_nothing(scene: Scene, see: Evidence) -> None:
    found = keepers(scene)
    good = broker_of_nobody(scene)
    for keeper in found:
        with apart(see, keeper.name):
            _answers_one_word(scene, see, keeper, good)
        if keeper.login is None:
            see.unknown(f"{keeper.name}: there is no ssh access to it, so AdminServer cannot be looked for there")
            continue
        own = held(see, keeper)
        carried = False
        with apart(see, f"{keeper.name}: on the host itself"):
            carried = _carried(scene, see, keeper, own)
        pages = {ADMIN_SERVER: LOOPBACK} | {port: one for port, one in own.items() if port not in keeper.ports}
        for port, address in sorted(pages.items()):
            with apart(see, f"{keeper.name} {port}"):
                there = (_said(scene, keeper, (address, port), GET) or b"").startswith(b"HTTP/")
                see.expect(not there, f"{keeper.name}: {'an' if there else 'no'} AdminServer on {port}")
        if len(found) > 1:
            _members_speak_tls(scene, see, keeper, own if carried else {})


def _answers_one_word(scene: Scene, see: Evidence, keeper: Host, good: tuple[Path, Path]) -> None:
    with opened(scene, keeper, good) as channel:
        see.twin("Mode:" in word(channel, ALLOWED), f"{keeper.name}: {ALLOWED} is answered")
    for four in WORDS:
        with opened(scene, keeper, good) as channel:
            said = word(channel, four)
        refused = not said or NOT_IN_THE_LIST in said
        see.expect(refused, f"{keeper.name}: {four}: {'refused' if refused else 'answered'}")


def _members_speak_tls(scene: Scene, see: Evidence, keeper: Host, own: Mapping[int, str]) -> None:
    """On the port for elections: followers listen there, too, and on the other one the leader alone does.

    `own`: what can be reached of its process on the host itself.
    """
    port = keeper.ports[-1]
    with apart(see, f"{keeper.name} {port}"):
        heard = _hello(scene, inside(scene, keeper, port), (keeper.address, port))
        if see.twin(heard.accepted, f"{keeper.name} {port}: TLS {heard.said}"):
            told = f"{keeper.name} {port}: {'asks' if heard.asks else 'does not ask'} for a certificate"
            see.expect(heard.asks, told)
        elif port in own:
            # Its process holds the port, and no packet filter stands between the host and itself.
            heard = _hello(scene, keeper, (own[port], port))
            if heard.said.startswith(HUNG_UP):
                see.wrong(f"{keeper.name} {port}: on the host itself no TLS answers a hello: {heard.said}")


def _carried(scene: Scene, see: Evidence, keeper: Host, own: Mapping[int, str]) -> bool:
    """The twin of all that is tried on the host itself: where ssh may carry nothing, everything there looks closed."""
    client = keeper.ports[0]
    heard = _hello(scene, keeper, (own.get(client, keeper.address), client))
    return see.twin(heard.accepted, f"{keeper.name}: a hello on the host itself to {client}: {heard.said}")
