"""A cloud that answers from a table, for programs that run with Pulumi's mocks."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pulumi
from pulumi.runtime.mocks import MockMonitor

from infra import ranges
from infra.description import plan_from
from infra.known import Known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs

NONE = Known({})
# How Pulumi marks a secret on the wire.
SECRET = "4dabf18193072939515e22adb298388d"  # noqa: S105 - a mark, no password
OPERATOR = "203.0.113.7/32"


class MockCloud(pulumi.runtime.Mocks):
    """What was made, by `type name`; answers to look-ups are values or functions of what was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.made: dict[str, dict[str, Any]] = {}
        self.requests: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        kind = args.typ.rpartition(":")[2]
        if not args.typ.startswith("kastellan:"):  # components are no things
            self.made[f"{kind} {args.name}"] = dict(args.inputs)
        outputs: dict[str, Any] = {
            "LoginKey": {"public_key": "ssh-ed25519 LOGIN"},
            "HostKey": {"public_key": f"ssh-ed25519 KEY-{args.name}", "private_key": f"PRIVATE-{args.name}"},
            "Arrival": {"status": "running"},
        }.get(kind, {})
        return f"{kind}-{args.name}-0123456789abcdef", {**args.inputs, **outputs}

    def call(self, args: MockCallArgs) -> Any:
        word = args.token.rpartition(":")[2]
        self.asked.append((word, dict(args.args)))
        answer = self.answers[word]
        if callable(answer):
            answer = answer(args.args)
        if isinstance(answer, str):
            return {}, [("", answer)]  # as the engine hands on what a plugin refuses
        return {"id": word, **answer}


class Monitor(MockMonitor):
    """Also keeps what was asked of the engine besides inputs: protection, bounds, order."""

    def __init__(self, cloud: MockCloud) -> None:
        super().__init__(cloud)
        self.cloud = cloud

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - Pulumi's
        self.cloud.requests[f"{request.type.rpartition(':')[2]} {request.name}"] = request
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]  # the same


def run_program(
    cloud: MockCloud, description: dict[str, Any], state: Path, *, known: Known = NONE, preview: bool = False,
    routes: Sequence[dict[str, str]] = (), kvm: Path = Path("/dev/null"),
) -> dict[str, Any]:  # fmt: skip
    """The outputs of `pulumi up` (or of a preview), on a machine with these routes and that device for virtual ones."""
    # A test before may have closed the loop of this thread; Pulumi does not make one itself.
    loop = asyncio.new_event_loop()
    # What fails is raised here. Whatever waited for it would say so again, a page each, when it is collected.
    loop.set_exception_handler(lambda *_: None)
    asyncio.set_event_loop(loop)
    pulumi.runtime.set_mocks(cloud, project="kastellan", stack="cloud", preview=preview, monitor=Monitor(cloud))
    from infra.program import build  # noqa: PLC0415 - resources must be declared after the mocks are set

    plan = plan_from("cloud", description)
    seen: dict[str, Any] = {}

    def program() -> None:
        pulumi.Output.all(**build(plan, state, known=lambda _: known)).apply(seen.update)

    from infra.providers.libvirt import lookups  # noqa: PLC0415 - as above

    with ExitStack() as here:
        here.enter_context(mock.patch.object(ranges, "run", return_value=json.dumps(list(routes))))
        here.enter_context(mock.patch.object(lookups, "KVM", kvm))
        pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]  # Pulumi gives it no types
    return seen


def first_boot(secret: Any) -> dict[str, Any]:
    """What a machine is told, which must have come as a secret."""
    assert set(secret) == {SECRET, "value"}
    told: dict[str, Any] = json.loads(secret["value"].removeprefix("#cloud-config\n"))
    return told


def state_of(**resources: dict[str, Any]) -> Known:
    """A state with resources by id."""
    return Known({ident: {"id": ident, **kept} for ident, kept in resources.items()})
