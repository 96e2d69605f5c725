"""What Pulumi's state says of a stack: to tell what is ours from what a killed call left behind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from common.errors import KastellanError
from common.run import run
from infra.state import ROOT

EXPORT_TIMEOUT_S = 120


@dataclass(frozen=True)
class Known:
    """Resources by id; what is being made has none yet."""

    resources: dict[str, dict[str, Any]]

    def __contains__(self, ident: str) -> bool:
        return ident in self.resources

    def of(self, kind: str, name: str) -> dict[str, Any] | None:
        """The resource of that type and Pulumi name, as the state has it."""
        ending = f"{kind}::{name}"
        return next((kept for kept in self.resources.values() if str(kept.get("urn", "")).endswith(ending)), None)


def known_resources(stack: str) -> Known:
    """Read with Pulumi's own command, as a backend may lie anywhere. Nothing is decrypted."""
    text = run(
        ["pulumi", "stack", "export", "--non-interactive", "--stack", stack],
        timeout_s=EXPORT_TIMEOUT_S,
        cwd=ROOT,
        resolution='The program pulumi must be on PATH: eval "$(./kastellan env)".',
    )
    return parse_export(text)


def parse_export(text: str) -> Known:
    deployment = json.loads(text).get("deployment") or {}
    found = deployment.get("resources") or []
    return Known({str(kept["id"]): kept for kept in found if kept.get("id") and not kept.get("delete")})


@dataclass(frozen=True)
class Found:
    """A thing in the cloud that bears the mark of the stack."""

    kind: str
    ident: str
    remedy: str
    """Command that removes it."""


def refuse_strays(label: str, found: list[Found], known: Known) -> None:
    """What bears our mark and is not in the state was made by a call that was killed before it wrote that down."""
    strays = [thing for thing in found if thing.ident not in known]
    if not strays:
        return
    raise KastellanError(
        f"{len(strays)} things marked {label} are in the cloud and not in Pulumi's state.",
        details="\n".join(f"{thing.kind} {thing.ident}" for thing in strays),
        resolution=(
            "A call was killed while it made them, or another checkout has a stack of this name (then give this one a"
            " cloud.label of its own). Nothing is made twice. To remove them:\n"
            + "\n".join(f"  {thing.remedy}" for thing in strays)
        ),
    )


def refuse_smaller(name: str, asked_gib: int, kept: dict[str, Any] | None) -> None:
    """Growing is done in place; less would mean another, empty volume."""
    size = (kept or {}).get("outputs", {}).get("size")
    if isinstance(size, int | float) and asked_gib < size:
        raise KastellanError(
            f"The data volume of {name} has {size:.0f}GiB, {asked_gib}GiB are asked for.",
            details="No cloud shrinks a volume: it would be another one, and the data would be gone.",
            resolution=f"Write disk: {size:.0f}GiB or more.",
        )
