"""Pulumi resources whose work is done by a Part of ours."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi.dynamic import Resource

from infra.providers.stub import PartProvider


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


class MadeHostKey(Resource, module="kastellan", name="HostKey"):
    public_key: pulumi.Output[str]
    private_key: pulumi.Output[str]

    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        outputs = {"public_key": None, "private_key": None}
        secret = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(additional_secret_outputs=["private_key"]))
        super().__init__(PartProvider("infra.login:HostKey"), name, {**outputs, **props}, secret)


class MadeArrival(Resource, module="kastellan", name="Arrival"):
    status: pulumi.Output[str]

    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(PartProvider("infra.arrival:Arrival"), name, {"status": None, **props}, opts)
