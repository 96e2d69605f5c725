"""A copy of this checkout to break things in, and eyes on what it leaves on the machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from common.ssh import Login
from common.wait import wait_until
from infra.providers.nspawn import registry
from infra.providers.nspawn.cgroup import HostGroup

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# On disk: /tmp may be memory, and hosts have disks.
TEST_HOME = Path("/var/tmp")  # noqa: S108 - a fresh folder of random name is made there
UP_TIMEOUT_S = 300
SHORT_TIMEOUT_S = 120


class Lab:
    """A checkout of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *argv: str, timeout_s: float = UP_TIMEOUT_S, check: bool = True, **extra: Any) -> Any:
        """A command in the checkout, with its output; an AssertionError shows both when it fails."""
        done = subprocess.run(
            argv, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False,
            stdin=subprocess.DEVNULL, env=self.environ(**extra),
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def kastellan(self, *words: str, check: bool = True, timeout_s: float = UP_TIMEOUT_S, **extra: Any) -> Any:
        return self.run("./kastellan", *words, check=check, timeout_s=timeout_s, **extra)

    def native(self, *argv: str, check: bool = True) -> Any:
        """A command with what `./kastellan env` exports, as a user of the native tools runs it."""
        return self.run("bash", "-c", 'eval "$(./kastellan env)" && "$@"', "native", *argv, check=check)

    @staticmethod
    def environ(**extra: str) -> dict[str, str]:
        """Without what a caller's own `./kastellan env` may have exported, and a session of Spark in this very process."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PULUMI_", "ANSIBLE_", "KASTELLAN_", "PYSPARK_", "SPARK_"))
            and name != "VIRTUAL_ENV"
        }
        return {**kept, **extra}

    def state(self, stack: str = "local") -> Path:
        return self.folder / ".kastellan" / stack

    def stack_id(self, stack: str = "local") -> str:
        return registry.stack_id_for(str(self.state(stack)))

    def outputs(self, stack: str = "local") -> dict[str, Any]:
        outputs: dict[str, Any] = json.loads(self.native("pulumi", "stack", "output", "--json", "-s", stack).stdout)
        return outputs

    def hosts(self, stack: str = "local") -> list[str]:
        return [host["name"] for host in self.outputs(stack)["hosts"]]

    def ssh(self, host: str, command: str, stack: str = "local", *, check: bool = True) -> str:
        done = self.kastellan("ssh", "--stack", stack, host, command, check=check)
        return str(done.stdout).strip()

    def login(self, address: str, stack: str = "local") -> Login:
        state = self.state(stack)
        return Login(address, 22, "ops", state / "ssh" / "id_ed25519", state / "known_hosts")

    def processes(self, host: str, stack: str = "local") -> set[int]:
        return HostGroup(self.stack_id(stack), host).processes()

    def supervisors(self, host: str, stack: str = "local") -> list[int]:
        """Processes that hold a host's disks: one, or the host runs twice."""
        return [pid for pid in self.processes(host, stack) if command_of(pid) == "unshare"]

    def native_environ(self) -> dict[str, str]:
        """What `./kastellan env` exports, taken once: for measuring native commands without it."""
        said = self.run("bash", "-c", 'eval "$(./kastellan env)" && env -0').stdout
        return dict(entry.split("=", 1) for entry in said.split("\0") if "=" in entry)

    def power_cut(self, stack: str = "local") -> None:
        """All processes at once, their mounts with them, then the bridge: what a machine forgets without power."""
        record = registry.record_of(self.stack_id(stack))
        assert record is not None
        for host in record.hosts:
            HostGroup(record.stack_id, host).end()
        subprocess.run(["ip", "link", "delete", record.bridge], check=True, timeout=SHORT_TIMEOUT_S)

    def describe(self, stack: str, **changes: Any) -> None:
        """A stack like local, with changed groups: a description and an inventory, as a user would write them."""
        description = yaml.safe_load((self.folder / "infra/stacks/local.yaml").read_text())
        description["groups"]["broker"].update(changes)
        (self.folder / f"infra/stacks/{stack}.yaml").write_text(yaml.safe_dump(description))
        if stack != "local":
            shutil.copytree(self.folder / "inventories/local", self.folder / f"inventories/{stack}")

    def invent(self, path: Path, *groups: str, state_dir: Path) -> None:
        """An inventory of hosts of stack local, as somebody without Pulumi would write it."""
        state = self.state()
        login = [
            "[all:vars]", "ansible_user=ops", f"ansible_ssh_private_key_file={state}/ssh/id_ed25519",
            f"ansible_ssh_common_args='-o UserKnownHostsFile={state}/known_hosts -o IdentitiesOnly=yes'",
            f"kastellan_state_dir={state_dir}", "",
        ]  # fmt: skip
        path.write_text("\n".join([*groups, *login]), encoding="utf-8")

    @contextlib.contextmanager
    def described(self, stack: str, **changes: Any) -> Iterator[Path]:
        """The same for as long as it is needed: other tests look whether git is clean."""
        self.describe(stack, **changes)
        path = self.folder / f"infra/stacks/{stack}.yaml"
        try:
            yield path
        finally:
            path.unlink()
            shutil.rmtree(self.folder / f"inventories/{stack}")

    def remove(self) -> None:
        """Whatever a test left: its stacks by their records, then the folder."""
        for record in registry.records():
            if Path(record.state_dir).is_relative_to(self.folder):
                for host in record.hosts:
                    HostGroup(record.stack_id, host).end()
        shutil.rmtree(self.folder, ignore_errors=True)
        clean_orphans()


@contextlib.contextmanager
def new_lab(hosts: str = "") -> Iterator[Lab]:
    """`hosts`: a description in place of stack local's own."""
    folder = Path(tempfile.mkdtemp(prefix="kastellan-test-", dir=TEST_HOME))
    lab = Lab(folder)
    try:
        copy_checkout(folder)
        if hosts:
            (folder / "infra/stacks/local.yaml").write_text(hosts, encoding="utf-8")
        yield lab
    finally:
        lab.remove()


def copy_checkout(folder: Path) -> None:
    """What git tracks or would, as a repository of its own: a clone that has the working tree's changes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    for name in filter(None, (part.decode() for part in listed)):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "--allow-empty", "-m", "copy"]):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=SHORT_TIMEOUT_S)


def clean_orphans() -> None:
    """Stacks whose checkout is gone, left by a test run that was killed."""
    from infra.providers.nspawn import leftovers  # noqa: PLC0415 - Linux only, and only when hosts are tested

    for leftover in leftovers.find():
        if leftover.whole:
            leftovers.clean(leftover)


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        found += (below := children.get(waiting.pop(), []))
        waiting += below
    return found


def mentioning(folder: Path) -> list[str]:
    """Processes that run in the folder or name it in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(folder) in words or str((entry / "cwd").readlink()).startswith(str(folder)):
                found.append(f"{entry.name} {words}")
    return found


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def machine_view(lab: Lab) -> dict[str, set[str]]:
    """What a stack could leave on the machine; what other checkouts' stacks have is left out by their records."""
    others = [record for record in registry.records() if not Path(record.state_dir).is_relative_to(lab.folder)]
    foreign = tuple(part for record in others for part in (record.stack_id, record.state_dir))

    def own(names: set[str]) -> set[str]:
        return {name for name in names if not any(part in name for part in foreign)}

    links = json.loads(subprocess.run(["ip", "-json", "link"], capture_output=True, check=True).stdout)
    loops = {path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")}
    nft = shutil.which("nft")
    rules = subprocess.run([nft, "list", "ruleset"], capture_output=True, text=True, check=True).stdout if nft else ""
    groups = subprocess.run(
        ["find", "/sys/fs/cgroup", "-type", "d"], capture_output=True, text=True, check=False
    ).stdout
    files = subprocess.run(
        ["find", "/run", "/etc", "/var/lib/kastellan", "/var/lib/machines", "-xdev"],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    return {
        "links": own({f"{link['ifname']} {link.get('master', '')}" for link in links}),
        "mounts": own({line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}),
        "loops": own(loops),
        "rules": set(rules.splitlines()),
        "groups": own(set(groups.splitlines())),
        "files": own(set(files.splitlines())),
        "processes": set(mentioning(lab.folder)),
    }


def wait_for_quiet(lab: Lab) -> None:
    """Ansible's ssh connections notice within seconds that their host is gone, and end."""
    assert wait_until(lambda: not mentioning(lab.folder), timeout_s=60), mentioning(lab.folder)
