"""Authentication: who is not who they say is not let in, and hears no more than that."""

from __future__ import annotations

import contextlib
import ssl
import statistics
import time
from typing import TYPE_CHECKING

from kafka.protocol.admin import DescribeUserScramCredentialsRequest
from kafka.protocol.metadata import MetadataRequest

from common.wait import wait_until
from validate.security import tls
from validate.security.registry import Evidence, NotApplicable, apart, check
from validate.security.stage import DENIED, OK, PREFIX
from validate.security.transport import answering, certificate_for
from validate.security.transport_certificates import greeted, turned_away
from validate.security.wire import (
    ILLEGAL_SASL_STATE,
    LOGIN_FAILED,
    UNSUPPORTED_MECHANISM,
    Login,
    NoAnswer,
    name_of,
)

if TYPE_CHECKING:
    from validate.cluster import Host
    from validate.security.scene import Listener, Scene, Target
    from validate.security.stage import Stage

HERE = "this machine"
NODES = "another node of the cluster, through ssh"
ABSENT = f"{PREFIX}nobody"
EVERY_MECHANISM = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")
DELAY_LEAST_S = 0.07  # a tenth of a second by default, less what two medians differ on busy machines
ITERATIONS_LEAST = 4096
REAUTHENTICATION_MOST_MS = 3_600_000
TAKES_EFFECT_S = 10.0
AGAIN_S = 1.2


def about_scram(scene: Scene) -> None:
    """For checks about SCRAM itself. To all others a cluster without such logins is one of which nothing is known."""
    outer = [one for one in scene.listeners.values() if one.sasl and not one.inner]
    if not any(name.startswith("SCRAM-") for one in outer[:1] for name in one.mechanisms):
        raise NotApplicable("cluster.json has no listener for clients that lets in by SCRAM")


def doors(scene: Scene) -> list[Listener]:
    """Every listener at which clients log in."""
    return [one for one in scene.listeners.values() if one.sasl and not one.inner] or [scene.login_listener]


def tried_login(
    scene: Scene, user: str, password: str, host: Host, mechanism: str = "", door: Listener | None = None
) -> Login:
    target = scene.target(host, door or scene.login_listener)
    with scene.session(target) as session:
        return session.login(mechanism or scene.mechanism, user, password)


def scram_doors(scene: Scene) -> list[tuple[Listener, str]]:
    """Every listener for logins by SCRAM; the mechanism is the one of the proof's own users, or its first."""
    found = [(door, [one for one in door.mechanisms if one.startswith("SCRAM-")]) for door in doors(scene)]
    return [(door, scene.mechanism if scene.mechanism in own else own[0]) for door, own in found if own]


def at(scene: Scene, host: Host, door: Listener) -> str:
    return host.name if door == scene.login_listener else f"{host.name} {door.name}"


def right_login(scene: Scene, see: Evidence, host: Host, door: Listener, mechanism: str) -> None:
    """The twin: the administrator, with the right password, the same way."""
    user = scene.cluster.admin_user
    said = tried_login(scene, user, scene.password(user), host, mechanism, door)
    see.twin(said.well, f"{at(scene, host, door)}: {user} with the right password: {said}")


def refused(see: Evidence, place: str, told: str, said: Login) -> None:
    see.expect(said.code == LOGIN_FAILED, f"{place}: {told}: {said}")


@check(
    17, "A wrong password is refused", tried="a login as a declared user with a wrong password, at every broker's "
    "every listener for logins",
    where=HERE, expected="SASL_AUTHENTICATION_FAILED; the right password is let in",
    fix="Run playbooks/access.yml: it sets every declared user's password again.",
)  # fmt: skip
def wrong_password(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    admin, user = scene.cluster.admin_user, scene.cluster.validator_user
    pairs = [(door, one) for door in doors(scene) for one in door.mechanisms if one.startswith("SCRAM-")]
    for host in scene.cluster.brokers:
        with apart(see, host.name):
            for door, mechanism in pairs:
                said = tried_login(scene, user, "wrong", host, mechanism, door)
                refused(see, host.name, f"{door.name}: {user}, {mechanism}", said)
            for door, mechanism in dict(reversed(pairs)).items():  # the first of each
                said = tried_login(scene, admin, scene.password(admin), host, mechanism, door)
                see.twin(said.well, f"{host.name}: {door.name}: {admin} with the right password: {said}")


@check(
    18, "An unknown user is refused, with the same words", tried="a login as a user who does not exist, and one with a "
    "wrong password, at every listener for logins", where=HERE, expected="SASL_AUTHENTICATION_FAILED with the same "
    "text for both (known limit: the SCRAM exchange itself tells a known user from an unknown one by protocol)",
    fix="Upgrade Kafka: the text of the error must not depend on the user.",
)  # fmt: skip
def unknown_user(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    for host, door, mechanism in ways(scene):
        place = at(scene, host, door)
        with apart(see, place):
            said = tried_login(scene, ABSENT, "wrong", host, mechanism, door)
            refused(see, place, ABSENT, said)
            known = tried_login(scene, scene.cluster.validator_user, "wrong", host, mechanism, door)
            alike = (said.code, said.message) == (known.code, known.message)
            see.expect(alike, f"{place}: unknown user: {said.message!r}, wrong password: {known.message!r}")
            right_login(scene, see, host, door, mechanism)


def ways(scene: Scene) -> list[tuple[Host, Listener, str]]:
    return [(host, door, mechanism) for host in scene.cluster.brokers for door, mechanism in scram_doors(scene)]


@check(
    19, "An empty user or password is refused", tried="logins with an empty user, an empty password, and both, at "
    "every listener for logins", where=HERE, expected="SASL_AUTHENTICATION_FAILED, or the connection is closed",
    fix="Upgrade Kafka.",
)  # fmt: skip
def empty(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    user = scene.cluster.validator_user
    for host, door, mechanism in ways(scene):
        place = at(scene, host, door)
        with apart(see, place):
            for name, password in (("", "x"), (user, ""), ("", "")):
                told = f"user {name!r}, {'no' if not password else 'a'} password"
                try:
                    refused(see, place, told, tried_login(scene, name, password, host, mechanism, door))
                except NoAnswer as why:
                    turned_away(see, f"{place}: {told}", str(why))
            right_login(scene, see, host, door, mechanism)


@check(
    20, "Mechanisms that are not turned on are refused", tried="SaslHandshake for every mechanism that Kafka has",
    where=HERE, expected="UNSUPPORTED_SASL_MECHANISM for those not declared, the declared ones are offered",
    fix="kafka_sasl_mechanisms, or the listener's own mechanisms, in the inventory.",
)  # fmt: skip
def mechanisms(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    asked = [(door, mechanism) for door in doors(scene) for mechanism in EVERY_MECHANISM]
    for host in scene.cluster.brokers:
        with apart(see, host.name):
            for door, mechanism in asked:
                with scene.session(scene.target(host, door)) as session:
                    code, offered = session.offers(mechanism)
                place = at(scene, host, door)
                told = f"{place}: {mechanism}: {name_of(code) if code else 'accepted'}, offered {sorted(offered)}"
                if mechanism in door.mechanisms:
                    see.twin(code == 0, told)
                else:
                    see.expect(code == UNSUPPORTED_MECHANISM, told)
                see.expect(set(offered) <= set(door.mechanisms) or not code, f"{place}: offered {sorted(offered)}")


@check(
    21, "A request before the login is not answered", tried="Metadata right after TLS, without a login",
    where=HERE, expected="the connection is closed without an answer; after a login the same request is answered",
    fix="The listener's protocol must be SASL_SSL.",
)  # fmt: skip
def before_login(scene: Scene, see: Evidence) -> None:
    for host in scene.cluster.brokers:
        with apart(see, host.name):
            for target in (scene.target(host, door) for door in doors(scene)):
                with scene.session(target) as session:
                    try:
                        session.ask(everything(), 9)
                        see.wrong(f"{target}: Metadata was answered without a login")
                    except NoAnswer as why:
                        turned_away(see, str(target), str(why))
                there = greeted(scene, target, certificate_for(scene, target))
                see.twin(there == "", f"{target}: the first question of every client is answered {there}")
            answer = scene.admin(host).ask(everything(), 9)
            see.twin(bool(answer.brokers), f"{host.name}: after a login {len(answer.brokers)} brokers are named")


def everything() -> MetadataRequest:
    return MetadataRequest(topics=None, allow_auto_topic_creation=False)


@check(
    22, "A failed login is answered late", tried="five failed logins at every broker, timed; as many right ones",
    where=HERE, expected="about 0.1 s later than a right one answers or more, never less than 0.07 s",
    fix="connection.failed.authentication.delay.ms=100", bound_s=180.0,
)  # fmt: skip
def delay(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    for host in scene.cluster.brokers:
        with apart(see, host.name):
            _late(scene, see, host)


def _late(scene: Scene, see: Evidence, host: Host) -> None:
    user, target = scene.cluster.admin_user, scene.target(host, scene.login_listener)
    failed: list[float] = []
    right: list[float] = []
    well = True
    for number in range(5):  # in turn, so that whatever makes the broker slow makes both slow
        took_s, said = timed(scene, target, user, "wrong")
        refused(see, host.name, f"wrong login {number + 1}", said)
        failed.append(took_s)
        took_s, said = timed(scene, target, user, scene.password(user))
        well = well and said.well
        right.append(took_s)
    late, prompt = statistics.median(failed), statistics.median(right)
    if see.twin(well, f"{host.name}: right logins are over after {prompt * 1000:.0f} ms"):
        told = f"{host.name}: failed ones are over after {late * 1000:.0f} ms, {(late - prompt) * 1000:.0f} ms later"
        see.expect(late - prompt >= DELAY_LEAST_S, told)


def timed(scene: Scene, target: Target, user: str, password: str) -> tuple[float, Login]:
    """How long it took until the broker had let in, or had refused and closed."""
    with scene.session(target) as session:
        began_s = time.monotonic()
        said = session.login(scene.mechanism, user, password)
        if said.code == LOGIN_FAILED:
            with contextlib.suppress(NoAnswer):
                session.raw(b"\0\0\0\0")
        return time.monotonic() - began_s, said


@check(
    23, "Passwords are kept as salted hashes that cost enough", tried="DescribeUserScramCredentials as the "
    "administrator, and as a user without rights", where=HERE,
    expected=f"every credential has {ITERATIONS_LEAST} iterations at least; no hash is told; others are refused",
    fix="kafka_scram_iterations in the inventory, then playbooks/access.yml.",
)  # fmt: skip
def iterations(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    answer = scene.admin().ask(DescribeUserScramCredentialsRequest(users=None), 0)
    pairs = {
        f"{r.user}: {info.iterations}": info.iterations for r in answer.results for info in r.credential_infos
    }  # fmt: skip
    see.twin(bool(pairs), f"{len(pairs)} credentials are told, by user, mechanism and iterations alone")
    weak = sorted(told for told, count in pairs.items() if count < ITERATIONS_LEAST)
    see.expect(not weak, f"below {ITERATIONS_LEAST}: {', '.join(weak) or 'none'}")
    with scene.stage.session(DENIED) as session:
        # Somebody is named: refused a question about everybody, brokers (4.3.1) say nothing at all.
        asked = DescribeUserScramCredentialsRequest(users=[(scene.cluster.admin_user,)])
        code = session.ask(asked, 0).error_code
    see.expect(name_of(code) == "CLUSTER_AUTHORIZATION_FAILED", f"{DENIED}: {name_of(code)}")


@check(
    24, "A changed password counts", tried="change the password of a user of the proof; log in with both; read "
    "how long a session may last off the login's answer; at every listener for logins", where=HERE,
    expected="the old one is refused within 10 s, the new one let in; sessions end within an hour",
    fix="connections.max.reauth.ms=3600000 with the listener's prefix.",
)  # fmt: skip
def rotation(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    stage, user, admin = scene.stage, f"{PREFIX}rotated", scene.cluster.admin_user
    old = stage.add_user(user)
    stage.await_everywhere(user)
    new = stage.add_user(user)
    began_s = time.monotonic()
    stage.await_everywhere(user)
    for host, door, mechanism in ways(scene):
        place = at(scene, host, door)
        with apart(see, place):
            # For another mechanism than the first listener's the proof's user has no password.
            who, password = (user, new) if mechanism == scene.mechanism else (admin, scene.password(admin))
            if who == user:
                gone = forgotten(stage, user, old, host, door)
                see.expect(gone, f"{place}: the old password {'is refused' if gone else 'is still let in'}")
            said = tried_login(scene, who, password, host, mechanism, door)
            if see.twin(said.well, f"{place}: {who} with {'the new' if who == user else 'its'} password: {said}"):
                bounded = 0 < said.lifetime_ms <= REAUTHENTICATION_MOST_MS
                see.expect(bounded, f"{place}: a session may last {said.lifetime_ms} ms (0: for ever)")
    see.fine(f"everywhere in force {time.monotonic() - began_s:.1f} s after the change")
    stage.remove_users([user])


def forgotten(stage: Stage, user: str, password: str, host: Host, door: Listener) -> bool:
    """Whether it comes to be refused, in time."""
    return wait_until(lambda: not stage.lets_in(user, password, host, door), timeout_s=TAKES_EFFECT_S)


@check(
    25, "A removed user is refused", tried="make a user of the proof, let it in, remove it, try again at every "
    "listener for logins", where=HERE,
    expected="let in before, refused within 10 s after", fix="Look whether every broker follows the metadata log.",
)  # fmt: skip
def removed(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    stage, user = scene.stage, f"{PREFIX}removed"
    password = stage.add_user(user)
    stage.await_everywhere(user)
    see.fine("let in everywhere before")
    stage.remove_users([user])
    for host, door, mechanism in ways(scene):
        place = at(scene, host, door)
        if mechanism == scene.mechanism:
            with apart(see, place):
                gone = forgotten(stage, user, password, host, door)
                see.expect(gone, f"{place}: {'refused' if gone else 'still let in after 10 s'}")


@check(
    26, "Who has no name gets nothing", tried="requests without login or certificate on every listener for clients; "
    "every ACL that would hold for User:ANONYMOUS or everybody", where=HERE,
    expected="no answer anywhere, and no such ACL", fix="Remove the ACL; turn SASL or client certificates on.",
)  # fmt: skip
def anonymous(scene: Scene, see: Evidence) -> None:
    for target in scene.targets(inner=False, tls_only=False):
        try:
            with scene.session(target) as session:
                names = [topic.name for topic in session.ask(everything(), 9).topics]
            see.wrong(f"{target}: Metadata was answered: {names[:5]}")
        except (NoAnswer, ssl.SSLError, OSError) as why:
            turned_away(see, str(target), str(why) or repr(why))
            with apart(see, str(target)):
                # ApiVersions needs no login, but where one is asked for a certificate.
                there = greeted(scene, target, certificate_for(scene, target))
                see.twin(there == "", f"{target}: the first question of every client is answered {there}")
    answer = scene.admin().ask(everything(), 9)
    see.twin(bool(answer.topics), f"the administrator is told {len(answer.topics)} topics")
    open_ = [acl for acl in scene.stage.acls() if acl.principal in {"*", "ANONYMOUS"} and acl.permission == "Allow"]
    see.expect(not open_, f"ACLs for everybody or nobody: {open_ or 'none'}")


@check(
    27, "A session cannot become somebody else", tried="log in, then log in again on the same connection, as somebody "
    "else and as oneself", where=HERE, expected="refused as somebody else; as oneself it is let in",
    fix="Upgrade Kafka.",
)  # fmt: skip
def somebody_else(scene: Scene, see: Evidence) -> None:
    about_scram(scene)
    stage = scene.stage
    again = [
        (host, user, stage.session(OK, host)) for host in scene.cluster.brokers for user in (OK, DENIED)
    ]  # fmt: skip
    began_s = time.monotonic()
    # Within the first second a broker takes a second login for a mistake, whoever it is for.
    wait_until(lambda: time.monotonic() - began_s > AGAIN_S, timeout_s=2 * AGAIN_S)
    for host, user, session in again:
        with session:
            said = session.login(scene.mechanism, user, stage.passwords[user])
        if user == OK:
            see.twin(said.well, f"{host.name}: {OK} again as itself: {said}")
        else:
            see.expect(not said.well, f"{host.name}: {OK} as {user}: {said}")


@check(
    28, "Between nodes a certificate is the identity", tried="a SASL login on the listener of brokers; that listener "
    "from outside; DescribeConfigs of every broker", where=f"{NODES}; {HERE}",
    expected="no SASL there; a certificate is asked for; from outside nobody gets through; brokers use this one",
    fix="protocol: SSL and client_auth: required for BROKER in kafka_listeners; host_firewall: true.",
)  # fmt: skip
def between_nodes(scene: Scene, see: Evidence) -> None:
    inner = [t for t in scene.targets(inner=True, tls_only=False) if t.listener.name == "BROKER"]
    if not inner:
        raise NotApplicable("cluster.json has no listener BROKER")
    for host, found in scene.in_force(see, scene.cluster.brokers):
        used = found.get("inter.broker.listener.name")
        see.expect(used == "BROKER", f"{host.name}: brokers are spoken to by listener {used}")
    certificate = scene.certificate(scene.cluster.admin_user)
    heard_here = answering(target.place for target in inner)
    for target in inner:
        open_ = target.place in heard_here
        see.expect(not open_, f"{target.host.name}: {target.listener.port} {'answers' if open_ else 'is closed'} here")
        with contextlib.closing(scene.connect(target)) as channel:
            heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
        if see.twin(heard.accepted, f"{target}: TLS 1.2 {heard.said}"):
            see.expect(heard.asks, f"{target}: {'asks' if heard.asks else 'does not ask'} for a certificate")
        with scene.session(target, tls.context(scene.ca, certificate)) as session:
            see.twin(session.alive(), f"{target}: with a certificate it answers")
            try:
                code, _ = session.offers("SCRAM-SHA-512")
            except NoAnswer as why:
                turned_away(see, f"{target}: SASL", str(why))
                continue
            told = name_of(code) if code else "accepted"
            see.expect(code in {ILLEGAL_SASL_STATE, UNSUPPORTED_MECHANISM}, f"{target}: SASL: {told}")
