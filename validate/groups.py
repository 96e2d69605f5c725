"""Groups: where one is kept, and what its coordinator says of it.

Coordinators are asked with the second client: librdkafka's calls for administrators that go to them end the process if
a connection goes away meanwhile (confluentinc/librdkafka#4605), which was seen on young clusters.
"""

from __future__ import annotations

from typing import Any

from validate.quorum import asked

HASH_BITS = 32
REFUSED, NOT_FOUND = "GroupAuthorizationFailed", "GroupIdNotFound"
NOBODY_IN_IT = ("Empty", "Dead")
# A place that the user has no right on is told by the look at the topics, and one that is gone is no matter of groups.
OF_TOPICS = ("TopicAuthorizationFailed", "UnknownTopicOrPartition")
_SILENT = {
    "brief": "The coordinator of a group does not say what was asked.",
    "resolution": "Look at the brokers' logs, and whether __consumer_offsets is whole.",
}


def java_hash(text: str) -> int:
    """String.hashCode without its sign, as Kafka takes it to find a group's coordinator."""
    value = 0
    for unit in text.encode("ascii"):
        value = (31 * value + unit) % (1 << HASH_BITS)
    return value & 0x7FFFFFFF


def lacking_right(settings: dict[str, Any], group: str, topic: str, bound_s: float) -> str:
    """What this user may not do with the group, `Read` or `Describe`; empty if nothing. It leaves an empty group."""
    right: str = asked(settings, bound_s, lambda client: _lacking(client, group, topic), **_SILENT)
    return right


def _lacking(client: Any, group: str, topic: str) -> str:
    from kafka import TopicPartition  # noqa: PLC0415  slow to import
    from kafka.errors import GroupAuthorizationFailedError  # noqa: PLC0415
    from kafka.structs import OffsetAndMetadata  # noqa: PLC0415

    right = "Read"
    try:
        # A commit of nothing tells whether the group may be read, and leaves a group that can be described.
        told = client.alter_group_offsets(group, {TopicPartition(topic, 0): OffsetAndMetadata(0, "", -1)})
        for error in told.values():
            _well(error.__name__)
        right = "Describe"
        _well(str(client.describe_groups([group])[group]["error"] or ""))
    except (GroupAuthorizationFailedError, PermissionError):
        return right
    return ""


def _well(error: str) -> None:
    if REFUSED in error:
        raise PermissionError(error)
    if error and "NoError" not in error and not any(word in error for word in OF_TOPICS):
        raise RuntimeError(error)


def members(settings: dict[str, Any], group: str, bound_s: float) -> list[dict[str, Any]] | None:
    """Who is in it: client_id, client_host, group_instance_id. Of a group that nobody has heard of: none.

    None: there are members, and who they are is not told. DescribeGroups knows groups of the classic protocol alone; to
    it one whose members have that of KIP-848 does not exist, and it is only listed.
    """
    found: list[dict[str, Any]] | None = asked(settings, bound_s, lambda client: _members(client, group), **_SILENT)
    return found


def _members(client: Any, group: str) -> list[dict[str, Any]] | None:
    told = client.describe_groups([group])[group]
    error = told["error"] or ""
    if NOT_FOUND not in error:
        _well(error)
        found: list[dict[str, Any]] = told["members"]
        return found
    there = [one for one in client.list_groups() if one["group_id"] == group]
    return None if any(one.get("group_state") not in NOBODY_IN_IT for one in there) else []


def remove(settings: dict[str, Any], group: str, bound_s: float) -> None:
    asked(settings, bound_s, lambda client: client.delete_groups([group]), **_SILENT)
