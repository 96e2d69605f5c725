"""report.json: verdicts, numbers and words, of whole and of damaged runs."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import validate
from common.errors import EXIT_FAILED, EXIT_UNKNOWN, UnreadableError
from tests.unit.validate.report import lives, runs
from validate import report
from validate.report.compare import compare

SCHEMA = json.loads((Path(validate.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))


def again(folder: Path) -> Any:
    """The report of a folder as it now is, after a look whether it keeps to its schema."""
    report.write(folder)
    content = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(content)
    return content


def of(content: Any, name: str) -> Any:
    return next(x for x in content["scenarios"] if x["id"] == name)


def change(path: Path, **values: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | values), encoding="utf-8")


def test_it_keeps_to_its_schema(told: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(told)


def test_the_worst_verdict_is_the_runs(told: Any) -> None:
    assert told["verdict"] == "failed"
    assert told["totals"]["scenarios"] == {"passed": 2, "failed": 1, "unknown": 1, "not-applicable": 1}
    assert told["sentence"].startswith(
        "The cluster broke a promise in 1 of 4 scenarios (kill-leader): lost (1,500), outage (1). Of"
    )
    assert "1,500 were lost" in told["sentence"]


def test_totals_are_the_sums_of_what_the_judge_said(told: Any, made: Path) -> None:
    judged = [json.loads(path.read_text(encoding="utf-8")) for path in (made / "verdicts").iterdir()]
    assert told["totals"]["acked"] == sum(x["checked"]["acked"] for x in judged)
    assert told["totals"]["found"] == sum(x["acked"]["found"] for x in judged)
    assert told["totals"]["lost"] == lives.LOST
    for name in ("baseline", "kill-leader"):
        assert of(told, name)["summary"] == json.loads((made / "verdicts" / f"{name}.json").read_text(encoding="utf-8"))


def test_the_timeline_counts_every_record_once(told: Any, made: Path) -> None:
    for one in told["scenarios"]:
        line = one["timeline"]["topics"]
        counted = {
            name: sum(sum(x.get(name, ())) for p in line.values() for x in p.values())
            for name in ("acked", "refused", "unknown")
        }
        assert counted == {name: one["counts"][name] for name in counted}
        assert one["notes"] == []
    stalled = of(told, "stop-one-broker")["timeline"]
    assert stalled["step_ms"] == 100
    assert stalled["start"] == "2026-11-18T07:01:00.000Z"
    acked = stalled["topics"]["Topic_One"]["0"]["acked"]
    assert sum(acked[:125]) in range(600, 626)  # fifty a second, until the stall begins at 12.5 s
    assert sum(acked[126:330]) == 0
    assert "refused" not in stalled["topics"]["Topic_One"]["0"]
    rows = pq.read_table(made / "ledger" / "isolate-leader" / "sent").to_pylist()
    refused = sum(x["outcome"] == "refused" for x in rows)
    assert sum(of(told, "isolate-leader")["timeline"]["topics"]["Topic_Three"]["2"]["refused"]) == refused > 0


def test_outages_carry_the_judges_numbers_bounds_and_faults(told: Any) -> None:
    rows = {(x["witness"], x["kind"], x["topic"], x["partition"]): x for x in of(told, "kill-leader")["outages"]}
    judged = rows["fresh", "write", "Topic_Four", 1]
    assert (judged["low_s"], judged["high_s"], judged["verdict"], judged["bound_s"]) == (10.7, 13.1, "violation", 12.0)
    assert judged["faults"] == "kill broker-3"
    own = rows["fresh", "write", "Topic_Four", 0]
    assert (own["low_s"], own["high_s"], own["verdict"], own["faults"]) == (9.7, 10.5, None, "kill broker-3")
    bounds = {x["topic"]: x["bound_s"] for x in of(told, "stop-one-broker")["outages"] if x["witness"] == "fresh"}
    assert bounds == {"Topic_One": None, "Topic_Three": None, "Topic_Four": 12.0}
    assert all(x["open"] for x in of(told, "isolate-leader")["outages"])


def test_in_sync_sets_become_spans(told: Any) -> None:
    rows = {(x["topic"], x["partition"]): x for x in of(told, "stop-one-broker")["isr"]}
    assert len(rows) == lives.PARTITIONS
    assert [x["isr"] for x in rows["Topic_One", 0]["states"]] == [[1, 2], [1], [1, 2]]
    assert rows["Topic_One", 0]["least"] == 1
    assert len(rows["Topic_Three", 2]["states"]) == 1


def test_commands_to_look_closer_name_host_and_time(told: Any) -> None:
    commands = [x["command"] for x in of(told, "kill-leader")["look_closer"]]
    assert any("judge " in x and "ledger/kill-leader" in x for x in commands)
    assert any("kafka-dump-log.sh" in x and "Topic_Four-0" in x and "offset: 700" in x for x in commands)
    journal = next(x for x in commands if "journalctl" in x)
    assert journal.startswith("./kastellan ssh --stack local broker-3 ")
    assert "--since '2026-11-18 07:02:12 UTC' --until '2026-11-18 07:02:46 UTC'" in journal
    assert [x["what"] for x in of(told, "kill-coordinator")["look_closer"]] == ["Run the scenario again"]


@pytest.mark.parametrize(
    ("kept", "verdict", "code"),
    [
        ([lives.baseline(per_s=5)], "passed", 0),
        ([lives.baseline(per_s=5), lives.skipped(per_s=5)], "passed", 0),
        ([lives.baseline(per_s=5), lives.isolated(per_s=5)], "unknown", EXIT_UNKNOWN),
        ([lives.isolated(per_s=5), lives.killed(3, per_s=5)], "failed", EXIT_FAILED),
        ([lives.skipped(per_s=5)], "unknown", EXIT_UNKNOWN),
        ([], "unknown", EXIT_UNKNOWN),
    ],
)
def test_verdicts_and_exit_codes(kept: list[Any], verdict: str, code: int, tmp_path: Path) -> None:
    done = report.write(runs.write(tmp_path / "run", kept))
    assert (done.verdict, done.exit_code) == (verdict, code)
    assert done.html.exists()
    assert done.junit.exists()
    again(tmp_path / "run")


def test_a_run_without_an_end_is_not_passed(tmp_path: Path) -> None:
    content = again(runs.write(tmp_path / "run", [lives.baseline(per_s=5)], ended=False))
    assert content["verdict"] == "unknown"
    assert "no end" in content["reasons"][0]
    assert "did not come to its end" in content["sentence"]


@pytest.mark.parametrize(
    ("runner", "judge", "verdict"),
    [
        ("passed", "failed", "failed"),
        ("passed", "unknown", "unknown"),
        ("failed", "passed", "failed"),
        ("unknown", "failed", "failed"),
        ("fine", "passed", "unknown"),
        ("passed", "splendid", "unknown"),
    ],
)
def test_of_runner_and_judge_the_worse_wins(runner: str, judge: str, verdict: str, tmp_path: Path) -> None:
    life = lives.baseline(per_s=5)
    life.verdict = runner
    folder = runs.write(tmp_path / "run", [life])
    change(folder / "verdicts" / "baseline.json", verdict=judge)
    assert again(folder)["verdict"] == verdict


@pytest.mark.parametrize("content", [None, "", "[]", '{"verd', "{}"])
def test_without_a_judgement_nothing_is_passed(content: str | None, tmp_path: Path) -> None:
    folder = runs.write(tmp_path / "run", [lives.baseline(per_s=5)])
    (folder / "verdicts" / "baseline.json").unlink()
    if content is not None:
        (folder / "verdicts" / "baseline.json").write_text(content, encoding="utf-8")
    one = of(again(folder), "baseline")
    assert one["verdict"] == "unknown"
    assert "There is no judgement of it." in one["reasons"]
    assert (content is None) == (one["notes"] == [])


def test_a_scenario_that_was_not_finished_is_unknown(tmp_path: Path) -> None:
    life = lives.baseline(per_s=5, more={"verdict": None, "ended_at": None})
    one = of(again(runs.write(tmp_path / "run", [life])), "baseline")
    assert one["verdict"] == "unknown"
    assert one["reasons"] == ["It was not run to its end."]


def test_a_torn_ledger_is_told_and_drawn_as_far_as_it_goes(own: Path) -> None:
    ledger = own / "ledger" / "baseline"
    whole = (ledger / "sent" / "part-0.parquet").read_bytes()
    (ledger / "sent" / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    (ledger / "probes" / "part-0.parquet").write_bytes(b"PAR1 no")
    with (ledger / "faults.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"fault": "stop", "target": "broker-1", "phase": "beg')
    one = of(again(own), "baseline")
    assert len(one["notes"]) == 3
    assert any("sent/part-1.parquet" in x for x in one["notes"])
    assert any("probes/part-0.parquet" in x for x in one["notes"])
    assert any("faults.jsonl: 1 of 1 lines are torn" in x for x in one["notes"])
    assert one["timeline"]["buckets"] > 0


def test_a_ledger_that_disagrees_with_its_judgement_is_told(own: Path) -> None:
    (own / "ledger" / "baseline" / "sent" / "part-0.parquet").unlink()
    notes = of(again(own), "baseline")["notes"]
    assert notes == ["The timeline counts 0 acked records, the judge 16,000."]


def test_a_missing_ledger_is_told(own: Path) -> None:
    (own / "ledger" / "baseline").rename(own / "elsewhere")
    assert "it left no ledger" in of(again(own), "baseline")["notes"]


@pytest.mark.parametrize("text", [None, "", "{}", "[]", '{"run_id": "x", "scenarios": [{"id": "../../etc"}]}'])
def test_a_folder_that_is_no_run_is_unreadable(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableError) as caught:
        report.write(tmp_path)
    assert caught.value.exit_code == EXIT_UNKNOWN
    assert "runs" in caught.value.resolution
    assert not (tmp_path / "report.html").exists()


def test_a_run_json_with_nothing_but_names_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"run_id": "x", "scenarios": [{"id": "y"}]}', encoding="utf-8")
    assert again(tmp_path)["verdict"] == "unknown"


def test_nothing_that_sounds_secret_is_shown(tmp_path: Path) -> None:
    life = lives.baseline(
        per_s=5, more={"configured": {"sasl.password": "hunter2", "acks": "all", "ssl.key.pem": "hunter2"}}
    )
    folder = runs.write(
        tmp_path / "run", [life], cluster={"stack": "local", "secrets": {"admin": "hunter2"}, "hosts": [{}]}
    )
    content = again(folder)
    assert of(content, "baseline")["configured"] == {
        "sasl.password": "(not shown)",
        "acks": "all",
        "ssl.key.pem": "(not shown)",
    }
    for name in ("report.json", "report.html", "junit.xml"):
        assert "hunter2" not in (folder / name).read_text(encoding="utf-8")


def test_latency_is_counted_from_when_records_were_due(own: Path) -> None:
    """Every acknowledgement of baseline comes 50 ms later, seen from there; the others have no schedule."""
    (path,) = (own / "ledger" / "baseline" / "sent").glob("*.parquet")
    table = pq.read_table(path)
    early = pc.subtract(table["invoked_at"], pa.scalar(50_000, pa.duration("us")))
    pq.write_table(table.append_column("due_at", early), path)
    content = again(own)
    assert of(content, "kill-leader")["latency"] is None
    told = of(content, "baseline")["latency"]
    assert (told["due"], told["not_acked"]) == (table.num_rows, 0)
    assert told["all"]["n"] == sum(x["n"] for x in told["topics"].values()) == table.num_rows
    assert told["sent_late"]["max"] == 50
    assert told["all"]["max"] == pytest.approx(told["from_send"]["max"] + 50)
    assert told["all"]["p50"] == pytest.approx(told["from_send"]["p50"] + 50, rel=0.02)
    page = (own / "report.html").read_text(encoding="utf-8")
    assert page.count("<h3>Latency</h3>") == 1
    assert f"{told['all']['p99']:,.1f}" in page
    slower = copy.deepcopy(content)
    of(slower, "baseline")["latency"]["all"]["p99"] *= 2
    (row,) = compare(content, slower)["differences"]
    assert (row["what"], row["after"]) == ("latency p99, ms", 2 * told["all"]["p99"])
    assert compare(content, copy.deepcopy(content))["differences"] == []
