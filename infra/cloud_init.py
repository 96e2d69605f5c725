"""What a machine of a cloud is told for its first boot: one document for all clouds.

The host's key is among it, so that the first login is checked already; hence it is a secret wherever it goes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from common.errors import KastellanError
from infra.plan import SSH_USER

# AWS takes no more; what we write has about 4 KiB.
LARGEST = 16 * 1024
DEVICE = "/dev/kastellan-data"
DISK_TIMEOUT_S = 600
METADATA_ADDRESS = "169.254.169.254"
# A missing disk must not keep the machine from booting: whoever mends it logs in there.
MOUNT_OPTIONS = ",".join(
    (
        "defaults",
        "noatime",
        "nodev",
        "nosuid",
        "nofail",
        "x-systemd.makefs",  # only where there is no file system yet
        "x-systemd.growfs",
        f"x-systemd.device-timeout={DISK_TIMEOUT_S}",
    )
)
SSHD = "HostKey /etc/ssh/ssh_host_ed25519_key\nPasswordAuthentication no\nPermitRootLogin no\n"
# The metadata service shows the user data, with the host's key in it, to every process that asks.
METADATA_RULES = f"""table inet kastellan_metadata
delete table inet kastellan_metadata
table inet kastellan_metadata {{
    chain output {{
        type filter hook output priority filter; policy accept;
        ip daddr {METADATA_ADDRESS} meta skuid != 0 drop
    }}
}}
"""
METADATA_UNIT = """[Unit]
Description=The metadata service is for root alone
After=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f /etc/kastellan/metadata.nft

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class FirstBoot:
    host: str
    data_path: str
    keys: tuple[str, ...]
    """Who may log in."""
    host_key: str
    host_key_private: str
    disk_rule: str
    """How udev knows the data disk, whatever name the kernel gives it."""


def user_data(boot: FirstBoot) -> str:
    """JSON is YAML: nothing to quote wrongly."""
    text = f"#cloud-config\n{json.dumps(document(boot), indent=1, sort_keys=True)}\n"
    if len(text.encode()) > LARGEST:
        raise KastellanError(
            f"The first-boot settings of {boot.host} have {len(text.encode())} bytes, a cloud takes {LARGEST}.",
            details="They hold all keys that may log in.",
            resolution="List fewer cloud.keys; the others can be put on the hosts afterwards.",
        )
    return text


def document(boot: FirstBoot) -> dict[str, Any]:
    user = {
        "name": SSH_USER,
        "shell": "/bin/bash",
        "lock_passwd": True,
        "sudo": "ALL=(ALL) NOPASSWD:ALL",
        "ssh_authorized_keys": list(boot.keys),
    }
    return {
        "hostname": boot.host,
        "preserve_hostname": False,
        # Images of Debian have it on: cloud-init would write over the names of the cluster at every boot.
        "manage_etc_hosts": False,
        "users": [user],  # and no user of the image's own
        "disable_root": True,
        "ssh_pwauth": False,
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": boot.host_key_private, "ed25519_public": boot.host_key},
        "write_files": _files(boot),
        "runcmd": _commands(boot.data_path),
    }


def _files(boot: FirstBoot) -> list[dict[str, Any]]:
    link = DEVICE.removeprefix("/dev/")
    rule = f'SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", {boot.disk_rule}, SYMLINK+="{link}"\n'
    mount = f"{DEVICE} {boot.data_path} ext4 {MOUNT_OPTIONS} 0 2\n"
    return [
        {"path": "/etc/ssh/sshd_config.d/10-kastellan.conf", "content": SSHD, "permissions": "0644"},
        {"path": "/etc/udev/rules.d/99-kastellan.rules", "content": rule, "permissions": "0644"},
        {"path": "/etc/fstab", "content": mount, "append": True},
        {"path": "/etc/kastellan/metadata.nft", "content": METADATA_RULES, "permissions": "0644"},
        {"path": "/etc/systemd/system/kastellan-metadata.service", "content": METADATA_UNIT, "permissions": "0644"},
    ]


def _commands(path: str) -> list[list[str]]:
    return [
        ["mkdir", "-p", path],
        # Without its disk nothing can be written there: better refused than lost with the machine.
        ["sh", "-c", f"mountpoint -q {path} || chattr +i {path}"],
        ["udevadm", "control", "--reload"],
        ["udevadm", "trigger", "--subsystem-match=block", "--settle"],
        ["systemctl", "daemon-reload"],
        ["systemctl", "enable", "--now", "kastellan-metadata.service"],
        # Comes back when the disk is there, however late the cloud attaches it.
        ["sh", "-c", f'systemctl start "$(systemd-escape --path --suffix=mount {path})"'],
    ]
