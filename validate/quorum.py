"""The quorum of the controllers, asked with a second client: the first has no call for it."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from common.errors import KastellanError

if TYPE_CHECKING:
    from collections.abc import Callable

# kafka-python tells every lost connection of a broker that is being broken on purpose.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


class ClusterSilent(KastellanError):
    """No answer: whether it is the cluster or the way to it is not known."""

    exit_code = 2


def ask_quorum(settings: dict[str, Any], bound_s: float) -> tuple[int, dict[int, int]]:
    """Its leader, and each voter's end of the metadata log. Settings are librdkafka's."""
    told = asked(
        settings,
        bound_s,
        lambda client: client.describe_metadata_quorum()["topics"][0]["partitions"][0],
        brief="The quorum does not say how it is.",
        resolution="Look at the controllers' logs.",
    )
    return told["leader_id"], {v["replica_id"]: v["log_end_offset"] for v in told["current_voters"]}


def asked(
    settings: dict[str, Any], bound_s: float, question: Callable[[Any], Any], *, brief: str, resolution: str
) -> Any:
    """The answer to a question to kafka-python's administrator; ClusterSilent without one."""
    answer: list[Any] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            answer.append(_ask(settings, bound_s, question))
        except Exception as error:  # noqa: BLE001  handed to who waits
            errors.append(error)

    # In a thread that can be left behind: kafka-python waits without end for the TLS handshake of a broker that takes
    # connections and says nothing, as a paused one does.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(bound_s)
    if not answer:
        told = f"{type(errors[0]).__name__}: {errors[0]}" if errors else f"no answer within {bound_s:.0f} s"
        raise ClusterSilent(brief, details=told, resolution=resolution)
    return answer[0]


def _ask(settings: dict[str, Any], bound_s: float, question: Callable[[Any], Any]) -> Any:
    from kafka.admin import KafkaAdminClient  # noqa: PLC0415  slow to import

    client = KafkaAdminClient(**translated(settings, bound_s))
    try:
        return question(client)
    finally:
        with suppress(Exception):
            client.close()


def translated(settings: dict[str, Any], bound_s: float) -> dict[str, Any]:
    """librdkafka's words in kafka-python's."""
    words = {
        "security.protocol": "security_protocol",
        "sasl.mechanism": "sasl_mechanism",
        "sasl.mechanisms": "sasl_mechanism",
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
        "ssl.ca.location": "ssl_cafile",
        "ssl.certificate.location": "ssl_certfile",
        "ssl.key.location": "ssl_keyfile",
        "ssl.key.password": "ssl_password",
    }
    known = {words[name]: value for name, value in settings.items() if name in words}
    servers = settings["bootstrap.servers"].split(",")
    bound_ms = int(bound_s * 1000)
    return {"bootstrap_servers": servers, "request_timeout_ms": bound_ms, "bootstrap_timeout_ms": bound_ms, **known}
