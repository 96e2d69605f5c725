"""Checks that may fail because cluster.json says why (`security_waivers`): told as waived, never as passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from validate.security.registry import CHECKS, FAILED, PASSED, WAIVED

if TYPE_CHECKING:
    from validate.cluster import Cluster

KEY = "security_waivers"


def waivers(cluster: Cluster) -> dict[int, str]:
    """Number -> reason. Asked before anything is tried, so that a slip in it does not cost a run."""
    found: dict[int, str] = {}
    for entry in cluster.content.get(KEY) or ():
        number, reason = entry["check"], entry["reason"].strip()
        if number not in CHECKS:
            raise _wrong(f"There is no security check {number} to waive.", f"They are 1 to {max(CHECKS)}.")
        if number in found:
            raise _wrong(f"Security check {number} is waived twice.", "Keep one entry.")
        if not reason:
            raise _wrong(f"Security check {number} is waived without a reason.", "Say why, for who reads the report.")
        found[number] = reason
    return found


def _wrong(brief: str, resolution: str) -> UsageError:
    place = f"It stands in {KEY} of cluster.json (kafka_security_waivers of the inventory)."
    return UsageError(brief, details=place, resolution=resolution)


def apply(result: dict[str, Any], reason: str | None) -> None:
    """A failure with a reason is waived; what is unknown stays so, for nobody knows what there is to waive."""
    if reason is None:
        return
    if result["verdict"] == FAILED:
        result.update(verdict=WAIVED, seen=[f"waived: {reason}", *result["seen"]])
    elif result["verdict"] == PASSED:
        result["seen"] = [*result["seen"], f"it needs no waiver any more, and has one: {reason}"]
