"""The reference names every verb and every option, and the files it draws are the files that are made."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from certs import bundles, cli, lifetimes, renewal

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = (Path(__file__).parents[3] / "docs" / "reference" / "certs.md").read_text(encoding="utf-8")


def verbs() -> dict[str, argparse.ArgumentParser]:
    (sub,) = (action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(sub.choices)


def options() -> Iterator[tuple[str, str]]:
    for verb, parser in verbs().items():
        for action in parser._actions:
            for option in action.option_strings:
                if option not in {"-h", "--help"}:
                    yield verb, option


@pytest.mark.parametrize(("verb", "option"), list(options()))
def test_every_option_is_documented(verb: str, option: str) -> None:
    assert f"`{verb}`" in REFERENCE
    assert option in REFERENCE


def test_figures_are_those_of_the_code() -> None:
    days = (lifetimes.AUTHORITY_LIFETIME.days, lifetimes.SERVER_LIFETIME.days, lifetimes.CLIENT_LIFETIME.days)
    assert "| lifetime | {} days | {} days | {} days |".format(*days) in REFERENCE
    assert f"renewed from {lifetimes.RENEW_BEFORE.days} days" in REFERENCE.replace("\n", " ")


def test_files_of_a_bundle_are_named() -> None:
    for name in (bundles.KEY, bundles.CERTIFICATE, bundles.ROOT, bundles.KEYSTORE, bundles.TRUSTSTORE):
        assert f"`{name}`" in REFERENCE
    for reason in (renewal.MISSING, renewal.FORCED):
        assert f"`{reason.code}`" in REFERENCE


@pytest.mark.parametrize("verb", ["", "init", "sign", "issue", "renew", "show", "check"])
def test_help_works(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*filter(None, [verb]), "--help"])
    assert caught.value.code == 0
    assert "usage: python -m certs" in capsys.readouterr().out
