#!/usr/bin/python
# ruff: noqa: EXE001, TID252 - no execute bit, relative imports: as Ansible wants modules
"""Key, request and certificate of a host: the key is made where it serves and never leaves."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.managed_file import FileError, look, settle

DOCUMENTATION = r"""
module: host_certificate
short_description: Key, signing request and certificate of a host
description:
  - V(requested) makes the private key if there is none that can be used, and returns a signing request and what
    certificate there is.
  - V(installed) puts the certificate that an authority signed beside the key, in one PEM file as Kafka reads it.
  - The key is made on the host and never leaves it.
options:
  state: {description: The step., choices: [requested, installed], type: str, required: true}
  path: {description: File that holds the key and then its certificates., type: path, required: true}
  ca_path: {description: File of the authority's certificate., type: path}
  name: {description: The name in the request. The authority takes names from the inventory., type: str}
  key_type: {description: Key to make., choices: [p256, p384, rsa3072], default: p256, type: str}
  certificate: {description: Certificates in PEM with the leaf first., type: str}
  ca: {description: The authority in PEM., type: str}
  owner: {description: Owner., type: str, default: root}
  group: {description: Group., type: str, default: root}
  mode: {description: Mode., type: str, default: "0640"}
attributes:
  check_mode: {support: full}
author: The Kastellan engineers
"""

EXAMPLES = r"""
- name: Make the key and ask for a certificate
  kastellan.kafka.host_certificate:
    state: requested
    path: /etc/kafka/ssl/keystore.pem
    name: broker-1
"""

RETURN = r"""
request: {description: Signing request in PEM., returned: requested, type: str}
certificate: {description: What was there., returned: requested, type: str}
"""

TIMEOUT_S = 60
_KEY = re.compile(r"-----BEGIN PRIVATE KEY-----.+?-----END PRIVATE KEY-----\n?", re.DOTALL)
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)
_KINDS = {
    "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "p384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "rsa3072": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
}


class KeyProblem(Exception):
    """openssl did not do what was asked."""


SPEC: dict[str, Any] = {
    "state": {"type": "str", "choices": ["requested", "installed"], "required": True},
    "path": {"type": "path", "required": True},
    "ca_path": {"type": "path"},
    "name": {"type": "str"},
    "key_type": {"type": "str", "choices": list(_KINDS), "default": "p256", "no_log": False},
    "certificate": {"type": "str"},
    "ca": {"type": "str"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "str", "default": "0640"},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=SPEC,
        required_if=[("state", "requested", ["name"]), ("state", "installed", ["certificate", "ca", "ca_path"])],
        supports_check_mode=True,
    )
    steps = {"requested": requested, "installed": installed}
    try:
        answer = steps[module.params["state"]](module.params, apply=not module.check_mode)
    except (KeyProblem, FileError, OSError, KeyError) as exc:
        module.fail_json(msg=f"The key or certificate in {module.params['path']}: {exc}")
    module.exit_json(**answer)


def requested(options: dict[str, Any], *, apply: bool) -> dict[str, Any]:
    held = look(options["path"]).get("content", "")
    key = _first(_KEY, held)
    request = _request(key, options["name"]) if key else None
    if request is not None:
        return {"changed": False, "request": request, "certificate": "".join(_CERTIFICATE.findall(held))}
    key = openssl(["genpkey", *_KINDS[options["key_type"]]])
    request = _request(key, options["name"])
    if request is None:
        raise KeyProblem("openssl cannot read the key that it has just made.")
    if apply:
        settle(_entry(options, options["path"], key, options["mode"]), apply=True)
    return {"changed": True, "request": request, "certificate": ""}


def installed(options: dict[str, Any], *, apply: bool) -> dict[str, Any]:
    key = _first(_KEY, look(options["path"]).get("content", ""))
    if not key:
        if apply:
            raise KeyProblem("there is no key; state requested makes it.")
        return {"changed": True}
    chain = "".join(_CERTIFICATE.findall(options["certificate"]))
    entries = [
        _entry(options, options["path"], key + chain, options["mode"]),
        _entry(options, options["ca_path"], options["ca"], "0644"),
    ]
    diffs = [diff for entry in entries if (diff := settle(entry, apply=apply))]
    return {"changed": bool(diffs), "diff": diffs}


def _entry(options: dict[str, Any], path: str, content: str, mode: str) -> dict[str, Any]:
    owner, group = options["owner"], options["group"]
    return {
        "path": path,
        "state": "file",
        "content": content,
        "owner": owner,
        "group": group,
        "mode": mode,
        "secret": True,
    }


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(0) if match else ""


def _request(key: str, name: str) -> str | None:
    """None if the key is damaged. The name stands there for people; the authority does not heed it."""
    # The configuration is ours, so that nothing of the host's openssl.cnf gets into the request.
    config = "[req]\nprompt=no\ndistinguished_name=dn\n[dn]\nCN=kastellan\n"
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, config.encode())
        os.close(write_end)
        argv = [
            "req",
            "-new",
            "-sha256",
            "-key",
            "/dev/stdin",
            "-config",
            f"/dev/fd/{read_end}",
            "-subj",
            f"/CN={name}",
        ]
        return openssl(argv, stdin=key, pass_fds=(read_end,))
    except KeyProblem:
        return None
    finally:
        os.close(read_end)


def openssl(argv: list[str], stdin: str = "", pass_fds: tuple[int, ...] = ()) -> str:
    try:
        done = subprocess.run(
            ["openssl", *argv], input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
            pass_fds=pass_fds,
        )  # fmt: skip
    except FileNotFoundError:
        raise KeyProblem("there is no program openssl on this host: install the package openssl.") from None
    if done.returncode != 0:
        raise KeyProblem(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "openssl failed")
    return done.stdout


if __name__ == "__main__":
    main()
