"""Commands to look closer: the judge again, the log itself, the host's journal. They are shown, never run."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from validate.report.moments import micros

AROUND_S = 10  # how much of a host's journal before a fault began and after it was healed
PLACES_SHOWN = 3
DATA_DIR = "/var/lib/kafka/data"  # where the role kafka puts it, for runs that do not say
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def commands(
    scenario_id: str, reproduce: str | None, run: Path, cluster: dict[str, Any], seen: dict[str, Any]
) -> list[dict[str, str]]:
    """`what` it shows and the `command`, the cheapest look first; `seen`: faults, isr, findings, ledger."""
    listed = []
    if seen["ledger"]:
        ledger = shlex.quote(_shown(run / "ledger" / scenario_id))
        listed.append({"what": "Judge this ledger again", "command": f"python -m validate judge {ledger}"})
    if reproduce:
        listed.append({"what": "Run the scenario again", "command": reproduce})
    listed += _logs(cluster, seen["findings"], seen["isr"])
    listed += _journals(cluster, seen["faults"])
    return listed


def _shown(path: Path) -> str:
    """Relative to where the report is made, if the run lies below: then the page may move with its checkout."""
    whole = path.resolve()
    return str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else str(whole)


def _on(cluster: dict[str, Any], host: str, command: str) -> str:
    """Double quotes where nothing in the command means anything to a shell inside them: single ones nest badly."""
    plain = f'"{command}"' if not set(command) & set('"$`!') else shlex.quote(command)
    stack = cluster.get("stack")
    login = ["./kastellan", "ssh", "--stack", str(stack), host] if stack else ["ssh", host]
    return f"{shlex.join(login)} {plain}"


def _logs(cluster: dict[str, Any], findings: list[dict[str, Any]], isr: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The bytes on disk around the first violations, on a host that holds them."""
    listed: dict[tuple[str, int], dict[str, str]] = {}
    for finding in findings:
        topic, partition, offset = finding.get("topic"), finding.get("partition"), finding.get("offset")
        if finding.get("verdict") != "violation" or topic is None or partition is None or (topic, partition) in listed:
            continue
        host = _holder(cluster, topic, partition, isr)
        if host is None:
            return []
        place = f"{(cluster.get('data_dirs') or [DATA_DIR])[0]}/{topic}-{partition}"
        dump = f"sudo find {shlex.quote(place)} -name '*.log' -exec kafka-dump-log.sh --deep-iteration --files {{}} \\;"
        dump += f" | grep -w 'offset: {offset}'" if offset is not None else ""
        what = f"What {host} holds of {topic}-{partition}" + (f" at offset {offset}" if offset is not None else "")
        listed[topic, partition] = {"what": what, "command": _on(cluster, host, dump)}
        if len(listed) == PLACES_SHOWN:
            break
    return list(listed.values())


def _holder(cluster: dict[str, Any], topic: str, partition: int, isr: list[dict[str, Any]]) -> str | None:
    """A host with a replica if the run saw which, else any broker: its name is then to be replaced by hand."""
    hosts = [x for x in cluster.get("hosts") or [] if "kafka_broker" in (x.get("roles") or ["kafka_broker"])]
    for row in isr:
        if (row["topic"], row["partition"]) == (topic, partition):
            held = [x for x in hosts if x.get("node_id") in row["replicas"]]
            hosts = held or hosts
    return str(hosts[0]["name"]) if hosts else None


def _journals(cluster: dict[str, Any], faults: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What the host itself said while it was broken."""
    names = {x["name"] for x in cluster.get("hosts") or []}
    unit = cluster.get("service") or "kafka"
    spans: dict[str, list[int]] = {}
    for fault in faults:
        times = [at for name in ("begin", "bit", "healed") if fault[name] and (at := micros(fault[name])) is not None]
        for target in (x.strip() for x in fault["target"].split(",")):
            if target in names and times:
                spans.setdefault(target, []).extend(times)
    listed = []
    for host, times in sorted(spans.items()):
        since = _clock(min(times), -AROUND_S)
        until = _clock(max(times), AROUND_S)
        command = f"sudo journalctl --utc -u {shlex.quote(unit)} --since '{since}' --until '{until}'"
        listed.append({"what": f"The journal of {host} at that time", "command": _on(cluster, host, command)})
    return listed


def _clock(at_us: int, more_s: int) -> str:
    at = _EPOCH + timedelta(microseconds=at_us, seconds=more_s)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
