"""SCRAM users as declared and as they are, and what lies between."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import BadInputError
from .reconcile import Change, is_ignored, refuse_duplicates, short_name
from .scram import ALGORITHMS, ITERATIONS_MAX, ITERATIONS_MIN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .settings import Login

# A user and a mechanism: what Kafka keeps a credential for.
Key = tuple[str, str]


@dataclass(frozen=True)
class User:
    name: str
    present: bool
    mechanisms: tuple[str, ...]
    iterations: int
    password: str = field(repr=False)


@dataclass(frozen=True)
class UserChange(Change):
    key: Key = ("", "")
    iterations: int = 0
    password: str = field(default="", repr=False)


def parse(items: Sequence[Mapping[str, Any]], protected: Collection[str]) -> dict[str, User]:
    """The declared list; `protected` are short names of users that are never removed."""
    users = [_user(item) for item in items]
    refuse_duplicates("Users", (user.name for user in users))
    for user in users:
        if not user.present and user.name in protected:
            raise BadInputError(
                f"User {user.name!r} is protected: it is not removed.",
                resolution="Take it off the list. Protected are the user who connects and protected_users.",
            )
    return {user.name: user for user in users}


def _user(item: Mapping[str, Any]) -> User:
    name = short_name(item["name"])
    present = item.get("state", "present") == "present"
    mechanisms = tuple(item.get("mechanisms") or ())
    iterations = item.get("iterations") or ITERATIONS_MIN
    if not name:
        raise BadInputError("A user has no name.", resolution="Set name.")
    if present and not item.get("password"):
        raise BadInputError(f"User {name!r} has no password.", resolution="Set password; there is no default.")
    if present and not mechanisms:
        raise BadInputError(
            f"User {name!r} has no mechanism.",
            resolution=f"Choose among {', '.join(ALGORITHMS)}, or set state: absent.",
        )
    refuse_duplicates(f"Mechanisms of user {name!r}", mechanisms)
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise BadInputError(
            f"User {name!r}: {iterations} iterations.",
            resolution=f"Kafka takes {ITERATIONS_MIN} to {ITERATIONS_MAX}.",
        )
    return User(name, present, mechanisms, iterations, item.get("password") or "")


def warnings(users: Collection[User]) -> list[str]:
    """Passwords that this module takes as they are, and that other clients may read otherwise."""
    found = []
    for user in users:
        if user.present and unicodedata.normalize("NFC", user.password) != user.password:
            # Kafka compares bytes: the same letter from another keyboard may be other bytes.
            found.append(
                f"The password of user {user.name!r} has accents in decomposed form; typed, it is another one."
            )
        if user.present and user.password[0].isspace():
            reason = "librdkafka and Java's properties files drop that"
            found.append(f"The password of user {user.name!r} begins with white space; {reason}.")
    return found


def to_test(wanted: Mapping[str, User], existing: Mapping[str, Mapping[str, int]]) -> list[Key]:
    """Credentials whose password has to be tried: those that otherwise look as declared."""
    return [
        (name, mechanism)
        for name, user in sorted(wanted.items())
        if user.present
        for mechanism in user.mechanisms
        if existing.get(name, {}).get(mechanism) == user.iterations
    ]


def strays(
    wanted: Mapping[str, User], existing: Collection[str], *, protected: Collection[str], ignored: Sequence[str]
) -> list[str]:
    return sorted(
        name for name in existing if name not in wanted and name not in protected and not is_ignored(name, ignored)
    )


def plan(
    wanted: Mapping[str, User],
    existing: Mapping[str, Mapping[str, int]],
    passwords_right: Mapping[Key, bool],
    *,
    remove: Collection[str] = (),
    login: Login | None = None,
) -> list[UserChange]:
    """What is set comes before what is taken away, so that a user can change mechanisms without being locked out."""
    present = [user for _, user in sorted(wanted.items()) if user.present]
    upserts = [
        change
        for user in present
        for mechanism in user.mechanisms
        if (change := _set(user, mechanism, existing.get(user.name, {}), passwords_right))
    ]
    keep = {(user.name, mechanism) for user in present for mechanism in user.mechanisms}
    named = [name for name in sorted({*wanted, *remove}) if name in existing]
    deletions = [
        _delete((name, mechanism), login)
        for name in named
        for mechanism in sorted(existing[name])
        if (name, mechanism) not in keep
    ]
    return upserts + deletions


def _set(user: User, mechanism: str, have: Mapping[str, int], passwords_right: Mapping[Key, bool]) -> UserChange | None:
    key = (user.name, mechanism)
    common: dict[str, Any] = {"key": key, "iterations": user.iterations, "password": user.password}
    iterations = have.get(mechanism)
    after = {mechanism: {"iterations": user.iterations}}
    if iterations is None:
        line = f"create user {user.name}: {mechanism}, {user.iterations} iterations"
        return UserChange("create", user.name, line, {}, after, **common)
    if iterations != user.iterations:
        line = f"alter user {user.name}: {mechanism}, iterations {iterations} -> {user.iterations}"
        return UserChange("alter", user.name, line, {mechanism: {"iterations": iterations}}, after, **common)
    if not passwords_right[key]:
        line = f"alter user {user.name}: {mechanism}, new password"
        sides = {mechanism: {"password": "(another one)"}}, {mechanism: {"password": "(as declared)"}}
        return UserChange("alter", user.name, line, *sides, **common)
    return None


def _delete(key: Key, login: Login | None) -> UserChange:
    name, mechanism = key
    if login and key == (login.username, login.mechanism):
        raise BadInputError(
            f"The {mechanism} credential of user {name!r} is the one used to connect: it is not removed.",
            resolution="Declare it, or connect with another one.",
        )
    return UserChange("delete", name, f"delete user {name}: {mechanism}", {mechanism: {"present": True}}, {}, key=key)
