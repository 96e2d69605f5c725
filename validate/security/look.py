"""One look at a host by root's shell: what its kernel says of the service, its ports, its files. Nothing is changed."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from validate.faults.shell import over_ssh

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from validate.cluster import Host

BOUND_S = 60.0
MARK = "@@kastellan "
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups --"
# Without a place find would look where it stands.
_DUMPS = (
    "/nonexistent -xdev -maxdepth 1 -type f \\( -name '*.hprof' -o -name 'hs_err*' -o -name core -o -name 'core.*' \\)"
)
# Name of a part -> what root's bash runs for it. $pid is the service's process, $user its owner, $unit its unit,
# $conf the folder of the file that it was started with, $data its data directories (ZooKeeper's are named in that file
# alone), $logs those of its open log files; $mine what is its user's of the folders above those and of that where it
# works, $shared the others of these and of the places where systems put dumps.
PARTS = {
    "pid": "echo $pid",
    "unit": "systemctl show -p ActiveState --value $unit",
    "listening": "ss -ltnpH",
    "status": "cat /proc/$pid/status",
    "limits": "cat /proc/$pid/limits",
    "cmdline": "tr '\\0' '\\n' < /proc/$pid/cmdline",
    "user": "echo $user",
    "login": "runuser -l $user -c 'echo logged-in' < /dev/null 2>&1",
    # The second by what sudo itself makes of its rules: one for a single command is enough.
    "sudo": "runuser -u $user -- sudo -n true 2>&1 && echo became-root",
    "sudoers": "LC_ALL=C sudo -n -l -U $user 2>&1",
    "files": "find /proc/$pid/fd -type l -printf '%l\\n' | sort -u",
    "exposure": "systemd-analyze security $unit --no-pager | tail -n 1",
    "super": "grep -h '^super.users' $conf/*.properties",
    "places": "echo $conf; echo $data; echo $logs",
    "group": "stat -c %G /proc/$pid",
    "modes": "find $conf -printf '%m %u %g %y %p\\n'",
    # Without a place find would look where it stands.
    "owners": "[ -z \"$data$logs\" ] || find $data $logs -maxdepth 0 -printf '%m %u %p\\n'",
    "readable": f"{NOBODY} find $conf $data $logs -type f -readable -print 2>/dev/null | head -n 20",
    "nobody": f"{NOBODY} cat /etc/hostname",
    "temporary": "find /tmp /var/tmp /dev/shm -path '*systemd-private-*' -prune -o -type f -user $user -print "
    "| head -n 20; copies | sort -u | head -n 20",
    "written": "t=/etc/kastellan-sec; nsenter -t $pid -m touch $t 2>&1 && echo wrote $t && nsenter -t $pid -m rm $t",
    "homes": "nsenter -t $pid -m -- ls -A /home /root 2>&1",
    # In folders that others use as well, those of the service alone: its user's, or kept by systemd-coredump for it.
    "dumps": f"{{ find $data $logs $mine {_DUMPS}; find $shared {_DUMPS} -uid $uid; "
    "find /var/lib/systemd/coredump -xdev -maxdepth 1 -type f -regextype posix-extended "
    '-regex ".*/core[.].*[.]$uid[.][0-9a-f]{32}[.].*"; '
    "find /tmp /var/tmp /dev/shm -xdev -maxdepth 3 -type f -uid $uid "
    "\\( -name '*.hprof' -o -name 'hs_err_pid*' -o -regex '.*/core\\([.][0-9]+\\)?' \\); } 2>/dev/null | sort -u",
    # What Java takes from its environment, and libraries of debuggers that it has loaded, also while it ran.
    "java": "tr '\\0' '\\n' < /proc/$pid/environ | grep -E '^(JDK_JAVA_OPTIONS|_?JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)='",
    "agents": "grep -oE '[^/ ]*(libjdwp|libdt_socket|libhprof)[^/ ]*' /proc/$pid/maps | sort -u; "
    "find /proc/$pid/fd -type l -printf '%l\\n' | grep -iE '(jolokia|jmx_prometheus|jmxtrans)[^/]*[.]jar'",
    # Read through what the process holds open, whatever lies at that path by now.
    "jars": "for f in /proc/$pid/fd/*; do l=$(readlink $f); case $l in *.jar*) "
    'echo "$(sha256sum < $f | cut -d" " -f1) $l";; esac; done',
    "peers": "ss -tnpH state established | grep pid=$pid,",
}
SOCKETS = ("pid", "listening")
_UNIT = """
unit=UNIT
pid=$(systemctl show -p MainPID --value $unit)
[ -n "$pid" ] && [ "$pid" -gt 0 ] || { echo "unit $unit has no process" >&2; exit 3; }
"""
_HEAD = """data='DATA'
user=$(stat -c %U /proc/$pid)
file=$(tr '\\0' '\\n' < /proc/$pid/cmdline | grep -E '[.](properties|cfg)$' | tail -n 1)
conf=$(dirname "${file:-/nonexistent/x}")
[ -n "$data" ] || data=$(sed -En 's/^data(Log)?Dir=//p' "$file" 2>/dev/null | xargs)
logs=$(find /proc/$pid/fd -type l -printf '%l\\n' | grep '[.]log$')
for d in $data; do logs=$(echo "$logs" | grep -v "^$d/"); done
logs=$(echo "$logs" | xargs -r -n 1 dirname | sort -u | xargs)
above=$(for d in $data $logs; do dirname "$d"; done | sort -u | xargs)
cwd=$(readlink /proc/$pid/cwd)
uid=$(stat -c %u /proc/$pid)
mine=$(find $above $cwd -maxdepth 0 -uid $uid | xargs)
shared=$(find $above $cwd / /root /var/crash -maxdepth 0 ! -uid $uid 2>/dev/null | xargs)
# Of what is closed beside the settings, copies in temporary folders, whoever made them.
copies() {
  find "$conf" -type f -size +0 ! -perm -o=r -printf '%s %p\\n' | while read -r size own; do
    find /tmp /var/tmp /dev/shm -type f -size "${size}c" -exec cmp -s {} "$own" \\; -print
  done
}
"""


@dataclass(frozen=True)
class Look:
    """What one host said."""

    host: str
    parts: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.parts[name]

    def lines(self, name: str) -> list[str]:
        return [line for line in self.parts[name].splitlines() if line.strip()]

    def status(self, field: str) -> str:
        """A field of /proc/PID/status."""
        found = re.search(rf"^{field}:\s*(.*)$", self.parts["status"], re.MULTILINE)
        return found[1].strip() if found else "?"

    @property
    def user(self) -> str:
        return self.parts["user"]

    def outer(self, *spared: str) -> set[int]:
        """Ports on which others than the host itself may reach somebody, but for these programs."""
        found = set()
        for line, (address, port, _) in zip(self.lines("listening"), self.listening, strict=True):
            if not (address.startswith("127.") or address == "::1" or any(f'(("{name}"' in line for name in spared)):
                found.add(port)
        return found

    @property
    def listening(self) -> list[tuple[str, int, bool]]:
        """Address, port, and whether the service holds it, of every listening TCP socket."""
        own = f"pid={self.parts['pid']},"
        found = []
        for line in self.lines("listening"):
            address, _, port = line.split()[3].rpartition(":")
            # Java's sockets are of IPv6 and say so of IPv4's addresses, too.
            plain = address.partition("%")[0].strip("[]").removeprefix("::ffff:")
            found.append((plain, int(port), own in line))
        return found


def script(service: str, data_dirs: Sequence[str]) -> str:
    head = _HEAD.replace("'DATA'", shlex.quote(" ".join(data_dirs)))
    return _of_unit(service) + head + _told(PARTS)


def _of_unit(service: str) -> str:
    return _UNIT.replace("UNIT", shlex.quote(service))


def _told(parts: Iterable[str]) -> str:
    return "".join(f"echo {shlex.quote(MARK + name)}\n{{ {PARTS[name]}; }} < /dev/null\n" for name in parts)


def take(host: Host, service: str, data_dirs: Sequence[str]) -> Look:
    told = over_ssh(host, script(service, data_dirs) + "exit 0\n", timeout_s=BOUND_S)
    return Look(host.name, parse(told))


def take_sockets(host: Host) -> Look:
    """Of a host on which something else than Kafka runs: what listens there, and what of it its own unit holds."""
    head = _of_unit(host.service) if host.service else "pid=\n"
    return Look(host.name, parse(over_ssh(host, head + _told(SOCKETS) + "exit 0\n", timeout_s=BOUND_S)))


def parse(told: str) -> dict[str, str]:
    found = dict.fromkeys(PARTS, "")
    for part in f"\n{told}".split(f"\n{MARK}")[1:]:
        name, _, content = part.partition("\n")
        found[name.strip()] = content.strip()
    return found
