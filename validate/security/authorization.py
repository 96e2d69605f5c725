"""Authorization: every operation as somebody who may and as somebody who may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.errors import KastellanError
from common.wait import wait_until
from validate.security import requests
from validate.security.registry import Evidence, apart, check
from validate.security.stage import DENIED, GROUP, OK, PREFIX, TOPIC, TRANSACTION
from validate.security.tunnel import NoTunnel
from validate.security.wire import HELLO_ID, NoAnswer, Session, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from validate.cluster import Host
    from validate.security.requests import Question
    from validate.security.scene import Scene

HERE = "this machine"
ALSO = f"{HERE}; what is refused, from another host as well, and without a name where a listener asks for none"
SETTLE_S = 10.0
AUTHORIZATION_FAILED = frozenset({29, 30, 31, 53, 65})  # topic, group, cluster, transactional id, token
UNKNOWN_TOPIC, NOT_CONTROLLER, TOKENS_OFF = 3, 41, 61
EXPECTED = "answered for the user that has the right, an authorization error for the one that has not"
MENDED = "Look for an ACL that allows too much (kafka-acls.sh --list) and for allow.everyone.if.no.acl.found."
NOBODYS = f"{PREFIX}none"
_HEAD = HELLO_ID + b"\0\x09kastellan"
TOKEN_MS = 10_000  # how long a token lasts, should one come about
# By hand, as the client library has no such messages: version 1 of each, without renewers and for every owner.
TOKEN_CALLS = {
    "DescribeDelegationToken": b"\0\x29\0\x01" + _HEAD + b"\xff\xff\xff\xff",
    "CreateDelegationToken": b"\0\x26\0\x01" + _HEAD + b"\0\0\0\0" + TOKEN_MS.to_bytes(8, "big"),
}


def said(codes: list[int]) -> str:
    return ", ".join(name_of(code) if code else "answered" for code in codes) or "nothing"


def asked(session: Session, question: Question) -> list[int]:
    return question.codes(session.ask(question.make(), question.version))


def refused(codes: list[int]) -> bool:
    return bool(codes) and all(code in AUTHORIZATION_FAILED for code in codes)


def both(
    scene: Scene, see: Evidence, *questions: Question, host: Host | None = None, fine: tuple[int, ...] = (0,),
    elsewhere: bool = True,
) -> None:  # fmt: skip
    """The denied user first: what it is refused must still be there for the other one. `fine`: codes of a success.

    `elsewhere`: from another host as well.
    """
    with scene.stage.session(DENIED, host) as session:
        if not denied(session, see, DENIED, questions):
            return
    strangers(scene, see, host, questions, elsewhere=elsewhere)
    with scene.stage.session(OK, host) as session:
        for question in questions:
            codes = answered(session, question, fine)
            see.twin(bool(codes) and set(codes) <= set(fine), f"{OK}: {question.told}: {said(codes)}")


def denied(session: Session, see: Evidence, who: str, questions: Sequence[Question]) -> bool:
    """False if there was no answer."""
    for question in questions:
        try:
            codes = asked(session, question)
        except NoAnswer as why:
            see.unknown(f"{who}: {question.told}: {why}")
            return False
        see.expect(refused(codes), f"{who}: {question.told}: {said(codes)}")
    return True


def strangers(
    scene: Scene, see: Evidence, host: Host | None, questions: Sequence[Question], *, elsewhere: bool = True
) -> None:
    """The same by nobody, where a listener asks clients for no name, and by the denied user from another host: a rule
    may be for User:ANONYMOUS, or for one address.
    """
    home = host or scene.cluster.brokers[0]
    for target in scene.targets(inner=False, tls_only=False):
        if target.host == home and not target.listener.sasl and target.listener.client_auth != "required":
            with apart(see, f"nobody at {target}"), scene.session(target) as session:
                denied(session, see, f"nobody at {target}", questions)
    other = next((one for one in scene.cluster.hosts if one.login and one != home), None)
    if other is None or not elsewhere:
        return
    way = (other.name, home.name)
    if way in scene.cut_off:
        see.note(f"not tried from {other.name}: {scene.cut_off[way]}")
        return
    try:
        session = scene.stage.session(DENIED, home, via=other)
    except (KastellanError, NoAnswer, OSError) as why:
        told = " ".join(str(why).split()) or type(why).__name__
        see.note(f"not tried from {other.name}: {told}")
        if isinstance(why, NoTunnel | NoAnswer | OSError):  # whoever is refused has been answered
            scene.cut_off[way] = told
        return
    with session:
        denied(session, see, f"{DENIED} from {other.name}", questions)


def staged(scene: Scene) -> Sequence[Host]:
    """The brokers, once the stage stands: if it cannot be built that is told once, and not tried at each of them."""
    _ = scene.stage
    return scene.cluster.brokers


def answered(session: Session, question: Question, fine: tuple[int, ...]) -> list[int]:
    """A success may take a moment on a young cluster; a refusal never gets better by asking again."""
    codes: list[int] = []

    def well() -> bool:
        codes[:] = asked(session, question)
        return refused(codes) or (bool(codes) and set(codes) <= set(fine))

    wait_until(well, timeout_s=SETTLE_S, every_s=0.2)
    return codes


def admin_only(scene: Scene, see: Evidence, *questions: Question, fine: tuple[int, ...] = (0,)) -> None:
    """What no ordinary user may: neither of the proof's users, but the administrator."""
    for user in (DENIED, OK):
        with scene.stage.session(user) as session:
            for question in questions:
                codes = asked(session, question)
                see.expect(refused(codes), f"{user}: {question.told}: {said(codes)}")
    strangers(scene, see, None, questions)
    for question in questions:
        codes = answered(scene.admin(), question, fine)
        see.twin(bool(codes) and set(codes) <= set(fine), f"administrator: {question.told}: {said(codes)}")


@check(
    29, "Reading a topic needs the right", tried="Fetch and ListOffsets as either user, at the leader", where=ALSO,
    expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def topic_read(scene: Scene, see: Evidence) -> None:
    both(scene, see, requests.fetch(TOPIC), requests.offsets(TOPIC), host=scene.stage.home())


@check(
    30, "Writing a topic needs the right", tried="Produce as either user, at the leader", where=ALSO,
    expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def topic_write(scene: Scene, see: Evidence) -> None:
    both(scene, see, requests.produce(TOPIC), host=scene.stage.home())


@check(
    31, "Describing a topic needs the right", tried="Metadata of the topic as either user", where=ALSO,
    expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def topic_describe(scene: Scene, see: Evidence) -> None:
    for number, host in enumerate(staged(scene)):
        # A rule for an address is the cluster's, not a broker's: from elsewhere one of them is asked.
        with apart(see, host.name):
            both(scene, see, requests.metadata(TOPIC), host=host, elsewhere=number == 0)


@check(
    32, "Making and removing topics needs the right", tried="CreateTopics (validated only) and DeleteTopics of a topic "
    "of the proof's own", where=ALSO, expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def topic_create_delete(scene: Scene, see: Evidence) -> None:
    doomed = f"{PREFIX}doomed"
    scene.stage.add_topic(doomed)
    both(scene, see, requests.create(f"{PREFIX}other"), requests.delete(doomed), host=scene.stage.ruler())


@check(
    33, "Altering a topic and its settings needs the right", tried="CreatePartitions and IncrementalAlterConfigs "
    "(validated only), DescribeConfigs, DeleteRecords", where=ALSO, expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def topic_alter(scene: Scene, see: Evidence) -> None:
    alter = requests.alter_configs(requests.TOPIC_CONFIG, TOPIC, "retention.ms", "3600000")
    describe = requests.describe_configs(requests.TOPIC_CONFIG, TOPIC)
    both(scene, see, requests.partitions(TOPIC, 2), alter, describe, host=scene.stage.ruler())
    both(scene, see, requests.delete_records(TOPIC), host=scene.stage.home())


@check(
    34, "Groups need the right", tried="OffsetCommit, OffsetFetch, DescribeGroups, DeleteGroups at the coordinator",
    where=ALSO, expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def groups(scene: Scene, see: Evidence) -> None:
    home = scene.stage.coordinator(GROUP)
    questions = (
        requests.commit(GROUP, TOPIC), requests.committed(GROUP, TOPIC), requests.describe_group(GROUP),
        requests.delete_group(GROUP),
    )  # fmt: skip
    both(scene, see, *questions, host=home)


@check(
    35, "Transactional ids need the right", tried="InitProducerId and DescribeTransactions at the coordinator",
    where=ALSO, expected=EXPECTED, fix=MENDED,
)  # fmt: skip
def transactions(scene: Scene, see: Evidence) -> None:
    home = scene.stage.coordinator(TRANSACTION, transaction=True)
    both(scene, see, requests.begin(TRANSACTION), requests.describe_transaction(TRANSACTION), host=home)


@check(
    36, "Idempotent writing needs the right", tried="InitProducerId without a transaction", where=ALSO,
    expected="refused to who may write nowhere, answered for who may write somewhere", fix=MENDED,
)  # fmt: skip
def idempotent(scene: Scene, see: Evidence) -> None:
    both(scene, see, requests.begin(None))


@check(
    37, "The cluster itself is the administrator's", tried="CreateAcls, AlterPartitionReassignments of nothing, "
    "IncrementalAlterConfigs of a broker (validated only), DescribeAcls, DescribeLogDirs, DescribeConfigs of a broker",
    where=ALSO, expected="refused to both users of the proof, answered for the administrator", fix=MENDED,
)  # fmt: skip
def cluster(scene: Scene, see: Evidence) -> None:
    node = str(scene.cluster.brokers[0].node_id)
    fine = (0, NOT_CONTROLLER)  # with ZooKeeper one broker alone moves replicas
    admin_only(
        scene, see, requests.create_acl(), requests.reassign(),
        requests.alter_configs(requests.BROKER_CONFIG, node, "log.cleaner.threads", "1"), requests.describe_acls(),
        requests.log_dirs(), requests.describe_configs(requests.BROKER_CONFIG, node), fine=fine,
    )  # fmt: skip
    with scene.stage.session(DENIED, scene.stage.ruler()) as session:
        codes = asked(session, requests.create(f"sec{PREFIX}any"))
    see.expect(refused(codes), f"{DENIED}: CreateTopics of any name: {said(codes)}")


@check(
    38, "What brokers do among themselves is theirs", tried="WriteTxnMarkers for a topic that does not exist",
    where=ALSO,
    expected="refused to both users of the proof; the administrator's is answered", fix=MENDED,
)  # fmt: skip
def cluster_action(scene: Scene, see: Evidence) -> None:
    admin_only(scene, see, requests.markers(NOBODYS), fine=(0, UNKNOWN_TOPIC))


@check(
    39, "Delegation tokens are off", tried="DescribeDelegationToken at every broker; CreateDelegationToken, good for "
    "moments, where that was refused", where=HERE, expected="DELEGATION_TOKEN_AUTH_DISABLED from each",
    fix="Remove delegation.token.secret.key; where tokens are used, waive this check.",
)  # fmt: skip
def tokens(scene: Scene, see: Evidence) -> None:
    """A broker tells of tokens by its own settings and has them made by the active controller, so both are asked."""
    for host in scene.cluster.brokers:
        for told, call in TOKEN_CALLS.items():
            with scene.stage.session(DENIED, host) as session:
                answer = session.raw(len(call).to_bytes(4, "big") + call)
            code = int.from_bytes(answer[4:6], "big")
            if code == NOT_CONTROLLER:
                continue  # whoever it is will be asked, too
            said_ = name_of(code) if code else "answered: tokens are on"
            if not see.expect(code == TOKENS_OFF, f"{host.name}: {DENIED}: {told}: {said_}"):
                break  # nobody makes a token where it is shown already that they are on
        with scene.stage.session(DENIED, host) as session:
            see.twin(session.alive(), f"{host.name}: the same user is answered other requests")


@check(
    40, "Who may nothing sees no name", tried="Metadata of all topics as either user, at every broker", where=HERE,
    expected="no topic at all for the one, its own for the other", fix=MENDED,
)  # fmt: skip
def no_names(scene: Scene, see: Evidence) -> None:
    from validate.security.authentication import everything  # noqa: PLC0415

    for host in staged(scene):
        seen = {}
        with apart(see, host.name):
            for user in (DENIED, OK):
                with scene.stage.session(user, host) as session:
                    seen[user] = sorted(topic.name for topic in session.ask(everything(), 9).topics)
            see.expect(not seen[DENIED], f"{host.name}: {DENIED} sees {seen[DENIED] or 'nothing'}")
            see.twin(TOPIC in seen[OK], f"{host.name}: {OK} sees {len(seen[OK])} topics")


@check(
    41, "A client cannot fetch as a replica", tried="Fetch with the id of a broker, by the user that may read",
    where=HERE,
    expected="an authorization error; the same Fetch as a consumer is answered", fix=MENDED,
)  # fmt: skip
def as_replica(scene: Scene, see: Evidence) -> None:
    home = scene.stage.home()
    replica = next((h.node_id for h in scene.cluster.brokers if h != home), 99) or 99
    with scene.stage.session(OK, home) as session:
        codes = asked(session, requests.fetch(TOPIC, replica))
        see.expect(refused(codes), f"{OK} as replica {replica}: {said(codes)}")
        codes = asked(session, requests.fetch(TOPIC))
        see.twin(codes == [0], f"{OK} as a consumer: {said(codes)}")
