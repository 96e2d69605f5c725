"""Every sabotage there is, which of them are tried each time, and why a check has none."""

from __future__ import annotations

from tests.system.cluster.breaks_hosts import HOSTS
from tests.system.cluster.breaks_restarts import RESTARTS
from tests.system.cluster.breaks_rules import BY_MESSAGES
from tests.system.zookeeper.breaks import ENSEMBLE

__all__ = ["ALL", "ENSEMBLE", "HOSTS", "NONE", "RESTARTS", "SWIFT", "USUAL"]

SWIFT = (*HOSTS, *BY_MESSAGES)
ALL = (*SWIFT, *RESTARTS, *ENSEMBLE)
# Ten of different families, none with a restart; all others only in `./kastellan test --all`.
USUAL = frozenset({
    "a port that is let through",
    "a stranger that listens",
    "controllers within reach",
    "passwords for sshd",
    "an open configuration",
    "a secret that lies about",
    "a stray rule",
    "a stray rule for everybody",
    "a password that is easily guessed",
    "denials that nobody writes down",
})  # fmt: skip
# What no sabotage turns red, each with its reason.
NONE = {
    10: "it is the client that refuses there: no broker can be made to be trusted by an authority that the check makes "
    "up as it runs; a broker of another authority would make it unknown, and 9 and 13 with it",
    11: "it judges a certificate at other times by the clock alone: one that is not valid now fails the twin, so it would "
    "be unknown; the judging is shown by its unit tests",
    15: "Kafka itself ends a connection that wants a new handshake, and Java never compresses: no setting allows either",
    16: "nothing can be set that lets junk end a broker; it needs an old Kafka",
    21: "a listener for logins that answers without one lets nobody log in there, which most other checks have to do",
    25: "a removed user is let in only where a broker does not follow the metadata log, and then nothing else holds there",
    27: "no setting lets a session become somebody else's",
}
