"""junit.xml: one testcase a scenario and a security check, so that a CI shows the proof as it shows tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # written here, never parsed
from typing import Any

from validate.report import words

_TAG = {words.FAILED: "failure", words.UNKNOWN: "error", words.SKIPPED: "skipped", words.WAIVED: "skipped"}
# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(report: dict[str, Any]) -> str:
    run = report["run"]
    counted = {word: n + report["totals"]["checks"][word] for word, n in report["totals"]["scenarios"].items()}
    suite = ET.Element(
        "testsuite",
        name=f"kastellan.{run['suite'] or 'scenarios'}",
        tests=str(len(report["scenarios"]) + len(report["security"])),
        failures=str(counted[words.FAILED]),
        errors=str(counted[words.UNKNOWN]),
        skipped=str(counted[words.SKIPPED] + report["totals"]["checks"][words.WAIVED]),
        time=_time(run["duration_s"]),
    )
    if run["started_at"]:
        suite.set("timestamp", str(run["started_at"]))
    properties = ET.SubElement(suite, "properties")
    told = {"run_id": run["run_id"], "seed": run["seed"], "verdict": report["verdict"]}
    for name in ("stack", "mode", "kafka_version", "cluster_id"):
        told[name] = report["cluster"].get(name)
    for name, value in told.items():
        if value is not None:
            ET.SubElement(properties, "property", name=name, value=_clean(str(value)))
    for scenario in report["scenarios"]:
        suite.append(_case(suite.get("name", ""), scenario))
    for check in report["security"]:
        suite.append(_check(check))
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


def _case(suite: str, scenario: dict[str, Any]) -> ET.Element:
    case = ET.Element("testcase", classname=suite, name=scenario["id"], time=_time(scenario["duration_s"]))
    tag = _TAG.get(scenario["verdict"])
    if tag is not None:
        reasons = scenario["reasons"] or [_numbers(scenario)]
        told = ET.SubElement(case, tag, message=_clean(reasons[0]))
        if tag != "skipped":
            told.set("type", scenario["verdict"])
        told.text = _clean("\n".join((*reasons, _numbers(scenario))))
    out = [_numbers(scenario), *(f"{x['what']}: {x['command']}" for x in scenario["look_closer"])]
    ET.SubElement(case, "system-out").text = _clean("\n".join(out))
    return case


def _check(check: dict[str, Any]) -> ET.Element:
    name = f"{check['number']} {check['title']}"
    case = ET.Element("testcase", classname="kastellan.security", name=name, time=_time(check["duration_s"]))
    tag = _TAG.get(check["verdict"])
    if tag is not None:
        told = ET.SubElement(case, tag, message=_clean((check["seen"] or ["nothing was seen"])[0]))
        if tag != "skipped":
            told.set("type", check["verdict"])
            told.text = _clean("\n".join((*check["seen"], f"What to change: {check['fix']}")))
    out = [f"tried: {check['tried']}", f"from: {check['where']}", f"expected: {check['expected']}", *check["seen"]]
    ET.SubElement(case, "system-out").text = _clean("\n".join(out))
    return case


def _numbers(scenario: dict[str, Any]) -> str:
    of = scenario["counts"]
    return f"{of['violations']} violations; acked {of['acked']}, found {of['found']}, lost {of['lost']}"


def _time(value: float | None) -> str:
    return f"{value or 0:.3f}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
