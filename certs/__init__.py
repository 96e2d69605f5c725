"""The PKI of a cluster: an authority, leaves for hosts and users, their stores, and reading all of it back.

As a command: `python -m certs --help`. From Python:

    pki = Pki(Path("pki"))
    authority, _ = init(pki, Wanted(), now=utc_now())
    issue(pki, authority, Path("clients"), ["usercc"], now=utc_now())
"""

from certs.authority import Authority
from certs.bundles import Options, issue
from certs.check import Expected, Finding, findings
from certs.keys import KeyType
from certs.lifetimes import utc_now
from certs.names import Identity, Kind, client, server
from certs.pki import Pki, Wanted, init
from certs.renewal import Reason, needs_renewal
from certs.signing import Order, Outcome, sign

__all__ = [
    "Authority",
    "Expected",
    "Finding",
    "Identity",
    "KeyType",
    "Kind",
    "Options",
    "Order",
    "Outcome",
    "Pki",
    "Reason",
    "Wanted",
    "client",
    "findings",
    "init",
    "issue",
    "needs_renewal",
    "server",
    "sign",
    "utc_now",
]
