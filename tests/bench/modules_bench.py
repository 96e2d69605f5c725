"""1,000 topics, 2,000 ACLs, 200 users and 1,000 quotas: reconciled with nothing to do, against bare calls.

Run: python tests/bench/modules_bench.py [--rounds N]. Prints JSON; exit code 1 if the goal is missed.
A broker runs on this machine, with TLS and SCRAM. Modules run as Ansible runs them, each in a process of its own; the
script is one process for all. `listing` is the listing calls alone; `bare` tries the 200 passwords as well, which no
listing tells: the goal is measured against that. `playbook` has all that Ansible adds, as four tasks and as one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.bench.harness import Ratio  # noqa: E402 - after the path
from tests.system.kafka_processes import (  # noqa: E402
    ADMIN,
    ADMIN_PASSWORD,
    Processes,
    fetch,
    kraft,
    zookeeper,
)

TOPICS, USERS, QUOTAS = 1_000, 200, 1_000
# Mode -> what makes a broker of it, and of which release.
WAYS = {"kraft": (kraft, "4.3.1"), "zookeeper": (zookeeper, "3.9.2")}
GOAL = 2.0
# What creating all of it may take of the time of one JVM for each item, as scripts around kafka-configs.sh start them.
CREATE_GOAL = 0.01
BOTH = ["SCRAM-SHA-256", "SCRAM-SHA-512"]
# What Ansible does with a module, without packing it: its parameters, and main().
RUN = """
import sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = sys.stdin.buffer.read(), "legacy"
import importlib
importlib.import_module("plugins.modules." + sys.argv[1]).main()
"""


def declared() -> dict[str, dict[str, Any]]:
    topics = [
        {"name": f"topic-{n}", "partitions": 1, "replication_factor": 1, "config": {"retention.ms": 10**6 + n}}
        for n in range(TOPICS)
    ]
    acls = [
        {
            "principal": f"user-{n % USERS}",
            "resource_type": "topic",
            "name": f"topic-{n}",
            "operations": ["read", "write"],
        }
        for n in range(TOPICS)
    ]
    users = [{"name": f"user-{n}", "password": f"password of {n}"} for n in range(USERS)]
    quotas = [{"user": f"user-{n}", "quotas": {"producer_byte_rate": 1000 + n}} for n in range(QUOTAS)]
    return {
        "kafka_topics": {"topics": topics},
        "kafka_acls": {"acls": acls},
        "kafka_scram_users": {"users": users},
        "kafka_quotas": {"quotas": quotas},
    }


def connection(brokers: Processes) -> dict[str, Any]:
    return {"bootstrap_servers": brokers.servers("TLS"), "client": brokers.client("SASL_SSL"), "timeout_s": 120}


def run_module(brokers: Processes, name: str, params: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": {**connection(brokers), **params}})
    done = subprocess.run(
        [sys.executable, "-c", RUN, name], input=arguments, capture_output=True, text=True, cwd=REPOSITORY, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def run_bare(brokers: Processes, users: list[dict[str, Any]]) -> list[int]:
    settings = {
        "bootstrap_servers": brokers.servers("TLS"), "security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": ADMIN, "sasl_plain_password": ADMIN_PASSWORD,
        "ssl_cafile": str(brokers.folder / "ca.pem"),
    }  # fmt: skip
    script = Path(__file__).with_name("modules_bare.py")
    done = subprocess.run(
        [sys.executable, str(script)],
        input=json.dumps({"settings": settings, "logins": [[user["name"], user["password"]] for user in users]}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return list(json.loads(done.stdout))


def write_playbook(brokers: Processes, folder: Path, wanted: dict[str, dict[str, Any]]) -> None:
    tasks = [
        {f"kastellan.kafka.{name}": connection(brokers) | params, "no_log": True} for name, params in wanted.items()
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    variables = {"vars": {"ansible_python_interpreter": sys.executable}}
    text = json.dumps([play | variables])
    password = json.dumps(ADMIN_PASSWORD)  # it has braces, and is no template
    folder.mkdir()
    (folder / "play.yml").write_text(text.replace(password, f"!unsafe {password}"), encoding="utf-8")
    collections = folder / "ansible_collections" / "kastellan"
    collections.mkdir(parents=True)
    (collections / "kafka").symlink_to(REPOSITORY)


def run_playbook(folder: Path) -> None:
    environment = os.environ | {
        "ANSIBLE_COLLECTIONS_PATH": str(folder), "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
    }  # fmt: skip
    words = ["ansible-playbook", "-i", "localhost,", str(folder / "play.yml")]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or "changed=0" not in done.stdout:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])


def timed(times: dict[str, list[float]], name: str, call: Any, *arguments: Any) -> Any:
    """Wall-clock time, and the processor's: on a machine that others use only the latter can be compared."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    answer = call(*arguments)
    took_s, after = time.monotonic() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    times.setdefault(name, []).append(took_s)
    times.setdefault(f"{name} cpu", []).append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return answer


def measure(brokers: Processes, folder: Path, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    wanted = declared()
    for name, params in wanted.items():
        if not timed(times, f"create {name}", run_module, brokers, name, params)["changed"]:
            raise SystemExit(f"{name} created nothing")
    everything = {kind: items for params in wanted.values() for kind, items in params.items()}
    write_playbook(brokers, folder / "four", wanted)
    write_playbook(brokers, folder / "one", {"kafka_access": everything})
    for _ in range(rounds):
        for way, users in (("listing", []), ("bare", wanted["kafka_scram_users"]["users"])):
            counts = timed(times, way, run_bare, brokers, users)
            if counts != [TOPICS, TOPICS, USERS + 1, QUOTAS, len(users)]:
                raise SystemExit(f"The script saw {counts}.")
        for name, params in wanted.items():
            if timed(times, name, run_module, brokers, name, params)["changed"]:
                raise SystemExit(f"{name} had something to do")
        if timed(times, "kafka_access", run_module, brokers, "kafka_access", everything)["changed"]:
            raise SystemExit("kafka_access had something to do")
        for tasks in ("four", "one"):
            timed(times, f"playbook, tasks: {tasks}", run_playbook, folder / tasks)
    both = {"users": [user | {"mechanisms": BOTH} for user in wanted["kafka_scram_users"]["users"]]}
    timed(times, "add a mechanism to all users", run_module, brokers, "kafka_scram_users", both)
    timed(times, "kafka_scram_users, two mechanisms", run_module, brokers, "kafka_scram_users", both)
    return times


def run_jvm(brokers: Processes, version: str) -> None:
    """The least that one call of Kafka's own tools costs."""
    words = ["--describe", "--entity-type", "users", "--entity-name", "user-0"]
    server = f"127.0.0.1:{brokers.ports[1]['BROKER']}"
    argv = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{fetch(version)}/*", "kafka.admin.ConfigCommand", *words]
    subprocess.run([*argv, "--bootstrap-server", server], capture_output=True, check=True, timeout=60)


def measured(rounds: int, mode: str = "kraft") -> dict[str, list[float]]:
    made, version = WAYS[mode]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kafka").mkdir()
        with made(folder / "kafka", version=version, count=1) as brokers:
            times = measure(brokers, folder, rounds)
            for _ in range(rounds):
                timed(times, "one JVM", run_jvm, brokers, version)
    return times


def ratios(rounds: int = 3, mode: str = "kraft") -> list[Ratio]:
    """For the benchmark of a cluster, where these are promised speeds."""
    times, modules = measured(rounds, mode), list(declared())
    ours_s = [sum(parts) for parts in zip(*(times[name] for name in modules), strict=True)]
    idle = statistics.median(ours_s) / statistics.median(times["bare"])
    items = sum(len(params) for wanted in declared().values() for params in wanted.values()) + TOPICS  # two ACLs each
    create_s = sum(times[f"create {name}"][0] for name in modules)
    jvm_s = [items * one_s for one_s in times["one JVM"]]
    what = f"{TOPICS:,} topics, {2 * TOPICS:,} ACLs, {USERS:,} users, {QUOTAS:,} quotas"
    alone = statistics.median(ours_s) / statistics.median(times["listing"])
    return [
        Ratio(f"{what}, nothing to do / bare listing and logins", ours_s, times["bare"], idle, GOAL),
        # Without a goal: the modules have to tell whether a password is right, and no listing can (docs/adr/0029).
        Ratio(f"{what}, nothing to do / bare listing alone", ours_s, times["listing"], alone, None),
        Ratio("the same created / a JVM for each", [create_s], jvm_s, create_s / statistics.median(jvm_s), CREATE_GOAL),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    times = measured(rounds)
    middle = {name: round(statistics.median(values), 3) for name, values in times.items()}
    ours = {kind: sum(middle[name + kind] for name in declared()) for kind in ("", " cpu")}
    ratio = {
        f"{what} over {way}{kind}": round(seconds[kind] / middle[f"{way}{kind}"], 2)
        for what, seconds in (("four modules", ours), ("kafka_access", {k: middle[f"kafka_access{k}"] for k in ours}))
        for way in ("bare", "listing")
        for kind in ours
    }
    result = {
        "seconds": middle,
        "ratios": ratio,
        "goal": GOAL,
        "passed": ratio["four modules over bare"] <= GOAL,
    }
    print(json.dumps(result, indent=1))
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
