"""Secrets in places where none may be. They go to a host by standard input alone, and only their names come back."""

from __future__ import annotations

import base64
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from validate.faults.shell import over_ssh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from validate.cluster import Cluster, Host
    from validate.security.scene import Scene

BOUND_S = 150.0
FOUND = "@@found "
SMALLEST = 8  # shorter ones would be found in anything
OPEN_TO_ALL = "/tmp /var/tmp /dev/shm /root /home /run/user"  # noqa: S108  looked into, nothing is written there
FILE_MOST, TOTAL_MOST = 64 << 20, 1 << 30
# What a host shows to whoever may look. What the service needs to hold lies elsewhere, closed to others (check 58).
PLACES = {
    "processes": "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ",
    "unit": "systemctl show $unit; systemctl cat $unit",
    "journal": "journalctl --no-pager -o cat -n 300000",
    "logs": "find /var/log -type f ! -path '*/journal/*' -exec cat {} +",
    "temporary files, homes and histories": "find $open -xdev -type f -size -8M -exec cat {} +",
}


def forms(secret: str) -> set[str]:
    """As it stands, in hex, in a URL, and the part of its base64 that no neighbour changes, however it is aligned."""
    raw = secret.encode()
    found = {secret, raw.hex(), raw.hex().upper(), quote(secret, safe="")}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        found.add(encoded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6])
    return {one for one in found if len(one) >= SMALLEST}


def secrets_of(cluster: Cluster) -> dict[str, str]:
    """Every secret at hand: passwords, private keys by a line of their body, what lies beside cluster.json."""
    found: dict[str, str] = {}
    for user in cluster.content["users"]:
        if password := str(cluster.client(user).get("sasl.password", "")):
            found[f"password of {user}"] = password
    keys = [*cluster.clients_dir.glob("*/key.pem"), *(cluster.state_dir / "pki").rglob("*.key")]
    for path in sorted(keys):
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
        if len(lines) > 2:  # noqa: PLR2004  head, body, foot
            found[f"key {path.parent.name}/{path.name}"] = lines[1]
    vault = cluster.state_dir / "vault-password"
    if vault.is_file():
        found["vault password"] = vault.read_text(encoding="utf-8").strip()
    return {name: secret for name, secret in found.items() if len(secret) >= SMALLEST}


def script(service: str, secrets: Mapping[str, str]) -> str:
    """The patterns stay inside the shell: its own words are not seen in any list of processes."""
    lines = [f"unit={shlex.quote(service)}", f"open={shlex.quote(OPEN_TO_ALL)}", "declare -A who"]
    for name, secret in secrets.items():
        lines += [f"who[{shlex.quote(form)}]={shlex.quote(name)}" for form in sorted(forms(secret))]
    for place, command in PLACES.items():
        lines.append(
            f'while IFS= read -r hit; do echo {shlex.quote(FOUND)}"${{who[$hit]:-something}} in {place}"; done < <('
            f"{{ {command}; }} 2>/dev/null < /dev/null | tr '\\0' '\\n' "
            "| grep -aoF -f <(printf '%s\\n' \"${!who[@]}\") | sort -u)"
        )  # fmt: skip
    return "\n".join([*lines, "exit 0", ""])


def on_host(host: Host, service: str, secrets: Mapping[str, str]) -> list[str]:
    told = over_ssh(host, script(service, secrets), timeout_s=BOUND_S)
    return sorted({line.removeprefix(FOUND) for line in told.splitlines() if line.startswith(FOUND)})


def on_hosts(scene: Scene, secrets: Mapping[str, str]) -> dict[str, list[str]]:
    """Host -> what was found where."""
    open_ = [host for host in scene.cluster.hosts if host.login is not None]
    return {host.name: on_host(host, scene.cluster.service, secrets) for host in open_}


def here(cluster: Cluster, secrets: Mapping[str, str]) -> tuple[list[str], int]:
    """On this machine: what was found where, and how many bytes were looked through."""
    patterns = {form.encode(): name for name, secret in secrets.items() for form in forms(secret)}
    found: set[str] = set()
    looked = 0
    for place, data in _contents(cluster):
        looked += len(data)
        found |= {f"{name} in {place}" for pattern, name in patterns.items() if pattern in data}
        if looked > TOTAL_MOST:
            break
    return sorted(found), looked


def _contents(cluster: Cluster) -> Iterator[tuple[str, bytes]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        yield "a command line here", _read(path)
    # Where secrets belong; and the disks of hosts of this machine, which are looked at from inside.
    kept = {cluster.clients_dir.name, "pki", "ssh", "vault-password", "machines"}
    for path in sorted(cluster.state_dir.rglob("*")):
        if path.relative_to(cluster.state_dir).parts[0] not in kept and path.is_file() and not path.is_symlink():
            yield str(path.relative_to(cluster.state_dir)), _read(path)
    for operation in cluster.operations.values():
        for path in sorted((operation.cwd / ".kastellan" / "pulumi").rglob("*")):
            if path.is_file() and path.name != "passphrase":
                yield "Pulumi's state", _read(path)
        tracked = subprocess.run(
            ["git", "grep", "-hI", ""], cwd=operation.cwd, capture_output=True, check=False, timeout=BOUND_S
        )  # fmt: skip
        yield "the git tree", tracked.stdout


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.stat().st_size <= FILE_MOST else b""
    except OSError:
        return b""
