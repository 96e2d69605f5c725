"""Makes the root with Debian's OpenStack, once, and runs it for a test: layers that are only read, and one that goes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.cache import cache_dir
from common.lock import locked
from common.run import run
from common.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
SUITE = "bookworm"
BASE_PACKAGES = ("ca-certificates", "python3", "procps", "iproute2", "netbase", "openssl", "debconf", "adduser")
PACKAGES = (
    "mariadb-server", "rabbitmq-server", "memcached", "uwsgi-core", "uwsgi-plugin-python3",
    "keystone", "placement-api", "glance-api", "neutron-server", "neutron-plugin-ml2",
    "nova-api", "nova-conductor", "nova-scheduler", "cinder-api", "cinder-scheduler", "cinder-volume",
    # instead of the one with libvirt and QEMU: the driver is another anyway
    "nova-compute", "nova-compute-ironic",
    "python3-openstacksdk",
)  # fmt: skip
INSIDE = ("inside.py", "no_disks.py", "no_switch.py")
MODULES = "usr/lib/python3/dist-packages"
NAMESPACES = ("--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--uts")
BUILD_TIMEOUT_S = 1800
START_TIMEOUT_S = 400
ASK_TIMEOUT_S = 120
GONE_TIMEOUT_S = 60
SHOWN_ERRORS = 3
SDK = "import json, openstack; cloud = openstack.connect(cloud='test'); print(json.dumps({}))"


class DebianOpenStack:
    """Its APIs are on the loopback of its own network namespace; programs get there by `argv`."""

    def __init__(self, process: subprocess.Popen[str], upper: Path, clouds_yaml: Path) -> None:
        self.process = process
        self.upper = upper
        self.clouds_yaml = clouds_yaml
        self.environ = {"OS_CLOUD": "test", "OS_CLIENT_CONFIG_FILE": str(clouds_yaml)}

    def argv(self, *words: str) -> list[str]:
        """A program of this machine, on the network of the cloud."""
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", "--", *words]

    def run(self, *words: str, timeout_s: float = ASK_TIMEOUT_S) -> str:
        """A program of the root."""
        spaces = [f"--{kind}=/proc/{self.process.pid}/ns/{file}" for kind, file in (("net", "net"), ("mount", "mnt"))]
        return run(["nsenter", *spaces, "--", "chroot", str(self.upper / "root"), *words], timeout_s=timeout_s)

    def ask(self, expression: str) -> Any:
        """Over `cloud`, a connection of OpenStack's own package."""
        return json.loads(self.run("python3", "-W", "ignore", "-c", SDK.format(expression)))


def ensure_layers() -> list[Path]:
    """The topmost first. What each holds is in its name."""
    home = cache_dir() / "test-clouds"
    home.mkdir(parents=True, exist_ok=True)
    recipe = "\n".join((SUITE, *BASE_PACKAGES, *PACKAGES, (HERE / "install.sh").read_text()))
    packages = home / f"packages-{_digest(recipe)}"
    sources = "\n".join((HERE / name).read_text() for name in (*INSIDE, "enter.sh"))
    ready = home / f"ready-{_digest(recipe + sources)}"
    with locked(home / "lock") as lock:
        base = home / f"base-{_digest(' '.join((SUITE, *BASE_PACKAGES)))}"
        if not base.is_dir():
            _make_base(base, lock)
        if not packages.is_dir():
            _fill(packages, [base], ["sh", "/install.sh", *PACKAGES], lock)
        if not ready.is_dir():
            _fill(ready, [packages / "upper", base], ["python3", "/kastellan/inside.py", "prepare"], lock)
    return [ready / "upper", packages / "upper", base]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _make_base(path: Path, lock: int) -> None:
    half = path.with_name(f"{path.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    argv = ["unshare", *NAMESPACES, "--mount-proc", "mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"]
    argv += [f"--include={','.join(BASE_PACKAGES)}", SUITE, str(half)]
    run(argv, timeout_s=BUILD_TIMEOUT_S, keep_open=(lock,), env={**os.environ, "LC_ALL": "C"})
    half.rename(path)


def _fill(path: Path, layers: list[Path], command: list[str], lock: int) -> None:
    """A new layer: what the command writes. While packages are fetched, with this machine's network."""
    half = path.with_name(f"{path.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    upper = half / "upper"
    (upper / "etc").mkdir(parents=True)
    if command[0] == "sh":
        shutil.copy(HERE / "install.sh", upper)
        shutil.copy("/etc/resolv.conf", upper / "etc")
        network = []
    else:
        (upper / "kastellan").mkdir()
        (upper / MODULES).mkdir(parents=True)
        for name in INSIDE:
            shutil.copy(HERE / name, upper / ("kastellan" if name == "inside.py" else MODULES))
        (upper / "etc/hosts").write_text("127.0.0.1 localhost cloud\n")
        network = ["--net"]
    argv = ["unshare", *NAMESPACES, *network, *enter(layers, half), *command]
    run(argv, timeout_s=BUILD_TIMEOUT_S, keep_open=(lock,), env={"PATH": os.environ["PATH"]})
    half.rename(path)


def enter(layers: Sequence[Path], upper: Path) -> list[str]:
    return ["sh", str(HERE / "enter.sh"), ":".join(map(str, layers)), str(upper)]


@contextlib.contextmanager
def debian_openstack() -> Iterator[DebianOpenStack]:
    layers = ensure_layers()
    upper = Path(tempfile.mkdtemp(prefix="kastellan-cloud-", dir="/var/tmp"))  # an overlay needs a disk
    argv = ["unshare", *NAMESPACES, "--net", *enter(layers, upper), "python3", "/kastellan/inside.py", "serve"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
        said = process.stdout.readline().strip() if ready else ""
        assert said.startswith("ready"), f"{said or 'nothing said'}\n{complaints(upper)}"
        print(f"Debian's OpenStack: {said}")
        yield DebianOpenStack(process, upper, layers[0] / "etc/openstack/clouds.yaml")
    except BaseException:
        print(complaints(upper))
        raise
    finally:
        # The first process of its namespace takes all others with it, and the mounts; that takes a moment.
        process.kill()
        process.wait()
        assert wait_until(lambda: is_gone(upper), timeout_s=GONE_TIMEOUT_S), f"{upper} cannot be removed"


def complaints(upper: Path) -> str:
    """What its services call an error, as the logs go with the folder."""
    found = []
    for log in sorted((upper / "upper/kastellan/logs").glob("*.log")):
        lines = [line for line in log.read_text(errors="replace").splitlines() if " ERROR " in line]
        found += [f"{log.name}: {line[:300]}" for line in lines[-SHOWN_ERRORS:]]
    return "\n".join(found) or "no errors in its logs"


def is_gone(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
