"""What a provider of machines in a cloud must offer. Its modules have the same names as any other provider's:

- `preflight.py`: what this machine and user must have (Needs, as everywhere);
- `lookups.py` with `look_up`: what the description names, found in the cloud before anything is made;
- `network.py` with `Network`, `host.py` with `Machine`: what is declared, from Pulumi resources of that cloud.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pulumi

from common.errors import KastellanError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from infra.known import Known
    from infra.plan import CloudPlan, HostPlan, StackPlan

# A cloud that hangs must not hang us for ever: a destroy with strays on its network was seen to have no end.
TIMEOUTS = {"create": "15m", "update": "15m", "delete": "10m"}
# Metadata and tags by which everything of a stack is found again.
MARK, HOST_MARK = "kastellan", "kastellan-host"


@dataclass(frozen=True)
class MachineProps:
    host: HostPlan
    cloud: CloudPlan
    address: str
    user_data: Callable[[pulumi.Input[str]], pulumi.Output[str]]
    """From the udev rule that knows the data disk."""

    @property
    def name(self) -> str:
        """What the cloud calls it."""
        return f"{self.cloud.label}-{self.host.name}"

    @property
    def marks(self) -> dict[str, str]:
        return {**self.cloud.tags, MARK: self.cloud.label, HOST_MARK: self.host.name}

    @property
    def disk_gib(self) -> int:
        return self.host.disk_bytes // 2**30


class CloudMachine(Protocol):
    """What the cloud itself says of a machine, asked anew in every run: state may be old, or of a failed one."""

    ident: pulumi.Output[str]
    status: pulumi.Output[str]
    address: pulumi.Output[str]


@dataclass(frozen=True)
class Cloud:
    """The functions and classes of a provider, gathered from its modules."""

    look_up: Callable[[StackPlan, Known], Any]
    """What was found has `range`, text for the output `network`, and `address_of(host)`."""
    network: Callable[..., Any]
    machine: Callable[..., CloudMachine]
    sound: str
    """The status of a machine that is well."""


def cloud_of(provider: str) -> Cloud:
    network, host = _module(provider, "network"), _module(provider, "host")
    return Cloud(_module(provider, "lookups").look_up, network.Network, host.Machine, host.SOUND)


def _module(provider: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(f"infra.providers.{provider}.{name}")
    except ModuleNotFoundError as missing:
        raise KastellanError(
            f"The Python package {missing.name} for provider {provider} is not there.",
            details="Packages for clouds are installed only where a stack on a cloud is used.",
            resolution="./kastellan up STACK installs them; so does ./kastellan env STACK for native commands.",
        ) from None


def options(
    parent: pulumi.Resource, *, bounded: Sequence[str] = ("create", "delete"), **more: Any
) -> pulumi.ResourceOptions:
    """For every resource of a cloud: a bound on each call that takes one (Pulumi warns of others), and its place."""
    limits = pulumi.CustomTimeouts(**{kind: TIMEOUTS[kind] for kind in bounded})
    return pulumi.ResourceOptions(parent=parent, custom_timeouts=limits, **more)


def data_options(parent: pulumi.Resource, cloud: CloudPlan, **more: Any) -> pulumi.ResourceOptions:
    """Destroying data needs saying so: Pulumi refuses to delete it, and where told to forget it, leaves it there."""
    return options(parent, protect=cloud.keep_data, retain_on_delete=cloud.keep_data, **more)


def machine_options(
    parent: pulumi.Resource, *settled: str, bounded: Sequence[str] = tuple(TIMEOUTS), depends_on: Any = None
) -> pulumi.ResourceOptions:
    """`settled` are inputs that count at the first boot alone: a newer image replaces no machine by itself. Address,
    name and disk are one machine's at a time, so the old one goes first.
    """
    return options(
        parent, bounded=bounded, ignore_changes=list(settled), delete_before_replace=True, depends_on=depends_on
    )
