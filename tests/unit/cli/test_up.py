"""`./kastellan up`: which phases run, when a cluster is proven, and what a failure of a part means."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli import native, progress, up
from cli.__main__ import main
from common.errors import CommandFailed, KastellanError
from infra.description import load_plan, plan_from
from tests.unit.infra.test_openstack import described

ROOT = Path(__file__).resolve().parents[3]


def test_classes_that_are_not_kept_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They spare time only: without them everything works, later."""

    def fails(*_: Any, **__: Any) -> str:
        raise CommandFailed("Exit code 1: python -m validate.spark_home", details="No space left on device")

    monkeypatch.setattr(up, "called", fails)
    assert "No space left on device" in up.spark_classes()


def test_a_proof_that_is_not_reached_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--until", "cluster", "--proof"]) == 64
    assert "contradict each other" in capsys.readouterr().err


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Every phase only remembers that it was run; the play leaves the description of the cluster, as the real one."""
    done: list[str] = []

    def cluster_phase(_plan: Any) -> None:
        done.append("cluster")
        (tmp_path / "local").mkdir(exist_ok=True)
        (tmp_path / "local" / "cluster.json").write_text("{}")

    def proof_phase(_plan: Any, *, consent: bool = False) -> None:
        done.append(f"proof {consent}")

    monkeypatch.setattr(up, "HOME", tmp_path)
    monkeypatch.setattr(up, "prepare", lambda *_, **__: None)
    monkeypatch.setattr(up, "summarize", lambda *_: None)
    monkeypatch.setattr(up, "proof_phase", proof_phase)
    rows = (("hosts", lambda _: done.append("hosts")), ("cluster", cluster_phase), ("proof", proof_phase))
    monkeypatch.setattr(up, "PHASES", tuple(up.Phase(name, name, run) for name, run in rows))
    return done


def test_a_cluster_is_proven_when_it_was_just_made_and_later_only_when_asked(phases: list[str]) -> None:
    assert main(["up"]) == 0
    assert phases == ["hosts", "cluster", "proof True"]
    phases.clear()
    assert main(["up"]) == 0
    assert phases == ["hosts", "cluster"]
    phases.clear()
    assert main(["up", "--proof"]) == 0
    assert phases == ["hosts", "cluster", "proof False"]


def test_a_cluster_that_was_made_without_a_proof_is_not_broken_later(phases: list[str]) -> None:
    """Somebody may work on it by then."""
    assert main(["up", "--until", "cluster"]) == 0
    assert main(["up"]) == 0
    assert phases == ["hosts", "cluster", "hosts", "cluster"]


@pytest.mark.parametrize(("code", "exit_code", "told"), [(1, 1, "the proof failed"), (2, 2, "is not complete")])
def test_up_fails_with_its_proof(code: int, exit_code: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[list[str]] = []

    def run_shown(argv: list[str], **_: Any) -> None:
        said.append(argv)
        raise native.NativeFailed("x", code=code, details="python -m validate run", resolution="")

    monkeypatch.setattr(up, "run_shown", run_shown)
    monkeypatch.setattr(up, "has_kafka", lambda _: True)
    plan: Any = type("Plan", (), {"name": "local"})
    with pytest.raises(KastellanError, match=told) as failure:
        up.proof_phase(plan, consent=True)
    assert failure.value.exit_code == exit_code
    assert said[0][-1] == "--allow-faults"


def test_configuration_means_the_same_to_up_as_to_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pulumi config set kastellan:keep_data false` writes a text."""
    (tmp_path / "Pulumi.s.yaml").write_text('config: {"kastellan:keep_data": "false", "kastellan:network": auto}\n')
    monkeypatch.setattr(up, "ROOT", tmp_path)
    assert up.configured("s") == {"keep_data": False, "network": "auto"}


def test_only_what_goes_over_a_network_is_bounded() -> None:
    assert up.pulumi_timeout_s(plan_from("cloud", described())) == up.CLOUD_TIMEOUT_S
    assert up.pulumi_timeout_s(load_plan("local", folder=ROOT / "infra/stacks", overrides={})) is None


def test_work_says_what_it_does_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> str:
        progress.tell("building it")
        return "built"

    progress.run_together([progress.Task("Thing", "looking", work), progress.Task("Other", "waiting", lambda: "done")])
    lines = capsys.readouterr().out.splitlines()
    assert {"... Thing: looking", "... Thing: building it", "... Other: waiting"} <= set(lines)
    assert [line.split()[-1] for line in lines if line.startswith("ok  Thing")] == ["built"]


def test_a_live_display_shows_one_row_for_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def work() -> str:
        progress.tell("building it")
        (row,) = live._progress.tasks
        shown.append(row.description)
        return "built"

    live = progress._Live()
    monkeypatch.setattr(progress, "_Lines", lambda: live)
    progress.run_together([progress.Task("Thing", "looking", work)])
    assert shown == ["Thing: building it"]


@pytest.mark.parametrize("there", ["spark", "shared", "spark shared"])
def test_how_to_load_by_a_stacks_own_spark_is_told_once_it_is_there(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = SimpleNamespace(name="one", roles=["spark_master"], login=SimpleNamespace(address="198.18.0.31"))
    monkeypatch.setattr(up, "hosts_of", lambda _: [host])
    monkeypatch.setattr(up, "HOME", tmp_path)
    for name in there.split():
        (tmp_path / "local-spark" / name).mkdir(parents=True)
    if "spark" in there.split():
        settings = tmp_path / "local-spark/spark/spark-defaults.conf"
        settings.write_text("spark.authenticate true\n# spark://198.18.0.31:7099\n", encoding="ascii")
    up.summarize("local-spark", 60.0)
    words = "--stack local-spark --suite load --spark-master spark://198.18.0.31:7099"
    assert (words in capsys.readouterr().out) is (there == "spark shared")
