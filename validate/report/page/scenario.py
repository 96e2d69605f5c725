"""One scenario, for an engineer: why this outcome, when it happened, where, and how to look closer."""

from __future__ import annotations

import base64
import json
from typing import Any

import yaml

from validate.checks.table import MEANING
from validate.report import latency, words
from validate.report.moments import apart_s
from validate.report.page import drawing
from validate.report.page.insync import insync
from validate.report.page.marks import number, of_finding, verdict
from validate.report.page.markup import Html, el, listed, paragraphs, table
from validate.report.page.timeline import timeline
from validate.report.page.top import when

OUTAGES_SHOWN = 40
_NUMBERS = (
    ("sent", "sent"), ("acked", "acked"), ("refused", "refused"), ("unknown", "unknown"), ("found", "kept"),
    ("expired", "expired"), ("withdrawn", "withdrawn"), ("undecided", "undecided"), ("lost", "lost"),
    ("repeated", "repeated"), ("redelivered", "redelivered"), ("violations", "violations"),
)  # fmt: skip


def scenario(one: dict[str, Any], columns: int) -> Html:
    name = f"s-{one['id']}"
    head = el("h2", verdict(one["verdict"]), " ", el("span", one["id"], class_="id"), id=name)
    body: list[Any] = [head, el("p", one["title"], class_="title"), el("p", one["teaches"]) if one["teaches"] else None]
    body.append(listed(one["reasons"], class_="reasons"))
    body.append(listed([f"Note: {x}" for x in one["notes"]], class_="notes"))
    if one["verdict"] != words.SKIPPED:
        body += [_numbers(one), *_why(one), *_drawn(one), *_pictures(one, columns), *_faults(one), *_outages(one)]
        body += [el("h3", "In-sync replicas"), *insync(one, drawing.scale_of(one)), *_anomalies(one), *_phases(one)]
        body += _latency(one)
    body += _closer(one)
    body.append(el("p", el("a", "Back to the list of scenarios", href="#scenarios"), class_="back"))
    return el("section", body, class_="scenario", aria_labelledby=name)


def _numbers(one: dict[str, Any]) -> Html:
    if one["summary"] is None:
        return el("p", "There is no judgement of this scenario, so nothing can be said of its records.")
    shown = [(label, one["counts"][name]) for name, label in _NUMBERS]
    always = {"acked", "kept", "lost", "repeated", "violations"}
    cells = [el("div", el("dt", label), el("dd", number(n))) for label, n in shown if n or label in always]
    return el("dl", cells, class_="numbers")


def _why(one: dict[str, Any]) -> list[Any]:
    body: list[Any] = []
    if one["explanation"]:
        kept = one["verdict"] == words.PASSED
        title = "Why this outcome is what the settings promise" if kept else "What the settings promise"
        body += [el("h3", title), *paragraphs(one["explanation"])]
    alike: dict[str, list[str]] = {}
    for x in one["settings"]:
        said = f"acks={x['acks']}, idempotence {_on(x['idempotent'])}, {x['max_in_flight']} in flight at most"
        alike.setdefault(said, []).append(f"{x['n']:,} to {x['topic']}")
    rows = [["records sent with", f"{said}: {', '.join(topics)}"] for said, topics in alike.items()]
    rows += [[k, _plain(v)] for k, v in (one["configured"] or {}).items()]
    if one["bounds"]:
        rows.append(["bounds", _plain(one["bounds"])])
    if rows:
        body += [el("h3", "What was configured"), table(["what", "is"], rows, class_="tight")]
    if one["expect"]:
        told = el("pre", yaml.safe_dump(one["expect"], sort_keys=False))
        body.append(el("details", el("summary", "What was expected (EXPECT.yml)"), told))
    return body


def _on(value: Any) -> str:
    return {"true": "on", "false": "off"}.get(str(value).lower(), str(value))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _pictures(one: dict[str, Any], columns: int) -> list[Any]:
    scale = drawing.scale_of(one)
    topics = list(one["timeline"]["topics"])
    if scale is None or not topics:
        return [el("h3", "Timeline"), el("p", "Nothing was sent, so there is nothing to draw.", class_="quiet")]
    line = one["timeline"]
    began = f"0 s is {drawing.clock(scale.start_us)} UTC."
    keys = [
        ("acked", "acked"),
        ("refused", "refused"),
        ("unsure", "no report came"),
        ("shade", "fault, begin to healed"),
    ]
    keys += [("out fresh", "outage, fresh client"), ("out running", "outage, running client")]
    legend = [el("span", _swatch(class_), " ", name) for class_, name in keys]
    legend.append(el("span", _swatch("bit"), " dashed: the fault bit"))
    how = f"Each column counts what was reported within {line['step_ms']} ms"
    wide = -(-line["buckets"] // columns)
    how += f" (mean of {wide} such counts)." if wide > 1 else "."
    told = el("p", f"{began} {how} Arrow keys or a pointer on a picture read its values.", class_="quiet")
    return [
        el("h3", "Timeline"),
        told,
        el("p", legend, class_="legend"),
        *(timeline(one, x, scale, columns) for x in topics),
    ]


def _drawn(one: dict[str, Any]) -> list[Any]:
    """What workloads drew. As an image a browser runs nothing of it, whatever stands in the file."""
    if not one["pictures"]:
        return []
    body: list[Any] = [el("h3", "What was read")]
    for picture in one["pictures"]:
        data = base64.b64encode(picture["svg"].encode()).decode()
        image = el("img", src=f"data:image/svg+xml;base64,{data}", alt=f"Drawn by {picture['name']}", class_="drawn")
        body.append(el("figure", image, el("figcaption", f"Drawn by {picture['name']}")))
    return body


def _swatch(class_: str) -> Html:
    if class_ == "bit":
        return el("svg", el("line", x1=9, x2=9, y1=0, y2=12, class_="bit"), width=18, height=12, aria_hidden="true")
    return el("svg", el("rect", width=18, height=12, class_=class_), width=18, height=12, aria_hidden="true")


def _faults(one: dict[str, Any]) -> list[Any]:
    """What was broken, and how it was seen to be."""
    missing = (("begin", "?"), ("bit", "not seen"), ("healed", "not healed"))
    rows = []
    for x in one["faults"]:
        times = [(x[name] or "")[11:23] or word for name, word in missing]
        lasted = words.seconds(apart_s(x["bit"] or x["begin"], x["healed"]))
        rows.append([x["fault"], x["target"], *times, lasted, x["detail"]])
    heads = ["fault", "target", "begun (UTC)", "bit", "healed", "lasted", "how it was seen"]
    return [el("h3", "Faults"), table(heads, rows, class_="tight")] if rows else []


def _outages(one: dict[str, Any]) -> list[Any]:
    rows = one["outages"]
    if not rows:
        return [
            el("h3", "Outages"),
            el("p", "None: every probe of every witness came through, or there were no probes."),
        ]
    shown = [_outage(x) for x in rows]
    heads = ["judged", "witness", "kind", "partition", "lasted (s)", "bound (s)", "times", "began (UTC)", "during"]
    caption = "Longest outage of each witness, kind and partition"
    first = table(heads, shown[:OUTAGES_SHOWN], caption=caption, numbers={4, 5, 6})
    rest = shown[OUTAGES_SHOWN:]
    more = (
        el("details", el("summary", f"{len(rest)} shorter ones"), table(heads, rest, numbers={4, 5, 6}))
        if rest
        else None
    )
    said = "An outage lasted at least the first and at most the second number: probes come at intervals."
    return [el("h3", "Outages"), el("p", said, class_="quiet"), first, more]


def _outage(x: dict[str, Any]) -> list[Any]:
    lasted = f"{x['low_s']:.3f} .. {x['high_s']:.3f}" if x["high_s"] is not None else words.NOTHING
    began = (x["since"] or words.NOTHING)[11:23] or words.NOTHING
    return [
        of_finding(x["verdict"]), x["witness"], x["kind"], f"{x['topic']}-{x['partition']}",
        lasted + (" (not over)" if x["open"] else ""), "none" if x["bound_s"] is None else f"{x['bound_s']:g}",
        x["times"] or words.NOTHING, began, x["faults"] or "no fault",
    ]  # fmt: skip


def _anomalies(one: dict[str, Any]) -> list[Any]:
    counts = (one["summary"] or {}).get("counts") or {}
    rows = []
    for name, of in counts.items():
        if sum(of.values()):
            link = el("a", name, href="#findings", data_scenario=one["id"], data_anomaly=name)
            rows.append(
                [link, *(number(of.get(x, 0)) for x in ("violation", "expected", "allowed")), MEANING.get(name, "")]
            )
    if not rows:
        return [el("h3", "Anomalies"), el("p", "None was found." if one["summary"] else "Nothing was judged.")]
    heads = ["anomaly", "violation", "expected", "allowed", "what it means"]
    return [el("h3", "Anomalies"), table(heads, rows, caption="Counts are exact", numbers={1, 2, 3})]


def _phases(one: dict[str, Any]) -> list[Any]:
    if not one["phases"]:
        return []
    rows = []
    for x in one["phases"]:
        least = min(x["acked_per_partition"].items(), key=lambda kv: kv[1], default=None)
        fewest = f"{least[1]:,} in {least[0]}" if least else words.NOTHING
        rate = words.NOTHING if x["acked_per_s"] is None else f"{x['acked_per_s']:,.0f}"
        rows.append([x["name"], when(x["began_at"]), words.seconds(x["duration_s"]), number(x["acked"]), rate, fewest])
    heads = ["phase", "began", "lasted", "acked", "acked per s", "fewest in a partition"]
    return [el("h3", "Phases and throughput"), table(heads, rows, caption="Acked while it lasted", numbers={2, 3, 4})]


def _latency(one: dict[str, Any]) -> list[Any]:
    """Of a load with a shape; the others have no schedule to be late on."""
    told = one["latency"]
    if told is None:
        return []
    lines = [("all topics", told["all"]), *told["topics"].items()]
    lines += [("from the send (leaves out the wait before it)", told["from_send"])]
    lines += [("sent after it was due", told["sent_late"])]
    rows = [[name, number(of["n"]), *(_ms(of[x]) for x in latency.WORDS)] for name, of in lines]
    caption = "Milliseconds from the moment a record was due to its acknowledgement, each to within 1 %"
    left = f"{told['not_acked']:,} of {told['due']:,} records were not acknowledged: they are in no row but the last."
    return [
        el("h3", "Latency"), listed(latency.not_taken(told), class_="reasons"),
        table(["of", "records", *latency.WORDS.values()], rows, caption=caption, numbers=set(range(1, 7))),
        el("p", left, class_="quiet"),
    ]  # fmt: skip


def _ms(value: float | None) -> str:
    return words.NOTHING if value is None else f"{value:,.1f}"


def _closer(one: dict[str, Any]) -> list[Any]:
    if not one["look_closer"]:
        return []
    items = [[el("dt", x["what"]), el("dd", el("code", x["command"], tabindex="0"))] for x in one["look_closer"]]
    return [el("h3", "To look closer"), el("dl", items, class_="commands")]
