"""Say whether a stack is well. Hosts: each answers by its pinned key, systemd runs, disks have room. Spark's
daemons run. Its cluster, once there is one: brokers, controller, quorum, replicas, certificates (playbooks/health.yml).
Exit code 0 if all is.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.stack import StackHost, hosts_of
from cli.surroundings import DEFAULT_STACK, HOME, ROOT, checked_stack, environment
from cli.up import KAFKA_ROLES
from common.errors import EXIT_FAILED
from common.ssh import ssh_argv

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HELP = "say whether hosts and cluster are well"
LOOK_TIMEOUT_S = 30
HEALTH_TIMEOUT_S = 180
# systemd's own word, then the fullest of the file systems that are disks.
LOOK = """
systemctl is-system-running
systemctl list-units --failed --plain --no-legend | cut -d' ' -f1 | tr '\\n' ' '; echo
df --local --output=pcent,target -x tmpfs -x devtmpfs -x squashfs | grep '% /' | grep -v ' /run/host' \\
  | sort -rn | sed 1q
"""
LOOK_LINES = 3
# Of each daemon of Spark that a host shall have: one that was stopped has not failed, so systemd calls the host well.
LOOK_AT_SPARK = "systemctl show --property=LoadState,ActiveState {unit} | tr '\\n' ' '; echo"
SPARK_LINE = "LoadState="
SPARK_ROLES = ("spark_master", "spark_worker")
FULL_PERCENT = 95
RUNS, NOT_MADE, MISSING = "runs", "not made yet", "missing"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", nargs="?", default=DEFAULT_STACK, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(arguments: argparse.Namespace) -> int:
    stack = checked_stack(arguments.stack)
    hosts = hosts_of(stack)
    made = (HOME / stack / "cluster.json").exists()
    with ThreadPoolExecutor(max_workers=16) as pool:
        seen = list(pool.map(lambda host: look(host, made=made), hosts))
    cluster = health(stack) if made else None
    well = all(host["well"] for host in seen) and (cluster is None or not cluster["problems"])
    if arguments.json:
        print(json.dumps({"stack": stack, "well": well, "hosts": seen, "cluster": cluster}, indent=1))
    else:
        show(stack, seen)
        if cluster:
            show_cluster(stack, cluster)
        elif any(role in KAFKA_ROLES for host in hosts for role in host.roles):
            print(f"There is no cluster on them yet: ./kastellan up {stack} makes it.")
    return 0 if well else EXIT_FAILED


def health(stack: str) -> dict[str, Any]:
    """What playbook health writes down; `problems` alone where it could not get that far."""
    with tempfile.TemporaryDirectory(prefix="kastellan-status-") as folder:
        file = Path(folder) / "health.json"
        argv = [
            "ansible-playbook",
            "-i",
            f"inventories/{stack}",
            "playbooks/health.yml",
            "-e",
            f"kafka_health_file={file}",
        ]
        try:
            done = subprocess.run(
                argv, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=HEALTH_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return {"problems": [f"playbooks/health.yml did not end within {HEALTH_TIMEOUT_S} s"]}
        if file.exists():
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return found
    return {"problems": [f"playbooks/health.yml could not look at it: {first_failure(done.stdout + done.stderr)}"]}


def first_failure(output: str) -> str:
    """The line that matters in what a playbook printed."""
    lines = [line.strip() for line in output.splitlines()]
    told = [line for line in lines if line.startswith(("fatal:", "[ERROR]", "ERROR", "msg:"))]
    return next(iter(told), lines[-1] if lines else "it said nothing")


def look(host: StackHost, *, made: bool) -> dict[str, Any]:
    """`made`: the stack has its cluster, so that what is not there was there before."""
    facts = {"name": host.name, "address": host.login.address, "roles": host.roles}
    try:
        done = subprocess.run(
            ssh_argv(host.login, look_of(host.roles)),
            capture_output=True, text=True, timeout=LOOK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {**facts, "well": False, "state": "silent", "detail": f"no answer in {LOOK_TIMEOUT_S} s"}
    every = done.stdout.splitlines()
    of_spark = [line for line in every if line.startswith(SPARK_LINE)]
    lines = [line for line in every if line not in of_spark]
    if len(lines) < LOOK_LINES:
        return {**facts, "well": False, "state": "unreachable", "detail": done.stderr.strip()}
    seen = {**facts, **judge(lines)}
    daemons = spark_daemons(host.roles, of_spark, made=made)
    if not daemons:
        return seen
    down = [f"{role} {state}" for role, state in daemons.items() if state not in {RUNS, NOT_MADE}]
    if down and seen["well"]:
        seen |= {"well": False, "state": "Spark down", "detail": ", ".join(down)}
    return {**seen, "spark": daemons}


def look_of(roles: Sequence[str]) -> str:
    units = [f"{role.replace('_', '-')}.service" for role in SPARK_ROLES if role in roles]
    return LOOK + "\n".join(LOOK_AT_SPARK.format(unit=unit) for unit in units)


def spark_daemons(roles: Sequence[str], lines: Sequence[str], *, made: bool) -> dict[str, str]:
    """Role -> how its daemon is; a host that was made, and no more than that yet, is as well as it can be."""
    absent = MISSING if made else NOT_MADE
    found = dict.fromkeys((role for role in SPARK_ROLES if role in roles), "unknown")
    for role, line in zip(found, lines, strict=False):
        state = dict(word.split("=", 1) for word in line.split())
        active = state.get("ActiveState", "unknown")
        found[role] = absent if state["LoadState"] == "not-found" else RUNS if active == "active" else active
    return found


def judge(lines: list[str]) -> dict[str, Any]:
    """What the three lines of LOOK mean."""
    state, failed, fullest = (line.strip() for line in lines[:LOOK_LINES])
    percent, _, folder = fullest.partition("% ")
    full = int(percent) >= FULL_PERCENT
    detail = f"failed: {failed}" if failed else f"{folder.strip()} {percent}% full"
    return {"well": state == "running" and not full, "state": "disk full" if full else state, "detail": detail}


def show(stack: str, hosts: list[dict[str, Any]]) -> None:
    rows: list[tuple[str, ...]] = [("host", "address", "state", "detail", "roles")]
    rows += [(host["name"], host["address"], host["state"], host["detail"], ", ".join(host["roles"])) for host in hosts]
    show_table(rows)
    if spark := [host for host in hosts if "spark" in host]:
        print("\nSpark")
        show_table(spark_rows(spark))
        print(spark_count(spark))
    ill = [host["name"] for host in hosts if not host["well"]]
    print(
        f"\nNot well: {', '.join(ill)}. ./kastellan up {stack} repairs what it made."
        if ill
        else "\nAll hosts are well."
    )


def spark_rows(hosts: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    rows = [(host["name"], role.removeprefix("spark_"), how) for host in hosts for role, how in host["spark"].items()]
    return [("node", "daemon", "Spark"), *rows]


def spark_count(hosts: list[dict[str, Any]]) -> str:
    every = [(role, how) for host in hosts for role, how in host["spark"].items()]
    return ", ".join(
        f"{sum(how == RUNS for role, how in every if role == asked)} of {sum(role == asked for role, _ in every)}"
        f" {asked.removeprefix('spark_')}s run"
        for asked in SPARK_ROLES
    )


def show_cluster(stack: str, cluster: dict[str, Any]) -> None:
    if "hosts" in cluster:
        print(f"\nCluster {cluster['cluster_id']} ({cluster['mode']})")
        show_table(cluster_rows(cluster))
        if ensemble := cluster.get("ensemble"):
            print("\nZooKeeper")
            show_table(ensemble_rows(ensemble))
        counts = [
            f"{name.replace('_', '-')} {len(cluster[name])}" for name in ("under_replicated", "offline", "at_min_isr")
        ]
        print(f"{cluster['topics']} topics, {cluster['partitions']} partitions: {', '.join(counts)}")
    for problem in cluster["problems"]:
        print(f"Problem: {problem}")
    print(
        f"Look closer: ansible-playbook -i inventories/{stack} playbooks/health.yml"
        if cluster["problems"]
        else "The cluster is well."
    )


def cluster_rows(cluster: dict[str, Any]) -> list[tuple[str, ...]]:
    voters = {voter["id"]: voter for voter in (cluster["quorum"] or {}).get("voters", [])}
    rows: list[tuple[str, ...]] = [("node", "id", "Kafka", "quorum", "lag", "certificate")]
    for name, host in cluster["hosts"].items():
        voter = voters.get(host["node_id"])
        role = "controller" if host["controller"] else "voter" if voter else "-"
        lag = f"{voter['lag']} records, {voter['lag_ms']} ms" if voter else "-"
        days = host["certificate_days"]
        left = "none" if days is None else f"{days:.0f} days"
        rows.append((name, str(host["node_id"]), "runs" if host["running"] else "down", role, lag, left))
    return rows


def ensemble_rows(ensemble: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("node", "role", "zxid", "certificate")]
    for member in ensemble["members"]:
        days = member["certificate_days"]
        left = "unknown" if days is None else f"{days} days"
        rows.append((member["name"], member["mode"] or "does not serve", member["zxid"] or "-", left))
    return rows


def show_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
