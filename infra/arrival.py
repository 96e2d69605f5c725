"""A machine of a cloud has arrived when it lets us in, with the key we gave it, and has its data disk.

That a cloud calls it active says less: it may still boot, have another's key, or an image that reads no settings.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from common.errors import CommandFailed, KastellanError
from common.run import run
from common.ssh import CONNECT_TIMEOUT_S, Login, ssh_argv
from common.wait import wait_until
from infra.cloud_init import DISK_TIMEOUT_S
from infra.login import known_hosts_text
from infra.providers.base import Difference, Part, Props

RUNNING, SILENT, UNASKED = "running", "silent", "unasked"
INPUTS = ("name", "machine", "address", "port", "user", "host_key", "state_dir", "data_path", "timeout_s")
EVERY_S = 2
# 0 done, 2 done with something to note; anything else is an error that its words explain. Waiting, it writes dots.
SETTLED = "cloud-init status --wait > /dev/null; cloud-init status --long || test $? -eq 2"


class Arrival(Part):
    """Inputs: see INPUTS. Output besides: status."""

    def diff(self, *, old: Props, new: Props) -> Difference:
        missing = old.get("status") == SILENT
        return Difference(changes=missing or any(old.get(name) != new[name] for name in INPUTS))

    def create(self, props: Props) -> tuple[str, Props]:
        return f"arrival/{props['name']}", _outs(props, _arrive(props))

    def read(self, ident: str, props: Props) -> Props | None:
        if not props["timeout_s"]:
            return _outs(props, UNASKED)
        try:
            _command(props, _has_disk(props), timeout_s=CONNECT_TIMEOUT_S)
        except CommandFailed:
            return _outs(props, SILENT)
        return _outs(props, RUNNING)

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        return _outs(new, _arrive(new))

    def delete(self, ident: str, props: Props) -> None:
        """There is nothing of it but the record."""


def _arrive(props: Props) -> str:
    if not props["timeout_s"]:
        return UNASKED
    last: list[str] = []

    def lets_us_in() -> bool:
        try:
            _command(props, "true", timeout_s=CONNECT_TIMEOUT_S)
        except CommandFailed as failure:
            last[:] = [failure.details or failure.brief]
            return False
        return True

    if not wait_until(lets_us_in, timeout_s=props["timeout_s"], every_s=EVERY_S):
        raise KastellanError(
            f"{props['name']} is there, but {props['user']}@{props['address']} does not let us in.",
            details=f"After {props['timeout_s']} s: {last[0] if last else 'no answer'}",
            resolution=(
                "Look at its console. Is the image one with cloud-init (Debian's generic ones are)? Does this machine"
                " reach its network, and is it within firewall.operator? Then: pulumi up --refresh."
            ),
        )
    _settle(props)
    return RUNNING


def _has_disk(props: Props) -> str:
    return f"mountpoint {props['data_path']}"


def _settle(props: Props) -> None:
    try:
        _command(props, SETTLED, timeout_s=DISK_TIMEOUT_S + props["timeout_s"])
        _command(props, _has_disk(props), timeout_s=CONNECT_TIMEOUT_S)
    except CommandFailed as failure:
        raise KastellanError(
            f"{props['name']} did not settle: its first-boot settings failed, or its data disk is missing.",
            details=failure.details or failure.brief,
            resolution=f"Log in and look: sudo cloud-init status --long; findmnt {props['data_path']}; lsblk.",
        ) from None


def _command(props: Props, command: str, *, timeout_s: float) -> str:
    """Checked against the pinned key alone: the stack's known_hosts is written when all hosts are there."""
    with tempfile.TemporaryDirectory() as folder:
        known_hosts = Path(folder) / "known_hosts"
        entry = {"address": props["address"], "port": props["port"], "key": props["host_key"]}
        known_hosts.write_text(known_hosts_text([entry]), encoding="ascii")
        key = Path(props["state_dir"]) / "ssh" / "id_ed25519"
        login = Login(props["address"], props["port"], props["user"], key, known_hosts)
        return run(ssh_argv(login, command), timeout_s=timeout_s + CONNECT_TIMEOUT_S)


def _outs(props: Props, status: str) -> Props:
    return {**{name: props[name] for name in INPUTS}, "status": status}
