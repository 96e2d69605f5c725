"""Kafka's protocol messages, as kafka-python writes and reads them: the one place that imports that library.

Only its message layer is used (docs/adr/0025). Without the library the names are missing, and `LIBRARY_ERROR` says why,
so that a module can name what to install instead of dying at import.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback

__all__ = [
    "ILLEGAL_SASL_STATE",
    "LIBRARY",
    "LIBRARY_ERROR",
    "NOT_CONTROLLER",
    "NO_ERROR",
    "NO_REASSIGNMENT_IN_PROGRESS",
    "RESOURCE_NOT_FOUND",
    "SASL_AUTHENTICATION_FAILED",
    "SECURITY_DISABLED",
    "THROTTLING_QUOTA_EXCEEDED",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "UNSUPPORTED_SASL_MECHANISM",
    "AlterClientQuotasRequest",
    "AlterPartitionReassignmentsRequest",
    "AlterUserScramCredentialsRequest",
    "ApiVersionsRequest",
    "CreateAclsRequest",
    "CreatePartitionsRequest",
    "CreateTopicsRequest",
    "DeleteAclsRequest",
    "DeleteTopicsRequest",
    "DescribeAclsRequest",
    "DescribeClientQuotasRequest",
    "DescribeClusterRequest",
    "DescribeConfigsRequest",
    "DescribeQuorumRequest",
    "DescribeUserScramCredentialsRequest",
    "IncrementalAlterConfigsRequest",
    "ListPartitionReassignmentsRequest",
    "MetadataRequest",
    "SaslAuthenticateRequest",
    "SaslHandshakeRequest",
    "error_name",
    "for_code",
]

LIBRARY = "kafka-python >= 3"
LIBRARY_ERROR: str | None = None

# kafka-python's top package imports all of its clients, which takes three times as long as the messages themselves, at
# each run of each module. A package that knows its folder is enough to import from it; later imports see the real one.
_SPEC = None if "kafka" in sys.modules else importlib.util.find_spec("kafka")
if _SPEC:
    sys.modules["kafka"] = importlib.util.module_from_spec(_SPEC)
try:
    from kafka.errors import for_code
    from kafka.protocol.admin import (
        AlterClientQuotasRequest,
        AlterPartitionReassignmentsRequest,
        AlterUserScramCredentialsRequest,
        CreateAclsRequest,
        CreatePartitionsRequest,
        CreateTopicsRequest,
        DeleteAclsRequest,
        DeleteTopicsRequest,
        DescribeAclsRequest,
        DescribeClientQuotasRequest,
        DescribeClusterRequest,
        DescribeConfigsRequest,
        DescribeQuorumRequest,
        DescribeUserScramCredentialsRequest,
        IncrementalAlterConfigsRequest,
        ListPartitionReassignmentsRequest,
    )
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
    from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
except ImportError:
    LIBRARY_ERROR = traceback.format_exc()
finally:
    if _SPEC:
        del sys.modules["kafka"]

# Error codes that are acted upon; all others are only named.
NO_ERROR = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
UNSUPPORTED_SASL_MECHANISM = 33
ILLEGAL_SASL_STATE = 34
NOT_CONTROLLER = 41
SECURITY_DISABLED = 54
SASL_AUTHENTICATION_FAILED = 58
NO_REASSIGNMENT_IN_PROGRESS = 85
THROTTLING_QUOTA_EXCEEDED = 89
RESOURCE_NOT_FOUND = 91


def error_name(code: int) -> str:
    """UNKNOWN_TOPIC_OR_PARTITION rather than 3."""
    error = for_code(code)
    return str(getattr(error, "message", "") or error.__name__)
