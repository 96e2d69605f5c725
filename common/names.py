"""Words that every room uses with one meaning: roles, host names, and help for words that are misspelt."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Roles that count their ids together: ids are unique within a kind. The others need no id.
ROLE_KINDS = {
    "kafka_broker": "kafka",
    "kafka_controller": "kafka",
    "zookeeper": "zookeeper",
    "spark_master": None,
    "spark_worker": None,
}
ROLES = tuple(ROLE_KINDS)

_HOST_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_STACK_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
# Folders of .kastellan that are no stack's.
_RESERVED_STACKS = ("bench", "collections", "pulumi")


def is_host_name(name: str) -> bool:
    """One DNS label in lower case: it also names files, certificates and network devices."""
    return _HOST_NAME.fullmatch(name) is not None


def is_stack_name(name: str) -> bool:
    return _STACK_NAME.fullmatch(name) is not None and name not in _RESERVED_STACKS


def nearest(word: str, known: Iterable[str]) -> str:
    """A half sentence that helps: what was probably meant, else all there is."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(words)}."
