"""Pulumi resources whose work is done by a Part of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi.dynamic import Resource

from infra.providers.stub import PartProvider

if TYPE_CHECKING:
    import pulumi


class MadeNetwork(Resource, module="kastellan", name="Network"):
    stack_id: pulumi.Output[str]
    subnet: pulumi.Output[str]
    bridge: pulumi.Output[str]

    def __init__(self, provider: str, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        outputs = {"stack_id": None, "subnet": None, "bridge": None, "status": None}
        super().__init__(PartProvider(f"infra.providers.{provider}.network:Network"), name, {**outputs, **props}, opts)


class MadeHost(Resource, module="kastellan", name="Host"):
    address: pulumi.Output[str]
    host_key: pulumi.Output[str]

    def __init__(self, provider: str, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        outputs = {"host_key": None, "status": None, "memory_limited": None}
        super().__init__(PartProvider(f"infra.providers.{provider}.host:Host"), name, {**outputs, **props}, opts)


class LoginKey(Resource, module="kastellan", name="LoginKey"):
    public_key: pulumi.Output[str]

    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(PartProvider("infra.login:LoginKey"), name, {"public_key": None, **props}, opts)


class KnownHosts(Resource, module="kastellan", name="KnownHosts"):
    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(PartProvider("infra.login:KnownHosts"), name, props, opts)
