"""Quotas of clients of the proof's own: set for a scenario, and taken away after it.

Neither client library has a call for them, so the message itself is sent (docs/adr/0025 tells of the same elsewhere).
"""

from __future__ import annotations

from typing import Any

from validate.quorum import asked

BOUND_S = 15.0
KEY = "producer_byte_rate"
NO_ERROR = 0


def set_quota(admin: dict[str, Any], client_id: str, bytes_per_s: float | None) -> None:
    """How fast clients of that name may produce, of each broker; None takes the quota away."""
    asked(
        admin,
        BOUND_S,
        lambda client: _sent(client, client_id, bytes_per_s),
        brief=f"The quota of {client_id} could not be {'set' if bytes_per_s else 'taken away'}.",
        resolution="The administrator needs AlterConfigs on the cluster.",
    )


def request(client_id: str, bytes_per_s: float | None) -> Any:
    from kafka.protocol.admin import AlterClientQuotasRequest  # noqa: PLC0415  slow to import

    operation = (KEY, bytes_per_s or 0.0, bytes_per_s is None)
    return AlterClientQuotasRequest(entries=[([("client-id", client_id)], [operation])], validate_only=False)


def _sent(client: Any, client_id: str, bytes_per_s: float | None) -> bool:
    # Brokers of KRaft pass it on; with ZooKeeper it has to go to the controller, and there it goes either way.
    order = client._send_request_to_controller  # noqa: SLF001  there is no public way for a message without a call
    answer = client._manager.run(order, request(client_id, bytes_per_s))  # noqa: SLF001
    wrong = [entry for entry in answer.entries if entry.error_code != NO_ERROR]
    if wrong:
        raise RuntimeError(f"error {wrong[0].error_code}: {wrong[0].error_message}")
    return True
