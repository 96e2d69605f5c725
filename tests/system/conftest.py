"""Real hosts for tests. Everything happens in copies of the checkout, so a user's own stacks are never touched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.system.lab import Lab, clean_orphans, new_lab

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def _machine() -> None:
    if os.geteuid() != 0:
        pytest.fail("System tests make real hosts and need root: run them as root, or ./kastellan test --fast.")
    clean_orphans()


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A copy whose stack `local` is up: four hosts, each with a file on its data disk."""
    with new_lab() as made:
        made.kastellan("up", "--until", "hosts")
        mark_disks(made)
        yield made


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
