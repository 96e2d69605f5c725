"""One host on a cloud: its key, its machine and its data volume, and the proof that it is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

from common.errors import KastellanError
from infra.cloud_init import FirstBoot, user_data
from infra.components.dynamic import MadeArrival, MadeHostKey
from infra.components.host import facts_of
from infra.providers.cloud import MachineProps

if TYPE_CHECKING:
    from infra.plan import CloudPlan, HostPlan
    from infra.providers.cloud import Cloud


@dataclass(frozen=True)
class CloudHostProps:
    stack: str
    plan: HostPlan
    cloud: CloudPlan
    provider: Cloud
    found: Any
    network: Any
    state_dir: str
    authorized_key: pulumi.Output[str]


class CloudHost(pulumi.ComponentResource):
    address: pulumi.Output[str]
    host_key: pulumi.Output[str]
    facts: pulumi.Output[dict[str, Any]]
    """One entry of the stack output `hosts`; there is none for a machine that is not well."""

    def __init__(self, props: CloudHostProps, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = props.plan
        super().__init__("kastellan:infra:CloudHost", plan.name, None, opts)
        inside = pulumi.ResourceOptions(parent=self)
        key = MadeHostKey(plan.name, {"name": plan.name}, inside)
        asked = MachineProps(plan, props.cloud, props.found.address_of(plan), self._first_boot(props, key))
        machine = props.provider.machine(asked, props.found, props.network, inside)
        sound = props.provider.sound
        seen = pulumi.Output.all(machine.status, machine.address)
        self.address = seen.apply(lambda it: checked_address(props.stack, plan.name, asked.address, sound, *it))
        self.host_key = key.public_key
        arrival = MadeArrival(plan.name, self._arrival(props, machine.ident), inside)
        # There are no facts before it has arrived.
        everything = pulumi.Output.all(self.address, self.host_key, arrival.status)
        self.facts = everything.apply(lambda it: facts_of(plan, it[0], it[1]))
        self.register_outputs({"address": self.address})

    def _first_boot(self, props: CloudHostProps, key: MadeHostKey) -> Any:
        plan = props.plan

        def text(disk_rule: pulumi.Input[str]) -> pulumi.Output[str]:
            secret: pulumi.Output[str] = pulumi.Output.secret(key.private_key)
            told = pulumi.Output.all(props.authorized_key, key.public_key, secret, disk_rule)
            return told.apply(
                lambda it: user_data(FirstBoot(plan.name, plan.data_path, (it[0], *props.cloud.keys), *it[1:]))
            )

        return text

    def _arrival(self, props: CloudHostProps, machine: pulumi.Output[str]) -> dict[str, Any]:
        return {
            "name": props.plan.name,
            "machine": machine,
            "address": self.address,
            "port": props.plan.ssh_port,
            "user": props.plan.ssh_user,
            "host_key": self.host_key,
            "state_dir": props.state_dir,
            "data_path": props.plan.data_path,
            "timeout_s": props.cloud.login_timeout_s,
        }


def checked_address(stack: str, host: str, wanted: str, sound: str, status: str, address: str) -> str:
    """Pulumi is content with a machine that it once began to make; we are not."""
    if status == sound and address == wanted:
        return address
    got = address or "no address"
    error = KastellanError(
        f"{host} is not well: the cloud says {status or 'nothing'}, with {got}.",
        details=f"It should be {sound}, with {wanted}. The cloud's own record of the machine may say why.",
        resolution=f"pulumi up --refresh --stack {stack} (./kastellan up {stack} always looks first) makes anew "
        "what is gone or in error; start a machine that was stopped by the cloud's own means first.",
    )
    raise pulumi.RunError(str(error))
