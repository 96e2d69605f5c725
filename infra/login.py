"""The files a stack is logged into with: its own key pair, and the hosts' keys as ssh reads them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common.files import write_whole
from common.run import run
from infra.providers.base import Difference, Part, Props

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYGEN_TIMEOUT_S = 20
SSH_PORT = 22


class LoginKey(Part):
    """Input: state_dir. Output besides: public_key. The private key never enters Pulumi's state."""

    def diff(self, *, old: Props, new: Props) -> Difference:
        return Difference(changes=old["state_dir"] != new["state_dir"])

    def create(self, props: Props) -> tuple[str, Props]:
        path = _key_path(props)
        public = path.with_name(f"{path.name}.pub")
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not (path.exists() and public.exists()):
            path.unlink(missing_ok=True)
            public.unlink(missing_ok=True)
            _make_key(path, "kastellan")
        return "login-key", _key_outs(props, public)

    def read(self, ident: str, props: Props) -> Props | None:
        path = _key_path(props)
        public = path.with_name(f"{path.name}.pub")
        return _key_outs(props, public) if path.exists() and public.exists() else None

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        return self.create(new)[1]

    def delete(self, ident: str, props: Props) -> None:
        path = _key_path(props)
        for file in (path, path.with_name(f"{path.name}.pub")):
            file.unlink(missing_ok=True)


class HostKey(Part):
    """Input: name. Outputs besides: public_key, private_key. The key of a machine that does not exist yet, so that its
    first login is checked; it lies in Pulumi's state alone, as a secret, and outlives the machine.
    """

    def diff(self, *, old: Props, new: Props) -> Difference:
        return Difference(changes=old["name"] != new["name"])

    def create(self, props: Props) -> tuple[str, Props]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "key"
            _make_key(path, props["name"])
            public = path.with_name("key.pub").read_text(encoding="ascii").split()[:2]
            keys = {"public_key": " ".join(public), "private_key": path.read_text(encoding="ascii")}
        return f"host-key/{props['name']}", {"name": props["name"], **keys}

    def read(self, ident: str, props: Props) -> Props | None:
        return props

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        return {**old, "name": new["name"]}

    def delete(self, ident: str, props: Props) -> None:
        """It goes with the state that holds it."""


class KnownHosts(Part):
    """Inputs: state_dir, hosts (address, port, key). What ssh believes, known before the first login."""

    def diff(self, *, old: Props, new: Props) -> Difference:
        return Difference(changes=old != new)

    def create(self, props: Props) -> tuple[str, Props]:
        path = _known_hosts_path(props)
        write_whole(path, known_hosts_text(props["hosts"]), mode=0o600)
        return "known-hosts", props

    def read(self, ident: str, props: Props) -> Props | None:
        path = _known_hosts_path(props)
        same = path.exists() and path.read_text(encoding="ascii", errors="replace") == known_hosts_text(props["hosts"])
        return props if same else None

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        return self.create(new)[1]

    def delete(self, ident: str, props: Props) -> None:
        _known_hosts_path(props).unlink(missing_ok=True)


def _make_key(path: Path, comment: str) -> None:
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)], timeout_s=KEYGEN_TIMEOUT_S)


def _key_path(props: Props) -> Path:
    return Path(props["state_dir"]) / "ssh" / "id_ed25519"


def _key_outs(props: Props, public: Path) -> Props:
    return {"state_dir": props["state_dir"], "public_key": public.read_text(encoding="ascii").strip()}


def _known_hosts_path(props: Props) -> Path:
    return Path(props["state_dir"]) / "known_hosts"


def known_hosts_text(hosts: Sequence[Props]) -> str:
    """Of each host: address, port, key."""
    lines = [
        f"{host['address'] if host['port'] == SSH_PORT else '[{address}]:{port}'.format(**host)} {host['key']}\n"
        for host in hosts
    ]
    return "".join(lines)
