"""Secrets in places where none may be. They go to a host by standard input alone, and only their names come back."""

from __future__ import annotations

import base64
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from validate.faults.shell import over_ssh
from validate.security.kept_by_ansible import kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from validate.cluster import Cluster, Host
    from validate.security.registry import Evidence

BOUND_S = 150.0
FOUND = "@@found "
KNOWN = "a word that is there"
# Where the play keeps the authorities, beside cluster.json.
AUTHORITIES = ("pki", "pki-zookeeper")
SMALLEST = 8  # shorter ones would be found in anything
OPEN_TO_ALL = "/tmp /var/tmp /dev/shm /root /home /run/user"  # noqa: S108  looked into, nothing is written there
FILE_MOST, TOTAL_MOST, LEDGERS_MOST = 64 << 20, 1 << 30, 256 << 20
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
    own = [key for name in AUTHORITIES for key in (cluster.state_dir / name).rglob("*.key")]
    keys = [*cluster.clients_dir.glob("*/key.pem"), *own]
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


def leaks(host: Host, service: str, secrets: Mapping[str, str], see: Evidence) -> list[str]:
    """What was found where on a host; the twin is a word that every host shows to whoever looks."""
    found = on_host(host, service, {**secrets, KNOWN: "systemd-journald"})
    see.twin(any(line.startswith(KNOWN) for line in found), f"{host.name}: {KNOWN} is found")
    return [line for line in found if not line.startswith(KNOWN)]


@dataclass
class Searched:
    """What the search on this machine found, and how far it came."""

    found: list[str]
    size: int = 0
    left: list[str] = field(default_factory=list)
    """What should have been looked at and was not."""
    ledgers_left: int = 0
    """Files of runs' ledgers beyond their own bound: millions of records, of which a sample has to do."""


def here(cluster: Cluster, secrets: Mapping[str, str]) -> Searched:
    """On this machine; the places that hold most secrets if something is wrong come first."""
    patterns = {form.encode(): name for name, secret in secrets.items() for form in forms(secret)}
    found: set[str] = set()
    searched = Searched([])

    def search(place: str, data: bytes | None) -> None:
        if data is None:
            searched.left.append(place)
            return
        searched.size += len(data)
        found.update(f"{name} in {place}" for pattern, name in patterns.items() if pattern in data)

    for place, data in _beyond_the_stack(cluster, searched.left):
        search(place, data)
    files, ledgers = _state(cluster)
    for number, path in enumerate(files):
        if searched.size > TOTAL_MOST:
            searched.left.append(f"{len(files) - number} files of {cluster.state_dir.name}")
            break
        search(str(path.relative_to(cluster.state_dir)), _read(path))
    bound = searched.size + LEDGERS_MOST
    for number, path in enumerate(ledgers):
        if searched.size > bound:
            searched.ledgers_left = len(ledgers) - number
            break
        search(str(path.relative_to(cluster.state_dir)), _read(path) or b"")
    searched.found = sorted(found)
    return searched


def _beyond_the_stack(cluster: Cluster, left: list[str]) -> Iterator[tuple[str, bytes | None]]:
    """What lies elsewhere than beside cluster.json; `left` gets the places that cannot be looked at."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        yield "a command line here", _read(path) or b""  # a process that is gone shows nothing any more
    folders = sorted({operation.cwd for operation in cluster.operations.values()})
    for folder in folders:
        for path in _pulumi(folder):
            yield f"Pulumi's state ({path.name})", _read(path)
        yield "the git tree", _tracked(folder)
    from_ansible, strange = kept(folders)
    left += strange
    for what, path in from_ansible:
        if not path.is_relative_to(cluster.state_dir):
            yield f"{what} ({path.name})", _read(path)


def _state(cluster: Cluster) -> tuple[list[Path], list[Path]]:
    """Files beside cluster.json, and apart from them those of runs' ledgers."""
    # Where secrets belong; and the disks of hosts of this machine, which are looked at from inside.
    closed = {cluster.clients_dir.name, *AUTHORITIES, "ssh", "vault-password", "machines"}
    files: tuple[list[Path], list[Path]] = ([], [])
    for path in sorted(cluster.state_dir.rglob("*")):
        parts = path.relative_to(cluster.state_dir).parts
        if parts[0] not in closed and path.is_file() and not path.is_symlink():
            files[parts[0] == "runs" and "ledger" in parts].append(path)
    return files


def _pulumi(folder: Path) -> Iterator[Path]:
    """Its state; its plugins are programs that were fetched, as large as they are public."""
    for path in sorted((folder / ".kastellan" / "pulumi").rglob("*")):
        if path.is_file() and path.name != "passphrase" and "plugins" not in path.parts:
            yield path


def _tracked(folder: Path) -> bytes | None:
    """Every line that git keeps; nothing where there is no repository."""
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return b""
    told = subprocess.run(
        ["git", "grep", "-hI", ""], cwd=folder, capture_output=True, check=False, timeout=BOUND_S
    )  # fmt: skip
    return told.stdout if told.returncode == 0 else None


def _read(path: Path) -> bytes | None:
    """None if it is too large, or closed; nothing if it went away meanwhile, as locks do."""
    try:
        return path.read_bytes() if path.stat().st_size <= FILE_MOST else None
    except FileNotFoundError:
        return b""
    except OSError:
        return None
