"""An ensemble that is not ours: brokers are put on it by its address and by a login that its owner gave."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

Settings = dict[str, Any]

PORT = 2182
# Variables of role kafka that belong together.
LOGIN = ("certificate", "key", "ca")
_SERVER = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")
_BEGIN = {"certificate": "BEGIN CERTIFICATE", "key": "BEGIN PRIVATE KEY", "ca": "BEGIN CERTIFICATE"}


def listed(connect: str) -> list[Settings]:
    """Its servers, as those of a group are told. What cannot be read is left to `problems`."""
    found = [_SERVER.fullmatch(part.strip()) for part in connect.split(",")]
    return [
        {
            "name": match["six"] or match["host"],
            "login_address": match["six"] or match["host"],
            "address": match["six"] or match["host"],
            "id": None,
            "port": int(match["port"]),
            "inner_ports": [],
        }
        for match in found
        if match
    ]


def problems(zookeeper: Settings, mode: str) -> list[str]:
    """`zookeeper` is what role kafka knows of the ensemble (its vars/main/zookeeper.yml)."""
    connect, login = zookeeper.get("connect") or "", zookeeper.get("login") or {}
    given = [f"kafka_zookeeper_{name}" for name in LOGIN if login.get(name)]
    if not connect:
        return [
            f"{name} is for an ensemble that is there already, and kafka_zookeeper_connect does not name it."
            for name in given
        ]
    if mode != "zookeeper":
        return [f"kafka_zookeeper_connect is set and kafka_mode is {mode}: set kafka_mode: zookeeper, or leave it out."]
    told = []
    if zookeeper.get("group"):
        told.append(
            f"The group zookeeper has {zookeeper['group']} hosts and kafka_zookeeper_connect names an ensemble that is "
            "there already: empty the one or leave out the other."
        )
    if not zookeeper["chroot"]:
        told.append(
            "kafka_zookeeper_chroot is empty: the root of an ensemble that serves others is not this cluster's; set "
            "e.g. /kafka."
        )
    lacking = [f"kafka_zookeeper_{name}" for name in LOGIN if not login.get(name)]
    if lacking:
        told.append(
            f"kafka_zookeeper_connect is set but {' and '.join(lacking)} not: brokers log in by certificate, and trust "
            "nobody unasked."
        )
    return told + _unreadable(connect) + [line for name in LOGIN if login.get(name) for line in _bad(name, login[name])]


def _unreadable(connect: str) -> list[str]:
    if "/" in connect:
        server, _, chroot = connect.partition("/")
        return [f"kafka_zookeeper_connect ends with /{chroot}: write {server}, and kafka_zookeeper_chroot: /{chroot}."]
    parts = [part.strip() for part in connect.split(",")]
    told = [
        f"kafka_zookeeper_connect has {part!r}: write host:port of its port for TLS, e.g. zk-1.example.org:{PORT}."
        for part in parts
        if not _SERVER.fullmatch(part)
    ]
    ports = sorted({server["port"] for server in listed(connect)})
    if len(ports) > 1:
        told.append(f"kafka_zookeeper_connect has the ports {', '.join(map(str, ports))}: all servers need the same.")
    return told


def _bad(name: str, path: str) -> list[str]:
    """The files lie on the machine that runs Ansible."""
    if not Path(path).expanduser().is_absolute():
        return [f"kafka_zookeeper_{name} is {path!r}: write the whole path of the file on this machine."]
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [f"kafka_zookeeper_{name} {path} cannot be read here: {getattr(error, 'strerror', None) or 'no text'}."]
    if f"-----{_BEGIN[name]}-----" in text:
        return []
    help_ = "openssl pkcs8 -topk8 -nocrypt makes it of another key" if name == "key" else "make it PEM"
    return [f"kafka_zookeeper_{name} {path} has no {_BEGIN[name]}: {help_}."]


def chroot_problems(chroot: str) -> list[str]:
    if not chroot or re.fullmatch(r"(/[A-Za-z0-9._-]+)+", chroot):
        return []
    return [f"kafka_zookeeper_chroot is {chroot!r}: begin with / and do not end with it, e.g. /kafka."]
