"""Controllers: what keeps the cluster's mind is open to nodes alone."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from validate.faults.shell import over_ssh
from validate.security import requests, tls
from validate.security.authorization import asked, refused, said
from validate.security.registry import Evidence, NotApplicable, check
from validate.security.transport import answering
from validate.security.transport_certificates import greeted, turned_away
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from validate.security.scene import Scene, Target

NODES, HERE = "another node of the cluster, through ssh", "this machine"
# Whether there is a journal at all, and how many of its lines name the option.
JOURNAL = """journalctl -q --no-pager -o cat -n 1 2>/dev/null | grep -c .
journalctl --no-pager 2>/dev/null | grep -c 'add-scram'
exit 0
"""
METADATA = "__cluster_metadata"
NOT_LEADER = {6, 74, 76}  # another voter leads: it said so to somebody who may ask


def controllers(scene: Scene) -> list[Target]:
    found = [t for t in scene.targets(inner=True, tls_only=False) if t.listener.name == "CONTROLLER"]
    if not found:
        raise NotApplicable("cluster.json has no listener CONTROLLER")
    return found


@check(
    50, "Controllers refuse clients", tried="no certificate; a declared user's certificate with DescribeQuorum and a "
    "Fetch of the metadata log; the administrator's with the same", where=NODES,
    expected="no certificate: no answer; a user's: authorization errors; the administrator's: answered",
    fix="client_auth: required on CONTROLLER, the authorizer on controllers.", modes=("kraft",),
)  # fmt: skip
def closed_to_clients(scene: Scene, see: Evidence) -> None:
    try:
        users, nobody = [scene.ordinary_user()], None
    except NotApplicable as reason:
        users, nobody = [], reason
    questions = (requests.quorum(), requests.fetch(METADATA))
    for target in controllers(scene):
        turned_away(see, f"{target}: no certificate", greeted(scene, target, None))
        for who, well in (*((user, False) for user in users), (scene.cluster.admin_user, True)):
            context = tls.context(scene.ca, scene.certificate(who))
            with scene.session(target, context) as session:
                for question in questions[:1] if well else questions:
                    try:
                        codes = asked(session, question)
                    except NoAnswer as why:
                        see.unknown(f"{target}: {who}: {question.told}: {why}")
                        break
                    told = f"{target}: {who}: {question.told}: {said(codes)}"
                    if well:
                        see.twin(not refused(codes) and set(codes) <= {0, *NOT_LEADER}, told)
                    else:
                        see.expect(refused(codes), told)
    if nobody:
        raise nobody


@check(
    51, "Controllers cannot be reached by clients", tried="a TCP connection to the controllers' port",
    where=f"{HERE}; {NODES}",
    expected="nobody answers here; from a node the port is open", fix="host_firewall: true, or a network of their own.",
    modes=("kraft",),
)  # fmt: skip
def out_of_reach(scene: Scene, see: Evidence) -> None:
    open_here = answering(target.place for target in controllers(scene))
    for target in controllers(scene):
        open_ = target.place in open_here
        see.expect(not open_, f"{target.host.name}: {target.listener.port} {'answers' if open_ else 'is closed'} here")
        with contextlib.closing(scene.connect(target)) as channel:
            heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
        see.twin(heard.accepted, f"{target}: {heard.said}")


@check(
    52, "Controllers are spoken to with mutual TLS", tried="a handshake with and without a certificate", where=NODES,
    expected="a certificate is asked for, and without one nothing is answered",
    fix="protocol: SSL and client_auth: required on CONTROLLER.", modes=("kraft",),
)  # fmt: skip
def mutual(scene: Scene, see: Evidence) -> None:
    for target in controllers(scene):
        with contextlib.closing(scene.connect(target)) as channel:
            heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
        if see.twin(heard.accepted, f"{target}: TLS 1.2 {heard.said}"):
            see.expect(heard.asks, f"{target}: {'asks' if heard.asks else 'does not ask'} for a certificate")
        turned_away(see, f"{target}: without a certificate", greeted(scene, target, None))
        said_ = greeted(scene, target, scene.certificate(scene.cluster.admin_user))
        see.twin(said_ == "", f"{target}: with: {said_ or 'let in'}")


@check(
    53, "The first password left no trace", tried="look for the administrator's password, in every form, in shell "
    "histories, the journal, temporary files and command lines of each host, and for --add-scram", where="each host",
    expected="it is nowhere", fix="Give it to kafka-storage by a file (java @FILE), salted, never on a command line.",
    modes=("kraft",),
)  # fmt: skip
def bootstrap(scene: Scene, see: Evidence) -> None:
    from validate.security import traces  # noqa: PLC0415

    user = scene.cluster.admin_user
    password = scene.password(user)
    if len(password) < traces.SMALLEST:
        see.unknown(f"the password of {user} is not at hand, or too short to be looked for")
        return
    for host in scene.cluster.hosts:
        if host.login is None:
            see.unknown(f"{host.name}: no ssh")
            continue
        told = traces.leaks(host, scene.cluster.service, {user: password}, see).found
        found = [line for line in told if line.startswith(f"{user} in ")]  # a host's own keys are check 59's
        see.expect(not found, f"{host.name}: {', '.join(found) or 'no trace of it'}")
        kept, _, shown = over_ssh(host, JOURNAL, timeout_s=60.0).partition("\n")
        if see.twin(kept.strip() not in {"", "0"}, f"{host.name}: it has a journal"):
            see.expect(shown.strip() == "0", f"{host.name}: {shown.strip()} lines of the journal name --add-scram")
