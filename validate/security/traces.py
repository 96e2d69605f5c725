"""Secrets in places where none may be. They go to a host by standard input alone, and only their names come back."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote

from validate.faults.shell import over_ssh
from validate.security.kept_by_ansible import kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from validate.cluster import Cluster, Host
    from validate.security.registry import Evidence

BOUND_S = 150.0
FOUND, MISSED, PRINT = "@@found ", "@@missed ", "@@print "
SEARCH = Path(__file__).with_name("search.sh")
KNOWN = "a word that is there"
# Where the play keeps the authorities, beside cluster.json.
AUTHORITIES = ("pki", "pki-zookeeper")
SMALLEST = 8  # shorter ones would be found in anything
OPEN_TO_ALL = "/tmp /var/tmp /dev/shm /root /home /run/user"  # noqa: S108  looked into, nothing is written there
SSHD = "/etc/ssh"
FILE_MOST, TOTAL_MOST, LEDGERS_MOST = 64 << 20, 1 << 30, 256 << 20
# What lies about on a host is searched whole up to LARGE, and in pieces beyond it, so much of it in all.
LARGE_MIB, PIECE_MIB, LARGE_MOST_MIB = 8, 8, 512
JOURNAL_MOST = 300_000
# What a host shows to whoever may look. What the service needs to hold lies elsewhere, closed to others (check 58).
PLACES = {
    "processes": "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ",
    "unit": 'systemctl show "$unit"; systemctl cat "$unit"',
    "journal": "journal",
    "logs": "logs",
    "temporary files, homes and histories": 'find "${open[@]}" -xdev -type f -size "-${large_mib}M" -exec cat {} +; '
    "in_pieces",
}
# A whole line of 64 in a key's body, by itself or in JSON.
KEY_LINE = re.compile(rb"(?:\\n|[^A-Za-z0-9+/]|^)([A-Za-z0-9+/]{64})(?![A-Za-z0-9+/])")
PULUMI, PASSPHRASE = Path(".kastellan/pulumi"), "passphrase"


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
    logins = {host.login.key_file for host in cluster.hosts if host.login and host.login.key_file.is_file()}
    for path in sorted({*cluster.clients_dir.glob("*/key.pem"), *own, *logins}):
        if line := _line_of_key(path):
            found[f"key {path.parent.name}/{path.name}"] = line
    for folder in _folders(cluster):
        passphrase = folder / PULUMI / PASSPHRASE
        if passphrase.is_file():
            found["Pulumi's passphrase"] = passphrase.read_text(encoding="utf-8").strip()
    vault = cluster.state_dir / "vault-password"
    if vault.is_file():
        found["vault password"] = vault.read_text(encoding="utf-8").strip()
    return {name: secret for name, secret in found.items() if len(secret) >= SMALLEST}


def _line_of_key(path: Path) -> str:
    """One of its body that no other file has: in OpenSSH's own form the first ones are alike in all keys."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    at = 4 if lines and "OPENSSH" in lines[0] else 1
    return lines[at] if len(lines) > at + 1 else ""


def _folders(cluster: Cluster) -> list[Path]:
    """Checkouts from which this cluster is operated."""
    return sorted({operation.cwd for operation in cluster.operations.values()})


def script(service: str, secrets: Mapping[str, str]) -> str:
    """The patterns stay inside the shell: its own words are not seen in any list of processes."""
    told = {
        "unit": service, "sshd": SSHD, "missed": MISSED, "print": PRINT, "journal_most": JOURNAL_MOST,
        "large_mib": LARGE_MIB, "piece_mib": PIECE_MIB, "large_most_mib": LARGE_MOST_MIB,
    }  # fmt: skip
    lines = [f"{name}={shlex.quote(str(value))}" for name, value in told.items()]
    lines += [f"open=({shlex.join(OPEN_TO_ALL.split())})", SEARCH.read_text(encoding="utf-8")]
    for name, secret in secrets.items():
        lines += [f"who[{shlex.quote(form)}]={shlex.quote(name)}" for form in sorted(forms(secret))]
    for place, command in PLACES.items():
        lines.append(
            f'while IFS= read -r hit; do echo {shlex.quote(FOUND)}"${{who[$hit]:-something}} in {place}"; done < <('
            f"{{ {command}; }} 2>/dev/null < /dev/null | tr '\\0' '\\n' "
            "| grep -aoF -f <(printf '%s\\n' \"${!who[@]}\") | sort -u)"
        )  # fmt: skip
    return "\n".join([*lines, "exit 0", ""])


@dataclass
class OnHost:
    """What the search on a host told."""

    found: list[str]
    missed: list[str]
    """What should have been looked at and was not."""
    prints: dict[str, str]
    """SHA-256 of a line of each key that the host made for itself -> the key's file."""


def on_host(host: Host, service: str, secrets: Mapping[str, str]) -> OnHost:
    lines = sorted(set(over_ssh(host, script(service, secrets), timeout_s=BOUND_S).splitlines()))
    found, missed, prints = (
        [line.removeprefix(mark) for line in lines if line.startswith(mark)] for mark in (FOUND, MISSED, PRINT)
    )
    return OnHost(found, missed, dict(line.split(maxsplit=1) for line in prints))


def leaks(host: Host, service: str, secrets: Mapping[str, str], see: Evidence) -> OnHost:
    """What was found where on a host; the twin is a word that every host shows to whoever looks."""
    told = on_host(host, host.service or service, {**secrets, KNOWN: "systemd-journald"})
    see.twin(any(line.startswith(KNOWN) for line in told.found), f"{host.name}: {KNOWN} is found")
    if told.missed:
        see.unknown(f"{host.name}: not looked at: {'; '.join(told.missed)}")
    return replace(told, found=[line for line in told.found if not line.startswith(KNOWN)])


@dataclass
class Searched:
    """What the search on this machine found, and how far it came."""

    found: list[str]
    size: int = 0
    left: list[str] = field(default_factory=list)
    """What should have been looked at and was not."""
    ledgers_left: int = 0
    """Files of runs' ledgers beyond their own bound: millions of records, of which a sample has to do."""


def here(cluster: Cluster, secrets: Mapping[str, str], prints: Mapping[str, str] = MappingProxyType({})) -> Searched:
    """On this machine; the places that hold most secrets if something is wrong come first. `prints`: of keys that are
    not at hand, SHA-256 of a line -> name."""
    patterns = {form.encode(): name for name, secret in secrets.items() for form in forms(secret)}
    found: set[str] = set()
    searched = Searched([])

    def search(place: str, data: bytes | None) -> None:
        if data is None:
            searched.left.append(place)
            return
        searched.size += len(data)
        found.update(f"{name} in {place}" for pattern, name in patterns.items() if pattern in data)
        lines = {hashlib.sha256(line).hexdigest() for line in KEY_LINE.findall(data)} if prints else set()
        found.update(f"{prints[one]} in {place}" for one in lines & prints.keys())

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
    folders = _folders(cluster)
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
    for path in sorted((folder / PULUMI).rglob("*")):
        if path.is_file() and path.name != PASSPHRASE and "plugins" not in path.parts:
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
