"""Java's properties files and JAAS lines: the escaping that keeps any password whole, in one place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_PRINTED, LAST_PRINTED = ord(" "), ord("~")
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_KEY_ESCAPED = {**_ESCAPED, " ": "\\ ", "=": "\\=", ":": "\\:", "#": "\\#", "!": "\\!"}
_QUOTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LOGIN_MODULES = {
    "SCRAM": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
}


def plain(value: Any) -> str:
    """A value as Kafka writes it: booleans in small letters, lists joined by commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(plain(part) for part in value)
    return str(value)


def key(text: str) -> str:
    return _ascii("".join(_KEY_ESCAPED.get(character, character) for character in text))


def value(text: Any) -> str:
    """Only leading blanks of a value are dropped by Java, so only the first one needs its backslash."""
    escaped = _ascii("".join(_ESCAPED.get(character, character) for character in plain(text)))
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _ascii(text: str) -> str:
    """Java reads these files as Latin-1 or UTF-8, depending on its version and the caller; ASCII is both."""
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
    return "".join(chr(unit) if FIRST_PRINTED <= unit <= LAST_PRINTED else f"\\u{unit:04x}" for unit in pairs)


def document(properties: Mapping[str, Any]) -> str:
    return "".join(f"{key(name)}={value(properties[name])}\n" for name in sorted(properties))


def jaas_quoted(text: str) -> str:
    """A value inside a JAAS line: what ends a quotation or a line is escaped, all else stands for itself."""
    return '"' + "".join(_QUOTED.get(character, character) for character in text) + '"'


def jaas(mechanism: str, **options: str) -> str:
    """The only place where a JAAS line is written."""
    module = _LOGIN_MODULES[mechanism.split("-", maxsplit=1)[0]]
    return (
        " ".join([module, "required", *(f"{_option(name)}={jaas_quoted(text)}" for name, text in options.items())])
        + ";"
    )


def _option(name: str) -> str:
    """PLAIN has users' names in the names of options: unquoted, a blank in one would begin another option."""
    return name if _WORD.fullmatch(name) else jaas_quoted(name)
