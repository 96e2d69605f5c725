"""The top of the page, for somebody with one minute: the verdict in words, the counts, which cluster, when."""

from __future__ import annotations

from typing import Any

from validate.report import words
from validate.report.moments import micros
from validate.report.page.marks import SHAPE, number, verdict
from validate.report.page.markup import Html, el, listed, table

GIB = 2**30


def top(report: dict[str, Any]) -> Html:
    run, cluster = report["run"], report["cluster"]
    word = report["verdict"]
    told = el(
        "div",
        el("p", el("span", SHAPE.get(word, "?"), aria_hidden="true", class_="shape"), " ", word, class_="word"),
        el("div", el("p", report["sentence"], class_="sentence"), listed(report["reasons"])),
        class_=f"banner {word}",
    )
    where = [
        "Suite " if run["suite"] else "Scenarios ",
        el("strong", run["suite"] or "by name"),
        " on cluster ",
        el("strong", _cluster(cluster)),
        f", {when(run['started_at'])}",
        f", took {words.seconds(run['duration_s'])}" if run["duration_s"] else ", no end known",
        f". Run {run['run_id']}, seed {run['seed']}.",
    ]
    return el("header", el("h1", "Kastellan: proof of a run"), told, el("p", where), _tiles(report))


def when(text: Any) -> str:
    """A time as people write it; what is no time is shown as it is."""
    if micros(text) is None:
        return "at a time unknown" if text is None else str(text)
    return f"{str(text)[:10]} {str(text)[11:19]} UTC"


def _cluster(cluster: dict[str, Any]) -> str:
    named = cluster.get("stack") or cluster.get("cluster_id") or "(not named)"
    brokers = words.many(cluster["brokers"], "broker") if isinstance(cluster.get("brokers"), int) else ""
    return ", ".join(filter(None, (str(named), f"Kafka {cluster.get('kafka_version', '?')}", brokers)))


def _tiles(report: dict[str, Any]) -> Html:
    totals = report["totals"]
    ran = sum(n for word, n in totals["scenarios"].items() if word != words.SKIPPED)
    longest = _longest(report, "fresh")
    tiles = [
        ("acknowledged", number(totals["acked"]), "records the cluster confirmed"),
        ("kept", number(totals["found"]), "found again in the final read"),
        ("lost", number(totals["lost"]), _lost(totals)),
        ("repeated", number(totals["repeated"]), "extra copies in the log"),
        ("longest outage", longest[0], longest[1]),
        ("scenarios", f"{totals['scenarios'][words.PASSED]} of {ran} passed", _others(totals)),
    ]
    checks = totals["checks"]
    if ran_checks := sum(n for word, n in checks.items() if word != words.SKIPPED):
        tiles.append(("security checks", f"{checks[words.PASSED]} of {ran_checks} passed", _others_of(checks)))
    return el(
        "dl", [el("div", el("dt", a), el("dd", b), el("dd", c, class_="quiet")) for a, b, c in tiles], class_="tiles"
    )


def _lost(totals: dict[str, Any]) -> str:
    undecided = f"; {totals['undecided']:,} undecided" if totals["undecided"] else ""
    if totals["lost_expected"]:
        return f"{totals['lost_expected']:,} where the settings allow it{undecided}"
    return f"confirmed, and gone{undecided}"


def _others(totals: dict[str, Any]) -> str:
    return _others_of(totals["scenarios"])


def _others_of(counted: dict[str, int]) -> str:
    said = [f"{n} {word}" for word, n in counted.items() if n and word != words.PASSED]
    return ", ".join(said).replace(words.SKIPPED, "not applicable here") or "none failed"


def _longest(report: dict[str, Any], witness: str) -> tuple[str, str]:
    rows = [
        (o["high_s"], s["id"])
        for s in report["scenarios"]
        for o in s["outages"]
        if o["witness"] == witness and o["high_s"]
    ]
    if not rows:
        return "none", "seen by a fresh client"
    value, name = max(rows)
    return f"≤ {words.seconds(value)}", f"of one partition, fresh client, {name}"


def overview(report: dict[str, Any]) -> Html:
    """Every scenario in a line; the list is the way into the page."""
    rows = []
    for one in report["scenarios"]:
        of = one["counts"]
        judged = one["summary"] is not None
        numbers = [
            number(of[x]) if judged else words.NOTHING for x in ("acked", "found", "lost", "repeated", "violations")
        ]
        longest = max((o["high_s"] or 0 for o in one["outages"]), default=None)
        why = one["reasons"][0] if one["reasons"] else ""
        name = [el("a", one["id"], href=f"#s-{one['id']}"), el("br"), el("span", one["title"], class_="quiet")]
        rows.append([verdict(one["verdict"]), name, *numbers, words.seconds(longest), why])
    heads = ["verdict", "scenario", "acked", "kept", "lost", "repeated", "violations", "longest outage", "why"]
    listed_all = table(heads, rows, caption="Scenarios of this run", numbers=set(range(2, 8)), class_="roomy")
    return el("section", el("h2", "Scenarios", id="scenarios"), listed_all)


def machine(report: dict[str, Any]) -> Html:
    """What it ran on: the cluster, the machine of the validator, versions."""
    cluster, run = report["cluster"], report["run"]
    plain = {k: v for k, v in cluster.items() if not isinstance(v, (list, dict))}
    facts = {f"cluster: {k.replace('_', ' ')}": v for k, v in plain.items()}
    facts |= {f"validator: {k.replace('_', ' ')}": _size(k, v) for k, v in report["machine"].items()}
    facts |= {"kastellan": run["kastellan"], "command": " ".join(run["command"]), "seed": run["seed"]}
    hosts = [
        [x.get("name"), x.get("node_id"), ", ".join(map(str, x.get("roles") or [])), x.get("rack") or words.NOTHING]
        for x in cluster.get("hosts") or []
    ]
    return el(
        "section",
        el("h2", "Machine and versions", id="machine"),
        table(
            ["what", "is"],
            [[k, words.NOTHING if v is None else str(v)] for k, v in facts.items()],
            caption="What it ran on",
        ),
        table(["host", "node id", "roles", "rack"], hosts, caption="Hosts of the cluster", numbers={1})
        if hosts
        else None,
    )


def _size(name: str, value: Any) -> Any:
    return f"{value / GIB:.1f} GiB" if name.endswith("_bytes") and isinstance(value, (int, float)) else value
