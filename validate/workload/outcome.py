"""What an answer to a send proves. A closed table: all that is not certain is unknown."""

from __future__ import annotations

ACKED = "acked"
REFUSED = "refused"
UNKNOWN = "unknown"

# Certainly not written, whatever the settings. Both sorts of name: the client's own begin with `_`.
_REFUSED = frozenset(
    {
        "_QUEUE_FULL",
        "_PURGE_QUEUE",
        "MSG_SIZE_TOO_LARGE",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    }
)
# Only if nothing was tried before: with retries an earlier try may have been written.
# NOT_ENOUGH_REPLICAS_AFTER_APPEND is not here: it was written.
_REFUSED_ONCE = frozenset({"NOT_ENOUGH_REPLICAS"})


def classify(error: str | None, *, idempotent: bool, retries: int | None) -> str:
    """The outcome of an attempt by the name of its error (None: a delivery report without one)."""
    if error is None:
        return ACKED
    if error in _REFUSED:
        return REFUSED
    if error in _REFUSED_ONCE and not idempotent and retries == 0:
        return REFUSED
    return UNKNOWN
