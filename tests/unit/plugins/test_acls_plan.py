"""What is planned for ACLs, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.module_utils import acls
from plugins.module_utils.acls import Acl
from plugins.module_utils.errors import BadInputError

READ = Acl("User:u", "allow", "read", "topic", "orders", "literal", "*")


def entry(**more: Any) -> dict[str, Any]:
    return {"principal": "u", "resource_type": "topic", "name": "orders", "operations": ["read"]} | more


def lines(items: list[dict[str, Any]], existing: set[Acl], **more: Any) -> list[str]:
    return [change.line for change in acls.plan(acls.parse(items, ()), existing, **more)]


def test_what_is_there_needs_nothing() -> None:
    assert lines([entry()], {READ}) == []


@pytest.mark.parametrize("principal", ["u", "User:u"])
def test_the_kind_of_a_principal_is_added_where_it_is_missing(principal: str) -> None:
    assert acls.parse([entry(principal=principal)], ()).present == {READ}


def test_each_operation_is_an_acl() -> None:
    assert lines([entry(operations=["read", "Describe"])], set()) == [
        "create ACL: User:u allow describe on topic orders",
        "create ACL: User:u allow read on topic orders",
    ]


@pytest.mark.parametrize(
    "other",
    [
        READ._replace(host="10.0.0.1"),
        READ._replace(pattern_type="prefixed"),
        READ._replace(permission="deny"),
        READ._replace(principal="Group:u"),
        READ._replace(resource_type="group"),
    ],
)
def test_every_part_counts(other: Acl) -> None:
    assert lines([entry()], {other}) == ["create ACL: User:u allow read on topic orders"]
    assert acls.strays(acls.parse([entry()], ()), {other}, protected=(), ignored=()) == [other]


def test_denials_come_first_and_leave_last() -> None:
    deny, allow = READ._replace(permission="deny", name="old"), READ._replace(name="old")
    items = [entry(), entry(principal="v", permission="deny")]
    assert lines(items, {deny, allow}, remove=[deny, allow]) == [
        "create ACL: User:v deny read on topic orders",
        "create ACL: User:u allow read on topic orders",
        "delete ACL: User:u allow read on topic old",
        "delete ACL: User:u deny read on topic old",
    ]


def test_absent_removes_what_is_there_only() -> None:
    items = [entry(operations=["read", "write"], state="absent")]
    assert lines(items, {READ}) == ["delete ACL: User:u allow read on topic orders"]


def test_protected_principals_are_no_strays_and_keep_their_acls() -> None:
    declared = acls.parse([], ())
    assert acls.strays(declared, {READ}, protected={"User:u"}, ignored=()) == []
    assert acls.strays(declared, {READ}, protected=(), ignored=["u"]) == []
    with pytest.raises(BadInputError, match="The ACLs of User:u are protected"):
        acls.parse([entry(state="absent")], {"User:u"})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (entry(name=None), "An ACL of 'u' names no topic.\nSet name, e.g. '*' for all."),
        (
            entry(resource_type="cluster", name="mine"),
            "There is no cluster 'mine'.\nLeave name and pattern_type out.",
        ),
        (
            entry(resource_type="group", operations=["write"]),
            """Operation 'write' has no meaning on a group.
Choose among alter_configs, delete, describe, describe_configs, read and all.""",
        ),
        (
            entry(name="*", pattern_type="prefixed"),
            """An ACL of 'u' has the prefix '*', which is a name that begins with a star.
For all names set pattern_type: literal.""",
        ),
        (entry(operations=[]), "An ACL of 'u' on topic 'orders' has no operations."),
        (
            entry(operations=["read", "read"]),
            "Operations of 'u' on topic 'orders' declared more than once: read.\nKeep one entry for each.",
        ),
    ],
)
def test_bad_input_is_refused_with_what_to_do(item: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        acls.parse([item], ())
    assert str(caught.value) == message


def test_the_same_acl_twice_is_refused_also_as_present_and_absent() -> None:
    for state in ("present", "absent"):
        with pytest.raises(BadInputError, match="ACLs declared more than once"):
            acls.parse([entry(), entry(principal="User:u", state=state)], ())


def test_the_cluster_needs_no_name() -> None:
    (acl,) = acls.parse([entry(resource_type="cluster", name=None, operations=["alter"])], ()).present
    assert acl.name == "kafka-cluster"


ACLS = st.builds(
    Acl, st.sampled_from(["User:u", "User:v"]), st.sampled_from(["allow", "deny"]), st.sampled_from(["read", "all"]),
    st.just("topic"), st.sampled_from("ab"), st.sampled_from(["literal", "prefixed"]), st.just("*"),
)  # fmt: skip


@given(st.sets(ACLS), st.sets(ACLS), st.booleans())
def test_a_plan_leads_to_what_is_declared(declared: set[Acl], existing: set[Acl], remove: bool) -> None:
    wanted = acls.Declared(frozenset(declared), frozenset())
    strays = acls.strays(wanted, existing, protected=(), ignored=())
    after = set(existing)
    for change in acls.plan(wanted, existing, remove=strays if remove else ()):
        assert change.acl
        (after.add if change.action == "create" else after.remove)(change.acl)
    assert after == (declared if remove else declared | existing)
