"""A checkout whose stack `openstack` is on Debian's own OpenStack."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.wait import wait_until
from tests.system.clouds.debian_openstack.cloud import DebianOpenStack, complaints
from tests.system.lab import Lab, mentioning
from tests.unit.infra.test_openstack import described
from tools.pulumi.plugins import ensure_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping

STACK = "openstack"
UP_TIMEOUT_S = 600
END_ORPHANS = "from cli.repair import end_orphans; print(len(end_orphans()))"


class Cloud:
    """What a test asks of it; `stack` and `environ` say whose it is."""

    def __init__(self, lab: Lab, openstack: DebianOpenStack, stack: str = STACK) -> None:
        self.lab = lab
        self.openstack = openstack
        self.stack = stack
        # What the caller's shell knows of a cloud of their own must not get in.
        native = {name: value for name, value in lab.native_environ().items() if not name.startswith("OS_")}
        self.nobody = {**native, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
        self.environ = {**self.nobody, **openstack.environ}
        print(f"Plugin: {ensure_plugin('openstack', self.environ)}")
        self.describe(4)
        self.pulumi("stack", "init", stack)

    def describe(self, count: int, **changes: Any) -> None:
        told = {
            "cloud__zones": {}, "cloud__login_timeout_s": 0, "groups__broker__count": count,
            "groups__broker__flavor": "m1.medium", "groups__broker__racks": [], **changes,
        }  # fmt: skip
        (self.lab.folder / f"infra/stacks/{self.stack}.yaml").write_text(yaml.safe_dump(described(**told)))

    def pulumi(self, *words: str, check: bool = True, environ: Mapping[str, str] | None = None) -> Any:
        done = subprocess.run(
            self.openstack.argv("pulumi", *words, "--non-interactive"), cwd=self.lab.folder, env=environ or self.environ,
            capture_output=True, text=True, timeout=UP_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if check and done.returncode != 0:
            pytest.fail(f"{words}\n{done.stdout}\n{done.stderr}\n{complaints(self.openstack.upper)}")
        return done

    def up(self, *words: str, check: bool = True, environ: Mapping[str, str] | None = None) -> Any:
        return self.pulumi("up", "--yes", "--skip-preview", "--stack", self.stack, *words, check=check, environ=environ)

    def urn_of(self, kind: str, name: str) -> str:
        exported = json.loads(self.pulumi("stack", "export", "--stack", self.stack).stdout)
        urns = [str(kept["urn"]) for kept in exported["deployment"]["resources"]]
        (urn,) = [urn for urn in urns if urn.endswith(f"{kind}::{name}")]
        return urn

    def servers(self) -> dict[str, dict[str, str]]:
        """By name: id, status and address."""
        found = self.openstack.ask(
            "[[s.name, s.id, s.status, ''.join(a['addr'] for net in s.addresses.values() for a in net)]"
            " for s in cloud.compute.servers()]"
        )
        assert len({name for name, *_ in found}) == len(found), found
        return {name: {"id": ident, "status": status, "address": address} for name, ident, status, address in found}

    def ids(self) -> dict[str, str]:
        return {name: server["id"] for name, server in self.servers().items()}

    def volumes(self) -> dict[str, str]:
        return dict(self.openstack.ask("[[v.name, v.id] for v in cloud.block_storage.volumes()]"))

    def attached(self) -> dict[str, list[str]]:
        """Volume -> servers that have it."""
        return dict(
            self.openstack.ask(
                "[[v.id, [a['server_id'] for a in v.attachments]] for v in cloud.block_storage.volumes()]"
            )
        )

    def set_room(self, *, there_is: bool) -> None:
        """Without, Nova finds no machine to put a server on, and calls that ERROR."""
        verb = "enable" if there_is else "disable"
        self.openstack.ask(
            f"[cloud.compute.{verb}_service(s, s.host, s.binary).status for s in cloud.compute.services()"
            " if s.binary == 'nova-compute']"
        )

    def kill_once(self, name: str) -> None:
        """`pulumi up`, killed with all its processes when the server is there and the state does not know it yet."""
        log = self.lab.folder / ".kastellan" / "killed.log"
        argv = self.openstack.argv("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", STACK)
        with log.open("w") as file:
            killed = subprocess.Popen(
                argv, cwd=self.lab.folder, env=self.environ, stdout=file, stderr=file, start_new_session=True
            )
        try:
            begun = wait_until(lambda: name in self.ids(), timeout_s=UP_TIMEOUT_S)
        finally:
            os.killpg(killed.pid, signal.SIGKILL)
            killed.wait()
        assert begun, log.read_text()
        # The plugins outlive their engine, as `./kastellan up` knows: the cloud's own is among them.
        assert int(self.lab.run(".venv/bin/python", "-c", END_ORPHANS).stdout) > 0
        assert wait_until(lambda: not mentioning(self.lab.folder), timeout_s=UP_TIMEOUT_S)
