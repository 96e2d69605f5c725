"""What a client may ask for, as messages: each with the place of the codes in its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeTransactionsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest, WriteTxnMarkersRequest
from kafka.record import MemoryRecordsBuilder

BOUND_MS = 5000
TOPIC_CONFIG, BROKER_CONFIG = 2, 4
SET = 0
Codes = Callable[[Any], list[int]]


@dataclass(frozen=True)
class Question:
    """One request that needs one right."""

    told: str
    make: Callable[[], Any]
    version: int
    codes: Codes


def _record() -> bytes:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1024)
    builder.append(timestamp=None, key=None, value=b"kastellan", headers=[])
    builder.close()
    return bytes(builder.buffer())


def _code(answer: Any) -> list[int]:
    return [answer.error_code]


def produce(topic: str) -> Question:
    return Question(
        "Produce",
        lambda: ProduceRequest(
            transactional_id=None, acks=1, timeout_ms=BOUND_MS, topic_data=[(topic, [(0, _record())])]
        ),
        8,
        lambda a: [p.error_code for t in a.responses for p in t.partition_responses],
    )  # fmt: skip


def fetch(topic: str, replica: int = -1, partition: int = 0) -> Question:
    return Question(
        "Fetch",
        lambda: FetchRequest(
            replica_id=replica, max_wait_ms=100, min_bytes=0, max_bytes=1 << 20, isolation_level=0, session_id=0,
            session_epoch=-1, topics=[(topic, [(partition, -1, 0, -1, 1 << 16)])], forgotten_topics_data=[], rack_id="",
        ),
        11,
        lambda a: [c for c in [a.error_code, *(p.error_code for t in a.responses for p in t.partitions)] if c] or [0],
    )  # fmt: skip


def offsets(topic: str) -> Question:
    return Question(
        "ListOffsets",
        lambda: ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=[(topic, [(0, -1, -1)])]),
        5,
        lambda a: [p.error_code for t in a.topics for p in t.partitions],
    )


def metadata(topic: str, *, create: bool = False) -> Question:
    return Question(
        "Metadata",
        lambda: MetadataRequest(topics=[(topic,)], allow_auto_topic_creation=create),
        9,
        lambda a: [t.error_code for t in a.topics],
    )


def create(topic: str, *, try_only: bool = True) -> Question:
    return Question(
        "CreateTopics",
        lambda: CreateTopicsRequest(topics=[(topic, 1, 1, [], [])], timeout_ms=BOUND_MS, validate_only=try_only),
        5,
        lambda a: [t.error_code for t in a.topics],
    )


def delete(topic: str) -> Question:
    return Question(
        "DeleteTopics", lambda: DeleteTopicsRequest(topic_names=[topic], timeout_ms=BOUND_MS), 5,
        lambda a: [t.error_code for t in a.responses],
    )  # fmt: skip


def partitions(topic: str, count: int) -> Question:
    return Question(
        "CreatePartitions",
        lambda: CreatePartitionsRequest(topics=[(topic, count, None)], timeout_ms=BOUND_MS, validate_only=True),
        2,
        lambda a: [r.error_code for r in a.results],
    )


def delete_records(topic: str) -> Question:
    return Question(
        "DeleteRecords", lambda: DeleteRecordsRequest(topics=[(topic, [(0, 0)])], timeout_ms=BOUND_MS), 1,
        lambda a: [p.error_code for t in a.topics for p in t.partitions],
    )  # fmt: skip


def alter_configs(kind: int, name: str, key: str, value: str) -> Question:
    return Question(
        "IncrementalAlterConfigs",
        lambda: IncrementalAlterConfigsRequest(resources=[(kind, name, [(key, SET, value)])], validate_only=True),
        1,
        lambda a: [r.error_code for r in a.responses],
    )


def describe_configs(kind: int, name: str) -> Question:
    return Question(
        "DescribeConfigs",
        lambda: DescribeConfigsRequest(
            resources=[(kind, name, None)], include_synonyms=False, include_documentation=False
        ),
        4,
        lambda a: [r.error_code for r in a.results],
    )


def commit(group: str, topic: str) -> Question:
    return Question(
        "OffsetCommit",
        lambda: OffsetCommitRequest(
            group_id=group, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None,
            topics=[(topic, [(0, 0, -1, "")])],
        ),
        7,
        lambda a: [p.error_code for t in a.topics for p in t.partitions],
    )  # fmt: skip


def committed(group: str, topic: str) -> Question:
    return Question(
        "OffsetFetch",
        lambda: OffsetFetchRequest(group_id=group, topics=[(topic, [0])]),
        5,
        lambda a: [a.error_code],
    )


def describe_group(group: str) -> Question:
    return Question(
        "DescribeGroups",
        lambda: DescribeGroupsRequest(groups=[group], include_authorized_operations=False),
        4,
        lambda a: [g.error_code for g in a.groups],
    )


def delete_group(group: str) -> Question:
    return Question(
        "DeleteGroups",
        lambda: DeleteGroupsRequest(groups_names=[group]),
        1,
        lambda a: [r.error_code for r in a.results],
    )


def begin(transaction: str | None) -> Question:
    return Question(
        "InitProducerId",
        lambda: InitProducerIdRequest(transactional_id=transaction, transaction_timeout_ms=BOUND_MS),
        1,
        _code,
    )


def describe_transaction(transaction: str) -> Question:
    return Question(
        "DescribeTransactions",
        lambda: DescribeTransactionsRequest(transactional_ids=[transaction]),
        0,
        lambda a: [t.error_code for t in a.transaction_states],
    )


def create_acl() -> Question:
    """An ACL that denies a user who does not exist: were it made, it would take nothing from anybody."""
    acl = (2, "kastellan-sec-none", 3, "User:kastellan-sec-none", "*", 3, 2)
    return Question(
        "CreateAcls", lambda: CreateAclsRequest(creations=[acl]), 2, lambda a: [r.error_code for r in a.results]
    )


def describe_acls() -> Question:
    return Question(
        "DescribeAcls",
        lambda: DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1, principal_filter=None,
            host_filter=None, operation=1, permission_type=1,
        ),
        2,
        _code,
    )  # fmt: skip


def log_dirs() -> Question:
    return Question("DescribeLogDirs", lambda: DescribeLogDirsRequest(topics=[]), 4, _code)


def reassign() -> Question:
    """Nothing is named, so nothing would be moved."""
    return Question(
        "AlterPartitionReassignments",
        lambda: AlterPartitionReassignmentsRequest(timeout_ms=BOUND_MS, topics=[]),
        0,
        _code,
    )


def quorum() -> Question:
    return Question(
        "DescribeQuorum",
        lambda: DescribeQuorumRequest(topics=[("__cluster_metadata", [(0,)])]),
        0,
        lambda a: [c for c in [a.error_code, *(p.error_code for t in a.topics for p in t.partitions)] if c] or [0],
    )


def markers(topic: str) -> Question:
    """Of a transaction that is nobody's."""
    return Question(
        "WriteTxnMarkers",
        lambda: WriteTxnMarkersRequest(markers=[(987654321987, 0, False, [(topic, [0])], 0)]),
        1,
        lambda a: [p.error_code for m in a.markers for t in m.topics for p in t.partitions],
    )
