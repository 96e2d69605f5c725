"""The two schemas accept what they describe and name what they refuse."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from common.errors import UsageError
from validate.expect import Expectation, load, parse

SCHEMAS = Path(__file__).parents[3] / "validate"
CLUSTER = json.loads(Path(__file__).with_name("cluster.json").read_text(encoding="utf-8"))
FULL = """
anomalies:
  lost: {count: ">0", verdict: expected, topics: [check-acks-none]}
groups: {readers: {topics: [Topic_Four], from: earliest}}
unclean: [check-unclean]
progress: {acked_per_partition: 200, phase_s: 10, in_flight_at_bite: 100}
outage: {fresh: {write_s: 12, read_s: 12}, running: {write_s: 24, read_s: 24}, topics: [Topic_Four]}
"""


def cluster_validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / "cluster.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_a_cluster_is_accepted() -> None:
    assert [error.message for error in cluster_validator().iter_errors(CLUSTER)] == []


@pytest.mark.parametrize("key", sorted(CLUSTER))
def test_every_key_of_a_cluster_is_required(key: str) -> None:
    without = {name: value for name, value in CLUSTER.items() if name != key}
    assert not cluster_validator().is_valid(without)


@pytest.mark.parametrize(
    ("key", "value"),
    [("mode", "raft"), ("bootstrap_servers", ["a:9092"]), ("hosts", []), ("faults_allowed", "yes"), ("service", "")],
)
def test_a_wrong_value_is_refused(key: str, value: Any) -> None:
    wrong = copy.deepcopy(CLUSTER)
    wrong[key] = value
    assert not cluster_validator().is_valid(wrong)


def test_a_full_expectation_is_read(tmp_path: Path) -> None:
    path = tmp_path / "EXPECT.yml"
    path.write_text(FULL, encoding="utf-8")
    expectation = load(path)
    assert expectation.rules[0].at_least == 1
    assert expectation.rules[0].covers("check-acks-none")
    assert not expectation.rules[0].covers("other")
    assert expectation.bound_s("running", "read") == 24
    assert expectation.unclean == ("check-unclean",)


def test_an_empty_file_expects_nothing(tmp_path: Path) -> None:
    path = tmp_path / "EXPECT.yml"
    path.write_text("", encoding="utf-8")
    assert load(path) == Expectation()


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "EXPECT.yml"
    path.write_text("anomalies: {lost: {count: '0'}, lost: {count: any}}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="stands twice"):
        load(path)


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "EXPECT.yml"
    path.write_text("anomalies: {lost: [", encoding="utf-8")
    with pytest.raises(UsageError, match="no YAML"):
        load(path)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"lost": {"count": ">0", "verdict": "violation"}}, "fails the run"),
        ({"lost": {"count": ">=3", "topics": []}}, "no topic"),
        ({"unseen": {"count": ">0", "verdict": "expected"}}, "no group claims"),
        ({"stuck": {"count": ">0", "verdict": "expected"}}, "bound"),
    ],
)
def test_what_can_never_be_met_is_refused(rule: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse({"anomalies": rule})


@pytest.mark.parametrize(
    ("count", "least", "most"),
    [("0", 0, 0), (0, 0, 0), ("any", 0, None), (">0", 1, None), (">= 4", 4, None), ("2", 0, 2)],
)
def test_counts(count: Any, least: int, most: int | None) -> None:
    rule = parse({"anomalies": {"gap": {"count": count}}}).rules[0]
    assert rule.shortfall(least) is None
    assert least == 0 or rule.shortfall(least - 1) is not None
    assert (
        rule.excess(1000) is None if most is None else (rule.excess(most), bool(rule.excess(most + 1))) == (None, True)
    )
