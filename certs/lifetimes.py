"""How long things live. Every figure has its reason here and is used by name elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certs.names import Kind

# Ten years: an authority is in every truststore, so its end means touching every client.
AUTHORITY_LIFETIME = timedelta(days=3650)

# 13 months, what public authorities use for hosts: long enough for one roll a year, short enough that
# renewal is practised. Also the upper bound of any leaf.
SERVER_LIFETIME = timedelta(days=397)

# Half a year: bundles are copied to places nobody lists and Kafka looks at no revocation list, so the
# end of the certificate is what ends a copied key.
CLIENT_LIFETIME = timedelta(days=180)

# Certificates begin an hour early: a host whose hardware clock was read in the wrong summer time is off by
# exactly one hour, and must not refuse what was just signed.
BACKDATING = timedelta(hours=1)

# Renewed from 60 days before the end: twice the 30 days that the live security check asks for, so regular
# runs never meet it.
RENEW_BEFORE = timedelta(days=60)

# Leaves that were asked to be short-lived are renewed in the last third of their own life instead.
RENEW_FRACTION = 3


def utc_now() -> datetime:
    """Whole seconds: certificates hold no smaller unit, so comparisons stay exact."""
    return datetime.now(UTC).replace(microsecond=0)


def lifetime_of(kind: Kind) -> timedelta:
    return SERVER_LIFETIME if kind.value == "server" else CLIENT_LIFETIME


def renewal_window(lifetime: timedelta) -> timedelta:
    return min(RENEW_BEFORE, lifetime / RENEW_FRACTION)


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def days_left(end: datetime, now: datetime) -> int:
    """Whole days, rounded down: one that ends in 23 hours has 0 left."""
    return (end - now) // timedelta(days=1)
