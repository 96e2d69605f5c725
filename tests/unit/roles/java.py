"""What Java makes of a properties file, and Kafka of a JAAS line: written from their documentation and sources' rules.

java.util.Properties.load, java.io.StreamTokenizer, org.apache.kafka.common.security.JaasConfig. No code of ours in it.
"""

from __future__ import annotations

BLANK = " \t\f"
ENDS_WORD = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
IN_QUOTES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
OCTAL = "01234567"


def properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        at = 0
        while at < len(line) and line[at] not in f"=:{BLANK}":
            at += 2 if line[at] == "\\" else 1
        rest = line[at:].lstrip(BLANK)
        if rest[:1] in {"=", ":"}:
            rest = rest[1:].lstrip(BLANK)
        found[_unescaped(line[:at])] = _unescaped(rest)
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    going_on = False
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(BLANK)
        if not going_on and (not line or line[0] in "#!"):
            continue
        slashes = len(line) - len(line.rstrip("\\"))
        whole = line[:-1] if slashes % 2 else line
        if going_on:
            lines[-1] += whole
        else:
            lines.append(whole)
        going_on = bool(slashes % 2)
    return lines


def _unescaped(text: str) -> str:
    units: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            units.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == "u":
            units.append(chr(int(text[at + 2 : at + 6], 16)))
            at += 6
        else:
            letter = text[at + 1 : at + 2]
            units.append(ENDS_WORD.get(letter, letter))
            at += 2
    return "".join(units).encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


class NoJaasError(Exception):
    """Kafka would not start."""


def jaas(line: str) -> tuple[str, dict[str, str]]:
    """Login module and options."""
    words = _tokens(line)
    module, flag, *rest = words
    if flag != "required" or not rest or rest[-1] != ";" or words.count(";") != 1:
        raise NoJaasError(line)
    rest = rest[:-1]
    if len(rest) % 3:
        raise NoJaasError(line)
    options = {}
    for name, equals, value in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if equals != "=":
            raise NoJaasError(line)
        options[name.removeprefix('"')] = value.removeprefix('"')
    return module, options


def _tokens(line: str) -> list[str]:
    """Quoted ones keep their opening quote, so that a quoted `;` or `=` is told from a plain one."""
    tokens: list[str] = []
    at = 0
    while at < len(line):
        letter = line[at]
        if letter in {'"', "'"}:
            word, at = _quoted(line, at)
            tokens.append('"' + word)
        elif letter <= " ":
            at += 1
        elif line[at : at + 2] in {"//", "/*"} or letter == "/":
            return tokens  # a comment: what follows is not seen
        elif letter.isascii() and not (letter.isalnum() or letter in "-_$."):
            tokens.append(letter)
            at += 1
        else:
            start = at
            while at < len(line) and (not line[at].isascii() or line[at].isalnum() or line[at] in "-_$."):
                at += 1
            tokens.append(line[start:at])
    return tokens


def _quoted(line: str, at: int) -> tuple[str, int]:
    end, at, word = line[at], at + 1, ""
    while at < len(line) and line[at] != end:
        if line[at] in "\r\n":
            raise NoJaasError("a quotation does not go on in the next line")
        if line[at] != "\\":
            word += line[at]
            at += 1
            continue
        at += 1
        if line[at] in OCTAL:
            most = 3 if line[at] in "0123" else 2
            digits = ""
            while at < len(line) and len(digits) < most and line[at] in OCTAL:
                digits += line[at]
                at += 1
            word += chr(int(digits, 8))
        else:
            word += IN_QUOTES.get(line[at], line[at])
            at += 1
    if at >= len(line):
        raise NoJaasError("a quotation without an end")
    return word, at + 1
