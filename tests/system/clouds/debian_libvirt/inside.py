"""Runs as the first process in the root with Debian's libvirt: starts it, and keeps what guests say on their consoles.

By Debian's own Python, without any package of ours.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

LOGS = Path("/kastellan/logs")
START_TIMEOUT_S = 120
LOOK_EVERY_S = 2
SETTINGS = {
    "qemu.conf": (
        'user = "root"\ngroup = "root"\nsecurity_driver = "none"\ncgroup_controllers = []\nnamespaces = []\n'
        "remember_owner = 0\n"
    ),
    "libvirtd.conf": 'auth_unix_rw = "none"\nunix_sock_rw_perms = "0700"\n',
}


def lay_ground() -> None:
    """What containers lack, and libvirt looks for."""
    LOGS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    Path("/dev/net").mkdir()
    os.mknod("/dev/net/tun", 0o20600, os.makedev(10, 200))
    for name, text in SETTINGS.items():
        Path("/etc/libvirt", name).write_text(text)
    # Debian's own network would want a server of addresses, and nobody asks for it here.
    Path("/etc/libvirt/qemu/networks/autostart/default.xml").unlink(missing_ok=True)


def begin(name: str, *argv: str) -> subprocess.Popen[bytes]:
    with (LOGS / f"{name}.log").open("ab") as log:
        return subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)


def ask(*words: str) -> str:
    """Whatever libvirt says; nothing if it refuses."""
    return subprocess.run(["virsh", "--quiet", *words], capture_output=True, text=True, check=False).stdout.strip()


def until_it_answers() -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while not ask("version"):
        if time.monotonic() > deadline_s:
            sys.exit(f"libvirt does not come up; its words are in {LOGS}")
        time.sleep(0.2)


def keep_consoles() -> None:
    """Each life of a guest has a number, and a console that is gone with it."""
    kept = set()
    while True:
        for name in ask("list", "--name").split():
            life = (name, ask("domid", name))
            console = ask("ttyconsole", name)
            if console and life not in kept:
                kept.add(life)
                begin(f"console-{name}", "cat", console)
        time.sleep(LOOK_EVERY_S)


def main() -> None:
    began_s = time.monotonic()
    lay_ground()
    # QEMUs that end fall to the first process, those first that libvirt asks what they can do: it waits until nothing of
    # them is left.
    signal.signal(signal.SIGCHLD, lambda *_: reap())
    begin("virtlogd", "/usr/sbin/virtlogd")
    begin("libvirtd", "/usr/sbin/libvirtd")
    until_it_answers()
    threading.Thread(target=keep_consoles, daemon=True).start()
    print(f"ready after {time.monotonic() - began_s:.0f} s", flush=True)
    sys.stdin.read()  # its end is the end of whoever started this, also when they were killed


def reap() -> None:
    """Orphans only: what was begun here is waited for by who began it."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            name, state, parent = told(entry)
        except (OSError, IndexError):
            continue
        if (state, parent) == ("Z", "1") and name.startswith("qemu"):
            try:
                os.waitpid(int(entry.name), os.WNOHANG)
            except ChildProcessError:
                continue


def told(entry: Path) -> tuple[str, str, str]:
    """Name, state and parent of a process."""
    name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
    state, parent = rest.split()[:2]
    return name, state, parent


if __name__ == "__main__":
    main()
