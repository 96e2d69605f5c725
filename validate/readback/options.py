"""Settings of librdkafka as Kafka's own clients have them. Stores are handed over inline: executors have no files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from validate.workload.settings import inlined

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAME = (
    "bootstrap.servers",
    "security.protocol",
    "ssl.endpoint.identification.algorithm",
    "client.id",
    "request.timeout.ms",
)
# librdkafka's name -> Kafka's own.
_STORES = {
    "ssl.ca": "ssl.truststore.certificates",
    "ssl.certificate": "ssl.keystore.certificate.chain",
    "ssl.key": "ssl.keystore.key",
}
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def java_settings(client: Mapping[str, Any]) -> dict[str, str]:
    """What Kafka's own clients need for the same connection."""
    rest = inlined(client)
    settings = {key: str(rest.pop(key)) for key in _SAME if key in rest}
    settings["security.protocol"] = settings.get("security.protocol", "plaintext").upper()
    settings |= _sasl(rest) | _stores(rest)
    if "ssl.key.password" in rest:
        settings["ssl.key.password"] = str(rest.pop("ssl.key.password"))
    if rest:
        raise UsageError(
            f"The final read does not know what {min(rest)!r} means to Kafka's own clients.",
            details=f"known: {', '.join((*_SAME, 'sasl.*', 'ssl.ca|certificate|key.location|pem'))}",
            resolution="Leave it out of the client's settings, or give the final read settings of its own.",
        )
    return settings


def _sasl(rest: dict[str, Any]) -> dict[str, str]:
    mechanism = rest.pop("sasl.mechanism", None) or rest.pop("sasl.mechanisms", None)
    rest.pop("sasl.mechanisms", None)
    user, password = rest.pop("sasl.username", None), rest.pop("sasl.password", None)
    if mechanism is None:
        return {}
    module = _MODULES.get(re.split("-", str(mechanism))[0])
    if module is None:
        raise UsageError(
            f"The final read cannot log in by {mechanism}.",
            resolution="Use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or a client certificate.",
        )
    words = f"{module} required username={_quoted(user)} password={_quoted(password)};"
    return {"sasl.mechanism": str(mechanism), "sasl.jaas.config": words}


def _quoted(word: Any) -> str:
    return '"' + str(word).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _stores(rest: dict[str, Any]) -> dict[str, str]:
    found = {}
    for ours, theirs in _STORES.items():
        pem = rest.pop(f"{ours}.pem", None)
        if pem is not None:
            found[theirs] = str(pem)
            found[f"ssl.{theirs.split('.')[1]}.type"] = "PEM"
    return found
