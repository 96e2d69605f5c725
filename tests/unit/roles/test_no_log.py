"""Whatever is told to a task at -vvv is printed, so a task that is told a password must be under no_log."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from plugins.module_utils import drift

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/handlers/*.yml"), *ROOT.glob("playbooks/*.yml")])
# Where passwords come in, beside what this module answers; what is computed of them, in any role's vars, carries them on.
MODULE = "kastellan.kafka.stack_secrets"
GIVEN = frozenset({"__kafka_given_passwords", "kafka_access_users"})
# What is computed of passwords and carries none, or none that a task is told.
BARE = {
    "__kafka_settings": "it has passwords where PLAIN is on; servers and ports are taken out of it by filters, and the "
    "one text that is made of the whole is written under no_log then",
    "__kafka_context": "the rules that read it answer with problems, which name users alone",
    "__kafka_cluster_id": "it is kept beside the passwords, and is no secret",
}
# Tasks that name a carrier and tell nothing of it.
SILENT = {
    "Say why there are no secrets": "the message of a module that ended before it had any",
    "Say why users were not reconciled": "the same",
    "Name what differs": "of the secrets it says whether some are not there yet",
}
ARGUMENTS_ELSEWHERE = ("import_role", "include_role", "import_tasks", "include_tasks")
NOT_ARGUMENTS = frozenset({
    "block", "changed_when", "failed_when", "name", "no_log", "notify", "register", "rescue", "always", "tags", "until",
    "when",
})  # fmt: skip


class _Loader(yaml.SafeLoader):
    """Ansible's own tags are of no matter here."""


_Loader.add_multi_constructor("!", lambda *_: None)


def read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506  a safe one


def named(words: frozenset[str], text: str) -> bool:
    return any(re.search(rf"\b{word}\b", text) for word in words)


@functools.cache
def sources() -> frozenset[str]:
    every = [task for path in FILES for task, _ in tasks(read(path))]
    return GIVEN | {task["register"] for task in every if MODULE in task}


@functools.cache
def carriers() -> frozenset[str]:
    every: dict[str, str] = {}
    for path in ROOT.glob("roles/*/vars/**/*.yml"):
        for name, value in (read(path) or {}).items():
            every[name] = every.get(name, "") + repr(value)
    found = sources()
    while more := frozenset(n for n, v in every.items() if n not in found and n not in BARE and named(found, v)):
        found |= more
    return found


def tasks(content: Any, *, covered: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every task, and whether it or a block around it is under no_log."""
    for entry in content or []:
        under = covered or bool(entry.get("no_log"))
        for section in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers"):
            yield from tasks(entry.get(section), covered=under)
        yield entry, under


def told(content: Any, words: frozenset[str]) -> set[str]:
    """Names of tasks that are told what these words carry, and are not under no_log."""
    found = set()
    for task, under in tasks(content):
        arguments = {key: value for key, value in task.items() if key not in NOT_ARGUMENTS}
        elsewhere = any(key.rpartition(".")[2] in ARGUMENTS_ELSEWHERE for key in task)
        if not under and not elsewhere and "hosts" not in task and named(words, repr(arguments)):
            found.add(str(task.get("name")))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_task_is_told_a_password_in_the_open(path: Path) -> None:
    assert told(read(path), carriers()) - SILENT.keys() == set()


def test_passwords_are_followed_to_the_tasks_that_write_them() -> None:
    assert {
        "__kafka_passwords",
        "__kafka_admin_properties",
        "__kafka_scram_users",
        "__kafka_client_logins",
        "__spark_defaults",
        "__spark_of_drivers",
    } <= carriers()
    named_somewhere = {name for path in FILES for name in told(without_no_log(read(path)), carriers())}
    assert named_somewhere - SILENT.keys() >= {
        "Write the administrator's login", "Format empty disks", "Make or read the secrets of the stack",
        "Write the bundles of users", "Reconcile users",
        "Write the settings, which hold the secret", "Write the settings of drivers on this machine",
    }  # fmt: skip


def without_no_log(content: Any) -> Any:
    for task, _ in list(tasks(content)):
        task.pop("no_log", None)
    return content


def test_the_settings_are_written_under_no_log_where_they_have_passwords() -> None:
    (task,) = [
        task for task, _ in tasks(read(ROOT / "roles/kafka/tasks/configure.yml")) if "__kafka_files" in repr(task)
    ]  # fmt: skip
    assert task["no_log"] == "{{ __kafka_plain }}"
    assert task["diff"] == "{{ false if __kafka_plain else omit }}"


def test_drift_tells_nothing_of_the_secrets_that_it_is_given() -> None:
    secrets = {"changed": True, "passwords": {"usercc": "pa55word"}, "cluster_id": "x", "msg": ""}
    assert "pa55word" not in str(drift.lines([("secrets", secrets)]))


@pytest.mark.parametrize(
    ("spoilt", "names"),
    [
        ([{"name": "a", "m": {"x": "{{ __kafka_secrets.passwords }}"}}], {"a"}),
        ([{"name": "a", "m": {"x": "{{ __kafka_secrets }}"}, "no_log": True}], set()),
        ([{"name": "a", "m": {"x": "1"}, "loop": "{{ __kafka_secrets }}"}], {"a"}),
        ([{"name": "b", "no_log": True, "block": [{"name": "a", "m": "{{ __kafka_secrets }}"}]}], set()),
        ([{"name": "b", "block": [{"name": "a", "m": "{{ __kafka_secrets }}"}]}], {"a"}),
        ([{"name": "a", "m": {"x": "1"}, "when": "__kafka_secrets is defined"}], set()),
        ([{"name": "a", "m": {"x": "{{ __kafka_secrets_file }}"}}], set()),
    ],
)  # fmt: skip
def test_a_task_that_is_told_one_is_found(spoilt: Any, names: set[str]) -> None:
    assert told(spoilt, sources()) == names
