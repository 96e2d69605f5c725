"""Debian's OpenStack in a root of its own, made once, and run for a test."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.run import run
from tests.system.clouds import layers

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

HERE = Path(__file__).parent
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
ASK_TIMEOUT_S = 120
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
        return layers.in_network(self.process, *words)

    def run(self, *words: str, timeout_s: float = ASK_TIMEOUT_S) -> str:
        """A program of the root."""
        return run(layers.in_root(self.process, self.upper, *words), timeout_s=timeout_s)

    def ask(self, expression: str) -> Any:
        """Over `cloud`, a connection of OpenStack's own package."""
        return json.loads(self.run("python3", "-W", "ignore", "-c", SDK.format(expression)))


def ensure_layers() -> list[Path]:
    """The topmost first."""
    sources = "\n".join([(HERE / name).read_text() for name in INSIDE] + [(layers.HERE / "enter.sh").read_text()])
    with layers.home() as (home, lock):
        below = layers.ensure_packages(home, PACKAGES, lock)
        ready = home / f"ready-{layers.digest(layers.recipe_of(PACKAGES) + sources)}"
        if not ready.is_dir():
            files = {f"{'kastellan' if name == 'inside.py' else MODULES}/{name}": HERE / name for name in INSIDE}
            with layers.half_of(ready) as half:
                (half / "upper/etc").mkdir(parents=True)
                (half / "upper/etc/hosts").write_text("127.0.0.1 localhost cloud\n")
                layers.fill(half, below, files, ["python3", "/kastellan/inside.py", "prepare"], lock, "--net")
    return [ready / "upper", *below]


@contextlib.contextmanager
def debian_openstack() -> Iterator[DebianOpenStack]:
    below = ensure_layers()
    command = ["python3", "/kastellan/inside.py", "serve"]
    with layers.serving(below, command, complaints) as (process, upper):
        yield DebianOpenStack(process, upper, below[0] / "etc/openstack/clouds.yaml")


def complaints(upper: Path) -> str:
    """What its services call an error, as the logs go with the folder."""
    found = []
    for log in sorted((upper / "upper/kastellan/logs").glob("*.log")):
        lines = [line for line in log.read_text(errors="replace").splitlines() if " ERROR " in line]
        found += [f"{log.name}: {line[:300]}" for line in lines[-SHOWN_ERRORS:]]
    return "\n".join(found) or "no errors in its logs"
