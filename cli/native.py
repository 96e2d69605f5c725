"""Runs a native command in sight of the user, as they could run it themselves."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from cli.surroundings import ROOT, environment
from common.errors import KastellanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# What Pulumi's words mean for the user: pattern -> what to do. Ansible's may be the same and mean something else.
REMEDIES = {
    r"incorrect passphrase": (
        "The passphrase in .kastellan/pulumi/passphrase (or PULUMI_CONFIG_PASSPHRASE) is not the one this stack was "
        "made with: put that one back."
    ),
    r"the stack is currently locked": (
        "Another pulumi works on this stack: wait for it. If it runs on another machine and is surely dead: "
        "pulumi cancel."
    ),
    r"cannot be deleted[^.]*protect|resource is protected": (
        "It holds data. To destroy that too: pulumi config set kastellan:keep_data false, then pulumi up, then again."
    ),
    r"no resource plugin 'pulumi-resource-": (
        "./kastellan up fetches the plugin of a cloud from Pulumi's site, or builds it where it can; or bring it: "
        "pulumi plugin install resource NAME VERSION --file FILE."
    ),
    r"'auth_url' or 'cloud' must be|Authentication failed|No valid credential sources|[Mm]issing region": (
        "The cloud does not let us in: say who you are (OS_CLOUD, AWS_PROFILE, aws:region); docs/how-to has a page for "
        "each cloud."
    ),
    r"[Qq]uota exceeded|OverQuota|ExceedsAvailableQuota|(?<!Request)LimitExceeded|InstanceLimit": (
        "A quota is full: ask the cloud for more, or lower count. What was made stays, and the same command goes on."
    ),
    r"NetworkInUse|SubnetInUse|RouterInUse|SecurityGroupInUse|DependencyViolation|ports still in use": (
        "Something that Pulumi does not know hangs on it, perhaps left by a call that was killed: look for it by the "
        "stack's label (docs/how-to has a page for each cloud), remove it, then the same command goes on."
    ),
    r"IpAddressAlreadyAllocated|InvalidIPAddress.InUse|IP address \S+ already allocated": (
        "Somebody has the address of a host already, perhaps a call that was killed: docs/how-to has a page for each "
        "cloud."
    ),
}
# After its bound a program is asked to end, then ended: a cloud's destroy was seen to ignore the asking.
GRACE_S = 60


# Pulumi's lines about what only begins, is only looked at, or stays as it is; and its advice after `destroy`.
_CHATTER = re.compile(
    r"@ |    \S+ \S+ +$| ?[~+-] +\S+ \S+ (refreshing|refresh|creating|updating|deleting) \([\d.]+s\) *$"
    r"|    pulumi:pulumi:Stack \S+ running *$"
    r"|The resources in the stack have been deleted|If you want to remove the stack|$"
)


class NativeFailed(KastellanError):
    """A program shown to the user ended badly."""

    def __init__(self, brief: str, *, code: int, details: str, resolution: str) -> None:
        super().__init__(brief, details=details, resolution=resolution)
        self.code = code


def is_pulumi_chatter(line: str) -> bool:
    return _CHATTER.match(line.rstrip("\n")) is not None


def is_pong(line: str) -> bool:
    """Lines of a host that answered `ansible -m ping`."""
    return re.match(r"\S+ \| SUCCESS|    changed: false$|    ping: pong$", line) is not None


def is_ansible_routine(line: str) -> bool:
    """Lines of tasks that had nothing to do; what changed, what failed and the recap stay."""
    return re.match(r"ok: \[|skipping: \[|included: |\s*$", line) is not None


def run_shown(argv: Sequence[str], *, hide: Callable[[str], bool], timeout_s: float | None = None) -> None:
    """Its output goes to the terminal as it comes, less what `hide` knows as routine; KastellanError if it fails."""
    print(f"$ {shlex.join(argv)}", flush=True)
    process = subprocess.Popen(
        argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    output: list[str] = []
    late = threading.Event()
    timer = threading.Timer(timeout_s or 0, _end, (process, late))
    if timeout_s:
        timer.start()
    try:
        _pass_on(process.stdout or (), output, hide)
    except KeyboardInterrupt:
        # The terminal has told the program as well: it winds up what it is doing, and says so.
        _pass_on(process.stdout or (), output, hide)
        process.wait()
        raise
    finally:
        timer.cancel()
    if late.is_set():
        raise NativeFailed(
            f"{argv[0]} was ended: it had no end after {timeout_s or 0:.0f} s.",
            code=process.wait(),
            details=shlex.join(argv),
            resolution="Look at the cloud for what hangs; then the same command goes on from there.",
        )
    if process.wait() != 0:
        raise NativeFailed(
            f"{argv[0]} ended with exit code {process.returncode}.",
            code=process.returncode,
            details=shlex.join(argv),
            resolution=(remedy("".join(output)) if argv[0] == "pulumi" else "")
            or "Its words above say why; the same command goes on from there.",
        )


def _end(process: subprocess.Popen[str], late: threading.Event) -> None:
    late.set()
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _pass_on(lines: Iterable[str], output: list[str], hide: Callable[[str], bool]) -> None:
    for line in lines:
        output.append(line)
        if not hide(line):
            sys.stdout.write(line)
            sys.stdout.flush()


def remedy(output: str) -> str:
    return next((remedy for pattern, remedy in REMEDIES.items() if re.search(pattern, output)), "")
