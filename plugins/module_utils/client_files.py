"""The bundle of a user: the same login written down for every kind of client."""

from __future__ import annotations

import json
from typing import Any

from .properties_text import document, jaas


def files(user: str, login: dict[str, Any]) -> dict[str, str]:
    """File name -> text. `login`: password, mechanism, ca (PEM text), folder (absolute), sasl_servers, mtls_servers."""
    made = {}
    if login["sasl_servers"]:
        made["client.properties"] = document(_java_sasl(user, login))
        made["librdkafka.json"] = _json(_librdkafka_sasl(user, login))
    if login["mtls_servers"]:
        made["client-mtls.properties"] = document(_java_mtls(login))
        made["librdkafka-mtls.json"] = _json(_librdkafka_mtls(login))
    return made


def _json(values: dict[str, str]) -> str:
    return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _java_sasl(user: str, login: dict[str, Any]) -> dict[str, str]:
    mechanism = login["mechanism"]
    return {
        "bootstrap.servers": login["sasl_servers"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas(mechanism, username=user, password=login["password"]),
        # Inlined: the file can be copied elsewhere on its own.
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": login["ca"],
    }


def _java_mtls(login: dict[str, Any]) -> dict[str, str]:
    return {
        "bootstrap.servers": login["mtls_servers"],
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": login["ca"],
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": login["certificate"],
        "ssl.keystore.key": login["key"],
    }


def _librdkafka_sasl(user: str, login: dict[str, Any]) -> dict[str, str]:
    return {
        "bootstrap.servers": login["sasl_servers"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": login["mechanism"],
        "sasl.username": user,
        "sasl.password": login["password"],
        "ssl.ca.location": f"{login['folder']}/ca.pem",
    }


def _librdkafka_mtls(login: dict[str, Any]) -> dict[str, str]:
    return {
        "bootstrap.servers": login["mtls_servers"],
        "security.protocol": "SSL",
        "ssl.ca.location": f"{login['folder']}/ca.pem",
        "ssl.certificate.location": f"{login['folder']}/cert.pem",
        "ssl.key.location": f"{login['folder']}/key.pem",
    }
