"""docs/reference/workloads.md names every key of every spec with its default, and no other."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from validate.workload import spec

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "workloads.md").read_text(encoding="utf-8")
SHARED = {field.name for field in fields(spec.Spec)}
MEMBERS = SHARED | {field.name for field in fields(spec.ConsumerSpec)}


def documented(title: str) -> dict[str, str]:
    part = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) ?\| ", part, re.MULTILINE))


def shown(field: Any) -> str:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    if default is MISSING:
        return ""
    return str(int(default)) if isinstance(default, float) else json.dumps(default)


@pytest.mark.parametrize(("title", "kind"), [
    ("Every spec", spec.Spec),
    ("Producer", spec.ProducerSpec),
    ("Consumer", spec.ConsumerSpec),
    ("Transformer", spec.TransformerSpec),
    ("Storer", spec.StorerSpec),
    ("Pipeline", spec.PipelineSpec),
    ("Probe", spec.ProbeSpec),
])  # fmt: skip
def test_keys_and_defaults(title: str, kind: type[spec.Spec]) -> None:
    known = {spec.Spec: set(), spec.TransformerSpec: MEMBERS, spec.StorerSpec: MEMBERS}.get(kind, SHARED)
    own = [field for field in fields(kind) if field.name not in known]
    assert documented(title) == {field.name: shown(field) for field in own}
