"""report.json: everything the page shows, put together once from the run's folder (schema: report.schema.json)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from validate.report import folder, latency, outages, pictures, security, series, words
from validate.report.faults import fault_spans, isr_spans
from validate.report.look import commands
from validate.report.moments import apart_s
from validate.report.rare import rare_findings

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
_RUN = ("run_id", "seed", "suite", "started_at", "ended_at", "kastellan")
_TOLD = ("title", "teaches", "suites", "started_at", "ended_at", "explanation", "bounds", "configured", "reproduce")
_ACKED = ("found", "expired", "withdrawn", "undecided", "lost")
_SECRET = re.compile(r"passw|secret|jaas|token|credential|private|\.key$|key\.pem|\.pem$", re.IGNORECASE)
_SUMMED = ("sent", "acked", "refused", "unknown", "log", "foreign", "delivered")


def build(path: Path) -> dict[str, Any]:
    """The report of a run, as report.json has it."""
    opened = folder.open_run(path)
    try:
        return _told(opened)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise folder.formless(path, error) from error


def _told(opened: folder.RunFolder) -> dict[str, Any]:
    run = opened.run
    cluster = without_secrets(run.get("cluster") or {})
    scenarios = [_scenario(one, opened.path, cluster) for one in opened.scenarios]
    checks = security.checks(run)
    totals = _totals(scenarios) | {"checks": security.counted(checks)}
    verdict, reasons = _of_run(run, [*scenarios, *checks])
    of_scenarios, _ = _of_run(run, scenarios)
    told = [words.of_run(of_scenarios, totals, _names(scenarios))] if scenarios or not checks else []
    return {
        "format": FORMAT,
        "run": {name: run.get(name) for name in _RUN}
        | {
            "duration_s": apart_s(run.get("started_at"), run.get("ended_at")),
            "command": [str(x) for x in without_secrets(run.get("command") or [])],
        },
        "cluster": cluster,
        "machine": without_secrets(run.get("machine") or {}),
        "verdict": verdict,
        "sentence": " ".join([*told, *security.sentence(checks)]),
        "reasons": reasons,
        "totals": totals,
        "scenarios": scenarios,
        "security": checks,
    }


def _names(scenarios: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {word: [x["id"] for x in scenarios if x["verdict"] == word] for word in words.SEVERITY}


def without_secrets(value: Any, name: str = "") -> Any:
    """What stands under a name that sounds like a secret is left out, wherever it came from."""
    if _SECRET.search(name) and isinstance(value, (str, dict, list)):
        return "(not shown)"
    if isinstance(value, dict):
        return {str(k): without_secrets(v, str(k)) for k, v in value.items()}
    return [without_secrets(x) for x in value] if isinstance(value, list) else value


def _of_run(run: dict[str, Any], scenarios: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """The worst of its scenarios; a run without an end, or in which nothing ran, is at best unknown."""
    reasons = [str(x) for x in run.get("reasons") or []]
    ran = [x["verdict"] for x in scenarios if x["verdict"] not in {words.SKIPPED, words.WAIVED}]
    if not ran:
        reasons.append("No scenario was run.")
    if not run.get("ended_at"):
        reasons.append("The run has no end: it still goes on, or it was ended from outside.")
        ran.append(words.UNKNOWN)
    return words.worst(ran), reasons


def _scenario(one: folder.ScenarioFiles, path: Path, cluster: dict[str, Any]) -> dict[str, Any]:
    entry = without_secrets(one.entry)
    sent = series.read(one.ledger / "sent")
    found, problems = outages.read_probes(one.ledger / "probes")
    said = outages.read_findings(one.findings)
    faults, isr = fault_spans(one.faults), isr_spans(one.isr)
    findings = (one.summary or {}).get("findings") or []
    drawn, not_drawn = pictures.read(one.ledger)
    verdict, reasons = _verdict(one)
    seen = {"faults": faults, "isr": isr, "findings": findings, "ledger": one.ledger.is_dir()}
    return {
        "id": one.id,
        **{name: entry.get(name) for name in _TOLD},
        "duration_s": apart_s(entry.get("started_at"), entry.get("ended_at")),
        "verdict": verdict,
        "reasons": reasons,
        "notes": [str(x) for x in entry.get("notes") or []]
        + one.notes
        + sent.problems
        + problems
        + not_drawn
        + _disagreement(sent, one.summary),
        "summary": one.summary,
        "more_findings": rare_findings(one.findings, one.summary),
        "counts": _counts(one.summary),
        "expect": without_secrets(one.expect),
        "settings": sent.settings,
        "phases": [_phase(x) for x in entry.get("phases") or [] if isinstance(x, dict)],
        "timeline": sent.to_json(),
        "latency": latency.read(one.ledger / "sent").to_json(),
        "pictures": drawn,
        "faults": faults,
        "outages": outages.table(found, said, one.expect, faults),
        "isr": isr,
        "look_closer": commands(one.id, entry.get("reproduce"), path, cluster, seen),
    }


def _verdict(one: folder.ScenarioFiles) -> tuple[str, list[str]]:
    """The worst of what the runner and the judge said. Without a judgement nothing is passed."""
    reasons = [str(x) for x in one.entry.get("reasons") or []]
    runners = one.entry.get("verdict")
    if runners == words.SKIPPED:
        return words.SKIPPED, reasons
    if not runners:
        return words.UNKNOWN, [*reasons, "It was not run to its end."]
    if one.summary is None:
        return words.worst([runners, words.UNKNOWN]), [*reasons, "There is no judgement of it."]
    told = [str(x) for x in (*(one.summary.get("reasons") or []), *(one.summary.get("problems") or []))]
    return words.worst([runners, one.summary["verdict"]]), reasons + [x for x in told if x not in reasons]


def _disagreement(sent: series.Series, summary: dict[str, Any] | None) -> list[str]:
    """The timeline and the judge count the same rows; where they differ the reader must not trust the picture."""
    if summary is None:
        return []
    judged = summary.get("checked") or {}
    return [
        f"The timeline counts {sent.total(name):,} {name} records, the judge {judged[name]:,}."
        for name in series.OUTCOMES
        if name in judged and judged[name] != sent.total(name)
    ]


def _counts(summary: dict[str, Any] | None) -> dict[str, int]:
    """The few numbers that everybody asks for first."""
    whole = summary or {}
    checked, acked = whole.get("checked") or {}, whole.get("acked") or {}
    of = whole.get("counts") or {}
    return {
        **{name: int(checked.get(name, 0)) for name in _SUMMED},
        **{name: int(acked.get(name, 0)) for name in _ACKED},
        "lost_expected": int((of.get("lost") or {}).get("expected", 0)),
        "repeated": sum((of.get("duplicated") or {}).values()),
        "redelivered": sum((of.get("redelivered") or {}).values()),
        "violations": sum(int(x.get("violation", 0)) for x in of.values()),
        "findings": sum(sum(x.values()) for x in of.values()),
    }


def _totals(scenarios: list[dict[str, Any]]) -> dict[str, Any]:
    verdicts = dict.fromkeys((words.PASSED, words.FAILED, words.UNKNOWN, words.SKIPPED), 0)
    sums = dict.fromkeys(_counts(None), 0)
    for one in scenarios:
        verdicts[one["verdict"]] += 1
        for name, n in one["counts"].items():
            sums[name] += n
    judged = sum(one["summary"] is not None for one in scenarios)
    violations: Counter[str] = Counter()
    for one in scenarios:
        for name, of in ((one["summary"] or {}).get("counts") or {}).items():
            violations[name] += int(of.get("violation", 0))
    return {"scenarios": verdicts, "judged": judged, "violations_of": dict(+violations), **sums}


def _phase(phase: dict[str, Any]) -> dict[str, Any]:
    acked = {str(k): int(v or 0) for k, v in (phase.get("acked_per_partition") or {}).items()}
    lasted = apart_s(phase.get("began_at"), phase.get("ended_at"))
    total = sum(acked.values())
    return {
        "name": str(phase.get("name")),
        "began_at": phase.get("began_at"),
        "ended_at": phase.get("ended_at"),
        "duration_s": lasted,
        "acked_per_partition": acked,
        "acked": total,
        "acked_per_s": round(total / lasted, 1) if lasted else None,
    }
