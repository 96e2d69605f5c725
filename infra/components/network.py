"""The network of a stack."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from infra.components.dynamic import MadeNetwork


@dataclass(frozen=True)
class NetworkProps:
    provider: str
    stack: str
    state_dir: str
    network: str
    """`auto` or a /24."""


class StackNetwork(pulumi.ComponentResource):
    stack_id: pulumi.Output[str]
    subnet: pulumi.Output[str]
    bridge: pulumi.Output[str]

    def __init__(self, name: str, props: NetworkProps, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kastellan:infra:StackNetwork", name, None, opts)
        made = MadeNetwork(
            props.provider,
            name,
            {"stack": props.stack, "state_dir": props.state_dir, "network": props.network},
            pulumi.ResourceOptions(parent=self),
        )
        self.stack_id, self.subnet, self.bridge = made.stack_id, made.subnet, made.bridge
        self.register_outputs({"subnet": self.subnet})
