"""What is planned for SCRAM users, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from plugins.module_utils import users, users_backend
from plugins.module_utils.errors import BadInputError
from plugins.module_utils.settings import Login

if TYPE_CHECKING:
    from plugins.module_utils.users import Key, UserChange

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
CANARY = "never-shown"


def entry(**more: Any) -> dict[str, Any]:
    return {"name": "alice", "password": CANARY, "mechanisms": [SHA_512], "iterations": 4096} | more


def plan(
    items: list[dict[str, Any]], existing: dict[str, dict[str, int]], right: dict[Key, bool] | None = None, **more: Any
) -> list[UserChange]:
    return users.plan(users.parse(items, ()), existing, right or {}, **more)


def lines(*args: Any, **more: Any) -> list[str]:
    return [change.line for change in plan(*args, **more)]


def test_a_password_that_works_needs_nothing() -> None:
    assert lines([entry()], {"alice": {SHA_512: 4096}}, {("alice", SHA_512): True}) == []


def test_a_password_that_does_not_is_set() -> None:
    (change,) = plan([entry()], {"alice": {SHA_512: 4096}}, {("alice", SHA_512): False})
    assert change.line == "alter user alice: SCRAM-SHA-512, new password"
    assert change.password == CANARY
    assert CANARY not in repr(change) + str(change.before) + str(change.after)


def test_missing_users_and_mechanisms_are_created() -> None:
    assert lines([entry(mechanisms=[SHA_256, SHA_512])], {"alice": {SHA_512: 4096}}, {("alice", SHA_512): True}) == [
        "create user alice: SCRAM-SHA-256, 4096 iterations"
    ]


def test_what_is_set_comes_before_what_is_taken_away() -> None:
    assert lines([entry(mechanisms=[SHA_256])], {"alice": {SHA_512: 4096}}) == [
        "create user alice: SCRAM-SHA-256, 4096 iterations",
        "delete user alice: SCRAM-SHA-512",
    ]


def test_other_iterations_need_no_try() -> None:
    wanted = users.parse([entry(iterations=8192), entry(name="bob")], ())
    existing = {"alice": {SHA_512: 4096}, "bob": {SHA_512: 4096, SHA_256: 4096}}
    assert users.to_test(wanted, existing) == [("bob", SHA_512)]
    assert lines([entry(iterations=8192)], {"alice": {SHA_512: 4096}}) == [
        "alter user alice: SCRAM-SHA-512, iterations 4096 -> 8192"
    ]


def test_absent_removes_all_credentials_of_a_user_that_is_there() -> None:
    item = {"name": "alice", "state": "absent"}
    assert lines([item], {"alice": {SHA_512: 4096, SHA_256: 4096}}) == [
        "delete user alice: SCRAM-SHA-256",
        "delete user alice: SCRAM-SHA-512",
    ]
    assert lines([item], {}) == []


def test_strays_are_removed_only_when_asked() -> None:
    existing = {"old": {SHA_512: 4096}, "admin": {SHA_512: 4096}, "team-a": {SHA_512: 4096}}
    assert users.strays({}, existing, protected={"admin"}, ignored=["team-*"]) == ["old"]
    assert lines([], existing, remove=["old"]) == ["delete user old: SCRAM-SHA-512"]


def test_protected_users_are_never_removed() -> None:
    with pytest.raises(BadInputError, match="User 'alice' is protected"):
        users.parse([{"name": "User:alice", "state": "absent"}], {"alice"})


def test_the_credential_that_connects_is_never_removed() -> None:
    login = Login(SHA_512, "alice", CANARY)
    with pytest.raises(BadInputError, match="is the one used to connect"):
        plan([entry(mechanisms=[SHA_256])], {"alice": {SHA_512: 4096}}, login=login)


def test_one_change_of_a_user_goes_into_a_request() -> None:
    changes = plan([entry(mechanisms=[SHA_256]), entry(name="bob")], {"alice": {SHA_512: 4096}})
    sent: list[list[str]] = []

    class Recorder:
        @staticmethod
        def order(make: Any, _codes: Any) -> Any:
            request = make()
            sent.append(sorted(item[0] for item in (*request.deletions, *request.upsertions)))
            return type("Answer", (), {"results": []})

    users_backend.apply(Recorder(), changes)  # type: ignore[arg-type]
    assert sent == [["alice", "bob"], ["alice"]]


@pytest.mark.parametrize(
    ("text", "words"), [("u\u0308ber", "decomposed form"), (" ber", "begins with white space"), ("\u00fcber ", "")]
)
def test_passwords_that_other_clients_read_otherwise_are_a_warning(text: str, words: str) -> None:
    warning = " ".join(users.warnings(users.parse([entry(password=text)], ()).values()))
    assert words in warning
    assert ("'alice'" in warning) == bool(words)
    assert "ber" not in warning


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([entry(), entry(name="User:alice")], "Users declared more than once: alice.\nKeep one entry for each."),
        ([entry(password="")], "User 'alice' has no password.\nSet password; there is no default."),
        (
            [entry(mechanisms=[])],
            "User 'alice' has no mechanism.\nChoose among SCRAM-SHA-256, SCRAM-SHA-512, or set state: absent.",
        ),
        ([entry(iterations=1000)], "User 'alice': 1000 iterations.\nKafka takes 4096 to 16384."),
        ([entry(iterations=20000)], "User 'alice': 20000 iterations.\nKafka takes 4096 to 16384."),
        ([entry(name="")], "A user has no name.\nSet name."),
    ],
)
def test_bad_input_is_refused_with_what_to_do(items: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        users.parse(items, ())
    assert str(caught.value) == message
