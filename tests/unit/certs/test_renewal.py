"""When a leaf is renewed, and that it is not renewed otherwise."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from certs import Pki, Wanted, build, client, init, keys, needs_renewal, server
from certs.lifetimes import AUTHORITY_LIFETIME

if TYPE_CHECKING:
    from certs import Authority

BROKER = server("broker-1", addresses=["198.18.0.11"])
DAY = timedelta(days=1)


@pytest.fixture
def why(signer: Authority, now: datetime) -> Any:
    def ask(held: Any, *, identity: Any = BROKER, at: timedelta = timedelta(0), key: Any = None) -> list[str]:
        reasons = needs_renewal(held, identity=identity, chain=signer.chain, now=now + at, public_key=key)
        return [f"{reason.code}: {reason}" for reason in reasons]

    return ask


def test_good_leaf_stays(signer: Authority, leaf: Any, why: Any) -> None:
    made = leaf(signer, BROKER)
    assert why(made.chain, key=made.key.public_key()) == []


def test_missing(why: Any) -> None:
    assert why(()) == ["missing: there is no certificate yet"]


@pytest.mark.parametrize(("day", "due"), [(336, False), (337, True), (396, True)])
def test_near_the_end(signer: Authority, leaf: Any, why: Any, now: datetime, day: int, *, due: bool) -> None:
    made = leaf(signer, BROKER)
    end = f"{now + 397 * DAY:%Y-%m-%dT%H:%M:%SZ}"
    text = f"end: it ends at {end}, in {397 - day} days, and is renewed from 60 days on"
    assert why(made.chain, at=day * DAY) == ([text] if due else [])


@pytest.mark.parametrize(("day", "due"), [(19, False), (20, True)])
def test_short_lived_leaf_is_renewed_in_its_last_third(
    signer: Authority, leaf: Any, why: Any, day: int, *, due: bool
) -> None:
    made = leaf(signer, BROKER, lifetime=30 * DAY)
    assert bool(why(made.chain, at=day * DAY)) is due


def test_after_the_end(signer: Authority, leaf: Any, why: Any, now: datetime) -> None:
    made = leaf(signer, BROKER)
    assert why(made.chain, at=397 * DAY) == [f"end: it ended at {now + 397 * DAY:%Y-%m-%dT%H:%M:%SZ}"]


def test_before_its_begin(signer: Authority, leaf: Any, why: Any, now: datetime) -> None:
    made = leaf(signer, BROKER, age=-DAY)
    begin = now + DAY - timedelta(hours=1)
    assert why(made.chain) == [f"start: it begins at {begin:%Y-%m-%dT%H:%M:%SZ}"]


def test_leaf_that_ends_with_its_authority_is_not_renewed_on_every_run(pki: Pki, now: datetime, leaf: Any) -> None:
    old, _ = init(pki, Wanted(), now=now - AUTHORITY_LIFETIME + 5 * DAY)
    assert old is not None
    made = leaf(old, BROKER, age=100 * DAY)
    assert made.chain[0].not_valid_after_utc == now + 5 * DAY  # in the last third of its life, and yet
    assert needs_renewal(made.chain, identity=BROKER, chain=old.chain, now=now) == []


def test_changed_names(signer: Authority, leaf: Any, why: Any) -> None:
    made = leaf(signer, BROKER)
    moved = server("broker-1", aliases=["b1"], addresses=["198.18.0.12"])
    assert why(made.chain, identity=moved) == ["names: its names changed: +198.18.0.12 +b1 -198.18.0.11"]
    renamed = server("broker-9", addresses=["198.18.0.11"])
    assert why(made.chain, identity=renamed) == [
        "names: its name is 'broker-1', not 'broker-9'",
        "names: its names changed: +broker-9 -broker-1",
    ]


def test_order_and_case_of_names_mean_nothing(signer: Authority, leaf: Any, why: Any) -> None:
    made = leaf(signer, server("broker-1", aliases=["B1", "b2"], addresses=["::1", "127.0.0.1"]))
    other = server("broker-1", aliases=["B2", "b1"], addresses=["127.0.0.1", "::1"])
    assert why(made.chain, identity=other) == []


def test_changed_issuer(stranger: Authority, leaf: Any, why: Any) -> None:
    assert why(leaf(stranger, BROKER).chain) == ["issuer: it was not signed by CN=Kastellan authority"]


def test_other_key(signer: Authority, leaf: Any, why: Any) -> None:
    assert why(leaf(signer, BROKER).chain, key=keys.generate().public_key()) == ["key: it was made for another key"]


def test_weak_key(signer: Authority, leaf: Any, why: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = leaf(signer, BROKER)
    monkeypatch.setattr(keys, "_CURVES", {"secp384r1": "P-384"})
    assert why(made.chain) == ["weak: its key is too weak: secp256r1"]


def test_other_kind(signer: Authority, leaf: Any, why: Any) -> None:
    made = leaf(signer, client("broker-1"))
    assert why(made.chain, identity=server("broker-1"))[-1] == "usage: its usage is not that of a server"


def test_extensions_of_yesterday(signer: Authority, leaf: Any, why: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = leaf(signer, BROKER)
    monkeypatch.setattr(build, "LEAF_USAGE", build.AUTHORITY_USAGE)
    assert why(made.chain) == ["extensions: its extensions are not those signed today"]


def test_foreign_certificate_behind_the_leaf(signer: Authority, stranger: Authority, leaf: Any, why: Any) -> None:
    made = leaf(signer, BROKER)
    assert why((*made.chain, stranger.root)) == ["chain: what follows the leaf is not the authority's chain"]
