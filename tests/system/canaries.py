"""Where a stack's secrets could have leaked to: every place is read once, then searched for each of them."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from validate.security.traces import forms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.kafka_cluster import Cluster
    from tests.system.lab import Lab

# What a host shows to whoever may look; /etc/kafka holds secrets rightly, closed to others.
HOST_PLACES = {
    "processes": "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ",
    "journal": "journalctl --no-pager",
    "unit": "systemctl show kafka; systemctl cat kafka",
    "logs": "find /var/log -type f ! -path '*/journal/*' -exec cat {} +",
    "temporary files and homes": "find /tmp /var/tmp /root /home /run/user -xdev -type f -exec cat {} +",
}
LOOK_EVERY_S = 0.02
WATCH = "while :; do cat /proc/[0-9]*/cmdline; done > /run/kastellan-watch 2>/dev/null"


def secrets_of(cluster: Cluster) -> dict[str, str]:
    """Passwords of users; the key of the vault; private keys of the authority, of users and of the login to hosts, by a
    line of their bodies."""
    state = cluster.lab.state()
    found = {user: str(cluster.bundle(user)["sasl.password"]) for user in cluster.document()["users"]}
    found["vault"] = (state / "vault-password").read_text().strip()
    authorities = [key for folder in state.glob("pki*") for key in folder.rglob("*.key")]
    for path in sorted([*authorities, *state.glob("clients/*/key.pem")]):
        found[f"{path.parent.name}/{path.name}"] = path.read_text().splitlines()[1]
    # In OpenSSH's own form the lines before it hold the public half, and what is alike in all keys.
    found["login to hosts"] = (state / "ssh" / "id_ed25519").read_text().splitlines()[4]
    return found


def places_of_host(lab: Lab, host: str) -> dict[str, str]:
    return {
        f"{host}: {name}": lab.ssh(host, f"sudo sh -c \"({command}) 2>/dev/null | tr '\\\\0' ' '\"", check=False)
        for name, command in HOST_PLACES.items()
    }


def places_of_controller(cluster: Cluster, *words: str) -> dict[str, str]:
    """`words`: for the playbook, which says all that it can say."""
    lab = cluster.lab
    with watched_here() as seen:
        told = cluster.play("site", "-vvv", "--diff", *words).output
        if not words:  # it knows nothing of what only the playbook was told
            told += lab.kastellan("client", "usercc").stdout
    tracked = subprocess.run(["git", "grep", "-hI", ""], cwd=lab.folder, capture_output=True, text=True, check=True)
    pulumi = [path for path in (lab.folder / ".kastellan" / "pulumi").rglob("*") if path.name != "passphrase"]
    return {
        "Ansible at -vvv": told,
        "command lines meanwhile": "\n".join(seen),
        "Pulumi's export": lab.native("pulumi", "stack", "export").stdout,
        "Pulumi's files": "".join(path.read_text(errors="replace") for path in pulumi if path.is_file()),
        "git": tracked.stdout,
        "vault": (lab.state() / "secrets.yml").read_text(),
        "cluster.json": (lab.state() / "cluster.json").read_text(),
    }


@contextlib.contextmanager
def watched_here() -> Iterator[set[str]]:
    """Every command line on this machine, as often as a thread can look without being in the way."""
    seen: set[str] = set()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_EVERY_S):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    seen.add(path.read_text(encoding="utf-8", errors="replace").replace("\0", " "))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def leaks(places: dict[str, str], secrets: dict[str, str]) -> list[str]:
    return [
        f"{name} in {place}"
        for name, secret in secrets.items()
        for place, content in places.items()
        if any(form in content for form in forms(secret))
    ]


@contextlib.contextmanager
def watched_processes(lab: Lab, host: str) -> Iterator[dict[str, str]]:
    """Every command line on the host while something happens there, as fast as it can be read."""
    seen: dict[str, str] = {}
    unit = "--unit kastellan-watch --collect"
    lab.ssh(host, f"sudo systemd-run --quiet {unit} sh -c '{WATCH}'")
    try:
        yield seen
    finally:
        lab.ssh(host, "sudo systemctl stop kastellan-watch", check=False)
        seen[f"{host}: command lines meanwhile"] = lab.ssh(
            host, "sudo cat /run/kastellan-watch | tr '\\0' ' ' | sort -u; sudo rm -f /run/kastellan-watch"
        )


def plant(lab: Lab, host: str, text: str) -> Path:
    path = Path("/tmp/kastellan-canary")  # noqa: S108 - on a host of the test's own
    lab.ssh(host, f"printf %s {text!r} > {path}")
    return path
