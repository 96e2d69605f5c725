"""Asking a cloud before anything is made there: one way to ask, one kind of error when the answer is no."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from common.errors import KastellanError
from common.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from infra.plan import HostPlan

T = TypeVar("T")

_NO_PLUGIN = r"no resource plugin|could not (find|load) plugin|failed to load plugin|error downloading plugin"
_NO_LIBVIRT = r"failed to connect: .*(no such file|no such host|refused|unreachable|no route|timeout)"
_NO_REGION = (
    r"No suitable endpoint|endpoint.*catalog|invalid.*region|region.*(not valid|unknown)|no such host"
    r"|dial tcp.*(refused|unreachable|timeout)"
)
_NO_ENTRY = (
    r"auth_url|Authentication failed|Unauthorized|\b40[13]\b|credential|InvalidClientToken|AuthFailure|ExpiredToken"
    r"|clouds\.yaml|Missing region|failed to connect|error while configuring"
)
# How to get in, by the cloud that Pulumi's words name.
_WHO = {
    "openstack": "OS_CLOUD with a clouds.yaml, or OS_* variables, OS_REGION_NAME among them: docs/how-to/openstack.md",
    "aws": "AWS_PROFILE and AWS_REGION: docs/how-to/aws.md",
    "libvirt": "libvirt:uri; for this machine's own be root, or in its group libvirt: docs/how-to/libvirt.md",
}
# Words of clouds and of Pulumi -> what is wrong, whatever was asked for, and what to do.
GENERAL = (
    (
        _NO_PLUGIN,
        "Pulumi's plugin for this cloud is not there.",
        "./kastellan up fetches or builds it; by hand: pulumi plugin install resource NAME VERSION --file FILE.",
    ),
    (
        _NO_LIBVIRT,
        "No libvirt answers there.",
        "Nothing was made. See that libvirtd runs and that libvirt:uri names it: docs/how-to/libvirt.md.",
    ),
    (
        _NO_REGION,
        "The region, or the address of the cloud, does not exist or does not answer.",
        "Nothing was made. See that both are right: {who}.",
    ),
    (_NO_ENTRY, "The cloud does not let us in.", "Nothing was made. Say who you are: {who}."),
)
# What Pulumi puts before a cloud's own words: three times which look-up it was, and how many errors.
_PREFACE = re.compile(r".*\berrors? occurred:\s*(?:\* )?", re.DOTALL)


class NotFound(KastellanError):
    """What the description names is not in the cloud; nothing has been made."""


def enter(call: Callable[[], T]) -> T:
    """The first question of all: whether the cloud answers us."""
    try:
        return call()
    except Exception as refusal:  # noqa: BLE001 - Pulumi raises it bare, whatever the reason
        words = str(refusal)
    raise _no_entry(words)


def told(call: Callable[[], T]) -> T | None:
    """What is good to know and no more (quotas, other people's networks): None if the cloud keeps it to itself, has no
    time for it now, or is not asked by an older plugin. Whether it lets us in was asked before.
    """
    try:
        return call()
    except Exception as refusal:  # noqa: BLE001 - the same
        words = str(refusal)
    if re.search(_NO_PLUGIN, words, re.IGNORECASE):
        raise _no_entry(words)
    return None


def _no_entry(words: str) -> KastellanError:
    _refuse_in_general(words)
    return KastellanError(
        "The cloud does not answer as it should.",
        details=_own(words),
        resolution="Nothing was made. docs/how-to has a page for each cloud: what it must be told first.",
    )


def ask(field: str, value: str, call: Callable[[], T]) -> T:
    """What the cloud answers; an error names the field of the description it was asked for."""
    try:
        return call()
    except Exception as refusal:  # noqa: BLE001 - the same
        words = str(refusal)
    _refuse_in_general(words)
    raise NotFound(
        f"{field}: the cloud has no {value!r}.",
        details=_own(words),
        resolution=f"Nothing was made. Name one that there is: pulumi config set --path 'kastellan:{field}' NAME",
    )


def _refuse_in_general(words: str) -> None:
    for pattern, brief, resolution in GENERAL:
        if re.search(pattern, words, re.IGNORECASE):
            raise KastellanError(brief, details=_own(words), resolution=resolution.format(who=_who(words)))


def _own(words: str) -> str:
    """What the cloud itself said."""
    return _PREFACE.sub("", words, count=1).strip() or words


def _who(words: str) -> str:
    named = re.search(rf"\b({'|'.join(_WHO)}):", words)
    return _WHO[named.group(1)] if named else "docs/how-to has a page for each cloud"


def one_of_each_flavor(hosts: Iterable[HostPlan]) -> list[HostPlan]:
    first: dict[str, HostPlan] = {}
    for host in hosts:
        first.setdefault(host.flavor, host)
    return list(first.values())


def one_of(field: str, value: str, names: Iterable[str]) -> None:
    known = sorted(names)
    if value not in known:
        raise NotFound(
            f"{field}: the cloud has no {value!r}.",
            details=f"It has {', '.join(known) or 'none'}.",
            resolution=f"Nothing was made. {nearest(value, known).capitalize()}",
        )


def enough(what: str, *, needed: float, limit: float, used: float) -> None:
    """A limit below zero is none."""
    if 0 <= limit < used + needed:
        raise KastellanError(
            f"The quota has no room: {needed:.0f} more {what} are needed, {limit - used:.0f} are left.",
            details=f"{used:.0f} of {limit:.0f} are in use.",
            resolution="Nothing was made. Ask for a larger quota, remove what is not needed, or lower count.",
        )


def allowed(what: str, *, needed: float, limit: float) -> None:
    """Where the cloud says how much there may be and not how much there is. A limit below zero is none."""
    if 0 <= limit < needed:
        raise KastellanError(
            f"The quota is too small: the stack needs {needed:.0f} {what}, {limit:.0f} are allowed.",
            details="Whatever else there is in the project counts too; how much that is, is not known here.",
            resolution="Nothing was made. Ask for a larger quota, or lower count.",
        )


def large_enough(host: str, flavor: str, *, has: int, needed: int) -> None:
    if has < needed:
        raise KastellanError(
            f"Flavor {flavor} is too small for {host}: it has {has // 2**20}MiB, {needed // 2**20}MiB are asked for.",
            details="The heap and the page cache must fit; the group's memory says how much is needed.",
            resolution="Nothing was made. Name a larger flavor for the group, or lower its memory.",
        )
