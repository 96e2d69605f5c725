"""What the modules have to know, found out as fast as a script can: one process, one library, no checks.

Listing is done by kafka-python's own admin client: it has all calls (librdkafka has none for quotas, and is slower with
the settings of a thousand topics). No listing tells a password, so `logins` are tried by threads. Reads JSON.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kafka import KafkaAdminClient
from kafka.net.sasl.scram import ScramClient
from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeConfigsRequest,
    DescribeUserScramCredentialsRequest,
)
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

ANY, TOPIC, THREADS = 1, 2, 16
MECHANISM = "SCRAM-SHA-512"


def list_all(settings: dict[str, Any]) -> list[int]:
    client = KafkaAdminClient(**settings)

    def ask(request: Any) -> Any:
        return client._manager.run(client._manager.send, request)

    resources = [(TOPIC, topic.name, None) for topic in ask(MetadataRequest(topics=None)).topics]
    every = DescribeAclsRequest(
        resource_type_filter=ANY, resource_name_filter=None, pattern_type_filter=ANY, principal_filter=None,
        host_filter=None, operation=ANY, permission_type=ANY,
    )  # fmt: skip
    return [
        len(ask(DescribeConfigsRequest(resources=resources, include_synonyms=False)).results),
        len(ask(every).resources),
        len(ask(DescribeUserScramCredentialsRequest(users=None)).results),
        len(ask(DescribeClientQuotasRequest(components=[], strict=False)).entries),
    ]


def log_in(server: tuple[str, int], context: ssl.SSLContext, user: str, password: str) -> bool:
    with context.wrap_socket(socket.create_connection(server), server_hostname=server[0]) as connection:
        stream = connection.makefile("rb")

        def ask(request: Any, number: int) -> Any:
            request.API_VERSION = 1
            request.with_header(correlation_id=number)
            connection.sendall(request.encode(framed=True, header=True))
            (size,) = struct.unpack(">i", stream.read(4))
            return request.header.get_response_class().decode(stream.read(size), header=True)

        scram = ScramClient(user, password, MECHANISM)
        ask(SaslHandshakeRequest(mechanism=MECHANISM), 1)
        scram.process_server_first_message(ask(SaslAuthenticateRequest(auth_bytes=scram.first_message()), 2).auth_bytes)
        return not ask(SaslAuthenticateRequest(auth_bytes=scram.final_message()), 3).error_code


def main() -> None:
    given = json.load(sys.stdin)
    counts = list_all(given["settings"])
    host, _, port = given["settings"]["bootstrap_servers"][0].partition(":")
    context = ssl.create_default_context(cafile=given["settings"]["ssl_cafile"])
    with ThreadPoolExecutor(THREADS) as pool:
        right = pool.map(lambda login: log_in((host, int(port)), context, *login), given["logins"])
        json.dump([*counts, sum(right)], sys.stdout)


if __name__ == "__main__":
    main()
