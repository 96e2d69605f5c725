"""Network devices of this machine."""

from __future__ import annotations

from pathlib import Path

from common.errors import CommandFailed
from common.run import run

DEVICES = Path("/sys/class/net")
IP_TIMEOUT_S = 10


def device_exists(device: str) -> bool:
    return (DEVICES / device).exists()


def remove_device(device: str) -> None:
    """A bridge, or the end of a wire that outlived its host; the kernel may take a wire away at any moment."""
    if not device_exists(device):
        return
    try:
        run(["ip", "link", "delete", device], timeout_s=IP_TIMEOUT_S)
    except CommandFailed:
        if device_exists(device):
            raise
