"""The files a stack is logged into with: its own key pair, and the hosts' keys as ssh reads them."""

from __future__ import annotations

from pathlib import Path

from common.files import write_whole
from common.run import run
from infra.providers.base import Difference, Part, Props

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
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "kastellan", "-f", str(path)]
            run(argv, timeout_s=KEYGEN_TIMEOUT_S)
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


class KnownHosts(Part):
    """Inputs: state_dir, hosts (address, port, key). What ssh believes, known before the first login."""

    def diff(self, *, old: Props, new: Props) -> Difference:
        return Difference(changes=old != new)

    def create(self, props: Props) -> tuple[str, Props]:
        path = _known_hosts_path(props)
        write_whole(path, _known_hosts_text(props), mode=0o600)
        return "known-hosts", props

    def read(self, ident: str, props: Props) -> Props | None:
        path = _known_hosts_path(props)
        same = path.exists() and path.read_text(encoding="ascii", errors="replace") == _known_hosts_text(props)
        return props if same else None

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        return self.create(new)[1]

    def delete(self, ident: str, props: Props) -> None:
        _known_hosts_path(props).unlink(missing_ok=True)


def _key_path(props: Props) -> Path:
    return Path(props["state_dir"]) / "ssh" / "id_ed25519"


def _key_outs(props: Props, public: Path) -> Props:
    return {"state_dir": props["state_dir"], "public_key": public.read_text(encoding="ascii").strip()}


def _known_hosts_path(props: Props) -> Path:
    return Path(props["state_dir"]) / "known_hosts"


def _known_hosts_text(props: Props) -> str:
    lines = [
        f"{host['address'] if host['port'] == SSH_PORT else '[{address}]:{port}'.format(**host)} {host['key']}\n"
        for host in props["hosts"]
    ]
    return "".join(lines)
