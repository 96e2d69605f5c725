"""Bring a stack up, phase by phase: make the hosts (pulumi up --refresh), see that Ansible reaches them, then turn them
into a secured cluster (ansible-playbook playbooks/site.yml). What is there already is left as it is, what is broken is
mended; interrupted, the same command goes on.

A cluster that was just made for the first time is then proven: python -m validate run --suite smoke loads it and breaks
brokers, as nothing lives there yet. Later this is done only with --proof.
"""

from __future__ import annotations

import functools
import re
import shutil
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cli.native import NativeFailed, is_ansible_routine, is_pong, is_pulumi_chatter, run_shown
from cli.repair import repair
from cli.stack import hosts_of, pulumi
from cli.surroundings import DEFAULT_STACK, HOME, ROOT, checked_stack, environment, lay_out
from common.errors import EXIT_UNKNOWN, CommandFailed, KastellanError, UsageError
from common.names import ROLE_KINDS
from common.run import run as called
from infra.providers.nspawn.leftovers import remove_strays
from tools.pulumi import plugins
from tools.pulumi.build import ensure_pulumi, is_built, on_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from infra.plan import StackPlan

HELP = "bring a stack up"
# Several machines, each with the bound of its provider, side by side.
CLOUD_TIMEOUT_S = 3600
CLASSES_TIMEOUT_S = 1200


@dataclass(frozen=True)
class Phase:
    name: str
    title: str
    run: Callable[[StackPlan], None]


def hosts_phase(plan: StackPlan) -> None:
    """From whatever state to hosts that Ansible reaches."""
    for done in repair(plan.name):
        print(done)
    pulumi("stack", "select", "--create", plan.name)
    flags = ["--yes", "--non-interactive", "--skip-preview", "--suppress-outputs", "--refresh"]
    run_shown(["pulumi", "up", *flags, "--stack", plan.name], hide=is_pulumi_chatter, timeout_s=pulumi_timeout_s(plan))
    run_shown(["ansible", "-i", f"inventories/{plan.name}", "-m", "ping", "all"], hide=is_pong)
    hosts = hosts_of(plan.name)
    print(f"{len(hosts)} hosts answer.")
    for stray in remove_strays(str(HOME / plan.name), {host.name for host in hosts}):
        print(f"Removed {stray}: it was begun by an interrupted call and is not asked for any more.")


def pulumi_timeout_s(plan: StackPlan) -> float | None:
    """A bound on what goes over a network; on this machine everything has bounds of its own."""
    return CLOUD_TIMEOUT_S if plan.cloud else None


def cluster_phase(plan: StackPlan) -> None:
    """Only where there is something for Kafka to run on: a stack may be of other hosts."""
    if not has_kafka(plan):
        print("No host has a role of Kafka: nothing to do.")
        return
    run_shown(["ansible-playbook", "-i", f"inventories/{plan.name}", "playbooks/site.yml"], hide=is_ansible_routine)


def has_kafka(plan: StackPlan) -> bool:
    return any(role in KAFKA_ROLES for host in plan.hosts for role in host.roles)


class ProofUnknown(KastellanError):
    """Nothing was shown to be wrong, and not enough to be right."""

    exit_code = EXIT_UNKNOWN


def proof_phase(plan: StackPlan, *, consent: bool = False) -> None:
    """Load, faults and a verdict. `consent`: nothing lives there yet, so hosts may be broken."""
    if not has_kafka(plan):
        print("No host has a role of Kafka: nothing to prove.")
        return
    words = ["--suite", "smoke", "--stack", plan.name, *(["--allow-faults"] if consent else [])]
    try:
        run_shown(["python", "-m", "validate", "run", *words], hide=lambda _: False)
    except NativeFailed as failure:
        kind, told = (ProofUnknown, "is not complete") if failure.code == EXIT_UNKNOWN else (KastellanError, "failed")
        raise kind(
            f"Hosts and cluster are up, and the proof {told}.",
            details=f"{failure.details} ended with exit code {failure.code}; its reasons are above.",
            resolution=f"Look at the report named above; again: ./kastellan up {plan.name} --proof",
        ) from None


def is_first(stack: str) -> bool:
    """Whether the cluster is still to be made: its description is the last thing that the play writes."""
    return not (HOME / stack / "cluster.json").exists()


PHASES = (
    Phase("hosts", "Hosts", hosts_phase),
    Phase("cluster", "Cluster", cluster_phase),
    Phase("proof", "Proof", proof_phase),
)
KAFKA_ROLES = {role for role, kind in ROLE_KINDS.items() if kind == "kafka"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", nargs="?", default=DEFAULT_STACK, help="default: %(default)s")
    names = [phase.name for phase in PHASES]
    parser.add_argument("--until", choices=names, default=names[-1], help="last phase to run (default: %(default)s)")
    parser.add_argument("--proof", action="store_true", help="run suite smoke also on a cluster that was there before")


def run(arguments: argparse.Namespace) -> int:
    stack = checked_stack(arguments.stack)
    if arguments.proof and arguments.until != "proof":
        raise UsageError(
            f"--proof and --until {arguments.until} contradict each other.",
            details="The proof comes after the cluster.",
            resolution="Leave one of them out.",
        )
    began_s = time.monotonic()
    plan = described(stack)
    prepare(plan, cluster_too=arguments.until != "hosts" and has_kafka(plan))
    first = is_first(stack)
    asked = PHASES[: [phase.name for phase in PHASES].index(arguments.until) + 1]
    for phase in asked:
        if phase.run is not proof_phase:
            print(f"\n== {phase.title}")
            phase.run(plan)
    summarize(stack, time.monotonic() - began_s)
    if arguments.until == "proof" and (first or arguments.proof):
        print("\n== Proof", flush=True)
        proof_phase(plan, consent=first)
    return 0


def described(stack: str) -> StackPlan:
    """Errors of the description come before minutes of preparing."""
    from infra.description import load_plan  # noqa: PLC0415 - needs packages that `doctor` must do without

    if not (ROOT / "inventories" / stack).is_dir():
        raise UsageError(
            f"Stack {stack} has no inventory.",
            details=f"There is no folder inventories/{stack}.",
            resolution=f"cp -r inventories/local inventories/{stack}",
        )
    return load_plan(stack, folder=ROOT / "infra" / "stacks", overrides=configured(stack))


def configured(stack: str) -> dict[str, Any]:
    """What `pulumi config` wrote for the stack; Pulumi itself may not be there yet."""
    from common.texts import TextError, from_yaml  # noqa: PLC0415 - as above
    from infra.description import as_told  # noqa: PLC0415 - the same

    path = ROOT / f"Pulumi.{stack}.yaml"
    try:
        content = from_yaml(path.read_text(encoding="utf-8")) if path.exists() else None
        values = (content or {}).get("config") or {}
        return {
            key.removeprefix("kastellan:"): as_told(value)
            for key, value in values.items()
            if key.startswith("kastellan:")
        }
    except (OSError, UnicodeDecodeError, TextError, AttributeError) as error:
        raise UsageError(
            f"{path.name} cannot be read.",
            details=str(error),
            resolution="Pulumi keeps its overrides and a salt there: mend it, e.g. from a copy.",
        ) from None


def prepare(plan: StackPlan, *, cluster_too: bool = False) -> None:
    """What this machine must have first: Debian's packages, then the rest side by side."""
    from cli.progress import Task, run_together, tell  # noqa: PLC0415 - the same
    from infra.providers import needs_of  # noqa: PLC0415 - the same
    from tools.debian import install  # noqa: PLC0415 - the same

    needs = needs_of(plan.provider)
    needs.require_user()
    lay_out()
    print(f"Kastellan: stack {plan.name}, {len(plan.hosts)} hosts by provider {plan.provider}")
    print("\n== Preparing this machine")
    packages = needs.missing_packages()
    if cluster_too and not shutil.which("mvn"):
        packages.append("maven")  # it fetches Kafka's jars by the lock, from wherever the user's Maven looks
    if packages:

        def installed() -> str:
            install(packages)
            return " ".join(packages)

        run_together([Task("Debian packages", f"installing {' '.join(packages)}", installed)])
    there = is_built() or on_path()
    hint = "looking" if there else "building it from its Go modules, once, about 4 minutes"
    tasks = [Task(title, hint, work) for title, hint, work in needs.preparations()]
    if cluster_too:
        tasks.append(Task("Spark's classes", "loading them beforehand, once, about a minute", spark_classes))
    run_together([*tasks, Task("Pulumi", hint, ensure_pulumi)])
    if plan.provider in plugins.VERSIONS:
        ensure = functools.partial(plugins.ensure_plugin, plan.provider, environment(), tell)
        run_together([Task("Pulumi's plugin", "looking", ensure)])


def spark_classes() -> str:
    """A proof starts Spark several times, and finds its classes much sooner then. It works without them as well."""
    try:
        return called([sys.executable, "-m", "validate.spark_home"], timeout_s=CLASSES_TIMEOUT_S, cwd=ROOT).strip()
    except CommandFailed as failure:
        return f"not kept, judging takes longer: {(failure.details or str(failure)).splitlines()[-1]}"


def summarize(stack: str, took_s: float) -> None:
    hosts = hosts_of(stack)
    first = hosts[0].name
    other = "" if stack == DEFAULT_STACK else f" --stack {stack}"
    tail = "" if stack == DEFAULT_STACK else f" {stack}"
    inventory = "" if stack == DEFAULT_STACK else f"-i inventories/{stack} "
    print(f"\n== Stack {stack} is up: {len(hosts)} hosts in {took_s:.0f} s\n")
    for host in hosts:
        print(f"  {host.name:<14} {host.login.address:<15} {', '.join(host.roles)}")
    print(f"""
Log in            ./kastellan ssh{other} {first}
Look after it     ./kastellan status{tail}
Native commands   eval "$(./kastellan env)", then for example
                    pulumi preview --stack {stack}
                    ansible {inventory}-m ping all
Prove it          ./kastellan up{tail} --proof, or python -m validate run{other} --suite failover""")
    if (master := spark_master(stack)) and (HOME / stack / "shared").is_dir():
        print(f"""Load by Spark     eval "$(./kastellan env{tail})", then
                    python -m validate run{other} --suite load --spark-master {master} \\
                      --ledger .kastellan/{stack}/shared""")
    print(f"Take it down      ./kastellan down{tail}")
    clients = HOME / stack / "clients"
    if clients.is_dir():
        names = ", ".join(sorted(path.name for path in clients.iterdir()))
        print(f"Clients           .kastellan/{stack}/clients/: {names}")


def spark_master(stack: str) -> str | None:
    """Of a stack with hosts of Spark: what role `spark` wrote for drivers."""
    try:
        text = (HOME / stack / "spark" / "spark-defaults.conf").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found = re.search(r"spark://\S+", text)
    return found[0] if found else None
