"""Reads infra/stacks/<stack>.yaml and what `pulumi config` overrides in it, and refuses what cannot be meant.

Everything is checked before anything is made; every message names the field and shows a good value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from common.names import is_stack_name, nearest
from common.texts import TextError, from_json, from_yaml
from infra.cloud import FIELDS as CLOUD_FIELDS
from infra.cloud import GROUP_FIELDS, check_cloud_hosts, plan_cloud
from infra.groups import plan_groups
from infra.listed import plan_listed
from infra.plan import HostPlan, StackPlan
from infra.rules import address_range, check_hosts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Providers of machines that are asked for over a network.
CLOUDS = tuple(CLOUD_FIELDS)
PROVIDERS = ("nspawn", "static", *CLOUDS)
# Providers whose hosts exist already are told the hosts one by one; the others make them by groups.
LISTED_PROVIDERS = ("static",)
CLOUD_KEYS = ("cloud", "firewall", "keep_data")
KEYS = ("provider", "network", "groups", "hosts", *CLOUD_KEYS)

# Of groups on this machine, and whether each must be there.
OWN_FIELDS = {"shared": False}


def as_told(text: Any) -> Any:
    """`pulumi config` keeps every value as text, what has a structure as JSON."""
    try:
        return from_json(text) if isinstance(text, str) else text
    except TextError:
        return text


class DescriptionError(UsageError):
    """The description of a stack, or what the configuration makes of it, cannot be meant."""


def load_plan(stack: str, *, folder: Path, overrides: Mapping[str, Any]) -> StackPlan:
    """The plan of a stack: its file in `folder`, overridden by configuration."""
    if not is_stack_name(stack):
        raise DescriptionError(
            f"{stack!r} is no stack name.",
            details="It names folders and network devices.",
            resolution="Use small letters, digits and '-', at most 40, e.g. local or local-two.",
        )
    path = folder / f"{stack}.yaml"
    where = f"infra/stacks/{path.name}"
    described = _read(path, where)
    _refuse_unknown_keys(described, known=KEYS, where=where)
    _refuse_unknown_keys(overrides, known=KEYS, where="pulumi config, namespace kastellan")
    try:
        return plan_from(stack, _merge(described, overrides))
    except ValueError as problem:
        changed = f" (with the overrides of `pulumi config`: {', '.join(sorted(overrides))})" if overrides else ""
        raise DescriptionError(
            f"Stack {stack}: {problem}.",
            details=f"Described in {where}{changed}.",
            resolution="Mend the field; docs/reference/stacks.md has them all with examples.",
        ) from None


def provider_of(path: Path) -> str:
    """Of a description, whatever is wrong with the rest of it; empty if it names none."""
    found = re.search(r"^provider: *([a-z]+)", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return found[1] if found else ""


def plan_from(stack: str, description: Mapping[str, Any]) -> StackPlan:
    """Check a merged description; ValueError names the field."""
    provider = description.get("provider")
    if provider not in PROVIDERS:
        raise ValueError(f"provider is {provider!r}: {nearest(str(provider), PROVIDERS)}")
    listed = provider in LISTED_PROVIDERS
    unfit = "groups" if listed else "hosts"
    if description.get(unfit):
        raise ValueError(
            f"provider {provider} takes no {unfit}: {'list hosts' if listed else 'describe groups'} instead"
        )
    if provider in CLOUDS:
        return _plan_on_cloud(stack, str(provider), description)
    for key in CLOUD_KEYS:
        if key in description:
            raise ValueError(f"provider {provider} takes no {key}: that is for {', '.join(CLOUDS)}")
    network = "" if listed else address_range(description.get("network", "auto"))
    hosts: tuple[HostPlan, ...]
    hosts = plan_listed(description.get("hosts")) if listed else plan_groups(description.get("groups"), OWN_FIELDS)
    check_hosts(hosts)
    return StackPlan(name=stack, provider=str(provider), network=network, hosts=hosts)


def _plan_on_cloud(stack: str, provider: str, description: Mapping[str, Any]) -> StackPlan:
    cloud = plan_cloud(provider, stack, description)
    hosts = plan_groups(description.get("groups"), GROUP_FIELDS[provider])
    check_hosts(hosts)
    check_cloud_hosts(provider, cloud, hosts)
    return StackPlan(name=stack, provider=provider, network=cloud.network, hosts=hosts, cloud=cloud)


def _read(path: Path, where: str) -> dict[str, Any]:
    try:
        content = from_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        stacks = sorted(file.stem for file in path.parent.glob("*.yaml"))
        raise DescriptionError(
            f"There is no stack {path.stem!r}.",
            details=f"{where} does not exist.",
            resolution=f"{nearest(path.stem, stacks).capitalize()} Or write {where}: docs/reference/stacks.md.",
        ) from None
    except (OSError, UnicodeDecodeError, TextError) as error:
        raise DescriptionError(
            f"{where} cannot be read.", details=str(error), resolution="Mend the file: it must be YAML."
        ) from None
    if not isinstance(content, dict):
        raise DescriptionError(f"{where} holds no fields.", resolution="infra/stacks/local.yaml shows what it needs.")
    return content


def _refuse_unknown_keys(values: Mapping[str, Any], *, known: tuple[str, ...], where: str) -> None:
    for key in values:
        if key not in known:
            raise DescriptionError(
                f"Unknown key {key!r}.",
                details=f"It stands in {where}.",
                resolution=f"{nearest(str(key), known).capitalize()}",
            )


def _merge(described: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides win field by field in groups; a group that the file does not have is a slip, not a wish."""
    merged = {**described, **{key: value for key, value in overrides.items() if key != "groups"}}
    for key in ("cloud", "firewall"):
        if isinstance(described.get(key), dict) and isinstance(overrides.get(key), dict):
            merged[key] = {**described[key], **overrides[key]}
    groups = described.get("groups")
    changed = overrides.get("groups")
    if changed is None:
        return merged
    if not isinstance(groups, dict) or not isinstance(changed, dict):
        raise ValueError("groups: both the file and `pulumi config` must have names with fields in them")
    for name, fields in changed.items():
        if name not in groups:
            raise ValueError(f"groups.{name}: the stack has no such group, {nearest(str(name), groups)}")
        if not isinstance(fields, dict) or not isinstance(groups[name], dict):
            raise ValueError(f"groups.{name} must have fields, e.g. groups.{name}.count")
    merged["groups"] = {name: {**fields, **changed.get(name, {})} for name, fields in groups.items()}
    return merged
