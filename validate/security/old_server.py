"""A server on the loopback that speaks what brokers must not: it shows that our hellos would be understood."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import warnings
from typing import TYPE_CHECKING

from validate.security import tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOUND_S = 5.0
VERSIONS = {tls.TLS10: ssl.TLSVersion.TLSv1, tls.TLS11: ssl.TLSVersion.TLSv1_1, tls.TLS12: ssl.TLSVersion.TLSv1_2}


@contextlib.contextmanager
def serving(version: int, certificate: tuple[Path, Path], suites: str = "ALL:COMPLEMENTOFALL") -> Iterator[int]:
    """One connection is answered, by OpenSSL with every door open. Gives the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(f"{suites}:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that they are deprecated is why they are tried
        context.minimum_version = context.maximum_version = VERSIONS[version]
    context.load_cert_chain(*map(str, certificate))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(BOUND_S)

        def answer() -> None:
            with contextlib.suppress(OSError):
                plain, _ = server.accept()
                with plain:
                    plain.settimeout(BOUND_S)
                    context.wrap_socket(plain, server_side=True)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(BOUND_S)


def understood(version: int, certificate: tuple[Path, Path], suites: tuple[int, ...], named: str) -> tls.Greeting:
    """What such a server says to our hello."""
    with serving(version, certificate, named) as port, socket.create_connection(("127.0.0.1", port), BOUND_S) as door:
        return tls.greet(door, tls.hello(version, suites))
