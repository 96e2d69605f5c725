"""The authority of a cluster: make it, sign for hosts, make bundles for users, read back, judge, renew."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from certs import authority, bundles, check, describe, files, inputs, keys, names, pem, signing, stores
from certs.errors import StoreError, UnreadableError, UsageError
from certs.lifetimes import BACKDATING, utc_now
from certs.pki import Pki, Wanted, init

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from cryptography import x509

    from certs.authority import Authority
    from certs.signing import Outcome

Data = dict[str, object]


@dataclass(frozen=True)
class Answer:
    """What a verb says: to machines, to people, to the shell."""

    data: Data
    lines: list[str] = field(default_factory=list)
    exit_code: int = 0


def _secret(source: str | None, what: str) -> bytes | None:
    """One line of a file. Only its line end is dropped: spaces may belong to it."""
    if source is None:
        return None
    data = files.read_input(source, Path(source), what)
    first = data.split(b"\n", maxsplit=1)[0].removesuffix(b"\r")
    if not first:
        raise UsageError(f"{what} is empty.", resolution="Write it into the file's first line.")
    return first


def _one_standard_input(call: Namespace, *options: str) -> None:
    both = [f"--{option.replace('_', '-')}" for option in options if getattr(call, option, None) == "-"]
    if len(both) > 1:
        raise UsageError(f"{' and '.join(both)} cannot both be standard input.", resolution="Give one as a file.")


def _locked(pki: Pki, *, apply: bool) -> AbstractContextManager[None]:
    """A check changes nothing, so it neither waits nor leaves a lock file behind."""
    return files.exclusive(pki.path) if apply and pki.path.is_dir() else nullcontext()


def _signer(pki: Pki, call: Namespace, now: datetime) -> Authority | None:
    """None only in check mode on a virgin controller, where init was only announced."""
    if call.check and not pki.exists():
        return None
    return pki.load(now=now, passphrase=_secret(call.passphrase_file, "The authority's passphrase"))


def _lifetime(call: Namespace) -> timedelta | None:
    return timedelta(days=call.days) if call.days else None


def do_init(call: Namespace) -> Answer:
    if bool(call.ca_cert) != bool(call.ca_key):
        raise UsageError(
            "--ca-cert and --ca-key belong together.", resolution="Give both, or none for a new authority."
        )
    if call.ca_key and (call.key_type or call.name):
        raise UsageError(
            "An authority of your own has its name and key already.", resolution="Leave out --name and --key-type."
        )
    now, pki = utc_now(), Pki(call.pki)
    passphrase = _secret(call.passphrase_file, "The authority's passphrase")
    chain: tuple[x509.Certificate, ...] = ()
    for path in call.ca_cert:
        chain += pem.certificates(files.read(path, "The authority's certificate"), where=path)
    key = None
    if call.ca_key:
        data = files.read(call.ca_key, "The authority's key")
        key = keys.from_pem(data, where=call.ca_key, passphrase=passphrase)
        authority.checked(chain, key, now=now)
    wanted = Wanted(call.name, call.key_type, chain, key, passphrase)
    held, done = init(pki, wanted, now=now, apply=not call.check)
    data_out: Data = {
        "changed": bool(done),
        "check": call.check,
        "reasons": done,
        "pki": str(pki.path),
        "ca": str(pki.root),
        "backdating_s": int(BACKDATING.total_seconds()),
        "authority": describe.certificate(held.issuer, now) if held else None,
        "chain_length": len(held.chain) if held else 0,
    }
    would = "would have " if call.check else ""
    lines = [f"{would}{text}" for text in done] or [f"nothing to do: the authority in {pki.path} is as it should be"]
    return Answer(data_out, lines + (describe.lines(describe.certificate(held.issuer, now)) if held else []))


def do_sign(call: Namespace) -> Answer:
    _one_standard_input(call, "batch", "request", "passphrase_file")
    orders = _orders(call)
    now, pki = utc_now(), Pki(call.pki)
    with _locked(pki, apply=not call.check):
        signer = _signer(pki, call, now)
        outcomes = signing.sign(
            pki, signer, orders, now=now, lifetime=_lifetime(call), force=call.force, apply=not call.check
        )
        if call.out and outcomes[0].changed and not call.check:
            files.put(call.out, pem.join(outcomes[0].chain), files.PUBLIC)
    answer = _outcomes(outcomes, now, check=call.check, with_pem=True)
    if not call.batch and not call.out and not call.json:  # usable in a pipe
        return Answer(answer.data, [pem.join(outcomes[0].chain).decode().rstrip()])
    return answer


def _orders(call: Namespace) -> list[signing.Order]:
    if call.batch:
        if call.name or call.request or call.out or call.alias or call.address:
            raise UsageError("--batch stands alone.", resolution="Put names, requests and certificates into its file.")
        return inputs.orders(files.read_input(call.batch, Path(call.batch), "The batch"))
    if not call.name:
        raise UsageError(
            "Nothing to sign.", resolution="Give --name broker-1 --address 198.18.0.11 --request FILE, or --batch FILE."
        )
    request = files.read_input(call.request, Path(call.request), "The request") if call.request else None
    held = files.read_if_there(call.out, "The certificate") if call.out else None
    return [
        inputs.order(
            call.kind, call.name, aliases=call.alias, addresses=call.address, request=request, certificate=held
        )
    ]


def do_issue(call: Namespace) -> Answer:
    _one_standard_input(call, "batch", "password_file", "passphrase_file")
    if bool(call.batch) == bool(call.users):
        raise UsageError("Whose bundles?", resolution="Name users, e.g. usercc, or give --batch FILE.")
    users = inputs.users(files.read_input(call.batch, Path(call.batch), "The batch")) if call.batch else call.users
    return _issue(call, users)


def do_renew(call: Namespace) -> Answer:
    """Only what is there: a user without a bundle is a mistake here, not a wish."""
    _one_standard_input(call, "password_file", "passphrase_file")
    held = sorted(path.parent.name for path in call.clients.glob(f"*/{bundles.CERTIFICATE}"))
    unknown = sorted(set(call.users) - set(held))
    if unknown:
        raise StoreError(
            f"There is no bundle of {unknown[0]!r} in {call.clients}.",
            resolution=f"Make it: python -m certs issue --pki {call.pki} --clients {call.clients} USER",
        )
    return _issue(call, call.users or held)


def _issue(call: Namespace, users: Sequence[str]) -> Answer:
    password = _secret(call.password_file, "The stores' password")
    options = bundles.Options(call.key_type, _lifetime(call), password, call.force)
    now, pki = utc_now(), Pki(call.pki)
    with _locked(pki, apply=not call.check):
        signer = _signer(pki, call, now)
        outcomes = bundles.issue(pki, signer, call.clients, users, now=now, options=options, apply=not call.check)
    answer = _outcomes(outcomes, now, check=call.check, with_pem=False)
    return Answer({**answer.data, "clients": str(call.clients)}, answer.lines)


def _outcomes(outcomes: Sequence[Outcome], now: datetime, *, check: bool, with_pem: bool) -> Answer:
    items, lines = [], []
    for outcome in outcomes:
        identity = outcome.identity
        item: Data = {
            "name": identity.name,
            "kind": str(identity.kind),
            "hosts": list(identity.hosts),
            "addresses": [str(address) for address in identity.addresses],
            "changed": outcome.changed,
            "reasons": [{"code": reason.code, "text": reason.text} for reason in outcome.reasons],
            "java_subject": names.java_subject(identity.name),
        }
        item |= signing.facts(outcome.chain[0], now) if outcome.chain else {"not_after": None}
        if with_pem:
            item["certificate"] = pem.join(outcome.chain).decode()
        items.append(item)
        why = "; ".join(map(str, outcome.reasons))
        state = f"{'would be made' if check else 'made'} ({why})" if why else "good as it is"
        end = f", not after {item['not_after']}" if item["not_after"] else ""
        lines.append(f"{identity.name}: {state}{end}")
    changed = any(outcome.changed for outcome in outcomes)
    return Answer({"changed": changed, "check": check, "items": items}, lines or ["nothing to do: no names given"])


def do_show(call: Namespace) -> Answer:
    now = utc_now()
    password = _secret(call.password_file, "The store's password")
    shown: list[Data] = []
    for path in call.files:
        shown += [{"file": str(path), **entry} for entry in _read_back(path, password, now)]
    lines = []
    for entry in shown:
        lines += [f"{entry['file']}:", *(f"  {line}" for line in describe.lines(entry))]
    return Answer({"changed": False, "items": shown}, lines)


def _read_back(path: Path, password: bytes | None, now: datetime) -> list[Data]:
    data = files.read(path, "The file")
    if b"-----BEGIN CERTIFICATE REQUEST-----" in data or b"-----BEGIN NEW CERTIFICATE REQUEST-----" in data:
        return [describe.request(pem.request(data, where=path))]
    if b"-----BEGIN " in data:
        return [describe.certificate(member, now) for member in pem.certificates(data, where=path)]
    if password is None:
        raise UnreadableError(
            f"{path} holds no PEM.", resolution="If it is a PKCS#12 store, give its password: --password-file FILE."
        )
    return [describe.certificate(member, now) for member in stores.holds(stores.load(data, password, where=path))]


def do_check(call: Namespace) -> Answer:
    now = utc_now()
    passphrase = _secret(call.passphrase_file, "The key's passphrase")
    chain = pem.certificates(files.read(call.certificate, "The certificate"), where=call.certificate)
    key = None
    if call.key:
        key = keys.from_pem(files.read(call.key, "The key"), where=call.key, passphrase=passphrase)
    expected = check.Expected(
        kind=names.Kind(call.kind) if call.kind else None,
        hosts=tuple(names.host_name(host) for host in call.host),
        addresses=tuple(names.ip_address(address) for address in call.address),
        user=names.user_name(call.user) if call.user is not None else None,
        days=call.days,
        key=key,
        roots=pem.certificates(files.read(call.ca, "The authority"), where=call.ca) if call.ca else (),
    )
    found = check.findings(chain, expected, now=now)
    data: Data = {
        "changed": False,
        "good": not found,
        "findings": [{"code": finding.code, "text": finding.text} for finding in found],
        "file": str(call.certificate),
        **describe.certificate(chain[0], now),
    }
    good = [f"{call.certificate}: good, not after {data['not_after']} ({data['days_left']} days)"]
    return Answer(data, [f"{call.certificate}: {finding.text}" for finding in found] or good, 1 if found else 0)


VERBS: dict[str, Callable[[Namespace], Answer]] = {
    "init": do_init,
    "sign": do_sign,
    "issue": do_issue,
    "renew": do_renew,
    "show": do_show,
    "check": do_check,
}
