"""What Pulumi pickles into its state: an import path and nothing else.

Pulumi writes a dynamic provider into the state of every resource and loads it from there, also years later to destroy
what an older version made. So this module's name, the class's name and its one field must stay; the logic behind the
path may change freely.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, cast

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

if TYPE_CHECKING:
    from infra.providers.base import Part, Props

# Pulumi keeps the pickled provider among a resource's inputs.
_PULUMI_OWN = "__provider"


class PartProvider(ResourceProvider):
    """Hands every call on to the part that `path` (`module:Class`) names."""

    # There is no secret in it, and a plain value spares a decryption for each resource.
    serialize_as_secret_always = False

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def check(self, _olds: Any, news: Any) -> CheckResult:
        problems = _part(self.path).check(old=_own(_olds), new=_own(news))
        return CheckResult(news, [CheckFailure(problem.field, problem.reason) for problem in problems])

    def diff(self, _id: str, _olds: Any, _news: Any) -> DiffResult:
        difference = _part(self.path).diff(old=_own(_olds), new=_own(_news))
        for name, reason in difference.replaces.items():
            print(f"{_id}: {name} replaces it: {reason}", file=sys.stderr)  # noqa: T201 - the engine shows it
        return DiffResult(
            changes=difference.changes or bool(difference.replaces),
            replaces=sorted(difference.replaces),
            stables=[],
            # The successor has the same name, folder and address, so the two cannot stand side by side.
            delete_before_replace=True,
        )

    def create(self, props: Any) -> CreateResult:
        ident, outs = _part(self.path).create(_own(props))
        return CreateResult(ident, outs)

    def read(self, id_: str, props: Any) -> ReadResult:
        outs = _part(self.path).read(id_, _own(props))
        if outs is None:
            return ReadResult("", {})
        return ReadResult(id_, {**outs, _PULUMI_OWN: props[_PULUMI_OWN]})

    def update(self, _id: str, _olds: Any, _news: Any) -> UpdateResult:
        return UpdateResult(_part(self.path).update(_id, old=_own(_olds), new=_own(_news)))

    def delete(self, _id: str, _props: Any) -> None:
        _part(self.path).delete(_id, _own(_props))


def _part(path: str) -> Part:
    module, name = path.split(":")
    return cast("Part", getattr(importlib.import_module(module), name)())


def _own(props: Any) -> Props:
    return {key: _whole(value) for key, value in (props or {}).items() if key != _PULUMI_OWN}


def _whole(value: Any) -> Any:
    """The wire knows floating numbers only; ours are all whole."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
