"""What a stack must be after whatever was done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.lab import Lab


def mark_disks(made: Lab) -> None:
    for host in made.hosts():
        made.ssh(host, f"echo written-on-{host} | sudo tee /var/lib/kafka/mark && sync")


def assert_well(made: Lab, stack: str = "local", *, count: int = 4) -> None:
    """Every host there once, booted for real, with what was written before."""
    hosts = made.hosts(stack)
    assert len(hosts) == count
    for host in hosts:
        assert len(made.supervisors(host, stack)) == 1, f"{host} runs {len(made.supervisors(host, stack))} times"
        assert made.ssh(host, "ps -o comm= -p 1; systemctl is-system-running", stack).split() == ["systemd", "running"]
    made.kastellan("status", stack)


def assert_marks(made: Lab) -> None:
    for host in made.hosts():
        assert made.ssh(host, "cat /var/lib/kafka/mark") == f"written-on-{host}"
