"""Reads all ACLs of a cluster in one answer, and creates and deletes many in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import acls, messages
from .acls import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES, Acl, AclChange
from .cluster import chunks
from .connection import check_answer
from .errors import KafkaModuleError
from .reconcile import Outcome, Work, protected_principals, refuse_failed, refuse_to_remove_all, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cluster import Cluster

ANY = 1
# The controller of KRaft takes at most 10,000 records a request, and looks through all ACLs for each that is deleted.
ACLS_A_REQUEST = 2_000


def _words(numbers: Mapping[str, int]) -> dict[int, str]:
    return {number: word for word, number in numbers.items()}


RESOURCE_WORDS, OPERATION_WORDS = _words(RESOURCE_TYPES), _words(OPERATIONS)
PERMISSION_WORDS, PATTERN_WORDS = _words(PERMISSIONS), _words(PATTERN_TYPES)


def read(cluster: Cluster) -> set[Acl]:
    answer = cluster.ask(
        messages.DescribeAclsRequest(
            resource_type_filter=ANY, resource_name_filter=None, pattern_type_filter=ANY,
            principal_filter=None, host_filter=None, operation=ANY, permission_type=ANY,
        )
    )  # fmt: skip
    if answer.error_code == messages.SECURITY_DISABLED:
        raise KafkaModuleError(
            "The brokers have no authorizer, so there are no ACLs.",
            resolution="Set authorizer.class.name, and super.users, on brokers and controllers.",
        )
    check_answer("the list of ACLs", answer.error_code, answer.error_message)
    return {
        Acl(
            principal=acl.principal,
            permission=PERMISSION_WORDS.get(acl.permission_type, str(acl.permission_type)),
            operation=OPERATION_WORDS.get(acl.operation, str(acl.operation)),
            resource_type=RESOURCE_WORDS.get(resource.resource_type, str(resource.resource_type)),
            name=resource.resource_name,
            pattern_type=PATTERN_WORDS.get(resource.pattern_type, str(resource.pattern_type)),
            host=acl.host,
        )
        for resource in answer.resources
        for acl in resource.acls
    }


def apply(cluster: Cluster, changes: Sequence[AclChange]) -> None:
    for batch in chunks([change.acl for change in changes if change.action == "create"], ACLS_A_REQUEST):
        _create(cluster, batch)
    for batch in chunks([change.acl for change in changes if change.action == "delete"], ACLS_A_REQUEST):
        _delete(cluster, batch)


def _create(cluster: Cluster, acls: Sequence[Acl]) -> None:
    answer = cluster.order(
        lambda: messages.CreateAclsRequest(creations=[
            messages.CreateAclsRequest.AclCreation(
                resource_type=RESOURCE_TYPES[acl.resource_type],
                resource_name=acl.name,
                resource_pattern_type=PATTERN_TYPES[acl.pattern_type],
                principal=acl.principal,
                host=acl.host,
                operation=OPERATIONS[acl.operation],
                permission_type=PERMISSIONS[acl.permission],
            )
            for acl in acls
        ]),
        lambda answer: (result.error_code for result in answer.results),
    )  # fmt: skip
    results = zip(acls, answer.results, strict=True)
    refuse_failed("to create ACLs", [(str(acl), r.error_code, r.error_message) for acl, r in results])


def _delete(cluster: Cluster, acls: Sequence[Acl]) -> None:
    answer = cluster.order(
        lambda: messages.DeleteAclsRequest(filters=[
            messages.DeleteAclsRequest.DeleteAclsFilter(
                resource_type_filter=_number(RESOURCE_TYPES, acl.resource_type),
                resource_name_filter=acl.name,
                pattern_type_filter=_number(PATTERN_TYPES, acl.pattern_type),
                principal_filter=acl.principal,
                host_filter=acl.host,
                operation=_number(OPERATIONS, acl.operation),
                permission_type=_number(PERMISSIONS, acl.permission),
            )
            for acl in acls
        ]),
        lambda answer: (result.error_code for result in answer.filter_results),
    )  # fmt: skip
    results = zip(acls, answer.filter_results, strict=True)
    refuse_failed("to delete ACLs", [(str(acl), r.error_code, r.error_message) for acl, r in results])


def _number(numbers: Mapping[str, int], word: str) -> int:
    """A newer Kafka may have kinds that have no word here: those are shown, and deleted, by their number."""
    return numbers.get(word) or int(word)


def plan_work(cluster: Cluster, params: Mapping[str, Any]) -> Work:
    """Read, check and plan."""
    protected = protected_principals(params["protected_principals"], cluster.settings.login)
    declared = acls.parse(params["acls"], protected)

    def look() -> tuple[list[Acl], list[AclChange]]:
        existing = read(cluster)
        strays = acls.strays(declared, existing, protected=protected, ignored=params["ignore_strays"])
        return strays, acls.plan(declared, existing, remove=strays if params["remove_strays"] else ())

    strays, changes = look()
    names = [str(stray) for stray in strays]
    refuse_to_remove_all("ACLs", declared=bool(params["acls"]), strays=names if params["remove_strays"] else [])

    def do() -> None:
        apply(cluster, changes)
        wait_for(
            lambda: [change.line for change in look()[1]],
            timeout_s=params["timeout_s"],
            what="ACLs did not come to be as planned",
            resolution="Does somebody else change them at this moment?",
        )

    return Work(Outcome(changes, names), do)
