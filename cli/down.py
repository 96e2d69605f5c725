"""Remove a stack: its hosts with their disks, and its state (keys, secrets, clients). Reports of runs stay unless
--purge. Asks first, unless --yes.
"""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from cli.native import is_pulumi_chatter, run_shown
from cli.repair import repair
from cli.stack import exists, pulumi
from cli.surroundings import DEFAULT_STACK, HOME, ROOT, checked_stack, environment, lay_out
from cli.up import CLOUD_TIMEOUT_S
from common.errors import KastellanError, UsageError
from infra.providers.nspawn import registry
from infra.providers.nspawn.leftovers import remove_stack
from tools.pulumi import plugins

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

HELP = "remove a stack's hosts, disks and state"
KEPT = ("runs", "shared")  # what was proven; of a stack with Spark the ledgers lie in the folder its hosts share


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", nargs="?", default=DEFAULT_STACK, help="default: %(default)s")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--purge", action="store_true", help="remove the reports of its runs as well")


def run(arguments: argparse.Namespace) -> int:
    stack = checked_stack(arguments.stack)
    lay_out()
    if not arguments.yes:
        confirm(stack)
    for done in repair(stack):
        print(done)
    known = exists(stack)
    if not known and record_of(stack) is None and not state_of(HOME / stack, purge=arguments.purge):
        print(f"There is nothing of stack {stack} to take down.")
        return 0
    if known:
        cloud = cloud_of(stack)
        if cloud is not None:
            resources = resources_of(stack)
            refuse_kept_data(stack, resources)
            bring_plugin(cloud, resources)
        flags = ["--yes", "--non-interactive", "--skip-preview", "--suppress-outputs"]
        argv = ["pulumi", "destroy", *flags, "--stack", stack]
        run_shown(argv, hide=is_pulumi_chatter, timeout_s=CLOUD_TIMEOUT_S if cloud else None)
        # What the user configured outlives the stack, as its description does.
        pulumi("stack", "rm", "--yes", "--preserve-config", "--stack", stack)
    if (record := record_of(stack)) is not None:  # hosts that Pulumi does not know (any more)
        remove_stack(record)
    remove_state(HOME / stack, purge=arguments.purge)
    print(f"Stack {stack} is gone.")
    return 0


def cloud_of(stack: str) -> str | None:
    from infra.description import CLOUDS, provider_of  # noqa: PLC0415 - with the packages of the description

    found = provider_of(ROOT / "infra" / "stacks" / f"{stack}.yaml")
    return found if found in CLOUDS else None


def resources_of(stack: str) -> list[dict[str, Any]]:
    """As Pulumi has them on record, itself and its providers among them."""
    exported = json.loads(pulumi("stack", "export", "--stack", stack))
    return (exported.get("deployment") or {}).get("resources") or []


def bring_plugin(name: str, resources: list[dict[str, Any]]) -> None:
    """It may be another checkout, or another machine, than the one that made the hosts: Pulumi itself fetches none."""
    if not any(f"pulumi:providers:{name}::" in entry.get("provider", "") for entry in resources):
        return  # nothing of it was ever made, perhaps because the plugin could not be had
    surroundings = environment()
    # An older one that was built here takes hosts down as well: it need not be built anew for that.
    if not plugins.is_there(name, surroundings):
        plugins.ensure_plugin(name, surroundings, print)


def refuse_kept_data(stack: str, resources: list[dict[str, Any]]) -> None:
    """Before the first machine is gone: Pulumi itself would find out when it comes to the volumes."""
    # On libvirt a host's volumes say which one they are.
    kept = [entry["urn"].rpartition("::")[2].removesuffix("-data") for entry in resources if entry.get("protect")]
    if kept:
        raise KastellanError(
            f"Stack {stack} keeps its data: {len(kept)} volumes are protected.",
            details=f"Those of {', '.join(sorted(kept))}.",
            resolution=(
                f"To destroy the data too: pulumi config set kastellan:keep_data false --stack {stack}, then pulumi up"
                f" --stack {stack}, then this again. To keep it: pulumi destroy --exclude-protected --stack {stack}."
            ),
        )


def record_of(stack: str) -> registry.StackRecord | None:
    return registry.record_of(registry.stack_id_for(str(HOME / stack)))


def confirm(stack: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            f"Removing stack {stack} destroys its hosts' disks, so it must be confirmed.",
            details="There is no terminal to ask at.",
            resolution=f"./kastellan down {stack} --yes",
        )
    answer = input(f"Remove stack {stack} with its hosts, disks, keys and secrets? Type its name to confirm: ")
    if answer.strip() != stack:
        raise UsageError("Not confirmed, nothing was changed.", resolution=f"Type {stack} when asked, or use --yes.")


def remove_state(folder: Path, *, purge: bool) -> None:
    for entry in state_of(folder, purge=purge):
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()


def state_of(folder: Path, *, purge: bool) -> list[Path]:
    """What of it `down` removes: what was proven stays, where something was."""
    if not folder.exists():
        return []
    return [entry for entry in folder.iterdir() if purge or entry.name not in KEPT or not any(entry.iterdir())]
