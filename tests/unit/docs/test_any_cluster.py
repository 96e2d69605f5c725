"""The page on clusters made elsewhere: its examples are taken as they stand there, and what it says of them is so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import UsageError
from validate import cluster as clusters
from validate.faults import network
from validate.run import one, runner
from validate.run.context import Context
from validate.run.folder import Entry

if TYPE_CHECKING:
    from validate.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/how-to/any-cluster.md").read_text(encoding="utf-8")
DESCRIPTION, BUNDLE = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def foreign(tmp_path: Path) -> Cluster:
    (tmp_path / "cluster.json").write_text(DESCRIPTION, encoding="utf-8")
    for user in json.loads(DESCRIPTION)["users"]:
        (tmp_path / "clients" / user).mkdir(parents=True)
        (tmp_path / "clients" / user / "librdkafka.json").write_text(BUNDLE, encoding="utf-8")
    return clusters.load(tmp_path / "cluster.json")


def test_the_example_is_a_whole_description(foreign: Cluster) -> None:
    assert [host.node_id for host in foreign.brokers] == [11, 12, 13]
    assert [host.node_id for host in foreign.voters] == [1, 2, 3]
    assert {foreign.client_port(host) for host in foreign.brokers} == {9093}
    assert foreign.client(foreign.validator_user)["sasl.username"] == "proof"
    assert foreign.cheap_client(foreign.admin_user) == foreign.client(foreign.admin_user)


def test_without_consent_nothing_is_broken(foreign: Cluster) -> None:
    with pytest.raises(UsageError, match="Faults are not allowed on cluster 'orders-eu'"):
        runner.run(foreign, runner.Wish(suite="failover", ids=()))


def test_what_needs_ssh_is_unknown_with_the_reason_and_the_rest_applies(foreign: Cluster) -> None:
    nothing: Any = None
    context = Context(foreign, nothing, nothing, nothing, allow_faults=True, large=False)
    told: dict[str, tuple[Any, ...]] = {}
    for each in runner.chosen(runner.Wish(suite="all", ids=())):
        entry = Entry(each.id, "t", "t", [], "e", "r", {})
        applies = one._applies(context, each, entry)
        told[each.id] = (applies, entry.verdict, *entry.reasons)
    assert all(told[name][0] for name in ("baseline", "load-sample", "commit-after-work"))
    names = ", ".join(host.name for host in foreign.hosts)
    for name in ("stop-one-broker", "kill-leader", "isolate-client", "fill-disk", "mixed-weather"):
        assert told[name] == (False, "unknown", f"there is no ssh access to {names} (ssh is null in cluster.json)")
    assert told["restart-rolling"][1:] == (
        "unknown",
        "cluster.json names no operation 'rolling_restart', which this scenario calls",
    )


def test_clients_are_cut_off_at_the_port_that_they_use(foreign: Cluster) -> None:
    """No listener has the name that ours have. The example's hosts belong to nobody, and a cut has to know addresses."""
    content = json.loads(DESCRIPTION)
    for number, host in enumerate(content["hosts"]):
        host["address"] = f"192.0.2.{number + 1}"
    path = foreign.state_dir / "addresses.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    found = clusters.load(path)
    rules = network.rules(found, found.brokers[0], cut="clients", direction="in")
    (line,) = [x for x in rules.splitlines() if x.endswith("drop")]
    assert "tcp dport { 9093 }" in line
