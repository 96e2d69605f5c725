"""Users, rights and a topic of the proof's own. All bear one prefix, so what a dead run left is found and removed."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeUserScramCredentialsRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from common.errors import KastellanError
from common.wait import wait_until
from validate.security.wire import NoAnswer, Session, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from validate.cluster import Host
    from validate.security.scene import Listener, Scene

PREFIX = "kastellan-sec-"
OK, DENIED = f"{PREFIX}ok", f"{PREFIX}denied"
TOPIC, GROUP, TRANSACTION = f"{PREFIX}topic", f"{PREFIX}group", f"{PREFIX}transaction"
MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
ITERATIONS = 4096
SETTLE_S = 20.0
UNKNOWN_TOPIC, TOPIC_EXISTS, NO_SUCH_USER = 3, 36, 91

RESOURCES = {"Any": 1, "Topic": 2, "Group": 3, "Cluster": 4, "TransactionalId": 5, "DelegationToken": 6, "User": 7}
OPERATIONS = {
    "Any": 1, "All": 2, "Read": 3, "Write": 4, "Create": 5, "Delete": 6, "Alter": 7, "Describe": 8,
    "ClusterAction": 9, "DescribeConfigs": 10, "AlterConfigs": 11, "IdempotentWrite": 12, "CreateTokens": 13,
    "DescribeTokens": 14, "TwoPhaseCommit": 15,
}  # fmt: skip
PERMISSIONS = {"Any": 1, "Deny": 2, "Allow": 3}
PATTERNS = {"any": 1, "match": 2, "literal": 3, "prefixed": 4}


class NoStage(KastellanError):
    """The proof could not make its own users, rights or topic, so it tried nothing with them."""

    exit_code = 2


@dataclass(frozen=True, order=True)
class Acl:
    principal: str
    resource: str
    name: str
    operation: str
    permission: str = "Allow"
    pattern: str = "literal"
    host: str = "*"

    @property
    def fields(self) -> tuple[Any, ...]:
        return (
            RESOURCES[self.resource], self.name, PATTERNS[self.pattern], f"User:{self.principal}", self.host,
            OPERATIONS[self.operation], PERMISSIONS[self.permission],
        )  # fmt: skip


def _word(table: dict[str, int], number: int) -> str:
    return next((word for word, value in table.items() if value == number), str(number))


class Stage:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.passwords: dict[str, str] = {}

    def ruler(self) -> Host | None:
        """KRaft forwards to the controller from any broker; with ZooKeeper the controlling broker has to be asked."""
        if self.scene.cluster.mode == "kraft":
            return None
        told = self.scene.admin().ask(MetadataRequest(topics=[], allow_auto_topic_creation=False), 9)
        return self.scene.cluster.host_of(told.controller_id)

    @property
    def admin(self) -> Session:
        return self.scene.admin(self.ruler())

    def build(self) -> None:
        self.clear()
        for user in (OK, DENIED):
            self.add_user(user)
        rights = [("Topic", TOPIC, one) for one in ("Read", "Write", "Alter", "AlterConfigs", "DescribeConfigs")]
        rights += [("Topic", PREFIX, one) for one in ("Create", "Delete")]
        rights += [("Group", GROUP, one) for one in ("Read", "Delete")]
        rights += [("TransactionalId", TRANSACTION, "Write")]
        prefixed = {PREFIX}
        self.grant(*(Acl(OK, kind, name, one, pattern="prefixed" if name in prefixed else "literal")
                     for kind, name, one in rights))  # fmt: skip
        self.add_topic(TOPIC)
        # Brokers take changes in order: who knows the topic knows the rights and the users before it.
        known = wait_until(lambda: all(map(self._knows, self.scene.cluster.brokers)), timeout_s=SETTLE_S, every_s=0.1)
        if not known:
            raise NoStage(f"Not every broker knows {TOPIC} after {SETTLE_S:.0f} s.")
        self.await_everywhere(DENIED)

    def add_user(self, user: str, password: str = "") -> str:
        """Make it, or give it this (else a new) password."""
        chosen = password or secrets.token_urlsafe(24)
        self.passwords[user] = chosen
        number, algorithm = MECHANISMS[self.scene.mechanism]
        salt = secrets.token_bytes(24)
        salted = hashlib.pbkdf2_hmac(algorithm, chosen.encode(), salt, ITERATIONS)
        request = AlterUserScramCredentialsRequest(
            deletions=[], upsertions=[(user, number, ITERATIONS, salt, salted)]
        )  # fmt: skip
        self._well("user", ((r.error_code, r.error_message) for r in self.admin.ask(request, 0).results))
        return chosen

    def remove_users(self, users: Sequence[str]) -> None:
        found = self.admin.ask(DescribeUserScramCredentialsRequest(users=None), 0).results
        pairs = [(r.user, info.mechanism) for r in found if r.user in users for info in r.credential_infos]
        if pairs:
            request = AlterUserScramCredentialsRequest(deletions=pairs, upsertions=[])
            results = self.admin.ask(request, 0).results
            # A broker may still name one that is gone.
            self._well("user", [(r.error_code, r.error_message) for r in results if r.error_code != NO_SUCH_USER])

    def grant(self, *acls: Acl) -> None:
        answer = self.admin.ask(CreateAclsRequest(creations=[acl.fields for acl in acls]), 2)
        self._well("ACL", ((r.error_code, r.error_message) for r in answer.results))

    def revoke(self, *acls: Acl) -> None:
        answer = self.admin.ask(DeleteAclsRequest(filters=[acl.fields for acl in acls]), 2)
        self._well("ACL", ((r.error_code, r.error_message) for r in answer.filter_results))

    def acls(self) -> list[Acl]:
        """Every ACL of the cluster."""
        answer = self.admin.ask(
            DescribeAclsRequest(
                resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1, principal_filter=None,
                host_filter=None, operation=1, permission_type=1,
            ), 2,
        )  # fmt: skip
        self._well("ACL", [(answer.error_code, answer.error_message)])
        return [
            Acl(
                one.principal.removeprefix("User:"), _word(RESOURCES, r.resource_type), r.resource_name,
                _word(OPERATIONS, one.operation), _word(PERMISSIONS, one.permission_type),
                _word(PATTERNS, r.pattern_type), one.host,
            )
            for r in answer.resources for one in r.acls
        ]  # fmt: skip

    def add_topic(self, name: str) -> None:
        replicas = min(3, len(self.scene.cluster.brokers))
        request = CreateTopicsRequest(topics=[(name, 1, replicas, [], [])], timeout_ms=10_000, validate_only=False)
        answers = self.admin.ask(request, 5).topics
        self._well("topic", [(t.error_code, t.error_message) for t in answers if t.error_code != TOPIC_EXISTS])
        if not wait_until(lambda: self.leader(name) is not None, timeout_s=SETTLE_S, every_s=0.1):
            raise NoStage(f"Topic {name} has no leader after {SETTLE_S:.0f} s.")

    def leader(self, name: str = TOPIC) -> Host | None:
        told = self.scene.admin().ask(MetadataRequest(topics=[(name,)], allow_auto_topic_creation=False), 9)
        topic = told.topics[0]
        if topic.error_code or not topic.partitions or topic.partitions[0].leader_id < 0:
            return None
        return self.scene.cluster.host_of(topic.partitions[0].leader_id)

    def _knows(self, host: Host) -> bool:
        request = MetadataRequest(topics=[(TOPIC,)], allow_auto_topic_creation=False)
        return not self.scene.admin(host).ask(request, 9).topics[0].error_code

    def home(self) -> Host:
        found = self.leader()
        if found is None:
            raise NoStage(f"Topic {TOPIC} has no leader.")
        return found

    def coordinator(self, key: str, *, transaction: bool = False) -> Host:
        """The broker that keeps a group or a transactional id; it may take a moment on a young cluster."""
        found: list[int] = []

        def known() -> bool:
            request = FindCoordinatorRequest(key=key, key_type=int(transaction))
            answer = self.scene.admin().ask(request, 3)
            found[:] = [] if answer.error_code else [answer.node_id]
            return bool(found)

        if not wait_until(known, timeout_s=SETTLE_S, every_s=0.2):
            raise NoStage(f"Nobody coordinates {key}.")
        return self.scene.cluster.host_of(found[0])

    def session(self, user: str, host: Host | None = None, *, via: Host | None = None) -> Session:
        return self.scene.logged_in(user, self.passwords[user], host, via=via)

    def lets_in(self, user: str, password: str, host: Host | None = None, door: Listener | None = None) -> bool:
        try:
            self.scene.logged_in(user, password, host, door=door).close()
        except KastellanError:
            return False
        return True

    def await_everywhere(self, user: str) -> None:
        """Until every broker has heard of the user and of the topic, so that a refusal later is a refusal."""
        waiting = list(self.scene.cluster.brokers)

        def known() -> bool:
            waiting[:] = [host for host in waiting if not self.lets_in(user, self.passwords[user], host)]
            return not waiting

        if not wait_until(known, timeout_s=SETTLE_S, every_s=0.1):
            raise NoStage(f"{waiting[0].name} does not know user {user} after {SETTLE_S:.0f} s.")

    def clear(self) -> None:
        """Whatever bears the prefix, of this run or of one that died."""
        refused = []
        for removal in (self._clear_acls, self._clear_users, self._clear_topics):
            try:
                removal()
            except Exception as error:  # noqa: BLE001  one that stays, however, must not keep the others
                refused.append(" ".join(str(error).split()) or type(error).__name__)
        if refused:
            raise NoStage(f"Not all that begins with {PREFIX} could be removed.", details="; ".join(refused))

    def _clear_acls(self) -> None:
        found = [acl for acl in self.acls() if acl.principal.startswith(PREFIX)]
        if found:
            self.revoke(*found)

    def _clear_users(self) -> None:
        users = self.admin.ask(DescribeUserScramCredentialsRequest(users=None), 0).results
        self.remove_users([r.user for r in users if r.user.startswith(PREFIX)])

    def _clear_topics(self) -> None:
        told = self.admin.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9)
        names = [topic.name for topic in told.topics if (topic.name or "").startswith(PREFIX)]
        if names:
            answers = self.admin.ask(DeleteTopicsRequest(topic_names=names, timeout_ms=10_000), 5).responses
            self._well("topic", [(t.error_code, t.error_message) for t in answers if t.error_code != UNKNOWN_TOPIC])

    def _well(self, what: str, answers: Any) -> None:
        wrong = [(code, message) for code, message in answers if code]
        if wrong:
            raise NoStage(
                f"The cluster refuses the administrator a {what} of the proof's own.",
                details=f"{name_of(wrong[0][0])}: {wrong[0][1] or ''}",
            )


__all__ = ["DENIED", "GROUP", "OK", "PREFIX", "TOPIC", "TRANSACTION", "Acl", "NoAnswer", "NoStage", "Stage"]
