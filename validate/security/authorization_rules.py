"""Authorization: how rules are weighed, what is in force, and whether denials leave a trace."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

from common.wait import wait_until
from validate.faults.shell import over_ssh
from validate.security import requests
from validate.security.authorization import HERE, UNKNOWN_TOPIC, asked, refused, said, staged
from validate.security.host import looks
from validate.security.registry import Evidence, apart, check
from validate.security.stage import DENIED, OK, PREFIX, TOPIC, Acl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from validate.cluster import Host
    from validate.security.scene import Scene
    from validate.security.wire import Session

RULES = f"{PREFIX}rules"
ELSEWHERE = "203.0.113.9"  # an address of documentation: nobody's
TAKES_EFFECT_S = 10.0
COMES_ABOUT_S = 3.0  # a bound for a topic that is on its way
OPEN_TO_ALL = "allow.everyone.if.no.acl.found"
AUTHORIZERS = {
    "kraft": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "zookeeper": "kafka.security.authorizer.AclAuthorizer",
}


def becomes(session: Session, *, denied: bool, topic: str = TOPIC) -> bool:
    """Whether describing the topic comes to be denied, or allowed, in time."""
    question = requests.metadata(topic)
    return wait_until(lambda: refused(asked(session, question)) is denied, timeout_s=TAKES_EFFECT_S, every_s=0.1)


@check(
    42, "Rules are weighed as they should be", tried="a user of the proof with a rule for another address, for its "
    "own, for a longer prefix, and with a denial beside a permission", where=HERE,
    expected="another address and a longer prefix allow nothing, a denial beats a permission", fix="Upgrade Kafka.",
)  # fmt: skip
def weighed(scene: Scene, see: Evidence) -> None:
    stage = scene.stage
    stage.add_user(RULES)
    stage.await_everywhere(RULES)
    with stage.session(RULES, stage.home()) as session:
        own = session.channel.getsockname()[0]
        cases: list[tuple[str, Acl, bool]] = [
            ("for another address", Acl(RULES, "Topic", TOPIC, "Describe", host=ELSEWHERE), True),
            ("for a longer prefix", Acl(RULES, "Topic", f"{TOPIC}-long", "Describe", pattern="prefixed"), True),
            (f"for its own address {own}", Acl(RULES, "Topic", TOPIC, "Describe", host=own), False),
            ("for every address", Acl(RULES, "Topic", TOPIC, "Describe"), False),
        ]
        for told, acl, denied in cases:
            stage.grant(acl)
            # The last rule of the same request shows that brokers know it: they take them in order.
            marker = Acl(RULES, "Topic", f"{PREFIX}marker", "Describe")
            stage.grant(marker)
            known = becomes(session, denied=False, topic=f"{PREFIX}marker")
            codes = asked(session, requests.metadata(TOPIC))
            if denied:
                see.expect(refused(codes), f"a permission {told}: {said(codes)}")
            else:
                see.twin(not refused(codes), f"a permission {told}: {said(codes)}")
            see.twin(known, "the broker has heard of the rule")
            stage.revoke(marker, *([acl] if acl.host != "*" or acl.pattern == "prefixed" else []))
            becomes(session, denied=True, topic=f"{PREFIX}marker")
        denial = Acl(RULES, "Topic", TOPIC, "Describe", permission="Deny")
        stage.grant(denial)
        see.expect(becomes(session, denied=True), "a denial beside the permission for every address")
        stage.revoke(denial)


@check(
    43, "What has no rule is closed", tried="Metadata and Produce for names that no ACL covers, as the user without "
    "rights; DescribeConfigs of every broker and controller", where=HERE,
    expected="an authorization error; the administrator hears that there is no such topic",
    fix=f"{OPEN_TO_ALL}=false",
)  # fmt: skip
def no_rule(scene: Scene, see: Evidence) -> None:
    name = f"no-rule-{time.time_ns():x}"
    for host in staged(scene):
        with apart(see, host.name):
            for user in (DENIED, OK):
                with scene.stage.session(user, host) as session:
                    for question in (requests.metadata(name), requests.produce(name)):
                        codes = asked(session, question)
                        see.expect(refused(codes), f"{host.name}: {user}: {question.told}: {said(codes)}")
            codes = asked(scene.admin(host), requests.metadata(name))
            see.twin(codes == [UNKNOWN_TOPIC], f"{host.name}: administrator: {said(codes)}")
    for host, found in scene.in_force(see):
        # A broker shows no value of a setting that is the authorizer's own; one that does must not show this one.
        value = found.get(OPEN_TO_ALL)
        if value is not None:
            see.expect(value == "false", f"{host.name}: {OPEN_TO_ALL}={value}")


@check(
    44, "The authorizer is the one that keeps its rules in the cluster", tried="DescribeConfigs of every broker and "
    "controller", where=HERE, expected="StandardAuthorizer (KRaft) or AclAuthorizer (ZooKeeper) on each",
    fix="authorizer.class.name; the play sets it.",
)  # fmt: skip
def authorizer(scene: Scene, see: Evidence) -> None:
    _each(scene, see, scene.nodes, "authorizer.class.name", lambda value: value == AUTHORIZERS[scene.cluster.mode])


def _each(scene: Scene, see: Evidence, hosts: Sequence[Host], name: str, well: Callable[[str], bool]) -> None:
    for host, found in scene.in_force(see, hosts):
        value = found.get(name) or ""
        see.expect(well(value), f"{host.name}: {name}={value}")


@check(
    45, "Super users are exactly the declared ones", tried="what needs no rule only for super users, as the "
    "administrator and as every other declared user; what the service was started with, as second witness",
    where=f"{HERE}; each host", expected="the administrator may, nobody else; no other name was given to the service",
    fix="kafka_super_users in the inventory, then playbooks/site.yml.",
)  # fmt: skip
def super_users(scene: Scene, see: Evidence) -> None:
    content = scene.cluster.content
    ruled = {acl.principal for acl in scene.stage.acls() if acl.resource == "Cluster"}
    for user in [name for name in content["users"] if name not in ruled]:
        for host in scene.cluster.brokers:
            with scene.logged_in(user, scene.password(user), host) as session:
                codes = asked(session, requests.describe_acls())
            told = f"{host.name}: {user}: DescribeAcls: {said(codes)}"
            if user in content["super_users"]:
                see.twin(codes == [0], told)
            else:
                see.expect(refused(codes), told)
    declared = {f"User:{name}" for name in content["super_users"]}
    spared = sorted(ruled & set(content["users"]))
    beside = f"; with rules of their own on the cluster, so not tried: {spared}" if spared else ""
    for host, look in looks(scene, see, scene.nodes):
        given = {one for line in look.lines("super") for one in line.partition("=")[2].split(";") if one}
        told = f"{host.name}: started with {sorted(given)}, declared {sorted(declared)}{beside}"
        see.expect(given == declared, told)


@check(
    46, "The rules are exactly the declared ones", tried="DescribeAcls as the administrator", where=HERE,
    expected="every ACL but the proof's own is declared in cluster.json, and every declared one is there",
    fix="playbooks/access.yml adds what is missing, and removes strays with -e kafka_remove_strays=true.",
)  # fmt: skip
def declared_acls(scene: Scene, see: Evidence) -> None:
    there = {acl for acl in scene.stage.acls() if not acl.principal.startswith(PREFIX)}
    wanted = {
        Acl(
            a["principal"], a["resource_type"], a["resource_name"], a["operation"], a["permission"], a["pattern"],
            a["host"],
        )
        for a in scene.cluster.content["acls"]
    }  # fmt: skip
    see.fine(f"{len(there & wanted)} of {len(wanted)} declared ACLs are there")
    for acl in sorted(there - wanted):
        see.wrong(f"not declared: {shown(acl)}")
    for acl in sorted(wanted - there):
        see.wrong(f"declared and not there: {shown(acl)}")


def shown(acl: Acl) -> str:
    return (
        f"{acl.principal}@{acl.host}: {acl.permission} {acl.operation} on {acl.resource} {acl.name} ({acl.pattern})"
    )  # fmt: skip


@check(
    47, "Topics do not come about by being named", tried="Metadata that allows creation, by a user that may create; "
    "then without, as the administrator; DescribeConfigs", where=HERE,
    expected="no such topic afterwards; auto.create.topics.enable=false",
    fix="auto.create.topics.enable=false",
)  # fmt: skip
def auto_create(scene: Scene, see: Evidence) -> None:
    name = f"{PREFIX}auto-{time.time_ns():x}"
    for host in scene.cluster.brokers:
        with scene.stage.session(OK, host) as session:
            codes = asked(session, requests.metadata(name, create=True))
        see.expect(codes == [UNKNOWN_TOPIC], f"{host.name}: {said(codes)}")
    # Controllers make none by themselves, whatever they are told.
    _each(scene, see, scene.cluster.brokers, "auto.create.topics.enable", lambda value: value == "false")
    # Whoever makes it first says that there is none.
    question = requests.metadata(name)
    admin = scene.stage.admin
    came = wait_until(lambda: asked(admin, question) != [UNKNOWN_TOPIC], timeout_s=COMES_ABOUT_S, every_s=0.2)
    told = f"{COMES_ABOUT_S:.0f} s later the administrator hears of {'it' if came else 'no such topic'}"
    see.expect(not came, told)
    codes = asked(scene.stage.admin, requests.metadata(TOPIC))
    see.twin(codes == [0], f"a topic that was made is there: {said(codes)}")


@check(
    48, "A removed right is gone in seconds", tried="grant a right to a user of the proof, use it, remove it, and try "
    "at every broker", where=HERE, expected=f"denied everywhere within {TAKES_EFFECT_S:.0f} s",
    fix="Look whether every broker follows the metadata log.",
)  # fmt: skip
def removal(scene: Scene, see: Evidence) -> None:
    stage, name = scene.stage, f"{PREFIX}right"
    right = Acl(OK, "Topic", TOPIC, "Describe")
    stage.add_user(name)
    stage.await_everywhere(name)
    right = Acl(name, "Topic", TOPIC, "Describe")
    sessions = {host.name: stage.session(name, host) for host in scene.cluster.brokers}
    try:
        stage.grant(right)
        for host, session in sessions.items():
            see.twin(becomes(session, denied=False), f"{host}: it is allowed first")
        began_s = time.monotonic()
        stage.revoke(right)
        for host, session in sessions.items():
            well = becomes(session, denied=True)
            see.expect(well, f"{host}: denied {time.monotonic() - began_s:.2f} s after the removal")
    finally:
        for session in sessions.values():
            session.close()


@check(
    49, "Denials are written down", tried="a denied Fetch of a topic that only this run names, at every broker, then a "
    "look into the log files that its process holds open", where="each broker's host",
    expected="the denial is there, with user and topic",
    fix="Logger kafka.authorizer.logger at INFO.",
)  # fmt: skip
def written_down(scene: Scene, see: Evidence) -> None:
    for host in scene.cluster.brokers:
        if host.login is None:
            see.unknown(f"{host.name}: there is no ssh access to it")
            continue
        name = f"{PREFIX}denied-{time.time_ns():x}"  # what an earlier run was denied is no witness
        with scene.stage.session(DENIED, host) as session:
            codes = asked(session, requests.fetch(name))
        see.twin(refused(codes), f"{host.name}: Fetch is denied: {said(codes)}")
        lines = _logged(host, denials(scene.cluster.service, name))
        see.expect(bool(lines), f"{host.name}: {lines[0][:200] if lines else 'no word of it in its log files'}")


def _logged(host: Host, script: str) -> list[str]:
    """What it prints, which may take a moment to be written."""
    lines: list[str] = []

    def there() -> bool:
        lines[:] = over_ssh(host, script, timeout_s=30.0).splitlines()
        return bool(lines)

    wait_until(there, timeout_s=5.0, every_s=0.5)
    return lines


def denials(service: str, topic: str) -> str:
    """For a host's shell: the last line that tells of the denied user and this topic."""
    return (
        f"pid=$(systemctl show -p MainPID --value {shlex.quote(service)})\n"
        # What is named by twenty digits is data, and there may be gigabytes of it.
        "find /proc/$pid/fd -type l -printf '%l\\n' | grep '[.]log$' | grep -Ev '/[0-9]{20}[.]log$' | sort -u | "
        f"xargs -r grep -ahi 'User:{DENIED} .*denied' | grep -F {shlex.quote(topic)} | tail -n 1\nexit 0\n"
    )
