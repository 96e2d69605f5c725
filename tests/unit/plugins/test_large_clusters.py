"""Inventories and the gate with 100 and 1,000 brokers: the real functions against a model of a cluster."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from plugins.filter import kafka as filters
from plugins.module_utils import preflight_rules
from plugins.module_utils.facts import Voter
from plugins.module_utils.gate import NAMED_MAX, may_stop, not_whole
from tests.bench import large_clusters as large

# Of what one look costs on two busy cores some hundredths are seen; a look that walks in squares would be minutes.
LOOK_MOST_S = 2.0


@pytest.mark.parametrize("brokers", [100, 1000])
def test_a_large_inventory_is_planned_and_found_sound(brokers: int) -> None:
    given = large.settings(large.inventory(large.hosts(brokers)))
    assert len(given["nodes"]) == brokers + large.CONTROLLERS
    assert preflight_rules.inventory_problems(given) == []
    (rule,) = [rule for rule in filters.firewall_rules(given) if rule["sources"]]
    assert len(rule["sources"]) == brokers + large.CONTROLLERS
    last = large.properties({**given, "nodes": given["nodes"][-1:] + given["nodes"][: large.CONTROLLERS]})[0]
    assert last["process.roles"] == "broker"
    assert last["controller.quorum.bootstrap.servers"].count(":9093") == large.CONTROLLERS


def test_two_nodes_of_one_number_are_found_among_a_thousand() -> None:
    found = large.hosts(1000)
    found[700]["node_id"] = found[30]["node_id"]
    problems = preflight_rules.inventory_problems(large.settings(large.inventory(found)))
    assert len(problems) == 1
    assert {found[700]["name"], found[30]["name"]} <= set(re.findall(r"broker-\d+", problems[0]))


def test_a_hundred_brokers_are_restarted_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LEADERS_EACH", 10)
    given = large.settings(large.inventory(large.hosts(100)))
    done = large.roll(large.Model.of(100), given)
    assert done == [f"broker-{number}" for number in range(1, 101)]


def test_some_of_a_thousand_are_restarted_each_within_its_bound() -> None:
    given = large.settings(large.inventory(large.hosts(1000)))
    model = large.Model.of(1000)
    assert large.roll(model, given, most=3) == ["broker-1", "broker-2", "broker-3"]
    assert large.cost(lambda: may_stop(model.facts, 500))[1] < LOOK_MOST_S
    assert large.cost(lambda: not_whole(model.facts))[1] < LOOK_MOST_S


def test_the_gate_holds_among_a_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LEADERS_EACH", 30)
    model = large.Model.of(1000)
    model.stop(500)
    refused = may_stop(model.facts, 501)
    assert not refused.allowed
    # Partitions are led by each broker and followed by the next two: 500 and 501 share those led by 499 and by 500.
    assert len(refused.blocked_by) == 2 * large.LEADERS_EACH
    assert refused.reasons[0].endswith(f"and {2 * large.LEADERS_EACH - NAMED_MAX} more.")
    assert may_stop(model.facts, 503).allowed
    model.come_back(500)
    model.facts = replace(model.facts, voters=tuple(Voter(n, 100, 0, 0 if n < 4 else 60_000) for n in range(1, 6)))
    assert not may_stop(model.facts, 1).allowed
    assert may_stop(model.facts, 500).allowed
