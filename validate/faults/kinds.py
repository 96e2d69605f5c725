"""The kinds of faults: what each does on a host, how it proves there that it bit, and how it is undone.

Scripts run as root. `begin` ends only when the fault has bitten and prints how that was seen; `heal` can run twice, or
without `begin`, and changes nothing then. Each leaves a mark on the host until it is healed, so that a later
`python -m validate heal` finds it even if this machine forgot.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from validate.faults import disks, network
from validate.faults.errors import FaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from validate.cluster import Cluster, Host

# Lasts over a reboot, as a full disk and changed modes do.
MARKS = "/var/lib/kastellan-fault"
STOP_BOUND_S = 200  # the unit's own time-out to stop is 180 s
_DROP_IN = '/run/systemd/system/"$unit".d/99-kastellan-fault.conf'

PRELUDE = """\
set -eu
export PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C
unit={unit}.service
marks={marks}
mark() {{ mkdir -p "$marks"; : > "$marks/$1"; }}
unmark() {{ rm -rf "${{marks:?}}/$1" "$marks/$1".*; rmdir "$marks" 2>/dev/null || true; }}
show() {{ systemctl show "$unit" -p "$1" --value; }}
fail() {{ printf '%s\\n' "$*" >&2; exit 3; }}
wait_for() {{
  limit=$((SECONDS + $1)); shift
  until "$@"; do [ "$SECONDS" -lt "$limit" ] || return 1; sleep 0.05; done
}}
gone() {{ [ ! -e "/proc/$pid" ]; }}
running() {{ [ "$(show ActiveState)" = active ] && [ "$(show MainPID)" != 0 ]; }}
state_of() {{ sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f1; }}
"""
_FIND_PID = """\
running || fail "$unit does not run here: it is $(show ActiveState) ($(show SubState))"
pid=$(show MainPID)
"""
_START = """\
rm -f {drop_in}
rmdir "$(dirname {drop_in})" 2>/dev/null || true
systemctl daemon-reload
systemctl reset-failed "$unit" 2>/dev/null || true
running || systemctl start "$unit"
running || fail "$unit does not start: $(show ActiveState), $(show Result)"
""".replace("{drop_in}", _DROP_IN)

_STOP = f"""\
mark stop
began=$SECONDS
timeout {STOP_BOUND_S} systemctl stop "$unit"
gone || fail "process $pid is still there"
echo "systemctl stop took $((SECONDS - began)) s: $(show ActiveState), result $(show Result), process $pid is gone"
"""

_HOLD_RESTART = f"""\
mark kill
mkdir -p "$(dirname {_DROP_IN})"
printf '[Service]\\nRestart=no\\n' > {_DROP_IN}
systemctl daemon-reload
[ "$(show Restart)" = no ] || fail "the unit's restart cannot be held off"
"""
# What systemd got from the kernel when it waited for the process: 2 is CLD_KILLED, then the number of the signal.
_KILL = """\
kill -KILL "$pid"
wait_for 10 gone || fail "process $pid survived SIGKILL"
by_signal() { [ "$(show ExecMainCode)/$(show ExecMainStatus)" = 2/9 ]; }
wait_for 5 by_signal || fail "process $pid ended otherwise: $(show ExecMainCode)/$(show ExecMainStatus)"
"""
_STAYS_DOWN = '[ "$(show ActiveState)" = failed ] || fail "the unit is $(show ActiveState)"\n'
_KILLED = """\
echo "process $pid ended by signal 9, as the kernel told systemd; unit $(show ActiveState), Restart=$(show Restart)"
"""

_AWAIT_RESTART = """\
wait_for 60 running || systemctl start "$unit"
running || fail "$unit did not come back: $(show ActiveState), $(show Result)"
unmark kill-supervised
echo "runs as process $(show MainPID), restarted $(show NRestarts) times by systemd"
"""
_PAUSE = """\
mark pause
echo "$pid" > "$marks/pause"
kill -STOP "$pid"
paused() { [ "$(state_of "$pid")" = T ]; }
wait_for 10 paused || fail "process $pid is not stopped: $(state_of "$pid")"
echo "process $pid is in state T (stopped by a signal)"
"""
_RESUME = """\
pid=$(show MainPID)
if [ "$pid" != 0 ]; then
  kill -CONT "$pid"
  goes() { [ "$(state_of "$pid")" != T ]; }
  wait_for 10 goes || fail "process $pid does not go on"
fi
running || systemctl start "$unit"
unmark pause
echo "process $(show MainPID) goes on"
"""


@dataclass(frozen=True)
class Scripts:
    """What is done on one host. `prepare` is what must be there before the blow falls on several at once."""

    begin: str
    heal: str
    prepare: str = ""


@dataclass(frozen=True)
class Kind:
    name: str
    meaning: str
    make: Callable[[Cluster, Host, Mapping[str, str]], Scripts]
    port_dies: Callable[[Mapping[str, str]], bool] = lambda _: True
    """Whether clients are left without a port, which is then looked at from outside as well."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Option -> allowed words, the first is the default."""


def scripts_of(cluster: Cluster, kind: str, host: Host, options: Mapping[str, str]) -> Scripts:
    """The whole scripts for one host."""
    prelude = PRELUDE.format(unit=shlex.quote(host.service or cluster.service), marks=MARKS)
    made = KINDS[kind].make(cluster, host, options)
    return Scripts(
        begin=prelude + made.begin,
        heal=prelude + made.heal,
        prepare=prelude + made.prepare if made.prepare else "",
    )


def _restarted(name: str) -> str:
    return f'{_START}unmark {name}\necho "runs as process $(show MainPID)"\n'


def _stop(_cluster: Cluster, _host: Host, _options: Mapping[str, str]) -> Scripts:
    return Scripts(begin=_FIND_PID + _STOP, heal=_restarted("stop"))


def _kill(_cluster: Cluster, _host: Host, _options: Mapping[str, str]) -> Scripts:
    return Scripts(
        prepare=_FIND_PID + _HOLD_RESTART,
        begin=_FIND_PID + _KILL + _STAYS_DOWN + _KILLED,
        heal=_restarted("kill"),
    )


def _kill_supervised(_cluster: Cluster, _host: Host, _options: Mapping[str, str]) -> Scripts:
    refuse = '[ "$(show Restart)" != no ] || fail "the unit has Restart=no: nobody would restart it"\n'
    return Scripts(begin=_FIND_PID + refuse + "mark kill-supervised\n" + _KILL + _KILLED, heal=_AWAIT_RESTART)


def _pause(_cluster: Cluster, _host: Host, _options: Mapping[str, str]) -> Scripts:
    return Scripts(begin=_FIND_PID + _PAUSE, heal=_RESUME)


def _isolate(cluster: Cluster, host: Host, options: Mapping[str, str]) -> Scripts:
    rules = network.rules(cluster, host, cut=options["cut"], direction=options["direction"])
    return Scripts(begin=_FIND_PID + network.BEGIN.format(rules=rules), heal=network.HEAL)


def _fill(cluster: Cluster, _host: Host, _options: Mapping[str, str]) -> Scripts:
    folder = shlex.quote(cluster.data_dirs[0])
    return Scripts(
        begin=_FIND_PID + disks.LOG + disks.FILL.replace("{folder}", folder),
        heal=disks.FREE.replace("{folder}", folder) + _restarted("fill"),
    )


def _freeze(cluster: Cluster, _host: Host, _options: Mapping[str, str]) -> Scripts:
    folder = shlex.quote(cluster.data_dirs[0])
    return Scripts(
        begin=_FIND_PID + disks.LOG + disks.FREEZE.replace("{folder}", folder),
        heal=disks.THAW.replace("{folder}", folder) + _restarted("freeze"),
    )


def _never(_options: Mapping[str, str]) -> bool:
    return False


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("stop", "systemctl stop", _stop),
        Kind("kill", "SIGKILL, the unit's restart held off until healed", _kill),
        Kind("kill-supervised", "SIGKILL, systemd restarts it", _kill_supervised, port_dies=_never),
        Kind("pause", "SIGSTOP, SIGCONT when healed", _pause, port_dies=_never),
        Kind(
            "isolate",
            "cut off by the packet filter; ssh goes on",
            _isolate,
            port_dies=lambda options: options["cut"] in {"all", "clients"},
            options={"cut": network.CUTS, "direction": network.DIRECTIONS},
        ),
        Kind("fill", "data disk full", _fill),
        Kind("freeze", "data directory without write permission", _freeze),
    )
}


def with_defaults(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    """All options of a kind; FaultError for one that it does not have."""
    allowed = KINDS[kind].options
    for name, value in options.items():
        if value not in allowed.get(name, ()):
            offered = ", ".join(f"{key}={'|'.join(words)}" for key, words in allowed.items())
            raise FaultError(f"Fault {kind} has no option {name}={value}.", details=f"It has: {offered or 'none'}.")
    return {name: options.get(name, words[0]) for name, words in allowed.items()}
