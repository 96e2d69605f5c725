"""The labs: each command by hand is one that the tools take, each scenario and group name one that can be used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from validate import scenario
from validate.__main__ import parser
from validate.verbs import consume, produce

TEXT = (Path(__file__).resolve().parents[3] / "docs/how-to/labs.md").read_text(encoding="utf-8")
BY_HAND = TEXT.partition("## Break and mend by hand")[2].partition("\n## ")[0]
SPANS = re.findall(r"`([^`\n]+)`", BY_HAND)
COMMANDS = [span for span in SPANS if span.startswith(("produce ", "consume "))]
SUBJECTS = (
    "several members",
    "killed broker",
    "records together",
    "stuck consumer",
    "dead member",
    "acknowledged and lost",
)


@pytest.mark.parametrize("command", dict.fromkeys(one for one in COMMANDS if "--help" not in one))
def test_a_command_is_taken(command: str) -> None:
    verb, *words = command.split()
    args = parser().parse_args([verb, "--topic", "kastellan-try", *words])
    assert {"produce": produce, "consume": consume}[verb].spec_of(args)
    assert getattr(args, "group", "kastellan-").startswith("kastellan-"), "the validator may use no other"


def test_options_that_stand_alone_are_options() -> None:
    known = {text for verb in (produce, consume) for text in options(verb.name)}
    alone = {word for span in SPANS if span.startswith("--") for word in span.split() if word.startswith("--")}
    assert alone
    assert alone <= known


def options(verb: str) -> list[str]:
    (choices,) = (action.choices for action in parser()._actions if isinstance(action.choices, dict))
    return [text for action in choices[verb]._actions for text in action.option_strings]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_people_try_first_has_a_row(subject: str) -> None:
    assert [line for line in BY_HAND.splitlines() if line.startswith("| ") and subject in line.split(" | ")[0]]


def test_every_scenario_that_is_named_is_there() -> None:
    named = set(re.findall(r"--scenario ([\w-]+)|scenario ([a-z]+(?:-[a-z]+)+)|^\| `([a-z-]+)` \|", TEXT, re.MULTILINE))
    ids = {name for found in named for name in found if name}
    assert {"iris", "three-broker-failover", "acks-one-two-killed", "dangerous-driving"} <= ids
    assert ids <= set(scenario.ids())
