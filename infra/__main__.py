"""`pulumi up` starts here: read the description, refuse what is wrong, declare the hosts."""

from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime.config import get_config_env

from common.errors import KastellanError
from infra.description import as_told, load_plan
from infra.program import build
from infra.providers import needs_of
from infra.state import open_state


def overrides() -> dict[str, Any]:
    """What `pulumi config` says in our namespace; values with structure come as JSON."""
    prefix = f"{pulumi.get_project()}:"
    return {key.removeprefix(prefix): as_told(text) for key, text in get_config_env().items() if key.startswith(prefix)}


def main() -> None:
    stack = pulumi.get_stack()
    try:
        plan = load_plan(stack, folder=Path(__file__).parent / "stacks", overrides=overrides())
        needs_of(plan.provider).preflight(plan)
        outputs = build(plan, open_state(stack))
    except KastellanError as error:
        # RunError shows the message alone, where another exception would show a traceback of ours.
        raise pulumi.RunError(str(error)) from None
    for name, value in outputs.items():
        pulumi.export(name, value)


main()
