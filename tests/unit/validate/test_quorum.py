"""A broker that takes connections and says nothing: the question for the quorum has an end all the same."""

from __future__ import annotations

import socket
import time

import pytest

from validate.quorum import ClusterSilent, ask_quorum


def test_a_broker_that_says_nothing_is_waited_for_in_vain_no_longer_than_the_bound() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        began_s = time.monotonic()
        settings = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "SSL"}
        with pytest.raises(ClusterSilent, match="The quorum does not say how it is"):
            ask_quorum(settings, 1.0)
        assert time.monotonic() - began_s < 5
