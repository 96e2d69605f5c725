"""One host: a systemd machine of its own on this machine."""

from __future__ import annotations

from common.wait import wait_until
from infra.providers.base import Difference, Part, Props
from infra.providers.nspawn import disk, registry, seed
from infra.providers.nspawn.cgroup import find_hierarchies
from infra.providers.nspawn.machine import ANSWER_TIMEOUT_S, Machine, answers
from infra.quantities import format_size

RUNNING, STOPPED, SILENT = "running", "stopped", "silent"
INPUTS = (
    "name",
    "stack_id",
    "state_dir",
    "bridge",
    "address",
    "prefix_length",
    "memory_bytes",
    "disk_bytes",
    "data_path",
    "shared_path",
    "authorized_key",
)
# What cannot be changed in place, and why.
IMMUTABLE = {
    "name": "it is in certificates, in Kafka's metadata and in the names of its folders",
    "stack_id": "another stack is another set of hosts",
    "address": "clients, certificates and the quorum know the host by it",
    "data_path": "services on it hold files there open",
    "shared_path": "it is mounted when the host boots",
}
# What hosts made before it was there are taken to have.
BEFORE = {"shared_path": ""}


class Host(Part):
    """Inputs: see INPUTS. Outputs besides: host_key, status, memory_limited."""

    def diff(self, *, old: Props, new: Props) -> Difference:
        replaces = {name: reason for name, reason in IMMUTABLE.items() if old.get(name, BEFORE.get(name)) != new[name]}
        before, after = old.get("disk_bytes"), new["disk_bytes"]
        if isinstance(before, int) and isinstance(after, int) and after < before:
            shrinks = f"{format_size(before)} to {format_size(after)}"
            replaces["disk_bytes"] = f"a file system in use cannot shrink ({shrinks}); its data goes with it"
        changes = old.get("status") != RUNNING or any(old.get(name, BEFORE.get(name)) != new[name] for name in INPUTS)
        return Difference(changes=changes, replaces=replaces)

    def create(self, props: Props) -> tuple[str, Props]:
        machine = _machine(props)
        with machine.lock():
            registry.add_host(props["stack_id"], props["name"], machine.address)
            machine.prepare()
            self._bring_up(machine, props)
        return f"{props['stack_id']}/{props['name']}", _outs(machine, props, RUNNING)

    def read(self, ident: str, props: Props) -> Props | None:
        machine = _machine(props)
        if not machine.disk.exists() or not seed.has_host_key(machine.upper):
            return None
        greets = machine.runs() and wait_until(lambda: answers(props["address"]), timeout_s=ANSWER_TIMEOUT_S)
        status = RUNNING if greets else SILENT if machine.runs() else STOPPED
        return _outs(machine, {**props, "disk_bytes": disk.file_system_bytes(machine.disk)}, status)

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        machine = _machine(new)
        with machine.lock():
            registry.add_host(new["stack_id"], new["name"], machine.address)
            machine.prepare()
            if machine.runs() and not wait_until(lambda: answers(machine.address), timeout_s=ANSWER_TIMEOUT_S):
                machine.step("restart")
                machine.shut_down()
            grows = machine.disk.exists() and disk.file_system_bytes(machine.disk) < new["disk_bytes"]
            if machine.runs() and grows and not disk.may_grow_mounted():
                machine.step("shut down to grow its disk")
                machine.shut_down()
            if machine.runs():
                machine.group.limit_memory(new["memory_bytes"])
                if grows:
                    disk.grow_mounted(machine.disk, new["disk_bytes"], namespace_of=machine.namespace_process())
                seed.authorize(machine.mounted_root(), new["authorized_key"])
            else:
                self._bring_up(machine, new)
        return _outs(machine, new, RUNNING)

    def delete(self, ident: str, props: Props) -> None:
        machine = _machine(props)
        with machine.lock():
            machine.remove()
            registry.remove_host(props["stack_id"], props["name"])

    @staticmethod
    def _bring_up(machine: Machine, props: Props) -> None:
        """Every step may have been done before, by a call that was interrupted: each finds that out itself."""
        if not machine.runs():
            machine.step("disk")
            disk.ensure_disk(machine.disk, props["disk_bytes"])
            machine.step("seed")
            seed.seed(machine.upper, props)
            machine.step("boot")
            machine.start(
                bridge=props["bridge"],
                data_path=props["data_path"],
                memory_bytes=props["memory_bytes"],
                shared_path=props.get("shared_path", ""),
            )
        machine.step("login")
        machine.wait_for_login()
        machine.step("keys")
        machine.check_host_key(seed.host_key(machine.upper))
        machine.step("up")


def _machine(props: Props) -> Machine:
    return Machine(props["state_dir"], props["stack_id"], props["name"], props["address"])


def _outs(machine: Machine, props: Props, status: str) -> Props:
    return {
        **{name: props.get(name, BEFORE.get(name)) for name in INPUTS},
        "host_key": seed.host_key(machine.upper),
        "status": status,
        "memory_limited": find_hierarchies().limits_memory,
    }
