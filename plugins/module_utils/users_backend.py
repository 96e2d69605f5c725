"""Reads SCRAM credentials, finds out by logging in whether passwords are the declared ones, and sets what differs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import messages, users
from .connection import Connection, WrongPasswordError, check_answer
from .errors import KafkaModuleError
from .reconcile import Outcome, Work, protected_principals, refuse_failed, refuse_to_remove_all, short_name, wait_for
from .scram import new_salt, salted_password
from .settings import Login, Settings, parse_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cluster import Cluster
    from .users import Key, User, UserChange

NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
WORDS = {number: word for word, number in NUMBERS.items()}
# Logins at once: enough to hide the network and the 100 ms that a broker holds back a refusal, few enough that no
# broker's limit of connections per address is met.
LOGINS_AT_ONCE = 16


def read(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Users, their mechanisms, and the iterations of each: all that Kafka tells of a credential."""
    answer = cluster.order(
        lambda: messages.DescribeUserScramCredentialsRequest(users=None), lambda answer: [answer.error_code]
    )
    check_answer("the list of users", answer.error_code, answer.error_message)
    return {
        result.user: {
            WORDS.get(info.mechanism, str(info.mechanism)): info.iterations for info in result.credential_infos
        }
        for result in answer.results
    }


def login_settings(cluster: Cluster, login_servers: Sequence[str]) -> Settings:
    """Where passwords are tried: where the module connects itself, unless that is no SASL listener."""
    if login_servers:
        return replace(cluster.settings, servers=tuple(parse_server(server) for server in login_servers), login=None)
    if cluster.settings.login is None:
        raise KafkaModuleError(
            "Passwords cannot be tried where this module connects: that listener has no SASL.",
            resolution="Set login_servers to brokers' addresses of a listener with SASL.",
        )
    return replace(cluster.settings, servers=(cluster.server,), login=None)


def try_passwords(
    settings: Settings, wanted: Mapping[str, User], keys: Sequence[Key], *, timeout_s: float
) -> dict[Key, bool]:
    """Log in with each declared password. Any answer but yes and no is an error: nothing is concluded from it."""

    def right(key: Key) -> bool:
        name, mechanism = key
        with Connection(settings.servers[0], settings, timeout_s=timeout_s) as connection:
            try:
                connection.log_in(Login(mechanism, name, wanted[name].password))
            except WrongPasswordError:
                return False
            return True

    with ThreadPoolExecutor(LOGINS_AT_ONCE) as pool:
        return dict(zip(keys, pool.map(right, keys), strict=True))


def apply(cluster: Cluster, changes: Sequence[UserChange]) -> None:
    """Kafka takes one change of a user in a request: users with several mechanisms need a request for each."""
    rounds: list[list[UserChange]] = []
    counts: dict[str, int] = {}
    for change in changes:
        turn = counts[change.name] = counts.get(change.name, -1) + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(change)
    for batch in rounds:
        _alter(cluster, batch)


def _alter(cluster: Cluster, changes: Sequence[UserChange]) -> None:
    deletions = [(change.name, NUMBERS[change.key[1]]) for change in changes if change.action == "delete"]
    with ThreadPoolExecutor(LOGINS_AT_ONCE) as pool:
        upserts = list(pool.map(_credential, [change for change in changes if change.action != "delete"]))
    answer = cluster.order(
        lambda: messages.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upserts),
        lambda answer: (result.error_code for result in answer.results),
    )
    refuse_failed("users", [(r.user, r.error_code, r.error_message) for r in answer.results])


def _credential(change: UserChange) -> tuple[str, int, int, bytes, bytes]:
    mechanism, salt = change.key[1], new_salt()
    salted = salted_password(mechanism, change.password, salt, change.iterations)
    return change.name, NUMBERS[mechanism], change.iterations, salt, salted


def plan_work(cluster: Cluster, params: Mapping[str, Any]) -> Work:
    """Read, try passwords, check and plan."""
    login = cluster.settings.login
    protected = {short_name(name) for name in protected_principals(params["protected_users"], login)}
    wanted = users.parse(params["users"], protected)
    right: dict[Key, bool] = {}

    def look() -> tuple[list[str], list[UserChange]]:
        existing = read(cluster)
        # A password that was right a moment ago is not tried again while waiting for the others.
        keys = [key for key in users.to_test(wanted, existing) if not right.get(key)]
        if keys:
            settings = login_settings(cluster, params["login_servers"])
            right.update(try_passwords(settings, wanted, keys, timeout_s=params["timeout_s"]))
        strays = users.strays(wanted, existing, protected=protected, ignored=params["ignore_strays"])
        return strays, users.plan(
            wanted, existing, right, remove=strays if params["remove_strays"] else (), login=login
        )

    strays, changes = look()
    tested = len(right)
    refuse_to_remove_all("users", declared=bool(wanted), strays=strays if params["remove_strays"] else [])

    def do() -> None:
        apply(cluster, changes)
        wait_for(
            lambda: [change.line for change in look()[1]],
            timeout_s=params["timeout_s"],
            what="Users did not come to be as planned",
            resolution="Does somebody else change them at this moment?",
        )

    return Work(Outcome(changes, strays, users.warnings(wanted.values()), {"tested": tested}), do)
