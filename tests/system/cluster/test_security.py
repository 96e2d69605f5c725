"""The security proof is green on what the roles make, and each break turns its own checks red and no unrelated one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.system.cluster.breaking import NEIGHBOURS, Ground, Sabotage, proven
from tests.system.cluster.sabotages import RESTARTS, SWIFT, USUAL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.kafka_cluster import Cluster

pytestmark = pytest.mark.system


def test_the_suite_is_green(cluster: Cluster, tmp_path: Path) -> None:
    words = ("-m", "validate", "run", "--suite", "security", "--out", str(tmp_path))
    done = cluster.lab.run(".venv/bin/python", *words, check=False, timeout_s=600)
    (folder,) = tmp_path.iterdir()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    told = {one["number"]: (one["verdict"], one["seen"]) for one in report["security"]}
    assert {n: x for n, x in told.items() if x[0] in {"failed", "unknown"}} == {}, done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(told) == 67
    others = {"kraft": {54, 55, 56}, "zookeeper": {50, 51, 52, 53}}[cluster.document()["mode"]]
    assert {n for n, x in told.items() if x[0] == "not-applicable"} == others
    assert "security check" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_break_that_is_waived_is_told_and_keeps_no_run_from_passing(cluster: Cluster, tmp_path: Path) -> None:
    """The same description with a waiver, beside its own: paths in it are meant from there."""
    (broken,) = [one for one in SWIFT if one.name == "passwords for sshd"]
    content = {**cluster.document(), "security_waivers": [{"check": 64, "reason": "until spring"}]}
    path = cluster.lab.state() / "waived.json"
    words = ("-m", "validate", "run", "--cluster", str(path), "--out", str(tmp_path), "--check")
    try:
        path.write_text(json.dumps(content), encoding="utf-8")
        with broken.act(Ground(cluster)):
            beside = cluster.lab.run(".venv/bin/python", *words, "63", "64", check=False)
            alone = cluster.lab.run(".venv/bin/python", *words, "64", check=False)
    finally:
        path.unlink(missing_ok=True)
    assert (beside.returncode, alone.returncode) == (0, 2), beside.stdout + alone.stdout
    reports = [json.loads(one.read_text(encoding="utf-8")) for one in sorted(tmp_path.glob("*/report.json"))]
    waived = [{one["number"]: one for one in report["security"]}[64] for report in reports]
    assert [one["verdict"] for one in waived] == ["waived", "waived"]
    assert all(one["seen"][0] == "waived: until spring" for one in waived)
    assert all("sshd offers" in one["seen"][1] for one in waived)
    assert reports[0]["sentence"] == "Of 2 security checks 1 passed, 1 waived (64)."


@pytest.mark.parametrize(
    "one",
    [pytest.param(one, id=one.name, marks=[] if one.name in USUAL else [pytest.mark.long]) for one in SWIFT],
)
def test_a_break_turns_its_checks_red(one: Sabotage, cluster: Cluster) -> None:
    # That all is green again costs as much as some of the breaks: those of every day leave it to the next of them, where
    # the next one looks at the same checks.
    usual = [swift.name for swift in SWIFT if swift.name in USUAL]
    left = one.name in usual[:-1] and one.checks <= set(NEIGHBOURS)
    proven(one, Ground(cluster), mended=not left)


@pytest.mark.long
@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in RESTARTS])
def test_a_break_that_a_restart_brings_about_turns_its_checks_red(one: Sabotage, cluster: Cluster) -> None:
    proven(one, Ground(cluster), mended=True)
