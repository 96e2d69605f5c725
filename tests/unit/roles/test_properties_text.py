from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.module_utils.properties_text import document, jaas, jaas_quoted, key, plain, value

PASSWORDS = [
    "it's",
    'a"b',
    "a,b",
    "a b",
    " leading",
    "a=b",
    "a\\b",
    "$HOME",
    "grüße",
    "{{ x }}",
    "#!",
    "trailing ",
    "\U0001f511",
]


def java_load(text: str) -> str:
    """What java.util.Properties makes of a value, as its documentation says."""
    units = re.sub(r"\\u([0-9a-f]{4})|\\(.)", lambda m: chr(int(m[1], 16)) if m[1] else _plain(m[2]), text.lstrip(" "))
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def _plain(letter: str) -> str:
    return {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}.get(letter, letter)


@pytest.mark.parametrize("password", PASSWORDS)
def test_any_password_comes_back_whole(password: str) -> None:
    line = value(jaas("SCRAM-SHA-512", username="u", password=password))
    assert java_load(line).endswith(f"password={jaas_quoted(password)};")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_value_comes_back_whole(text: str) -> None:
    assert java_load(value(text)) == text
    assert value(text).isascii()


def test_a_value_never_breaks_its_line() -> None:
    assert document({"b": "x\ny", "a": "1"}) == "a=1\nb=x\\ny\n"


def test_keys_keep_what_would_end_them() -> None:
    assert key("a b=c:d") == "a\\ b\\=c\\:d"


def test_values_as_kafka_writes_them() -> None:
    assert plain(True) == "true"  # noqa: FBT003 - it is what is tested
    assert plain(["a", 1]) == "a,1"


def test_jaas_names_the_module_of_the_mechanism() -> None:
    assert jaas("SCRAM-SHA-256") == "org.apache.kafka.common.security.scram.ScramLoginModule required;"
